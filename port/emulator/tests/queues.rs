//! Queues, events and arming: what a program does wrong with them, and what waits cost.

mod support;

use std::process::Command;
use std::time::{Duration, Instant};
use support::{build, run, text};

/// Two handlers answer each other. Before each answer both poll in vain for a moment, which must not
/// count as idle: a nap of a worker takes longer than a hundred answers.
#[test]
fn handlers_that_answer_each_other_take_no_naps() {
    let program = build("answers");
    for (workers, over, count, limit_s, naps) in [
        ("1", "queues", "200000", 9, 4_000),
        ("2", "queues", "100000", 9, 400_000),
        ("1", "words", "50000", 9, 4_000),
    ] {
        let begin = Instant::now();
        let mut command = Command::new(&program);
        let ran = run(command.args([over, count]).env("DPA_WORKERS", workers));
        let said = text(&ran.stdout);
        let (answers, switches) = said
            .trim_end()
            .split_once(", switches ")
            .expect("two counts");
        assert_eq!(answers, format!("answers {count}"));
        let switches: u32 = switches.parse().expect("a number");
        assert!(switches < naps, "{workers} {over}: {switches} switches");
        let limit = Duration::from_secs(limit_s);
        assert!(begin.elapsed() < limit, "{:?}", begin.elapsed());
        assert_eq!(text(&ran.stderr), "");
    }
}
