//! One run of the handlers on a machine.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use dpa_model_predict as model;
use dpamatch_machine::{Layout, Machine, Outcome, Picos, Stop, off_clock, run};

use crate::{Event, Profile, Sequence};

/// Which form of the fast path (S8).
pub use model::FastPath;

/// What is run.
#[derive(Clone, PartialEq, Debug)]
pub struct Setup {
    /// The card.
    pub profile: Profile,
    /// N, the handlers of a block, each on an EU of its own.
    pub handlers: usize,
    /// Bins of each hash table.
    pub bins: usize,
    /// Receive descriptors.
    pub receives: usize,
    /// Entry rule of the fast path.
    pub fast_path: FastPath,
    /// Skip receives that a lower handler booked (O27).
    pub early_check: bool,
    /// The sender puts the hashes in the header (O26).
    pub inline_hashes: bool,
    /// When consumed receives leave their chain (O28).
    pub removal: model::Removal,
    /// Largest eager message in bytes; the data of longer ones is read from the sender's memory
    /// (O21).
    pub eager_limit: usize,
    /// Posts, probes and cancels take time of handler 0's EU. Where all are posted before the first
    /// message comes, as in the paper's windows, they need not.
    pub charge_commands: bool,
}

impl Setup {
    /// The paper's prototype (O30) with `handlers` handlers: the literal fast path (S8), and marks
    /// that stay to the block's end.
    pub fn new(profile: Profile, handlers: usize) -> Self {
        Self {
            profile,
            handlers,
            bins: 2048,
            receives: 1024,
            fast_path: FastPath::Literal,
            early_check: false,
            inline_hashes: true,
            removal: model::Removal::Deferred,
            eager_limit: 64,
            charge_commands: false,
        }
    }
}

/// A run that was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// More handlers than the card has EUs.
    #[error("{wanted} handlers, but the card has {usable} usable execution units")]
    Eus {
        /// Handlers asked for.
        wanted: usize,
        /// EUs there are.
        usable: usize,
    },
    /// The NIC cannot be built.
    #[error("{0}")]
    Config(#[from] model::ConfigError),
    /// An event that cannot be played.
    #[error("{0}")]
    Event(String),
}

