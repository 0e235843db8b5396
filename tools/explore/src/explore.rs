//! Explores many schedules of a stream.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use crate::meetings::{Meetings, Meets};
use crate::run::{Run, Stuck, drive};
use crate::schedule::{Every, Guided, Known, Seeded, Sums, Tree, Turns, locked};
use crate::{Ending, Setup, Shard, state, told};

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
    /// Set by [`every`]: the reports of the bounds before this one.
    pub by_bound: Vec<Report>,
    /// Schedules that were run. With [`every`], the others pass through a state whose schedules
    /// were explored before, so their counts are known.
    pub runs: u64,
    /// Executions that ended at such a state.
    pub cut: u64,
    /// Set by [`every`]: states beyond [`Effort::known_bytes`], whose schedules were run each time.
    pub forgotten: u64,
    /// Set by [`every`]: the words and cells that the handlers of a block accessed, and the atomic
    /// words among them at which a handler was preempted.
    pub words: [usize; 2],
    /// Schedules were left out: the maximum number of schedules or an interrupt came first.
    pub cut_short: bool,
}

impl Report {
    /// Adds the report of other schedules of the same stream.
    fn add(&mut self, other: Self) {
        self.schedules = self.schedules.saturating_add(other.schedules);
        self.violations = self.violations.saturating_add(other.violations);
        self.stopped = self.stopped.saturating_add(other.stopped);
        self.steps_max = self.steps_max.max(other.steps_max);
        self.runs += other.runs;
        self.cut += other.cut;
        self.forgotten += other.forgotten;
        self.cut_short |= other.cut_short;
        for (path, count) in other.paths {
            let sum = self.paths.entry(path).or_default();
            *sum = sum.saturating_add(count);
        }
        let held = self.violation.as_ref().map(|held| length(&held.run));
        if let Some(found) = other.violation
            && held.is_none_or(|held| length(&found.run) < held)
        {
            self.violation = Some(found);
        }
        self.last = other.last.or(self.last.take());
    }

    fn note(&mut self, run: Run, seed: Option<u64>, expected: &Ending) {
        self.schedules += 1;
        self.runs += 1;
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

/// How much to explore, and how.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Most schedules; then one thread runs them in order. `None`: as many as there are, of which
    /// at most [`Effort::RUNS`] are run.
    pub most: Option<u64>,
    /// Threads of the system; 0: one for each processor.
    pub threads: usize,
    /// Whether the schedules behind a state are explored only once.
    pub once_a_state: bool,
    /// Maximum memory of the known states, in bytes.
    pub known_bytes: usize,
    /// Whether a handler is preempted only before a step that may meet another handler's: it reads
    /// what another one writes, or the reverse. The schedules left out are equivalent to others,
    /// and not counted.
    pub at_meetings: bool,
    /// The part of the schedules to explore, by their beginnings.
    pub shard: Shard,
}

impl Effort {
    /// Most executions of all threads for one bound of preemptions.
    pub const RUNS: u64 = 2_000_000;

    fn nothing_known(&self) -> Arc<Known> {
        Arc::new(Known::new(self.known_bytes))
    }
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            most: None,
            threads: 0,
            once_a_state: true,
            known_bytes: Known::BYTES_MAX,
            at_meetings: true,
            shard: Shard::WHOLE,
        }
    }
}

/// Runs at most `most` schedules as [`every_with`].
pub fn every(setup: &Setup, expected: &Ending, bound: usize, most: u64) -> Report {
    let effort = Effort {
        most: Some(most),
        ..Effort::default()
    };
    every_with(setup, expected, bound, effort)
}

/// Runs the schedules with at most `bound` preemptions inside the blocks, in order of preemptions.
/// Stops after the number of preemptions of the first violation. The report holds the violation
/// with the fewest preemptions, and among these with the fewest turns of those that were run.
pub fn every_with(setup: &Setup, expected: &Ending, bound: usize, effort: Effort) -> Report {
    let mut search = Search {
        setup,
        expected,
        effort,
        known: effort.nothing_known(),
        meetings: Meetings::default(),
        meets: effort.at_meetings.then(Arc::default),
    };
    let mut by_bound: Vec<Report> = Vec::new();
    for bound in 0..=bound {
        let run: u64 = by_bound.iter().map(|report| report.schedules).sum();
        let most = effort.most.map(|most| most.saturating_sub(run));
        let found = search.bound(bound, most);
        let ends = found.cut_short || found.violations > 0;
        if found.schedules == 0 && found.cut_short && !by_bound.is_empty() {
            // The maximum was reached exactly at the end of the bound before.
            let mut report = by_bound.pop().unwrap_or_default();
            report.bounds = by_bound.iter().map(|report| report.schedules).collect();
            report.bounds.extend([report.schedules, 0]);
            report.cut_short = true;
            report.by_bound = by_bound;
            return report;
        }
        by_bound.push(found);
        if ends {
            break;
        }
    }
    let mut report = by_bound.pop().unwrap_or_default();
    report.bounds = by_bound.iter().map(|report| report.schedules).collect();
    report.bounds.push(report.schedules);
    report.by_bound = by_bound;
    report
}

