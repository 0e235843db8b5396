//! Running a stream under many schedules.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use dpa_model_explore as model;
use dpamatch_vocabulary::{
    CommId, Hints, Operation, Outcome, ProbeId, RecvId, Selector, SourceSel, TagSel,
};
use shuttle::{Config, MaxSteps, Runner};

use crate::schedule::Seeded;
use crate::story::{self, Step};
use crate::{Ending, Setup};

/// One schedule's result.
#[derive(Clone, Debug)]
pub struct Run {
    /// The seed that fixes the schedule.
    pub seed: u64,
    /// What the stream came to.
    pub result: Ending,
    /// What the handlers did, in order; receives by the caller's names.
    pub steps: Vec<Step>,
}

/// A schedule that broke a rule.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The seed that fixes the schedule.
    pub seed: u64,
    /// What it came to; `None` if it never ended, or broke an assertion of the handlers.
    pub run: Option<Run>,
    /// What went wrong, in words.
    pub what: String,
}

/// What many schedules showed.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Schedules run.
    pub schedules: u64,
    /// For each combination of paths, handler by handler, how many schedules took it.
    pub paths: BTreeMap<String, u64>,
    /// Schedules with a wrong result.
    pub violations: u64,
    /// The first of them.
    pub first_violation: Option<Violation>,
    /// The last schedule run that ended.
    pub last: Option<Run>,
}

/// Steps after which a schedule counts as one that never ends.
const STEPS_MAX: usize = 200_000;

/// Runs `count` schedules with the seeds from `first` on and compares each result with `expected`.
/// Stops at the first violation if asked to.
pub fn explore(
    setup: &Setup,
    expected: &Ending,
    first: u64,
    count: u64,
    stop_at_violation: bool,
) -> Report {
    let current = Arc::new(AtomicU64::new(first));
    let shared = Arc::new(Mutex::new(Report::default()));
    let mut next = first;
    let end = first.saturating_add(count);
    while next < end {
        let (setup, expected) = (setup.clone(), expected.clone());
        let (report, seed) = (shared.clone(), current.clone());
        let mut config = Config::new();
        config.max_steps = MaxSteps::FailAfter(STEPS_MAX);
        config.silence_warnings = true;
        config.failure_persistence = shuttle::FailurePersistence::None;
        let runner = Runner::new(Seeded::new(next, end - next, current.clone()), config);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            runner.run(move || {
                if stop_at_violation && locked(&report).violations > 0 {
                    return;
                }
                let run = once(&setup, seed.load(Relaxed));
                note(&mut locked(&report), run, &expected);
            })
        }));
        let Err(panic) = ended else { break };
        // The handlers' own assertions, or no end: the schedule under way is the culprit, the ones
        // after it still run.
        let seed = current.load(Relaxed);
        let mut report = locked(&shared);
        report.schedules += 1;
        report.violations += 1;
        let what = panic_text(panic.as_ref());
        let run = None;
        report.first_violation.get_or_insert(Violation { seed, run, what });
        if stop_at_violation {
            break;
        }
        next = seed + 1;
    }
    std::mem::take(&mut *locked(&shared))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or(panic.downcast_ref::<&str>().copied());
    match text {
        Some(text) if text.contains("max_steps") => {
            format!("the schedule had not ended after {STEPS_MAX} steps")
        }
        Some(text) => format!("an assertion of the handlers failed: {text}"),
        None => "an assertion of the handlers failed".to_owned(),
    }
}

fn locked(report: &Mutex<Report>) -> std::sync::MutexGuard<'_, Report> {
    // A panic in between leaves a report that is only short of one schedule.
    report.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn note(report: &mut Report, run: Run, expected: &Ending) {
    report.schedules += 1;
    *report.paths.entry(story::paths(&run.steps)).or_default() += 1;
    if run.result != *expected {
        report.violations += 1;
        if report.first_violation.is_none() {
            let what = story::difference(expected, &run.result);
            report.first_violation =
                Some(Violation { seed: run.seed, run: Some(run.clone()), what });
        }
    }
    report.last = Some(run);
}

/// One schedule: the stream from its first event to its last.
fn once(setup: &Setup, seed: u64) -> Run {
    let depth = (setup.operations.len() + 8).max(setup.handlers).next_power_of_two();
    let comms = setup.operations.iter().filter_map(Operation::comm);
    let comms = 1 + comms.map(|comm| comm.0).max().unwrap_or(0);
    let config = model::NicConfig {
        handlers: setup.handlers,
        workers: setup.handlers,
        slice_min: 1,
        receives: depth,
        bins: setup.bins,
        communicators: comms as usize,
        completion_queue: depth,
        bounce_buffers: 1,
        eager_limit: 0,
        unexpected: depth,
        unexpected_buffers: 0,
        command_queue: depth,
        completion_ring: depth,
        regions: 1,
        options: model::Options {
            fast_path: setup.fast_path,
            early_check: setup.early_check,
            removal: if setup.eager_removal { model::Removal::Eager } else { model::Removal::Lazy },
            ..model::Options::default()
        },
        ..model::NicConfig::default()
    };
    let nic = model::Nic::new(&config).expect("a configuration made here");
    let mut stage = Stage {
        leader: nic.leader,
        workers: nic.workers,
        feeder: model::Feeder::new(nic.host, nic.sender),
        names: BTreeMap::new(),
        result: Ending::default(),
    };
    let bins = setup.bins as u32;
    for comm in (0..comms).map(CommId) {
        stage.issue(&Operation::Create { comm, bins, hints: Hints::default() });
        stage.settle();
    }
    story::listen();
    // A run of arrivals between two other operations is what blocks are cut from.
    for run in setup.operations.chunk_by(|a, b| a.is_arrival() == b.is_arrival()) {
        run.iter().for_each(|operation| stage.issue(operation));
        if run[0].is_arrival() { stage.match_all(run.len()) } else { stage.settle() }
    }
    stage.end(seed, comms)
}