/// What a part of a run came to.
#[derive(Clone, Debug)]
pub struct Part {
    /// Messages that arrived.
    pub messages: u64,
    /// From the first arrival to the last EU's end of work.
    pub time: Picos,
    /// When the part began.
    pub begin: Picos,
    /// The machine at its end.
    pub outcome: Outcome,
    /// What each handler counted in it.
    pub handlers: Vec<Vec<(&'static str, u64)>>,
    /// What the boundary counted in it.
    pub boundary: Vec<(&'static str, u64)>,
    /// Receive and message of each match, by the caller's names, in the order of matching.
    pub matches: Vec<(u64, u64)>,
}

impl Part {
    /// Messages per microsecond of virtual time.
    pub fn rate(&self) -> f64 {
        self.messages as f64 * 1e6 / self.time.max(1) as f64
    }

    /// One of the handlers' counters, added up.
    pub fn count(&self, name: &str) -> u64 {
        let all = self.handlers.iter().flatten().chain(&self.boundary);
        all.filter(|(counter, _)| *counter == name).map(|(_, value)| value).sum()
    }
}

/// Runs the sequences one after the other on one machine, each a part that begins when the one
/// before has ended. Keeps up to `spans` spans of the last part.
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
        return Err(SimulateError::Eus { wanted: setup.handlers, usable });
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
        setup.profile.costs(),
        setup.profile.machine_rules(setup.charge_commands),
        &layout,
    );
    let model::Nic { mut leader, workers, host, mut sender } = nic;
    sender.set_inline_hashes(setup.inline_hashes);
    let stop = Stop::default();
    let serve = |mut worker: model::Worker| {
        let stop = stop.clone();
        Box::new(move || {
            while !stop.asked() {
                if !worker.round() {
                    dpamatch_machine::pause();
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
        let mut stage = Stage::new(host, sender);
        for comm in 0..comms {
            off_clock(|_| stage.create(&mut leader, comm, bins));
        }
        let count = sequences.len();
        for (number, sequence) in sequences.iter().enumerate() {
            let first = stage.arrivals;
            let wanted = if number + 1 == count { spans } else { 0 };
            let mut begin = 0;
            off_clock(|machine| {
                machine(&mut |machine| {
                    begin = machine.begin_window(first, sequence.schedule());
                    machine.record(wanted);
                });
            });
            let before = counters(&monitor);
            stage.matches.clear();
            stage.play(&mut leader, handlers, sequence.events())?;
            let after = counters(&monitor);
            let mut outcome = None;
            off_clock(|machine| machine(&mut |machine| outcome = Some(machine.outcome())));
            let outcome: Outcome = outcome.expect("the closure ran");
            note.borrow_mut().push(Part {
                messages: stage.arrivals - first,
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
    crate::charges::begin();
    let (_, result, _) = run(machine, &stop, lead, workers);
    result?;
    let parts = std::mem::take(&mut *results.borrow_mut());
    Ok(parts)
}

/// Unexpected messages that the NIC holds.
const UNEXPECTED: usize = 16_384;

type Row = Vec<(&'static str, u64)>;

fn counters(monitor: &model::Monitor) -> (Vec<Row>, Row) {
    let handlers =
        (0..monitor.handlers()).map(|handler| monitor.handler(handler).rows().collect()).collect();
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
        completion_queue: queue,
        bounce_buffers: 1024,
        eager_limit: setup.eager_limit,
        unexpected: UNEXPECTED,
        unexpected_buffers: 4096,
        command_queue: queue,
        completion_ring: queue * 2,
        // Of those on their way and of those that wait for a receive.
        regions: queue + UNEXPECTED,
        options: model::Options {
            fast_path: setup.fast_path,
            early_check: setup.early_check,
            removal: setup.removal,
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

/// Host and wire: what feeds the NIC, off the clock.
struct Stage {
    host: model::HostPort,
    sender: model::Sender,
    arrivals: u64,
    /// Messages by arrival number that have no receive yet.
    messages: BTreeMap<u64, u64>,
    /// Requests without a result: request, the caller's name.
    names: BTreeMap<u64, (model::RequestId, u64)>,
    by_name: BTreeMap<u64, model::RequestId>,
    matches: Vec<(u64, u64)>,
    payload: Vec<u8>,
    /// Receive buffers for the next posts.
    buffers: Vec<Vec<u8>>,
    buffer_bytes: usize,
}

impl Stage {
    fn new(host: model::HostPort, sender: model::Sender) -> Self {
        Self {
            // Room for what stands for a longer message, too.
            buffer_bytes: sender.eager_limit() + 1,
            host,
            sender,
            arrivals: 0,
            messages: BTreeMap::new(),
            names: BTreeMap::new(),
            by_name: BTreeMap::new(),
            matches: Vec::new(),
            payload: Vec::new(),
            buffers: Vec::new(),
        }
    }

    fn create(&mut self, leader: &mut model::Leader, comm: u32, bins: u32) {
        let created = self.host.create(model::CommId(comm), bins, model::Hints::default(), 0);
        created.expect("the command queue is empty");
        while leader.round(1) == model::Round::Worked {}
        while self.host.poll().is_some() {}
    }

    /// Feeds the stream and lets the boundary run until all of it is through.
    fn play(
        &mut self,
        leader: &mut model::Leader,
        awake: usize,
        mut events: &[Event],
    ) -> Result<(), SimulateError> {
        loop {
            off_clock(|_| self.feed(&mut events))?;
            let worked = leader.round(awake) == model::Round::Worked;
            off_clock(|_| self.drain());
            if !worked && events.is_empty() {
                return Ok(());
            }
        }
    }

    fn feed(&mut self, events: &mut &[Event]) -> Result<(), SimulateError> {
        while let Some((event, rest)) = events.split_first() {
            if !self.issue(event)? {
                break;
            }
            *events = rest;
        }
        Ok(())
    }

    /// `false`: there is no room now.
    fn issue(&mut self, event: &Event) -> Result<bool, SimulateError> {
        match *event {
            Event::Post { receive, comm, selector } => {
                let buffer = self.buffers.pop().unwrap_or_else(|| vec![0; self.buffer_bytes]);
                match self.host.post(comm, selector, buffer, self.arrivals) {
                    Ok(request) => {
                        self.names.insert(request.as_u64(), (request, receive));
                        self.by_name.insert(receive, request);
                        Ok(true)
                    }
                    Err((_, buffer)) => {
                        self.buffers.push(buffer);
                        Ok(false)
                    }
                }
            }
            Event::Arrive { message, envelope, bytes } => {
                let stamp = self.host.commands_counted();
                let limit = self.sender.eager_limit();
                let sent = if bytes as usize <= limit {
                    self.payload.resize(bytes as usize, 0);
                    self.sender.try_send(envelope, &self.payload, stamp)
                } else {
                    // What is charged for a read does not depend on the length, so no long buffer
                    // is needed.
                    let sent = self.sender.try_send_rendezvous(envelope, vec![0; limit + 1], stamp);
                    sent.map(drop).map_err(|(error, _)| error)
                };
                match sent {
                    Ok(()) => {
                        self.messages.insert(self.arrivals, message);
                        self.arrivals += 1;
                        Ok(true)
                    }
                    Err(model::SendError::ReceiverNotReady) => Ok(false),
                    Err(error) => Err(SimulateError::Event(format!("{event:?}: {error}"))),
                }
            }
            Event::Probe { comm, selector } => {
                Ok(self.host.probe(comm, selector, false, self.arrivals).is_ok())
            }
            Event::Cancel { receive } => {
                let request = self.by_name.get(&receive).copied().unwrap_or(model::RequestId::NONE);
                Ok(self.host.cancel(request, self.arrivals).is_ok())
            }
        }
    }

    fn drain(&mut self) {
        while let Some(event) = self.host.poll() {
            match event {
                model::Event::Received { request, message, buffer, .. } => {
                    self.buffers.push(buffer);
                    if let (Some((_, receive)), Some(message)) = (
                        self.names.remove(&request.as_u64()),
                        self.messages.remove(&message.arrival),
                    ) {
                        self.by_name.remove(&receive);
                        self.matches.push((receive, message));
                    }
                }
                model::Event::Cancelled { request, .. } => {
                    if let Some((_, receive)) = self.names.remove(&request.as_u64()) {
                        self.by_name.remove(&receive);
                    }
                }
                _ => {}
            }
        }
    }
}
