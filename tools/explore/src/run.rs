//! Runs a stream under one schedule after another.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, Once};

use dpa_model_explore as model;
use dpamatch_story::{Cast, Story};
use dpamatch_vocabulary::{
    CommId, Hints, Operation, Outcome, ProbeId, RecvId, Selector, SourceSel, TagSel,
};
use shuttle::{Config, MaxSteps, Runner};

use crate::schedule::{Chooser, Chosen, Policy, Turns};
use crate::state;
use crate::told::{self, Recording};
use crate::{Ending, Setup};

#[derive(Clone, Debug)]
pub struct Run {
    pub turns: Turns,
    pub result: Result<Ending, Stuck>,
    /// The handlers' steps, in order.
    pub told: Vec<dpamatch_story::TimedStep>,
    pub bins: model::BinUse,
    /// The caller's name of each request.
    pub(crate) names: BTreeMap<u64, u64>,
}

/// Why a schedule has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stuck {
    /// An assertion of the handlers failed: the sentence that says which.
    Failed(String),
    /// The schedule was still running after this many steps, so nothing is known of its result.
    Stopped(usize),
}

impl Run {
    /// The run step by step, with the state after each.
    pub fn story(&self, setup: &Setup) -> Story {
        let requests: BTreeMap<u64, u64> = self
            .names
            .iter()
            .map(|(&request, &name)| (name, request))
            .collect();
        Story::new(
            &Cast::new(&setup.operations, |name| requests.get(&name).copied()),
            &self.told,
        )
    }
}

/// Steps after which a schedule counts as endless; each operation adds `STEPS_OF_ONE`.
const STEPS_MAX: usize = 200_000;
const STEPS_OF_ONE: usize = 1000;

/// Runs the stream for each schedule of the policy until `each` declines. `each` gets the policy as
/// it was for the run, and no run if the policy ended the execution.
pub(crate) fn drive<P: Policy + 'static>(
    setup: &Setup,
    policy: P,
    mut each: impl FnMut(&mut P, Option<Run>) -> bool + Send + 'static,
) {
    let mut begun = false;
    let after = move |policy: &mut P, turns| match told::end() {
        None => !std::mem::replace(&mut begun, true) || each(policy, None),
        Some(Recording {
            outcome,
            told,
            names,
        }) => {
            let (result, bins) = match outcome {
                Ok((result, bins)) => (Ok(result), bins),
                Err(stuck) => (Err(stuck), model::BinUse::default()),
            };
            begun = true;
            let run = Run {
                turns,
                result,
                told,
                bins,
                names,
            };
            each(policy, Some(run))
        }
    };
    let shared = Arc::new(Mutex::new(Chosen::new(policy, Box::new(after))));
    let setup = Arc::new(setup.clone());
    let steps = STEPS_MAX + STEPS_OF_ONE * setup.operations.len();
    let mut ended = false;
    while !ended {
        let setup = setup.clone();
        let mut config = Config::new();
        // The scheduler's bound comes first, and leaves the threads time to end.
        config.max_steps = MaxSteps::FailAfter(2 * steps);
        config.silence_warnings = true;
        config.failure_persistence = shuttle::FailurePersistence::None;
        let runner = Runner::new(Chooser::new(shared.clone(), setup.handlers, steps), config);
        let run = || {
            runner.run(move || {
                if let Some(outcome) = guarded(|| once(&setup)) {
                    told::finish(Ok(outcome));
                }
            })
        };
        let result = quietly(|| catch_unwind(AssertUnwindSafe(run)));
        ended = result.is_ok();
        if let Err(panic) = result {
            // shuttle gave up; the schedules after this one still run.
            told::finish(Err(stuck(panic.as_ref())));
        }
    }
}

/// The payload of a panic that ends a thread, because its execution is over.
struct Over;

/// Ends this thread of an execution that is over. shuttle never frees what the threads of a stopped
/// execution hold, so each thread unwinds its own stack.
pub(crate) fn leave() -> ! {
    resume_unwind(Box::new(Over))
}

