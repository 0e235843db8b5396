//! Queues, events and arming: what a program does wrong with them, and what waits cost.

mod support;

use std::process::Command;
use support::{build, run, text};

/// Two handlers answer each other. Before each answer both poll without success for a moment, which
/// must not count as idle: with naps each answer would cost a switch.
#[test]
fn handlers_that_answer_each_other_take_no_naps() {
    let program = build("answers");
    for (workers, over, count, naps) in [
        ("1", "queues", "200000", 50_000),
        ("1", "words", "50000", 12_500),
        // Each worker may sleep until the other's completion wakes it.
        ("2", "queues", "20000", 100_000),
    ] {
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
    // The wire fills the queue while the handler runs. Whether the handler sleeps after its first
    // frames or after the last depends on when the host's rule comes. Each has its own line.
    let full = (
        "16 taken\n".to_owned(),
        asleep("takes_frames", 1, &waits(64), "frames"),
    );
    let empty = (
        "300 taken\n".to_owned(),
        asleep(
            "takes_frames",
            1,
            "and its completion queue 0x400 is not armed",
            "frames",
        ),
    );
    for seed in ["0", "1"] {
        let heard = hears("frames", seed);
        assert!(heard == full || heard == empty, "seed {seed}: {heard:?}");
    }
    for seed in ["0", "1"] {
        assert_eq!(
            hears("setup", seed),
            (
                "0 taken\n".to_owned(),
                asleep("waits_for_setup", 1, &waits(3), "setup")
            )
        );
        // The handler may run before the call has written all three completions.
        for name in ["takes", "long"] {
            let heard = hears(name, seed);
            let can_be = (1..=3).map(|taken| {
                let line = asleep("takes", 1, &waits(5 - taken), "takes");
                (format!("{taken} taken\n"), line)
            });
            assert!(
                can_be.into_iter().any(|it| it == heard),
                "{name} {seed}: {heard:?}"
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

const MISUSE: &str = include_str!("misuse/device.c");

fn misuse(name: &str, more: i32) -> (String, String) {
    said(Command::new(build("misuse")).args([name, &more.to_string()]))
}

/// A wrong use is a line with its place, and one less is none.
#[test]
fn a_wrong_use_of_a_queue_is_named_with_its_place() {
    let ahead = "completion queue 0x400 is armed at 2, and 1 completions were written";
    for (name, result, what) in [
        ("ring_other", 0, "send queue 0x103 belongs to process 2"),
        (
            "arm_other",
            0,
            "completion queue 0x402 belongs to process 2",
        ),
        (
            "wake_other",
            0,
            "completion queue 0x402 belongs to process 2",
        ),
        ("outbox_other", 1, "outbox 2 is none of the process"),
        (
            "key_of_other_domain",
            0,
            "send queue 0x101, entry 0: key 0x114a is of another protection domain than the queue",
        ),
        (
            "too_many_entries",
            0,
            "send queue 0x101: doorbell 9 is more than its depth past 0",
        ),
        (
            "too_many_buffers",
            0,
            "receive queue 0x100: its doorbell record gives 9 buffers, and it has 8",
        ),
        ("armed_ahead", 0, ahead),
        (
            "armed_behind",
            0,
            "completion queue 0x400 is armed at 0, though its record says that 1 completions are \
             consumed",
        ),
        (
            "armed_twice",
            0,
            "completion queue 0x400 is armed at 0 twice in this activation",
        ),
        (
            "no_entry",
            0,
            "send queue 0x101, entry 0: it has no segment",
        ),
        (
            "takes_none",
            0,
            "completion queue 0x400 is armed at 0 again and again, though 1 completions wait \
             there: the handler is woken and takes none",
        ),
    ] {
        let more = match name {
            "too_many_entries" | "too_many_buffers" | "armed_ahead" => 1,
            _ => 0,
        };
        let line = line_of(MISUSE, name);
        let right = format!(
            "dpa: process 1, thread 2 ({name}), activation 1: {what}, at {name} at \
             misuse/device.c:{line}\n"
        );
        assert_eq!(misuse(name, more), (format!("result {result}\n"), right));
    }
    let line = line_of(MISUSE, "unfenced");
    let (_, errors) = misuse("unfenced", 0);
    assert!(
        errors.contains("without a write fence after an entry was written"),
        "{errors}"
    );
    assert!(line > 0 && errors.lines().count() == 1, "{errors}");
    for (name, more) in [
        ("outbox_other", -1),
        ("key_of_other_domain", 1),
        ("too_many_entries", 0),
        ("too_many_entries", -1),
        ("too_many_buffers", 0),
        ("too_many_buffers", -1),
        ("armed_ahead", 0),
        ("armed_behind", 1),
        ("armed_twice", -1),
        ("no_entry", 1),
        ("takes_none", -1),
        ("overruns", 0),
        ("overruns", -1),
        ("consumed_ahead", -1),
    ] {
        let right = ("result 0\n".to_owned(), String::new());
        assert_eq!(misuse(name, more), right, "{name} {more}");
    }
}

/// Attributes that the emulator does not model are named once in a program, and change nothing.
#[test]
fn attributes_without_effect_are_named() {
    let statuses = "status 0\nstatus 0\n".to_owned();
    let moderation = "dpa: flexio_cq_create: moderation is not modelled (cq_period, cq_max_count): \
                      an armed queue has an event at its next completion\n";
    let pcc = |call: &str| {
        format!("dpa: {call}: congestion control is not emulated; en_pcc has no effect\n")
    };
    // The number's bits are the two attributes.
    for (name, bits, said) in [
        ("moderation", 0, String::new()),
        ("moderation", 1, moderation.to_owned()),
        ("moderation", 2, moderation.to_owned()),
        ("en_pcc", 0, String::new()),
        ("en_pcc", 1, pcc("flexio_process_create")),
        ("en_pcc", 2, pcc("flexio_outbox_create")),
        ("en_pcc", 3, pcc("flexio_process_create")),
    ] {
        assert_eq!(
            misuse(name, bits),
            (statuses.clone(), said),
            "{name} {bits}"
        );
    }
}

#[test]
fn a_wrong_use_that_the_nic_finds_is_named() {
    let overruns = "dpa: completion queue 0x400 overruns: 8 of 8 entries wait, by its doorbell \
                    record\n";
    assert_eq!(
        misuse("overruns", 1),
        ("result 0\n".to_owned(), overruns.to_owned())
    );
    let consumed = "dpa: completion queue 0x400: its doorbell record says that 1 completions are \
                    consumed, and 0 were written\n";
    assert_eq!(
        misuse("consumed_ahead", 0),
        ("result 0\n".to_owned(), consumed.to_owned())
    );
    let key = "is of another protection domain than the window";
    let (said, errors) = misuse("window_of_other_domain", 0);
    assert_eq!(said, "result 1\n");
    assert!(
        errors.contains(key) && errors.lines().count() == 1,
        "{errors}"
    );
    let thread = "dpa: flexio_cq_create: the thread belongs to process 2\n";
    assert_eq!(
        misuse("thread_of_other", 0),
        ("status 1\n".to_owned(), thread.to_owned())
    );
    let queue = "dpa: flexio_rq_create: completion queue 0x402 belongs to process 2\n";
    let right = ("status 1\nstatus 0\n".to_owned(), queue.to_owned());
    assert_eq!(misuse("queue_at_other", 0), right);
    let resources = "dpa: flexio_resources_create: no resources: their files are not emulated, and \
                     threads may take any unit\n";
    let right = ("status 1, (nil), 0\n".to_owned(), resources.to_owned());
    assert_eq!(misuse("resources", 0), right);
}

/// The last of many handlers costs what the first did, whether their queues are armed or not: a
/// look for sleeping handlers takes time in proportion to the queues, and few looks are made.
#[test]
fn a_handler_costs_the_same_among_thousands() {
    let program = build("many");
    for (count, no_arm) in [("16384", "0"), ("8192", "1")] {
        let ran = run(Command::new(&program).args([count, no_arm]));
        assert_eq!(text(&ran.stderr), "");
        let said = text(&ran.stdout);
        let (first, last) = said.trim_end().split_once(' ').expect("two times");
        let [first, last] = [first, last].map(|time| time.parse::<u64>().expect("a number"));
        assert!(
            last <= 3 * first,
            "{count} {no_arm}: {first} ns, then {last} ns"
        );
    }
}
