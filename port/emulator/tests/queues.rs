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

/// The number of the line with this mark in a test's device part.
fn line_of(source: &str, mark: &str) -> usize {
    let mark = format!("/* ERROR {mark} */");
    let at = source.lines().position(|line| line.contains(&mark));
    1 + at.unwrap_or_else(|| panic!("no {mark}"))
}

/// What a program says: standard output, and standard error without the folders of places.
fn said(command: &mut Command) -> (String, String) {
    let ran = run(command);
    let folder = format!("{}/tests/", env!("CARGO_MANIFEST_DIR"));
    (text(&ran.stdout), text(&ran.stderr).replace(&folder, ""))
}

const ASLEEP: &str = include_str!("asleep/device.c");

#[test]
fn a_handler_that_sleeps_for_good_is_named() {
    let program = build("asleep");
    let wire = format!("pcap:in={}", support::frames(300).display());
    let hears = |name: &str, seed: &str| {
        let mut command = Command::new(&program);
        said(
            command
                .arg(name)
                .env("DPA_SEED", seed)
                .env("DPA_WIRE", &wire),
        )
    };
    let asleep = |name: &str, activation: u32, what: &str, mark: &str| {
        let line = line_of(ASLEEP, mark);
        format!(
            "dpa: process 1, thread 0 ({name}), activation {activation}: the thread sleeps {what}, \
             so nothing wakes it; it went to sleep at {name} at asleep/device.c:{line}\n"
        )
    };
    let waits = |count: u32| {
        format!("while {count} completions wait in its queue 0x400, which is not armed")
    };
    assert_eq!(
        hears("frames", "0"),
        (
            "16 taken\n".to_owned(),
            asleep("takes_frames", 1, &waits(64), "frames")
        )
    );
    let empty = "and its completion queue 0x400 is not armed";
    assert_eq!(
        hears("frames", "1"),
        (
            "300 taken\n".to_owned(),
            asleep("takes_frames", 1, empty, "frames")
        )
    );
    for seed in ["0", "1"] {
        assert_eq!(
            hears("setup", seed),
            (
                "0 taken\n".to_owned(),
                asleep("waits_for_setup", 1, &waits(3), "setup")
            )
        );
        for name in ["takes", "long"] {
            assert_eq!(
                hears(name, seed),
                (
                    "3 taken\n".to_owned(),
                    asleep("takes", 1, &waits(2), "takes")
                )
            );
        }
    }
}

#[test]
fn an_event_before_a_handler_runs_is_named() {
    let program = build("asleep");
    let early = "dpa: process 1, thread 0 (takes), activation 0: an event of completion queue 0x400 \
                 comes before event_handler_run, and is lost; the queue is not armed any more\n\
                 dpa: process 1, thread 0 (takes), activation 0: the thread sleeps while 3 \
                 completions wait in its queue 0x400, which is not armed, so nothing wakes it\n";
    assert_eq!(
        said(Command::new(&program).arg("early")),
        ("0 taken\n".to_owned(), early.to_owned())
    );
    let activated = format!(
        "dpa: process 1, thread 1 (activate), activation 1: thread 0 (takes) is activated before \
         event_handler_run, and this event is lost, at activate at asleep/device.c:{}\n",
        line_of(ASLEEP, "activate")
    );
    assert_eq!(
        said(Command::new(&program).arg("activated-early")),
        ("0 taken\n".to_owned(), activated)
    );
}

/// Handlers that others wake, or whose completions others take, or that stop.
#[test]
fn a_handler_that_sleeps_for_a_while_is_not_named() {
    let program = build("asleep");
    let wire = format!("pcap:in={}", support::frames(300).display());
    for (name, taken) in [
        ("stops", 300),
        ("armed-later", 5),
        ("activated", 3),
        ("bell", 3),
        ("shared", 300),
    ] {
        for seed in ["0", "1"] {
            let mut command = Command::new(&program);
            command
                .arg(name)
                .env("DPA_SEED", seed)
                .env("DPA_WIRE", &wire);
            let right = (format!("{taken} taken\n"), String::new());
            assert_eq!(said(&mut command), right, "{name}, seed {seed}");
        }
    }
}