/// An exploration of all schedules, bound by bound.
struct Search<'a> {
    setup: &'a Setup,
    expected: &'a Ending,
    effort: Effort,
    known: Arc<Known>,
    /// All accesses so far.
    meetings: Meetings,
    /// The words at which they meet.
    meets: Option<Arc<Meets>>,
}

/// Shards know the words from the schedules with at most this many preemptions, which all of them
/// run. Their parts fit together as long as more preemptions show no other word.
const SHARDS_KNOW: usize = 1;

impl Search<'_> {
    /// All schedules of one bound.
    fn bound(&mut self, bound: usize, most: Option<u64>) -> Report {
        let shard = self.effort.shard;
        let is_part = shard != Shard::WHOLE;
        if is_part && self.meets.is_some() && bound <= SHARDS_KNOW {
            self.bound_of(bound, None, Shard::WHOLE);
            while self.learns() && !is_stopped() {
                self.bound_of(bound, None, Shard::WHOLE);
            }
            // A schedule that breaks a rule runs again, and is reported.
            self.known = self.effort.nothing_known();
        }
        let mut found = self.bound_of(bound, most, shard);
        while self.learns() && !is_stopped() {
            if is_part {
                found.cut_short = true;
                break;
            }
            found = self.bound_of(bound, most, shard);
        }
        let words = self.meets.as_ref().map_or(0, |meets| meets.count());
        found.words = [self.meetings.accessed(), words];
        found
    }

    /// Whether handlers meet at words that were not known. What was known of states is then void.
    fn learns(&mut self) -> bool {
        let found = self.meetings.meets();
        let Some(meets) = self.meets.as_mut().filter(|meets| ***meets != found) else {
            return false;
        };
        *meets = found.into();
        self.known = self.effort.nothing_known();
        true
    }

    fn tree(&self, bound: usize) -> Tree {
        Tree {
            bound,
            busy: told::busy,
            state: state::hash,
            next: state::next,
            blocked: state::blocked,
            asleep: state::asleep,
            sleep: state::sleep,
            meets: self.meets.clone(),
            known: self.effort.once_a_state.then(|| self.known.clone()),
        }
    }

    fn bound_of(&mut self, bound: usize, most: Option<u64>, shard: Shard) -> Report {
        let tree = self.tree(bound);
        let effort = Effort {
            shard,
            ..self.effort
        };
        let known = self.known.clone();
        let (mut found, met) = of_bound(self.setup, self.expected, &tree, most, effort, &known);
        found.forgotten = known.forgotten();
        self.meetings.add(&met);
        found
    }
}

/// Executions of all threads that are left.
#[derive(Debug)]
struct Budget(AtomicU64);

impl Budget {
    fn take(&self) -> bool {
        // ordering: a limit that guards no memory.
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            });
        taken.is_ok()
    }
}

