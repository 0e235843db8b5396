//! One run of the handlers on a machine.

use std::cell::RefCell;
use std::rc::Rc;

use crate::machine::{Layout, Machine, Outcome, Picos, Stop, off_clock, run};
use dpa_model_predict as model;
use dpamatch_vocabulary::{self as vocabulary, CommId, Hints, Operation};

use crate::{Profile, Sequence};

/// Form of the fast path (S8).
pub use model::FastPath;

#[derive(Clone, PartialEq, Debug)]
pub struct Setup {
    pub profile: Profile,
    /// N, the handlers of a block, each on its own EU.
    pub handlers: usize,
    pub bins: usize,
    pub receives: usize,
    pub fast_path: FastPath,
    /// Skip receives booked by a lower handler (O27).
    pub early_check: bool,
    /// Book every candidate, as detection by the booking word needs (O10, O13).
    pub always_book: bool,
    /// The sender puts the hashes in the header (O26).
    pub inline_hashes: bool,
    /// When consumed receives leave their chain (O28).
    pub removal: model::Removal,
    /// Which messages of a block wait for each other.
    pub domains: model::Domains,
    /// Largest eager message in bytes; longer ones are read from the sender's memory (O21).
    pub eager_limit: usize,
    /// Posts, probes and cancels take time on handler 0's EU. Unneeded where all posts precede the
    /// first message, as in the paper's windows.
    pub charge_commands: bool,
}

impl Setup {
    /// The paper's prototype (O30) with `handlers` handlers, as it fits WC-SP of Figure 8 best: the
    /// prefix form of the fast path (S8), and marks that stay until the block's end. The paper
    /// says otherwise: see [`published`](Self::published).
    pub fn new(profile: Profile, handlers: usize) -> Self {
        Self {
            profile,
            handlers,
            bins: 2048,
            receives: 1024,
            fast_path: FastPath::Prefix,
            early_check: false,
            always_book: true,
            inline_hashes: true,
            removal: model::Removal::Deferred,
            domains: model::Domains::Paper,
            eager_limit: 64,
            charge_commands: false,
        }
    }

    /// The paper's text on the prototype's card: the fast path if *all* handlers booked the receive
    /// (O16), and removal by whoever gets the bin's lock (O28).
    pub fn published(profile: Profile, handlers: usize) -> Self {
        Self {
            fast_path: FastPath::Literal,
            removal: model::Removal::Lazy,
            ..Self::new(profile, handlers)
        }
    }

    /// Unexpected messages that fit on the card.
    pub const fn unexpected(&self) -> usize {
        UNEXPECTED
    }

