//! What commands print for people fits 100 columns, unless `--wide` is given.

use super::*;

/// Columns of a line, where no terminal says another number.
const WIDTH: usize = 100;

const LAMMPS: &str = "../tests/data/traces/recorder/lammps-4.dumpi.tar.xz";
const MINIFE: &str = "../tests/data/traces/minife-16/minife-16.dumpi.tar.xz";

fn printed(words: &str) -> String {
    let words = words.replace("$LAMMPS", LAMMPS).replace("$MINIFE", MINIFE);
    let mut measured = tempfile::NamedTempFile::new().expect("room");
    measured.write_all(b"series,threads,rate\nNC,1,0.523\nNC,2,1.002\n").expect("room");
    let words = words.replace("$MEASURED", measured.path().to_str().expect("plain"));
    let saved = tempfile::NamedTempFile::new().expect("a file");
    let saved = saved.path().to_str().expect("plain");
    if words.contains("$SAVED") {
        // Rows with the longest names.
        let bench = "bench --scenario NC-REV-S1021 --windows 1024 --rounds 4 --reps 1 --budget 0";
        printed(&format!("{bench} --any-placement --baseline none --save {saved}"));
    }
    let words = words.replace("$SAVED", saved);
    text(&dpamatch(&words.split_whitespace().collect::<Vec<_>>())).to_owned()
}

fn longest(text: &str) -> (usize, &str) {
    let lines = text.lines().map(|line| (line.chars().count(), line));
    lines.max_by_key(|(length, _)| *length).unwrap_or_default()
}

/// Every command with tables, each table at least once.
const COMMANDS: &[&str] = &[
    "analyze $MINIFE --engine all --check --receives 2",
    "analyze $MINIFE $LAMMPS",
    "analyze $MINIFE --against $LAMMPS",
    "bench --rounds 1 --reps 1 --budget 0 --baseline none",
    "bench --rounds 1 --reps 1 --budget 0 --scenario NC --windows 20 --baseline no-matching,memcpy,bins,list",
    "bench --trace $LAMMPS --rounds 1 --budget 0",
    "calibrate $MEASURED",
    "channels --pairs 2 --bursts 1,2 --messages 50 --only latency,discovery,never-worse,thresholds,real",
    "compare search any memory spans queues overhead complexity --ranks 64 --pending 1 --rounds 0 --engine list,bins",
    "compare depth --depths 1 --rounds 0",
    "compare patterns --ranks 27 --rounds 0",
    "cost contention",
    "cost hierarchy --edge 8 --processes 16",
    "cost messages $LAMMPS --trace --per-rank",
    "cost ping-pong --sizes 16,32,64 --rounds 1 --engine list,bins",
    "diff $SAVED $SAVED --all",
    "offload $LAMMPS --ranks --communicators",
    "predict --threads 4",
    "predict --threads 4 --trace $LAMMPS",
    "predict accuracy",
    "predict handlers --handlers 4 --trace $LAMMPS",
    "predict what-if --threads 1",
    "run --provider tests/run -- tests/run/program.sh",
    "trace check $MINIFE",
    "trace check ../tests/data/traces/truncated/hpcg-0001.bin.xz --salvage",
    "trace info $MINIFE",
];

#[test]
fn tables_fit() {
    for words in COMMANDS {
        let text = printed(words);
        let (length, line) = longest(&text);
        assert!(length <= WIDTH, "{words}: {length} columns: {line}");
    }
}

#[test]
fn all_columns_stand_where_they_are_asked_for() {
    let words = "cost messages $LAMMPS --trace";
    let (narrow, wide) = (printed(words), printed(&format!("{words} --wide")));
    let notice = narrow.lines().find(|line| line.contains("with --wide also: "));
    let notice = notice.unwrap_or_else(|| panic!("{narrow}"));
    let (_, left_out) = notice.split_once(": ").expect("names");
    let header = wide.lines().find(|line| line.starts_with("phase ")).expect("a header");
    for column in left_out.split(", ") {
        assert!(header.split_whitespace().any(|name| name == column), "{column}: {header}");
    }
    assert!(longest(&wide).0 > WIDTH && !wide.contains("--wide"), "{wide}");
}

#[test]
fn help_fits() {
    for command in commands().iter().map(String::as_str).chain([""]) {
        let text = help(command);
        let (length, line) = longest(&text);
        assert!(length <= WIDTH, "{command}: {length} columns: {line}");
        // A command with tables has a row above.
        let has_row = COMMANDS.iter().any(|row| row.starts_with(command));
        assert!(command.contains(' ') || !text.contains("--wide") || has_row, "{command}");
    }
}
