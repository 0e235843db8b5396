//! What commands print for people fits 100 columns, unless `--wide` is given.

use super::tables::{Table, file, in_parallel, run};
use super::*;

/// Columns of a line, where no terminal says another number.
const WIDTH: usize = 100;

fn printed(words: &str) -> String {
    text(&run(words)).to_owned()
}

/// Command lines that print tables.
fn lines() -> Vec<String> {
    Table::read(include_str!("tables/width.txt")).head
}

fn longest(text: &str) -> (usize, &str) {
    let lines = text.lines().map(|line| (line.chars().count(), line));
    lines.max_by_key(|(length, _)| *length).unwrap_or_default()
}

#[test]
fn tables_fit() {
    file("rates", "series,threads,rate\nNC,1,0.523\nNC,2,1.002\n");
    // Rows with the longest names.
    let bench = "bench --scenario NC-REV-S1021 --windows 1024 --rounds 4 --reps 1 --budget 0";
    printed(&format!(
        "{bench} --any-placement --keep-disturbed --baseline none --save @names"
    ));
    in_parallel(&lines(), |words| {
        let text = printed(words);
        let (length, line) = longest(&text);
        assert!(length <= WIDTH, "{words}: {length} columns: {line}");
    });
}

#[test]
fn all_columns_stand_where_they_are_asked_for() {
    let words = "cost messages $recorder/lammps-4.dumpi.tar.xz --trace";
    let (narrow, wide) = (printed(words), printed(&format!("{words} --wide")));
    let notice = narrow
        .lines()
        .find(|line| line.contains("with --wide also: "));
    let notice = notice.unwrap_or_else(|| panic!("{narrow}"));
    let (_, left_out) = notice.split_once(": ").expect("names");
    let header = wide
        .lines()
        .find(|line| line.starts_with("phase "))
        .expect("a header");
    for column in left_out.split(", ") {
        assert!(
            header.split_whitespace().any(|name| name == column),
            "{column}: {header}"
        );
    }
    assert!(
        longest(&wide).0 > WIDTH && !wide.contains("--wide"),
        "{wide}"
    );
}

#[test]
fn help_fits() {
    let lines = lines();
    for command in commands().iter().map(String::as_str).chain([""]) {
        let text = help(command);
        let (length, line) = longest(&text);
        assert!(length <= WIDTH, "{command}: {length} columns: {line}");
        // A command with tables has a row above.
        let has_row = lines.iter().any(|row| row.starts_with(command));
        assert!(
            command.contains(' ') || !text.contains("--wide") || has_row,
            "{command}"
        );
    }
}