/// Runs `act` on a thread of a schedule. `None`: the execution is over, because an assertion failed
/// here or before, or because the policy has cut it.
fn guarded<R>(act: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(result) => Some(result),
        Err(panic) if panic.is::<Over>() => None,
        // shuttle ends the threads of a finished schedule by its own panics.
        Err(panic) if !panic.is::<String>() && !panic.is::<&str>() => resume_unwind(panic),
        Err(panic) => {
            told::finish(Err(stuck(panic.as_ref())));
            None
        }
    }
}

/// Why a schedule panicked: an assertion, unless memory ran out.
fn stuck(panic: &(dyn std::any::Any + Send)) -> Stuck {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or(panic.downcast_ref::<&str>().copied());
    if text.is_some_and(is_out_of_memory) {
        // It says nothing about the rules, and more schedules need more memory. Rust's allocator
        // ends the program, too.
        eprintln!("dpamatch: no verdict: memory ran out after some of the schedules");
        std::process::exit(4);
    }
    match text {
        Some(text) => Stuck::Failed(format!(
            "an assertion of the handlers failed: {}",
            message(text)
        )),
        None => Stuck::Failed("an assertion of the handlers failed".to_owned()),
    }
}

/// Whether the message is that of a thread's stack for which there was no memory.
fn is_out_of_memory(text: &str) -> bool {
    text.contains("kind: OutOfMemory")
}

/// An assertion's message, without the two compared sides and the trailing ID.
fn message(text: &str) -> &str {
    let first = text.lines().next().unwrap_or(text);
    let said = first
        .strip_prefix("assertion `left == right` failed: ")
        .unwrap_or(first);
    said.rsplit_once(" (").map_or(said, |(said, _)| said)
}

thread_local! {
    /// Whether a panic of this thread is a result, and so must not be printed.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `act`, whose panics are results. Panics of other threads are printed as usual.
fn quietly<R>(act: impl FnOnce() -> R) -> R {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        // shuttle's first run installs its own hook, which must be below ours.
        shuttle::check_dfs(|| {}, Some(1));
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !EXPECTED.get() {
                others(panic);
            }
        }));
    });
    let before = EXPECTED.replace(true);
    let result = act();
    EXPECTED.set(before);
    result
}

/// One schedule: the stream from its first event to its last.
fn once(setup: &Setup) -> (Ending, model::BinUse) {
    state::begin(setup.handlers);
    let depth = (setup.operations.len() + 8)
        .max(setup.handlers)
        .next_power_of_two();
    let comms = setup.operations.iter().filter_map(Operation::comm);
    let comms = 1 + comms.map(|comm| comm.0).max().unwrap_or(0);
    let config = model::NicConfig {
        handlers: setup.handlers,
        workers: setup.handlers,
        slice_min: 1,
        receives: depth,
        bins: setup.bins,
        communicators: comms as usize,
        completion_queues: 2,
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
            removal: setup.removal,
            domains: setup.domains,
            // Pictures of the paper's rule show its bookings.
            always_book: setup.domains == model::Domains::Paper,
            barrier: setup.barrier,
            always_shared: true,
            ..model::Options::default()
        },
        ..model::NicConfig::default()
    };
    let nic = model::Nic::new(&config).expect("a configuration made here");
    let mut stage = Stage {
        leader: nic.leader,
        workers: nic.workers,
        feeder: model::Feeder::new(nic.host, nic.sender),
        result: Ending::default(),
    };
    let bins = setup.bins as u32;
    for comm in (0..comms).map(CommId) {
        stage.issue(&Operation::Create {
            comm,
            bins,
            hints: Hints::default(),
        });
        stage.settle();
    }
    told::listen();
    // Blocks are cut from a run of arrivals between two other operations.
    for run in setup
        .operations
        .chunk_by(|a, b| a.is_arrival() == b.is_arrival())
    {
        run.iter().for_each(|operation| stage.issue(operation));
        if run[0].is_arrival() {
            stage.match_all(run.len())
        } else {
            stage.settle()
        }
    }
    stage.end(comms)
}

struct Stage {
    leader: model::Leader,
    workers: Vec<model::Worker>,
    feeder: model::Feeder,
    result: Ending,
}

impl Stage {
    fn issue(&mut self, operation: &Operation) {
        // Only envelopes matter here.
        let issued = self.feeder.try_issue(&operation.map_bytes(|_| 0));
        assert_eq!(issued, Ok(true), "the queues hold every operation");
        if let Operation::Post { recv, .. } = *operation
            && let Some(request) = self.feeder.request(recv)
        {
            told::name(request.as_u64(), recv.0);
        }
    }

