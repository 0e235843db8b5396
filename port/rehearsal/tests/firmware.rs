//! The firmware's outcomes equal the oracle's. `cargo xtask rv64` runs these tests.

use dpa_model::PaperWorkload;
use dpamatch::stream::Profile;
use dpamatch_port::build::Build;
use dpamatch_port::job::{Ends, Job};
use dpamatch_port::phases::{Phase, marks};
use dpamatch_port::rv64::{Image, Setup};
use dpamatch_port::weak::{self, RunKind};
use dpamatch_port::{check, report, steps};

fn image(build: Build) -> Image {
    build.image().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn outcomes_are_the_oracles() {
    let image = image(Build::Plain);
    let verdict = check::all(&image, &check::jobs(1, 300, 4));
    assert!(verdict.wrong.is_empty(), "{verdict}");
    assert_eq!(verdict.runs, 4 * (12 + 4 * 4));
}

#[test]
fn setting_up_needs_less_stack_than_matching() {
    let image = image(Build::Plain);
    let stack = report::stack_for_setting_up(&image);
    assert!(
        (1000..6000).contains(&stack) && stack < report::STACK_MOST,
        "{stack} bytes"
    );
}

#[test]
fn what_finds_no_room_is_matched_in_software() {
    let image = image(Build::Plain);
    for (profile, room) in [
        (Profile::Mixed, "receives=8 unexpected=256"),
        (Profile::Hot, "receives=256 unexpected=8"),
    ] {
        let job = Job::stream(profile, 3, 1000).on(4, 4, Ends::Leader, room);
        let (difference, outcome) = check::interpret(&image, &job, Setup::default());
        assert_eq!(difference, None, "{profile}");
        let count = check::said(&outcome.console, "sent on to software");
        assert!(
            count.is_some_and(|count| count > 100),
            "{profile}: {count:?}"
        );
    }
}

#[test]
fn a_wrong_outcome_is_noticed() {
    let image = image(Build::Plain);
    let job = Job::workload(PaperWorkload::FastPath, 3, 128);
    let mut job = job.on(2, 4, Ends::Leader, "");
    let changed = job.expected.len() - 24 + 8;
    job.expected[changed] ^= 1;
    let (difference, _) = check::interpret(&image, &job, Setup::default());
    assert_eq!(
        difference.as_deref(),
        Some("outcome 383 is not the oracle's")
    );
}

#[test]
fn nonsense_on_the_command_line_ends_with_a_message() {
    let image = image(Build::Plain);
    for (words, says) in [
        ("ends=up", "ends=up: leader or apart"),
        ("batch=0", "batch=0 is out of range"),
        ("harts=0", "harts=0 is out of range"),
        ("handlers=257", "handlers is 257, must be 1 to 256"),
        ("handlers=x", "handlers=x is no number"),
        ("stream=none.bin", "cannot read none.bin"),
        ("fast=slow", "fast=slow: off, literal, prefix, sequence"),
        (
            "weaken=region.rs:1:1=Relaxed",
            "this build knows no such ordering",
        ),
    ] {
        let arguments = format!("firmware {words}");
        let setup = Setup {
            arguments,
            memory: 128 << 20,
            ..Setup::default()
        };
        let outcome = dpamatch_port::rv64::run(&image, &setup);
        assert_eq!(outcome.end, Ok(2), "{words}");
        assert!(
            outcome.console.contains(says),
            "{words}: {}",
            outcome.console
        );
    }
}

#[test]
fn shipped_orderings_hold_in_weak_memory_and_weakened_ones_do_not() {
    let plain = image(Build::Plain);
    for kind in RunKind::ALL {
        let tally = weak::runs(&plain, kind, None, 0..6, 1);
        assert_eq!((tally.runs, tally.wrong.len()), (6, 0), "{kind:?}");
        assert!(
            tally.delayed > 0 && tally.stale > 0,
            "memory was weak: {tally:?}"
        );
    }
    let faults = image(Build::Faults);
    let source = include_str!("../../../dpa_model/src/block.rs");
    let text = "let published = self.published.load(";
    let (line, column) = (1..)
        .zip(source.lines())
        .find_map(|(number, line)| Some((number, line.find(text)? + text.len() + 1)))
        .expect("workers look for blocks");
    let place = format!("block.rs:{line}:{column}=Relaxed");
    let tally = weak::runs(&faults, RunKind::ALL[0], Some(&place), 0..10, 1);
    assert!(!tally.wrong.is_empty(), "{tally:?}");
    let tally = weak::runs(
        &faults,
        RunKind::ALL[0],
        Some("block.rs:1:1=Relaxed"),
        0..2,
        1,
    );
    assert_eq!(
        (tally.runs, tally.wrong.len(), tally.came_by),
        (2, 0, 0),
        "nothing is there"
    );
}

#[test]
fn instructions_have_phases() {
    let image = image(Build::Marks);
    let job = Job::workload(PaperWorkload::SlowPath, 3, 128).on(4, 4, Ends::Leader, "");
    let setup = Setup {
        marks: marks(),
        ..Setup::default()
    };
    let (difference, outcome) = check::interpret(&image, &job, setup);
    assert_eq!(difference, None);
    let entered = |phase: Phase| -> u64 {
        outcome
            .counts
            .iter()
            .map(|hart| hart[phase as usize].entered)
            .sum()
    };
    assert_eq!(entered(Phase::Detect), 128, "a slice per message");
    assert!(entered(Phase::Post) >= 128, "a command per receive");
    assert_eq!(entered(Phase::Fast), 0, "it is switched off");
    assert!(
        entered(Phase::Slow) > 96,
        "three of four messages of a block go the slow path"
    );
    let other: u64 = outcome.counts.iter().map(|hart| hart[0].instructions).sum();
    let all: u64 = outcome
        .counts
        .iter()
        .flatten()
        .map(|count| count.instructions)
        .sum();
    assert!(
        other * 100 < all,
        "{other} of {all} instructions have no name"
    );
}

/// The predictor's table matches this code, within the tolerance for other compilers.
#[test]
fn the_predictors_table_is_of_this_code() {
    let image = image(Build::Marks);
    let steps = steps::steps(&image).expect("the oracle's outcomes");
    let path = dpamatch_port::build::root().join(steps::FILE);
    let written = std::fs::read_to_string(&path).expect("it is checked in");
    let drift = steps::drift(&steps, &written);
    assert!(
        drift < 0.08,
        "{drift:.3} of it are others: run `cargo xtask rv64 steps --write`"
    );
    let without_one = written.replace("SliceBegins", "# SliceBegins");
    assert!(steps::drift(&steps, &without_one) > 0.08);
}
