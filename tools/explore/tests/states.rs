//! States that are explored once: equal counts and verdicts, with fewer runs.

use std::collections::BTreeMap;

use dpamatch_explore::{
    Barrier, Domains, Effort, Ending, FastPath, Removal, Report, Setup, Shard, arrive, break_rule,
    every_with, faults, keep_rules, post,
};
use dpamatch_vocabulary::Operation;

fn setup(operations: Vec<Operation>, handlers: usize) -> Setup {
    Setup {
        operations,
        handlers,
        bins: 1,
        fast_path: FastPath::Sequence,
        early_check: false,
        removal: Removal::Lazy,
        domains: Domains::Paper,
        barrier: Barrier::Lanes,
    }
}

/// As many equal messages as handlers, and receives of two kinds.
fn conflict(handlers: usize) -> (Setup, Ending) {
    let mut operations = vec![post(0, 0, 0, 7), post(1, 0, None, 7), post(2, 0, 0, 7)];
    operations.extend((0..handlers as u64).map(|message| arrive(message, 0, 0, 7)));
    let count = handlers.min(3) as u64;
    let expected = Ending {
        matches: (0..count).map(|at| (at, at)).collect(),
        posted: (count..3).collect(),
        unexpected: (count..handlers as u64).collect(),
    };
    (setup(operations, handlers), expected)
}

/// By number of preemptions: whether a schedule breaks a rule, and the ways that handlers take.
fn verdicts(report: &Report) -> Vec<(bool, bool, Vec<String>)> {
    let all = report.by_bound.iter().chain([report]);
    all.map(|it| {
        let paths = it.paths.keys().cloned().collect();
        (it.violations > 0, it.stopped > 0, paths)
    })
    .collect()
}

fn counts(report: &Report) -> impl PartialEq + std::fmt::Debug + use<> {
    let one = |report: &Report| {
        let Report {
            schedules,
            violations,
            stopped,
            cut_short,
            ..
        } = *report;
        (
            schedules,
            violations,
            stopped,
            cut_short,
            report.paths.clone(),
        )
    };
    let all = report.by_bound.iter().map(one).collect::<Vec<_>>();
    (one(report), all, report.bounds.clone())
}

/// With one schedule of each kind only, or with all that are equivalent.
fn run(
    setup: &Setup,
    expected: &Ending,
    bound: usize,
    once_a_state: bool,
    at_meetings: bool,
) -> Report {
    let effort = Effort {
        once_a_state,
        at_meetings,
        // The number of runs depends on it.
        threads: 2,
        ..Effort::default()
    };
    every_with(setup, expected, bound, effort)
}

/// All in one test, since a missing rule is missing for the whole process.
#[test]
fn every_fault_has_the_verdict_of_all_schedules() {
    let mut caught = 0;
    let mut same = |rule: Option<&str>, (stream, expected): (Setup, Ending), bound: usize| {
        for domains in [Domains::Paper, Domains::Keyed] {
            let stream = Setup {
                domains,
                ..stream.clone()
            };
            let all = run(&stream, &expected, bound, false, false);
            let kinds = run(&stream, &expected, bound, false, true);
            for (without, at_meetings) in [(&all, false), (&kinds, true)] {
                let once = run(&stream, &expected, bound, true, at_meetings);
                assert_eq!(counts(&once), counts(without), "{rule:?}, {domains:?}");
                assert_eq!(once.violation.is_some(), without.violation.is_some());
                assert!(once.runs <= without.runs && without.runs == without.schedules);
            }
            assert_eq!(verdicts(&kinds), verdicts(&all), "{rule:?}, {domains:?}");
            assert!(kinds.schedules <= all.schedules);
            caught += u32::from(all.violations > 0);
        }
    };
    for (rule, _) in faults() {
        assert!(break_rule(&rule));
        same(Some(&rule), conflict(2), 1);
        if rule.starts_with("slow-") || rule.starts_with("forcing-") || rule.starts_with("fast-") {
            same(Some(&rule), conflict(3), 1);
        }
        keep_rules();
    }
    same(None, conflict(2), 3);
    same(None, conflict(3), 1);
    assert!(caught > 8, "{caught} faults were caught");
    let (stream, expected) = conflict(3);
    let deep = run(&stream, &expected, 2, true, true);
    assert_eq!((deep.violations, deep.cut_short), (0, false));
    // A worker that pauses once more or less is noticed only here.
    assert_eq!(
        counts(&deep),
        counts(&run(&stream, &expected, 2, false, true))
    );
    // One schedule of each kind, in about a fifth of the schedules.
    let all = run(&stream, &expected, 2, true, false);
    assert_eq!(verdicts(&deep), verdicts(&all));
    let counted = [all.schedules, deep.schedules];
    assert_eq!((counted, deep.words), ([14158, 2610], [42, 13]));
    assert!(deep.runs < deep.schedules && deep.runs < all.runs / 3);
    // The parts of the schedules are all schedules, on any number of processors.
    for (of, threads) in [(1, 3), (3, 200), (5, 2)] {
        let mut sum = BTreeMap::new();
        for index in 1..=of {
            let effort = Effort {
                shard: Shard { index, of },
                threads: if index == 2 { threads } else { 1 },
                ..Effort::default()
            };
            let part = every_with(&stream, &expected, 2, effort);
            assert!(part.schedules > 0 && !part.cut_short);
            for (bound, part) in part.by_bound.iter().chain([&part]).enumerate() {
                for (path, count) in &part.paths {
                    *sum.entry((bound, path.clone())).or_insert(0) += count;
                }
            }
        }
        let all = deep.by_bound.iter().chain([&deep]).enumerate();
        let all = all.flat_map(|(bound, report)| {
            let paths = report.paths.clone().into_iter();
            paths.map(move |(path, count)| ((bound, path), count))
        });
        assert_eq!(sum, all.collect(), "{of} parts");
    }
}
