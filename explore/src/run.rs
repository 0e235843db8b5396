//! Running a stream under many schedules.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use dpa_model_explore as model;
use dpamatch_vocabulary::Envelope;
use shuttle::{Config, MaxSteps, Runner};

use crate::schedule::Seeded;
use crate::story::{self, Step};
use crate::{Ending, Event, Setup};

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
    let depth = (setup.events.len() + 8).max(setup.handlers).next_power_of_two();
    let comms = 1 + setup.events.iter().map(comm).max().unwrap_or(0);
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
        nic,
        names: BTreeMap::new(),
        all_names: BTreeMap::new(),
        arrivals: 0,
        comms,
        messages: BTreeMap::new(),
        result: Ending::default(),
    };
    for comm in 0..comms {
        stage.create(comm, setup.bins);
    }
    story::listen();
    // A run of arrivals between two other events is what blocks are cut from.
    for run in setup.events.chunk_by(|a, b| is_arrival(a) == is_arrival(b)) {
        run.iter().for_each(|event| stage.issue(event));
        if is_arrival(&run[0]) { stage.match_all(run.len()) } else { stage.settle() }
    }
    stage.end(seed)
}

fn is_arrival(event: &Event) -> bool {
    matches!(event, Event::Arrive { .. })
}

fn comm(event: &Event) -> u32 {
    match *event {
        Event::Post { comm, .. } | Event::Arrive { envelope: Envelope { comm, .. }, .. } => comm.0,
        Event::Cancel { .. } => 0,
    }
}

/// A NIC and what is known of its stream.
struct Stage {
    nic: model::Nic,
    /// Receives without a result: request and the caller's name.
    names: BTreeMap<u64, (model::RequestId, u64)>,
    /// Every request's name.
    all_names: BTreeMap<u64, u64>,
    arrivals: u64,
    comms: u32,
    /// Messages without a receive, by arrival number.
    messages: BTreeMap<u64, u64>,
    result: Ending,
}

impl Stage {
    fn create(&mut self, comm: u32, bins: usize) {
        let created =
            self.nic.host.create(model::CommId(comm), bins as u32, model::Hints::default(), 0);
        created.expect("the command queue holds every event");
        self.settle();
    }

    fn issue(&mut self, event: &Event) {
        match *event {
            Event::Post { receive, comm, selector } => {
                let request = self.nic.host.post(comm, selector, Vec::new(), 0);
                let request = request.expect("the command queue holds every event");
                self.names.insert(request.as_u64(), (request, receive));
                self.all_names.insert(request.as_u64(), receive);
            }
            Event::Arrive { message, envelope } => {
                self.nic
                    .sender
                    .try_send(envelope, &[], 0)
                    .expect("the completion queue holds every event");
                self.messages.insert(self.arrivals, message);
                self.arrivals += 1;
            }
            Event::Cancel { receive } => {
                let request = self
                    .names
                    .values()
                    .find(|(_, name)| *name == receive)
                    .map(|&(request, _)| request);
                let cancelled = self.nic.host.cancel(request.unwrap_or(model::RequestId::NONE), 0);
                cancelled.expect("the command queue holds every event");
            }
        }
    }

    /// Lets the boundary run alone: no message waits.
    fn settle(&mut self) {
        while self.nic.leader.round(1) == model::Round::Worked {}
        self.collect();
    }

    /// Runs blocks until `arrivals` more messages are through, each handler on its own thread of
    /// the schedule.
    fn match_all(&mut self, arrivals: usize) {
        let blocks = arrivals.div_ceil(self.nic.workers.len() + 1);
        let workers = std::mem::take(&mut self.nic.workers);
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
            self.nic.leader.round(awake);
        }
        stop.store(true, Relaxed);
        self.nic.workers = threads
            .into_iter()
            .map(|thread| thread.join().expect("no worker panics alone"))
            .collect();
        self.collect();
    }

    fn collect(&mut self) {
        while let Some(event) = self.nic.host.poll() {
            match event {
                model::Event::Received { request, message, .. } => {
                    let receive =
                        self.names.remove(&request.as_u64()).map_or(u64::MAX, |(_, name)| name);
                    let message = self.messages.remove(&message.arrival).unwrap_or(u64::MAX);
                    self.result.matches.push((receive, message));
                }
                model::Event::Cancelled { request, .. } => {
                    self.names.remove(&request.as_u64());
                }
                _ => {}
            }
        }
    }

    /// What is left, as the NIC itself tells, and the story in the caller's names.
    fn end(mut self, seed: u64) -> Run {
        let steps = story::steps(&self.all_names);
        let comms = self.nic_unexpected();
        self.result.unexpected = comms;
        self.result.posted = self.names.values().map(|&(_, name)| name).collect();
        self.result.matches.sort_unstable();
        self.result.posted.sort_unstable();
        Run { seed, result: self.result, steps }
    }

    /// Takes the unexpected messages out of the NIC one by one, communicator by communicator.
    fn nic_unexpected(&mut self) -> Vec<u64> {
        let mut left = Vec::new();
        let anything = model::Selector { source: model::SourceSel::Any, tag: model::TagSel::Any };
        for comm in (0..self.comms).map(model::CommId) {
            loop {
                self.nic.host.probe(comm, anything, true, 0).expect("the command queue is empty");
                self.nic.leader.round(1);
                let found =
                    std::iter::from_fn(|| self.nic.host.poll()).find_map(|event| match event {
                        model::Event::Probed { found, .. } => found,
                        _ => None,
                    });
                let Some(message) = found else { break };
                left.push(self.messages.remove(&message.arrival).unwrap_or(u64::MAX));
            }
        }
        // What the NIC lost.
        left.extend(std::mem::take(&mut self.messages).into_values().map(|_| u64::MAX));
        left
    }
}
