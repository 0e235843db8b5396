//! The memory of explorations.

use dpamatch_explore::{
    Barrier, Domains, Effort, Ending, FastPath, Removal, Report, Setup, arrive, break_rule,
    every_with, keep_rules, post,
};

use super::{HELD_HERE, MOST_HELD_HERE};

/// Explores equal messages with receives of two kinds, with at most two preemptions. Returns also
/// the most bytes held at a time.
fn explored(effort: Effort) -> (isize, Report) {
    let sources = [Some(0), None, Some(0)];
    let posts = (0..)
        .zip(sources)
        .map(|(recv, source)| post(recv, 0, source, 7));
    let setup = Setup {
        operations: posts
            .chain((0..3).map(|msg| arrive(msg, 0, 0, 7)))
            .collect(),
        handlers: 3,
        bins: 1,
        fast_path: FastPath::Sequence,
        early_check: false,
        removal: Removal::Lazy,
        domains: Domains::Keyed,
        barrier: Barrier::Lanes,
    };
    let expected = Ending {
        matches: (0..3).map(|name| (name, name)).collect(),
        ..Ending::default()
    };
    let before = HELD_HERE.get();
    MOST_HELD_HERE.set(before);
    let effort = Effort {
        threads: 1,
        ..effort
    };
    let report = every_with(&setup, &expected, 2, effort);
    (MOST_HELD_HERE.get() - before, report)
}

/// A schedule that ends early leaves nothing behind, as one that runs to its end. What is known of
/// states has the bytes that were asked for.
pub(crate) fn schedules_hold_no_memory() {
    let at_most = |schedules| Effort {
        most: Some(schedules),
        once_a_state: false,
        ..Effort::default()
    };
    // The first run pays for what is made once. The same schedules come last each time, since a
    // thread keeps its last one.
    explored(at_most(10));
    let held = || {
        explored(at_most(10));
        HELD_HERE.get()
    };
    let before = held();
    let [(less, _), (more, _)] = [500, 2000].map(|schedules| explored(at_most(schedules)));
    assert!(more <= less + 1000, "bytes held {less}, then {more}");
    assert_eq!(held(), before, "some ended where all workers slept");
    let (all, report) = explored(Effort::default());
    assert!(report.cut > 200 && report.forgotten == 0, "{}", report.cut);
    let counts = |report: Report| (report.bounds, report.paths, report.violations);
    let expected = counts(report);
    let [nothing, few, many] = [0, 100_000, 400_000].map(|known_bytes| {
        let effort = Effort {
            known_bytes,
            ..Effort::default()
        };
        let (most, report) = explored(effort);
        assert!(report.forgotten > 0 && most < all);
        assert_eq!(counts(report), expected);
        most
    });
    assert!(few <= nothing + 100_000 && many <= nothing + 400_000);
    assert!((200_000..=300_000).contains(&(many - few)));
    drop(expected);
    assert_eq!(held(), before, "some ended at a known state");
    assert!(break_rule("search-takes-consumed"));
    let (_, report) = explored(Effort::default());
    assert!(report.violations > 10, "{}", report.violations);
    drop(report);
    keep_rules();
    assert_eq!(held(), before, "some failed");
    println!("schedules times 4: most bytes held {less}, then {more}");
    println!("known states of 100,000 bytes: {few} held; of 400,000: {many}; of none: {nothing}");
}