/// A NIC and what came of its stream so far.
struct Stage {
    leader: model::Leader,
    workers: Vec<model::Worker>,
    feeder: model::Feeder,
    /// Every request's name.
    names: BTreeMap<u64, u64>,
    result: Ending,
}

impl Stage {
    fn issue(&mut self, operation: &Operation) {
        // Envelopes decide all that is looked at here.
        let issued = self.feeder.try_issue(&operation.map_bytes(|_| 0));
        assert_eq!(issued, Ok(true), "the queues hold every operation");
        if let Operation::Post { recv, .. } = *operation
            && let Some(request) = self.feeder.request(recv)
        {
            self.names.insert(request.as_u64(), recv.0);
        }
    }

    /// Lets the boundary run alone: no message waits.
    fn settle(&mut self) {
        while self.leader.round(1) == model::Round::Worked {}
        self.collect();
    }

    /// Runs blocks until `arrivals` more messages are through, each handler on its own thread of
    /// the schedule.
    fn match_all(&mut self, arrivals: usize) {
        let blocks = arrivals.div_ceil(self.workers.len() + 1);
        let workers = std::mem::take(&mut self.workers);
        let awake = workers.len() + 1;
        let stop = Arc::new(shuttle::sync::atomic::AtomicBool::new(false));
        let serve = |mut worker: model::Worker| {
            let stop = stop.clone();
            shuttle::thread::spawn(move || {
                while !stop.load(Relaxed) {
                    if !worker.round() {
                        shuttle::thread::yield_now();
                    }
                }
                worker
            })
        };
        let threads: Vec<_> = workers.into_iter().map(serve).collect();
        for _ in 0..blocks {
            self.leader.round(awake);
        }
        stop.store(true, Relaxed);
        self.workers = threads
            .into_iter()
            .map(|thread| thread.join().expect("no worker panics alone"))
            .collect();
        self.collect();
    }

    /// Returns the message that a matched probe took, if there was one.
    fn collect(&mut self) -> Option<u64> {
        let mut taken = None;
        while let Some(event) = self.feeder.host.poll() {
            match self.feeder.note(event) {
                Ok(Some(Outcome::Matched { recv, msg })) => {
                    self.result.matches.push((recv.0, msg.0));
                }
                Ok(Some(Outcome::Mprobed { msg: Some(msg), .. })) => taken = Some(msg.0),
                Ok(_) => {}
                Err(model::FeedError::MatchedTwice(recv, msg)) => {
                    let receive = recv.map_or(u64::MAX, |recv| recv.0);
                    self.result.matches.push((receive, msg.map_or(u64::MAX, |msg| msg.0)));
                }
                Err(error) => panic!("{error}"),
            }
        }
        taken
    }

    /// What is left, as the NIC itself tells, and the story in the caller's names.
    fn end(mut self, seed: u64, comms: u32) -> Run {
        let steps = story::steps(&self.names);
        self.result.unexpected = self.unexpected(comms);
        self.result.posted = self.feeder.posted().into_iter().map(|RecvId(name)| name).collect();
        self.result.matches.sort_unstable();
        self.result.posted.sort_unstable();
        Run { seed, result: self.result, steps }
    }

    /// Takes the unexpected messages out of the NIC one by one, communicator by communicator.
    fn unexpected(&mut self, comms: u32) -> Vec<u64> {
        let selector = Selector::new(SourceSel::Any, TagSel::Any);
        let mut left = Vec::new();
        for comm in (0..comms).map(CommId) {
            loop {
                let probe = ProbeId::default();
                self.issue(&Operation::Probe { probe, comm, selector, take: true });
                self.leader.round(1);
                let Some(message) = self.collect() else { break };
                left.push(message);
                // Its data.
                self.settle();
            }
        }
        // What the NIC lost.
        left.extend(self.feeder.unexpected().map(|_| u64::MAX));
        left
    }
}

#[cfg(test)]
mod tests {
    use dpamatch_vocabulary::{Envelope, MsgId, Rank, Tag};

    use super::*;

    #[test]
    fn a_result_is_told_in_the_callers_names() {
        let tag = |tag| Tag::new(tag).expect("a tag");
        let post = |recv, comm, number| Operation::Post {
            recv: RecvId(recv),
            comm: CommId(comm),
            selector: Selector::new(SourceSel::Any, tag(number)),
            bytes: 7000,
        };
        let arrive = |msg, comm, number| Operation::Arrive {
            msg: MsgId(msg),
            envelope: Envelope { comm: CommId(comm), source: Rank::default(), tag: tag(number) },
            bytes: 7000,
        };
        let cancel = |recv| Operation::Cancel { recv: RecvId(recv) };
        let setup = Setup {
            operations: vec![
                post(10, 0, 1),
                post(11, 1, 1),
                cancel(11),
                cancel(11),
                arrive(20, 0, 1),
                arrive(21, 1, 1),
                arrive(22, 1, 1),
                arrive(23, 0, 9),
                post(12, 1, 1),
                post(13, 0, 5),
            ],
            handlers: 2,
            bins: 1,
            fast_path: model::FastPath::default(),
            early_check: false,
            eager_removal: false,
        };
        let right = Ending {
            matches: vec![(10, 20), (12, 21)],
            posted: vec![13],
            unexpected: vec![23, 22],
        };
        let report = explore(&setup, &right, 0, 20, false);
        assert_eq!((report.schedules, report.violations), (20, 0), "{:?}", report.first_violation);
        let wrong = Ending { posted: vec![], ..right };
        assert_eq!(explore(&setup, &wrong, 0, 20, false).violations, 20);
    }
}
