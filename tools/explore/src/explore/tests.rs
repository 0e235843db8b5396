use super::*;
use crate::{Barrier, Domains, FastPath, Removal, arrive, post};

fn run(turns: u32, result: Result<Ending, Stuck>) -> Run {
    Run {
        turns: Turns((0..turns).map(|turn| (0, turn)).collect()),
        result,
        told: Vec::new(),
        bins: Default::default(),
        names: BTreeMap::new(),
    }
}

/// Parts of too many beginnings would lose schedules.
#[test]
fn beginnings_are_never_more_and_never_a_part() {
    let operations = [
        post(0, 0, 0, 7),
        post(1, 0, None, 7),
        arrive(0, 0, 0, 7),
        arrive(1, 0, 0, 7),
    ];
    let setup = Setup {
        operations: operations.into(),
        handlers: 2,
        bins: 1,
        fast_path: FastPath::Sequence,
        early_check: false,
        removal: Removal::Lazy,
        domains: Domains::Paper,
        barrier: Barrier::Lanes,
    };
    let expected = Ending::default();
    let effort = Effort {
        at_meetings: false,
        ..Effort::default()
    };
    let search = Search {
        setup: &setup,
        expected: &expected,
        effort,
        known: effort.nothing_known(),
        meetings: Meetings::default(),
        meets: None,
    };
    let count = |count, most| beginnings(&setup, &search.tree(1), count, most).len();
    let all = count(u64::MAX, 1000);
    assert!(all > 20, "{all}");
    let few = count(6, 1000);
    assert!((6..all).contains(&few), "{few}");
    assert_eq!((count(u64::MAX, all), count(6, few)), (all, few));
    assert!(count(u64::MAX, all - 1) < all && count(6, few - 1) < few);
    assert_eq!(count(6, 1), 1);
}

/// A report counts schedules of each kind, and keeps the shortest with a fault.
#[test]
fn each_kind_of_schedule_is_counted() {
    let (right, mut report) = (Ending::default(), Report::default());
    let failed = |why: &str| Err(Stuck::Failed(why.to_owned()));
    let wrong = Ending {
        matches: vec![(1, 2)],
        ..Ending::default()
    };
    for (turns, result) in [
        (5, Ok(right.clone())),
        (9, Err(Stuck::Stopped(70))),
        (7, failed("long")),
        (3, failed("short")),
        (3, failed("as short, and later")),
        (4, failed("longer")),
        (6, Ok(wrong)),
        (2, Err(Stuck::Stopped(70))),
    ] {
        report.note(run(turns, result), Some(turns.into()), &right);
    }
    let counts = [report.schedules, report.stopped, report.violations];
    assert_eq!((counts, report.steps_max), ([8, 2, 5], 70));
    assert_eq!(report.paths.values().sum::<u64>(), 8);
    let kept = report.violation.expect("a fault");
    assert_eq!(
        (kept.seed, kept.what.as_str(), kept.run.turns.len()),
        (Some(3), "short", 3)
    );
    assert_eq!(report.last.map(|run| run.turns.len()), Some(5));
}