    /// The emulated NIC's defaults with charged commands, for recorded programs, but the paper's
    /// rule: the profiles are fitted to a card that obeys it. The queue and bounce buffers of 512
    /// bytes fit the caches of the built-in profiles.
    pub fn shipped(profile: Profile, handlers: usize) -> Self {
        let model::NicConfig {
            bins,
            receives,
            options,
            ..
        } = model::NicConfig::default();
        Self {
            bins,
            receives,
            fast_path: options.fast_path,
            early_check: options.early_check,
            always_book: options.always_book,
            removal: options.removal,
            eager_limit: 512,
            charge_commands: true,
            ..Self::new(profile, handlers)
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    #[error("{wanted} handlers, but the card has {usable} usable execution units")]
    Eus { wanted: usize, usable: usize },
    #[error("{0}")]
    Config(#[from] model::ConfigError),
    #[error("{0}")]
    Feed(#[from] model::FeedError),
    #[error(
        "the run is longer than {} days, the most that the card's clock holds",
        SPAN_MAX_NS / NS_PER_DAY
    )]
    TooLong,
}

const NS_PER_DAY: u64 = 86_400_000_000_000;
/// The card's clock counts picoseconds in 64 bits. Half of its range is left for the work itself.
const SPAN_MAX_NS: u64 = u64::MAX / 2000;

#[derive(Clone, Debug)]
pub struct Part {
    pub messages: u64,
    /// From the first arrival to the end of the last EU's work.
    pub time: Picos,
    pub begin: Picos,
    /// The machine at its end.
    pub outcome: Outcome,
    pub handlers: Vec<Vec<(&'static str, u64)>>,
    pub boundary: Vec<(&'static str, u64)>,
    /// Receive and message of each match, by the caller's names, in matching order.
    pub matches: Vec<(u64, u64)>,
}

impl Part {
    /// Messages per microsecond of virtual time.
    pub fn rate(&self) -> f64 {
        self.messages as f64 * 1e6 / self.time.max(1) as f64
    }

    /// Mean and longest time from a message's arrival to the end of its handler, in microseconds.
    pub fn latency_us(&self) -> (f64, f64) {
        let sum: u64 = self.outcome.eus.iter().map(|eu| eu.latency).sum();
        let longest = self
            .outcome
            .eus
            .iter()
            .map(|eu| eu.latency_max)
            .max()
            .unwrap_or(0);
        (
            sum as f64 / 1e6 / self.messages.max(1) as f64,
            longest as f64 / 1e6,
        )
    }

    /// Time that handlers waited for other handlers of their block.
    pub fn waited(&self) -> Picos {
        self.outcome
            .eus
            .iter()
            .map(|eu| eu.time.barrier + eu.time.chain)
            .sum()
    }

    /// Messages that the card sent on to software.
    pub fn sent_on(&self) -> u64 {
        self.count("arrivals_forwarded")
    }

    pub fn count(&self, name: &str) -> u64 {
        let all = self.handlers.iter().flatten().chain(&self.boundary);
        all.filter(|(counter, _)| *counter == name)
            .map(|(_, value)| value)
            .sum()
    }
}

/// Runs the sequences on one machine. Each is a part that begins when the previous one has ended.
/// Records up to `spans` spans of the last part.
///
/// # Errors
/// [`SimulateError`] when the set-up or an event is impossible.
pub fn simulate(
    setup: &Setup,
    sequences: &[Sequence],
    spans: usize,
) -> Result<Vec<Part>, SimulateError> {
    let comms = sequences.iter().map(Sequence::comms).max().unwrap_or(1);
    let usable = setup.profile.eus.usable;
    if setup.handlers > usable {
        return Err(SimulateError::Eus {
            wanted: setup.handlers,
            usable,
        });
    }
    let costs = setup.profile.costs();
    let least = sequences
        .iter()
        .map(|sequence| sequence.least_ns(costs.byte / 1e3));
    if least.sum::<f64>() > SPAN_MAX_NS as f64 {
        return Err(SimulateError::TooLong);
    }
    let config = config(setup, comms);
    let nic = model::Nic::new(&config)?;
    let layout = Layout {
        handlers: setup.handlers,
        bins: config.total_index_bins(),
        receives: setup.receives,
        entries: config.completion_queue,
        bounce_buffers: config.bounce_buffers,
        bounce_bytes: config.eager_limit,
        eager_bytes: nic.sender.eager_limit(),
        unexpected: config.unexpected,
        cores: setup.profile.eus.cores,
        eus_per_core: setup.profile.eus.per_core,
    };
    let machine = Machine::new(
        costs,
        setup.profile.machine_rules(setup.charge_commands),
        &layout,
    )
    .with_steps(crate::steps::measured());
    let model::Nic {
        leader,
        workers,
        host,
        mut sender,
    } = nic;
    sender.set_inline_hashes(setup.inline_hashes);
    let stop = Stop::default();
    let serve = |mut worker: model::Worker| {
        let stop = stop.clone();
        Box::new(move || {
            while !stop.asked() {
                if !worker.round() {
                    crate::machine::pause();
                }
            }
            worker
        }) as Box<dyn FnOnce() -> model::Worker>
    };
    let workers: Vec<_> = workers.into_iter().map(serve).collect();
    let handlers = setup.handlers;
    let bins = setup.bins as u32;
    let results = Rc::new(RefCell::new(Vec::new()));
    let note = results.clone();
    let sequences = sequences.to_vec();
    let lead = move || -> Result<(), SimulateError> {
        let monitor = leader.monitor();
        let mut stage = Stage::new(leader, host, sender);
        let create = |comm| Operation::Create {
            comm,
            bins,
            hints: Hints::default(),
        };
        let creates: Vec<_> = (0..comms).map(CommId).map(create).collect();
        off_clock(|_| stage.play(1, &creates))?;
        let count = sequences.len();
        for (number, sequence) in sequences.iter().enumerate() {
            let first = stage.feeder.arrivals();
            let wanted = if number + 1 == count { spans } else { 0 };
            let mut begin = 0;
            off_clock(|_| stage.end_fallbacks(&monitor))?;
            off_clock(|machine| {
                machine(&mut |machine| {
                    begin = machine.begin_window(first, sequence.schedule());
                    machine.record(wanted);
                });
            });
            let before = counters(&monitor);
            stage.matches.clear();
            stage.play(handlers, sequence.operations())?;
            let after = counters(&monitor);
            let mut outcome = None;
            off_clock(|machine| machine(&mut |machine| outcome = Some(machine.outcome())));
            let outcome: Outcome = outcome.expect("the closure ran");
            note.borrow_mut().push(Part {
                messages: stage.feeder.arrivals() - first,
                time: outcome.end - begin,
                begin,
                outcome,
                handlers: difference(&after.0, &before.0),
                boundary: difference(&[after.1], &[before.1]).remove(0),
                matches: stage.matches.clone(),
            });
        }
        Ok(())
    };
    crate::machine::charge::begin();
    let (_, result, _) = run(machine, &stop, lead, workers);
    result?;
    let parts = std::mem::take(&mut *results.borrow_mut());
    Ok(parts)
}

const UNEXPECTED: usize = 16_384;

type Row = Vec<(&'static str, u64)>;

fn counters(monitor: &model::Monitor) -> (Vec<Row>, Row) {
    let handlers = (0..monitor.handlers())
        .map(|handler| monitor.handler(handler).rows().collect())
        .collect();
    (handlers, monitor.counts().boundary.rows().collect())
}

fn difference(after: &[Row], before: &[Row]) -> Vec<Row> {
    let row = |(after, before): (&Row, &Row)| {
        after
            .iter()
            .zip(before)
            .map(|(&(name, now), &(_, then))| (name, now.saturating_sub(then)))
            .collect()
    };
    after.iter().zip(before).map(row).collect()
}

fn config(setup: &Setup, comms: u32) -> model::NicConfig {
    let queue = 4096usize.max(setup.handlers.next_power_of_two());
    model::NicConfig {
        handlers: setup.handlers,
        workers: setup.handlers,
        slice_min: 1,
        receives: setup.receives,
        bins: setup.bins,
        communicators: comms as usize,
        completion_queues: 2,
        completion_queue: queue,
        bounce_buffers: 1024,
        eager_limit: setup.eager_limit,
        unexpected: UNEXPECTED,
        unexpected_buffers: 4096,
        command_queue: queue,
        completion_ring: queue * 2,
        // Regions of messages in flight and of messages that wait for a receive.
        regions: queue + UNEXPECTED,
        options: model::Options {
            fast_path: setup.fast_path,
            early_check: setup.early_check,
            always_book: setup.always_book,
            removal: setup.removal,
            domains: setup.domains,
            barrier: setup.profile.nic.barrier.into(),
            inline_hashes: if setup.inline_hashes {
                model::InlineHashes::Trust
            } else {
                model::InlineHashes::Ignore
            },
            always_shared: true,
            order: model::Order::Stamped,
            ..model::Options::default()
        },
        ..model::NicConfig::default()
    }
}

/// Host and wire, off the clock, and the handlers' leader.
struct Stage {
    leader: model::Leader,
    feeder: model::Feeder,
    bytes_max: u32,
    matches: Vec<(u64, u64)>,
}

impl Stage {
    fn new(leader: model::Leader, host: model::HostPort, sender: model::Sender) -> Self {
        // The machine knows the lengths of messages, so no long buffer is needed.
        let bytes_max = sender.eager_limit() as u32 + 1;
        let feeder = model::Feeder::new(host, sender).without_checks();
        Self {
            leader,
            feeder,
            bytes_max,
            matches: Vec::new(),
        }
    }

    /// Feeds the operations and runs the boundary until all are done.
    fn play(&mut self, awake: usize, mut operations: &[Operation]) -> Result<(), SimulateError> {
        loop {
            off_clock(|_| self.feed(&mut operations))?;
            let worked = self.leader.round(awake) == model::Round::Worked;
            off_clock(|_| self.collect())?;
            if !worked && operations.is_empty() {
                return Ok(());
            }
        }
    }

    /// Gives a communicator in software back to the card: between two windows all queues are empty.
    /// Sequences of several communicators are alone on their machine.
    fn end_fallbacks(&mut self, monitor: &model::Monitor) -> Result<(), SimulateError> {
        let boundary = monitor.counts().boundary;
        let forwarded = boundary.arrivals_forwarded + boundary.posts_forwarded;
        if forwarded > 0
            && self
                .feeder
                .host
                .hand_back(CommId(0), forwarded, &mut vec![])
                .is_ok()
        {
            self.play(1, &[])?;
        }
        Ok(())
    }

    /// Feeds as many operations as there is room for.
    fn feed(&mut self, operations: &mut &[Operation]) -> Result<(), SimulateError> {
        while let Some((operation, rest)) = operations.split_first() {
            // A receive always has room.
            let room = if operation.is_arrival() {
                0
            } else {
                self.bytes_max
            };
            let operation = operation.map_bytes(|bytes| bytes.min(self.bytes_max).max(room));
            if !self.feeder.try_issue(&operation)? {
                break;
            }
            if let Operation::Post { recv, .. } = operation
                && let Some(request) = self.feeder.request(recv)
            {
                crate::story::name(recv.0, request.as_u64());
            }
            *operations = rest;
        }
        Ok(())
    }

    fn collect(&mut self) -> Result<(), SimulateError> {
        while let Some(event) = self.feeder.host.poll() {
            match self.feeder.note(event) {
                Ok(Some(vocabulary::Outcome::Matched { recv, msg })) => {
                    self.matches.push((recv.0, msg.0));
                }
                // Messages that fall back to software are counted but not matched.
                Ok(_) | Err(model::FeedError::Forwarded) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