    /// Runs the boundary alone; no message waits.
    fn settle(&mut self) {
        while self.leader.round(1) == model::Round::Worked {}
        self.collect();
    }

    /// Runs blocks until `arrivals` more messages are done, each handler on its own thread of the
    /// schedule.
    fn match_all(&mut self, arrivals: usize) {
        let blocks = arrivals.div_ceil(self.workers.len() + 1);
        let workers = std::mem::take(&mut self.workers);
        let awake = workers.len() + 1;
        let stop = Arc::new(shuttle::sync::atomic::AtomicBool::new(false));
        let serve = |mut worker: model::Worker| {
            let stop = stop.clone();
            let rounds = move || {
                state::resume();
                // ordering: a flag of a machine whose threads run one at a time.
                while !stop.load(Relaxed) {
                    state::stop_is_read();
                    if !worker.round() {
                        state::pause();
                        shuttle::thread::yield_now();
                        state::resume();
                    }
                }
                worker
            };
            shuttle::thread::spawn(|| guarded(rounds))
        };
        let threads: Vec<_> = workers.into_iter().map(serve).collect();
        for _ in 0..blocks {
            self.leader.round(awake);
            told::rest();
        }
        // ordering: as above.
        stop.store(true, Relaxed);
        state::stop_is_set();
        let workers = threads
            .into_iter()
            .map(|thread| thread.join().ok().flatten());
        match workers.collect() {
            Some(workers) => self.workers = workers,
            // A worker is missing because the execution is over.
            None => leave(),
        }
        self.collect();
    }

    /// Returns the message that a matched probe took.
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
                    self.result
                        .matches
                        .push((receive, msg.map_or(u64::MAX, |msg| msg.0)));
                }
                Err(error) => panic!("{error}"),
            }
        }
        taken
    }

    /// The stream's result, as read from the NIC.
    fn end(mut self, comms: u32) -> (Ending, model::BinUse) {
        state::end();
        told::pause();
        let bins = self.leader.monitor().bin_use();
        self.result.unexpected = self.unexpected(comms);
        self.result.posted = self
            .feeder
            .posted()
            .into_iter()
            .map(|RecvId(name)| name)
            .collect();
        self.result.matches.sort_unstable();
        self.result.posted.sort_unstable();
        (self.result, bins)
    }

    /// Takes the unexpected messages out of the NIC one by one, by communicator.
    fn unexpected(&mut self, comms: u32) -> Vec<u64> {
        let selector = Selector::new(SourceSel::Any, TagSel::Any);
        let mut left = Vec::new();
        for comm in (0..comms).map(CommId) {
            loop {
                let probe = ProbeId::default();
                self.issue(&Operation::Probe {
                    probe,
                    comm,
                    selector,
                    take: true,
                });
                self.leader.round(1);
                let Some(message) = self.collect() else { break };
                left.push(message);
                self.settle();
            }
        }
        // Messages that the NIC lost.
        left.extend(self.feeder.unexpected().map(|_| u64::MAX));
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_ran_out_is_no_assertion() {
        let said = |code| {
            let error = std::io::Error::from_raw_os_error(code);
            format!("called `Result::unwrap()` on an `Err` value: {error:?}")
        };
        assert!(is_out_of_memory(&said(12)), "ENOMEM");
        assert!(!is_out_of_memory(&said(13)), "EACCES");
        assert!(!is_out_of_memory(
            "assertion `left == right` failed: a receive is taken twice"
        ));
    }

    #[test]
    fn an_assertions_words_are_told_without_what_is_around_them() {
        for (panic, told) in [
            (
                "assertion `left == right` failed: no two take one (S18)\n left: 1\n right: 2",
                "an assertion of the handlers failed: no two take one",
            ),
            (
                "a row is free",
                "an assertion of the handlers failed: a row is free",
            ),
        ] {
            let told = Stuck::Failed(told.to_owned());
            assert_eq!(stuck(&panic), told);
            assert_eq!(stuck(&panic.to_owned()), told);
        }
        let failed = "an assertion of the handlers failed".to_owned();
        assert_eq!(stuck(&7), Stuck::Failed(failed));
    }
}