/// All schedules of one bound, and the handlers' accesses in them.
fn of_bound(
    setup: &Setup,
    expected: &Ending,
    tree: &Tree,
    most: Option<u64>,
    effort: Effort,
    known: &Arc<Known>,
) -> (Report, Meetings) {
    state::meetings();
    let met = Mutex::new(Meetings::default());
    let threads = match effort.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let least = match (most, effort.shard) {
        (Some(_), Shard::WHOLE) => 1,
        (None, Shard::WHOLE) => 16 * threads as u64,
        // The parts are of the same beginnings, on however many processors they run.
        (_, shard) => 16 * shard.of,
    };
    let beginnings = beginnings(setup, tree, least, BEGINNINGS_MAX);
    // Then beginnings may be missing.
    let was_stopped = is_stopped();
    let mine: Vec<_> = (0..)
        .zip(beginnings)
        .filter(|&(at, _)| effort.shard.has(at))
        .collect();
    let runs = most.map_or(Effort::RUNS, |_| u64::MAX);
    let budget = Arc::new(Budget(AtomicU64::new(runs)));
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        // ordering: each number is taken once, and no memory goes with it.
        while let Some((at, root)) = mine.get(next.fetch_add(1, Ordering::Relaxed)) {
            let every = Every::new(tree.clone(), root.clone(), most.unwrap_or(u64::MAX));
            found.push((*at, gather_every(setup, expected, every, known, &budget)));
            if is_stopped() {
                break;
            }
        }
        locked(&met).add(&state::meetings());
        found
    };
    let mut found: Vec<(u64, Report)> = if threads == 1 || mine.len() < 2 {
        work()
    } else {
        std::thread::scope(|scope| {
            let threads = (0..threads.min(mine.len())).map(|_| scope.spawn(work));
            let threads: Vec<_> = threads.collect();
            let found = threads.into_iter().flat_map(|thread| match thread.join() {
                Ok(found) => found,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            found.collect()
        })
    };
    let is_cut = found.len() < mine.len() || was_stopped;
    found.sort_by_key(|&(at, _)| at);
    let mut report = Report {
        cut_short: is_cut,
        ..Report::default()
    };
    found.into_iter().for_each(|(_, part)| report.add(part));
    let met = std::mem::take(&mut *locked(&met));
    (report, met)
}

/// Maximum number of subtrees. Where there are more shards, some of them have no schedules.
const BEGINNINGS_MAX: usize = 100_000;

/// The choices that lead to each subtree of the schedules. There are at least `count` subtrees,
/// unless the tree is smaller, and at most `most`. Every process finds the same ones.
fn beginnings(setup: &Setup, tree: &Tree, count: u64, most: usize) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new()];
    if count <= 1 {
        return all;
    }
    for depth in [2, 4, 8, 12, 16, 24, 32, 48] {
        let shared = Arc::new(Mutex::new(Vec::new()));
        let kept = shared.clone();
        drive(
            setup,
            Every::beginnings(tree.clone(), depth),
            move |policy, run| {
                if run.is_some() {
                    policy.ended(&Sums::default());
                }
                let mut kept = locked(&kept);
                kept.append(&mut policy.seen);
                kept.len() <= most && !is_stopped()
            },
        );
        let found = std::mem::take(&mut *locked(&shared));
        if found.len() > most {
            break;
        }
        // Deeper choices add nothing if all schedules are there.
        let is_enough = found.len() as u64 >= count || found.len() == all.len() && depth > 8;
        all = found;
        if is_enough {
            break;
        }
    }
    all
}

/// The counts of one schedule.
fn sums(run: &Run, expected: &Ending, known: &Known) -> Sums {
    let (stopped, steps_max) = match run.result {
        Err(Stuck::Stopped(steps)) => (1, steps),
        _ => (0, 0),
    };
    Sums {
        schedules: 1,
        violations: u64::from(fault(run, expected).is_some()),
        stopped,
        steps_max,
        paths: vec![(known.number(crate::paths::paths(&run.told)), 1)],
    }
}

fn gather_every(
    setup: &Setup,
    expected: &Ending,
    every: Every,
    known: &Arc<Known>,
    budget: &Arc<Budget>,
) -> Report {
    let most = every.most();
    let shared = Arc::new(Mutex::new((Report::default(), Sums::default())));
    let (kept, expected) = (shared.clone(), expected.clone());
    let (numbers, budget) = (known.clone(), budget.clone());
    drive(setup, every, move |policy, run| {
        let mut kept = locked(&kept);
        let (report, total) = &mut *kept;
        let is_full = policy.total().schedules >= most;
        if is_full && run.is_some() || !budget.take() {
            // This execution only shows that there are more.
            report.cut_short = true;
            return false;
        }
        if let Some(run) = run {
            let sums = sums(&run, &expected, &numbers);
            report.note(run, None, &expected);
            policy.ended(&sums);
        }
        (report.cut, *total) = (policy.cut, policy.total());
        if is_stopped() {
            report.cut_short = true;
        }
        !is_stopped()
    });
    let (mut report, total) = std::mem::take(&mut *locked(&shared));
    let names = known.names();
    report.schedules = total.schedules;
    report.violations = total.violations;
    report.stopped = total.stopped;
    report.steps_max = total.steps_max;
    report.paths = total
        .paths
        .into_iter()
        .map(|(number, count)| (names[number as usize].clone(), count))
        .collect();
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
        let Some(run) = run else { return true };
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
        *locked(&kept) = run;
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
mod tests;
