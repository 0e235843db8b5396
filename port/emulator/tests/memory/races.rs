//! Accesses of one word by two handlers, with and without an order.

use super::{build, plain, run};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

const DEVICE: &str = include_str!("races/device.c");

fn program() -> &'static Path {
    static PROGRAM: OnceLock<std::path::PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| build("races", "tests/memory/races", "1"))
}

fn line_of(name: &str) -> usize {
    let mark = format!("/* HERE {name} */");
    let at = DEVICE.lines().position(|line| line.contains(&mark));
    1 + at.unwrap_or_else(|| panic!("no line is marked with {name}"))
}

/// How a program runs: its seed and its host threads.
const RUNS: [(u32, u32); 4] = [(0, 1), (3, 1), (0, 2), (8, 2)];

fn races(words: &[&str], (seed, workers): (u32, u32)) -> (String, Vec<String>) {
    let mut command = Command::new(program());
    command.args(words).env("DPA_SEED", seed.to_string());
    let (said, errors) = run(command.env("DPA_WORKERS", workers.to_string()));
    (said, errors.lines().map(plain).collect())
}

/// No line, whatever the order, and this count at the end.
fn is_ordered(words: &[&str], count: u64) {
    for how in RUNS {
        let right = (format!("{count}\n"), Vec::new());
        assert_eq!(races(words, how), right, "{words:?} {how:?}");
    }
}

/// The one line about the two handlers: the second does this to so many bytes that the first has
/// accessed so.
fn has_race(words: &[&str], (how, did): (&str, &str)) {
    let (first, second) = (words[0], words[1]);
    let place = |name: &str| format!("{name}_body at device.c:{}", line_of(name));
    let wanted = format!(
        "dpa: process 1, thread 1 ({second}), activation 1: {how} at ADDRESS in a data race with \
         thread 0 ({first}), which {did} them at {}, at {}",
        place(first),
        place(second)
    );
    assert_eq!(races(words, (0, 1)).1, [wanted], "{words:?}");
    // Other orders show the same pair of places.
    for order in RUNS {
        let lines = races(words, order).1;
        let has_both =
            |line: &String| line.contains(&place(first)) && line.contains(&place(second));
        assert!(
            lines.len() == 1 && lines.iter().all(has_both),
            "{order:?}: {lines:?}"
        );
    }
}

#[test]
fn counters_of_two_handlers() {
    has_race(&["counts", "counts_too"], ("reads 8 bytes", "wrote"));
    has_race(&["counts", "counts"], ("reads 8 bytes", "wrote"));
    has_race(
        &["counts_volatile", "counts_volatile"],
        ("writes 8 bytes", "wrote"),
    );
    has_race(
        &["counts_fenced", "counts_fenced"],
        ("reads 8 bytes", "wrote"),
    );
    has_race(&["counts_atomic", "counts"], ("writes 8 bytes", "wrote"));
    has_race(&["counts", "counts_atomic"], ("writes 8 bytes", "wrote"));
    has_race(
        &["counts_global", "counts_global"],
        ("reads 8 bytes", "wrote"),
    );
    is_ordered(&["counts_atomic", "counts_atomic"], 2);
    is_ordered(&["counts_locked", "counts_locked"], 2);
    is_ordered(&["counts_locked_often", "counts_locked_often"], 200);
    is_ordered(&["counts_apart", "counts_apart_too"], 0);
}

#[test]
fn bytes_of_one_word() {
    has_race(&["writes_data", "writes_both"], ("writes 8 bytes", "wrote"));
    has_race(
        &["writes_both", "writes_a_byte"],
        ("writes 1 bytes", "wrote"),
    );
    has_race(&["writes_data", "reads_data"], ("reads 4 bytes", "wrote"));
    has_race(&["reads_data", "writes_data"], ("writes 4 bytes", "read"));
    has_race(&["copies", "writes_text"], ("writes 1 bytes", "wrote"));
    has_race(&["writes_text", "copies"], ("writes 27 bytes", "wrote"));
    is_ordered(&["writes_data", "writes_more"], 0);
    is_ordered(&["reads_data", "writes_more"], 0);
    is_ordered(&["copies", "writes_behind_text"], 0);
}

#[test]
fn data_behind_a_flag() {
    for writer in ["publishes", "publishes_plain", "publishes_atomic"] {
        is_ordered(&[writer, "awaits"], 8);
        is_ordered(&[writer, "awaits_relaxed"], 8);
    }
    is_ordered(&["publishes_atomic", "awaits_atomic"], 8);
    is_ordered(&["publishes", "awaits_atomic"], 8);
    is_ordered(&["turns_0", "turns_1"], 100);
    for writer in [
        "publishes_unfenced",
        "publishes_late",
        "publishes_other_space",
    ] {
        has_race(&[writer, "awaits"], ("reads 4 bytes", "wrote"));
    }
    has_race(
        &["publishes_relaxed", "awaits_atomic"],
        ("reads 4 bytes", "wrote"),
    );
}

#[test]
fn what_hands_over() {
    is_ordered(&["sends_event", "counts", "handed"], 2);
    is_ordered(&["activates", "counts", "handed"], 2);
    is_ordered(&["asks_host", "counts", "host"], 2);
    is_ordered(&["counts", "counts", "calls"], 2);
    has_race(
        &["sends_early", "counts", "handed"],
        ("reads 8 bytes", "wrote"),
    );
}

/// Code without checks may order threads unseen.
#[test]
fn code_without_checks_is_named() {
    let folder = super::prefix();
    let dpacc = folder.join("bin/dpacc");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/memory/races/device.c");
    let object = |checks: &str| {
        let object = folder.join(format!("races{checks}.o"));
        let mut compile = Command::new(&dpacc);
        compile.arg(&source).args(["-c", "-o"]).arg(&object);
        run(compile.env("DPACC_CHECK", checks));
        object
    };
    let link = |object: &Path| {
        let mut link = Command::new(&dpacc);
        link.arg(object).arg("-o").arg(folder.join("objects.a"));
        run(link.arg("--app-name=races")).1
    };
    assert_eq!(link(&object("1")), "");
    let unseen = object("0");
    let wanted = format!(
        "dpacc: data races are not looked for, since this code has no checks: {}\n",
        unseen.display()
    );
    assert_eq!(link(&unseen), wanted);
}
