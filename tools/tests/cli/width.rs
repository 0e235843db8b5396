//! What commands print for people fits 100 columns, unless `--wide` is given.

use super::tables::{file, in_parallel, run};
use super::*;

/// Columns of a line, where no terminal says another number.
const WIDTH: usize = 100;

fn printed(words: &str) -> String {
    text(&run(words)).to_owned()
}

/// Every command with tables, each table at least once.
const LINES: [&str; 32] = [
    "ablation --handlers 1",
    "accuracy",
    "analyze $minife-16/minife-16.dumpi.tar.xz --engine all --check --receives 2",
    "analyze $minife-16/minife-16.dumpi.tar.xz $recorder/lammps-4.dumpi.tar.xz",
    "analyze $minife-16/minife-16.dumpi.tar.xz --against $recorder/lammps-4.dumpi.tar.xz",
    "bench --rounds 1 --reps 1 --budget 0 --keep disturbed --baseline none",
    "bench --rounds 1 --reps 1 --budget 0 --keep disturbed --scenario NC --windows 20 --baseline no-matching,memcpy,bins,list",
    "bench --trace $recorder/lammps-4.dumpi.tar.xz --rounds 1 --budget 0",
    "calibrate @rates",
    "channels --rounds 2 --bursts 2 --only real",
    "channels --rounds 2 --bursts 1,2 --only overhead,latency,discovery,never-worse,thresholds",
    "compare search any memory spans queues overhead complexity --ranks 64 --pending 1 --rounds 0 --engine list,bins",
    "compare depth --depths 1 --rounds 0",
    "compare patterns --ranks 27 --rounds 0",
    "compare applications --ranks 16 --k 8 --rounds 0 --engine list,col-ll,ll-pnp,col-pnp,rank-array",
    "cost contention",
    "cost curves",
    "cost hierarchy --edge 8 --ranks 16",
    "cost messages $recorder/lammps-4.dumpi.tar.xz --trace --per rank",
    "cost ping-pong --messages 16,32,64 --rounds 1 --engine list,bins",
    "diff @names @names --all",
    "offload $recorder/lammps-4.dumpi.tar.xz --per rank,communicator",
    "predict --handlers 4",
    "predict --handlers 4 --trace $recorder/lammps-4.dumpi.tar.xz",
    "predict domains $minife-16/minife-16.dumpi.tar.xz",
    "predict handlers --handlers 4 --trace $recorder/lammps-4.dumpi.tar.xz",
    "run --provider tests/run -- tests/run/program.sh",
    "sensitivity memory.l1_ns",
    "trace check $minife-16/minife-16.dumpi.tar.xz",
    "trace check $truncated/hpcg-0001.bin.xz --salvage",
    "trace info $minife-16/minife-16.dumpi.tar.xz",
    "what-if --handlers 1",
];

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
        "{bench} --keep disturbed,placements --baseline none --save @names"
    ));
    in_parallel(&LINES, |words| {
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
    for command in commands().iter().map(String::as_str).chain([""]) {
        let text = help(command);
        let (length, line) = longest(&text);
        assert!(length <= WIDTH, "{command}: {length} columns: {line}");
        // A command with tables has a row above.
        let has_row = LINES.iter().any(|row| row.starts_with(command));
        assert!(
            command.contains(' ') || !text.contains("--wide") || has_row,
            "{command}"
        );
    }
}
