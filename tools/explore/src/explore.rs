//! Explores many schedules of a stream.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use crate::run::{Run, Stuck, drive};
use crate::schedule::{Every, Guided, Seeded, Turns, locked};
use crate::{Ending, Setup, told};

#[derive(Clone, Debug)]
pub struct Violation {
    pub run: Run,
    pub seed: Option<u64>,
    pub what: String,
}

#[derive(Clone, Debug, Default)]
pub struct Report {
    pub schedules: u64,
    /// Number of schedules by their combination of paths, handler by handler.
    pub paths: BTreeMap<String, u64>,
    pub violations: u64,
    /// Schedules that were still running after [`Report::steps_max`] steps. Nothing is known of
    /// their results, so they are no violations.
    pub stopped: u64,
    /// Steps after which a schedule is stopped; 0 if none was.
    pub steps_max: usize,
    /// The first violation; among schedules with equally many preemptions, the shortest.
    pub violation: Option<Violation>,
    /// The last schedule with the right result.
    pub last: Option<Run>,
    /// Set by [`every`]: number of schedules with at most 0, 1, 2, ... preemptions.
    pub bounds: Vec<u64>,
    /// Schedules were left out: the maximum number of schedules or an interrupt came first.
    pub cut_short: bool,
}

impl Report {
    fn note(&mut self, run: Run, seed: Option<u64>, expected: &Ending) {
        self.schedules += 1;
        *self
            .paths
            .entry(crate::paths::paths(&run.told))
            .or_default() += 1;
        if let Err(Stuck::Stopped(steps)) = run.result {
            self.stopped += 1;
            self.steps_max = steps;
            return;
        }
        let Some(what) = fault(&run, expected) else {
            self.last = Some(run);
            return;
        };
        self.violations += 1;
        if self
            .violation
            .as_ref()
            .is_none_or(|held| length(&run) < length(&held.run))
        {
            self.violation = Some(Violation { run, seed, what });
        }
    }
}

fn length(run: &Run) -> (usize, usize) {
    (run.turns.len(), run.told.len())
}

/// What is wrong with a run's result. A schedule that was stopped has none.
pub fn fault(run: &Run, expected: &Ending) -> Option<String> {
    match &run.result {
        Err(Stuck::Failed(why)) => Some(why.clone()),
        Err(Stuck::Stopped(_)) => None,
        Ok(result) if result == expected => None,
        Ok(result) => Some(crate::paths::difference(expected, result)),
    }
}

static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Lets [`explore`] and [`every`] end after a schedule once this flag is set.
pub fn stop_by(flag: Arc<AtomicBool>) {
    let _ = STOP.set(flag);
}

fn is_stopped() -> bool {
    // ordering: the flag guards no other memory.
    STOP.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Runs `count` schedules with seeds from `first` on and compares each result with `expected`.
/// Stops at the first violation on request.
pub fn explore(
    setup: &Setup,
    expected: &Ending,
    first: u64,
    count: u64,
    stop_at_violation: bool,
) -> Report {
    gather(
        setup,
        expected,
        Seeded::new(first, count),
        u64::MAX,
        |policy| Some(policy.seed()),
        move |report| !(stop_at_violation && report.violations > 0),
    )
}

/// Runs at most `most` schedules with at most `bound` preemptions inside the blocks, in order of
/// preemptions. Stops after the number of preemptions of the first violation. The report holds the
/// violation with the fewest preemptions, and among these with the fewest turns.
pub fn every(setup: &Setup, expected: &Ending, bound: usize, most: u64) -> Report {
    let mut report = Report::default();
    for bound in 0..=bound {
        let run: u64 = report.bounds.iter().sum();
        let left = most.saturating_sub(run);
        let mut found = gather(
            setup,
            expected,
            Every::new(bound, told::busy),
            left,
            |_| None,
            |_| true,
        );
        found.bounds = std::mem::take(&mut report.bounds);
        found.bounds.push(found.schedules);
        if found.schedules == 0 {
            // The maximum was reached exactly at the end of the bound before.
            report.bounds = found.bounds;
            report.cut_short = true;
            break;
        }
        report = found;
        if report.cut_short || report.violations > 0 {
            break;
        }
    }
    report
}

fn gather<P: crate::schedule::Policy + 'static>(
    setup: &Setup,
    expected: &Ending,
    policy: P,
    most: u64,
    seed: impl Fn(&P) -> Option<u64> + Send + 'static,
    goes_on: impl Fn(&Report) -> bool + Send + 'static,
) -> Report {
    let shared = Arc::new(Mutex::new(Report::default()));
    let (report, expected) = (shared.clone(), expected.clone());
    drive(setup, policy, move |policy, run| {
        let mut report = locked(&report);
        if report.schedules >= most {
            // This schedule only shows that there are more.
            report.cut_short = true;
            return false;
        }
        report.note(run, seed(policy), &expected);
        if is_stopped() {
            report.cut_short = true;
        }
        goes_on(&report) && !is_stopped()
    });
    std::mem::take(&mut *locked(&shared))
}

/// Runs the stream under one schedule, see [`Turns`].
///
/// # Examples
/// A test printed by `dpamatch explore --test`, with a schedule of three turns:
/// ```
/// use dpamatch_explore::*;
/// let setup = Setup {
///     operations: vec![post(0, 0, 0, 7), post(1, 0, None, 7), arrive(0, 0, 3, 7)],
///     handlers: 2,
///     bins: 4,
///     fast_path: FastPath::Sequence,
///     early_check: false,
///     removal: Removal::Lazy,
///     domains: Domains::Paper,
///     barrier: Barrier::Lanes,
/// };
/// let run = replay(&setup, &"0x9 1x4 0x2".parse()?);
/// let expected = Ending { matches: vec![(1, 0)], posted: vec![0], unexpected: vec![] };
/// assert_eq!(run.result, Ok(expected));
/// # Ok::<(), dpamatch_explore::BadTurns>(())
/// ```
pub fn replay(setup: &Setup, turns: &Turns) -> Run {
    let shared = Arc::new(Mutex::new(None));
    let kept = shared.clone();
    drive(setup, Guided::new(turns), move |_, run| {
        *locked(&kept) = Some(run);
        true
    });
    let mut run: Run = locked(&shared).take().expect("a schedule was run");
    run.turns = turns.clone();
    run
}

/// Removes turns from a failing schedule for as long as it still fails. Removing any further turn
/// makes the failure disappear.
pub fn shorten(setup: &Setup, expected: &Ending, violation: &Violation) -> Violation {
    let broken = |turns: &Turns| {
        let run = replay(setup, turns);
        fault(&run, expected).map(|what| Violation {
            run,
            seed: None,
            what,
        })
    };
    let mut best = violation.clone();
    let mut size = best.run.turns.len().div_ceil(2);
    while size > 0 {
        let mut from = 0;
        let mut shorter = false;
        while from < best.run.turns.len() {
            let end = (from + size).min(best.run.turns.len());
            match broken(&best.run.turns.without(from..end)) {
                Some(found) => (best, shorter) = (found, true),
                None => from += size,
            }
        }
        // Removing other turns may have made a needed turn removable.
        size = if shorter {
            size.min(best.run.turns.len())
        } else {
            size / 2
        };
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(turns: u32, result: Result<Ending, Stuck>) -> Run {
        Run {
            turns: Turns((0..turns).map(|turn| (0, turn)).collect()),
            result,
            told: Vec::new(),
            bins: Default::default(),
            names: BTreeMap::new(),
        }
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
}
