//! One stream on one emulated NIC: feeds both sides with stamps, and turns the answers into
//! results.

use std::collections::{BTreeMap, HashMap, VecDeque};

use dpa_model::{
    CommandQueueFull, Hints, HostPort, Leader, Message, Monitor, Nic, Pool, RequestId, Round,
    SendError, Sender, TakenMessage, Wait,
};
use dpamatch_vocabulary::{CommId, Envelope, Rank, Selector, Tag};

use super::made_up::{PAYLOAD_BYTES_MAX, payload};
use super::nic_matcher::{NicMatcher, NicRunError};
use super::software::{Done, Software, Taken, fill};
use crate::engine::{MsgId, RecvId};
use crate::stream::{Event, Outcome, ProbeId};

/// Who runs the NIC.
enum Runner {
    Caller(Box<Leader>),
    Pool(Pool),
}

struct PostedReceive {
    recv: RecvId,
    request: RequestId,
    /// Place in the posting order of the stream.
    order: u64,
}

pub(super) struct Run {
    runner: Runner,
    port: HostPort,
    sender: Sender,
    pub(super) software: Software,
    pub(super) monitor: Monitor,
    hints: Hints,
    bins: u32,
    eager_limit: usize,
    comms: HashMap<CommId, CommId>,
    /// Receives without a result, by request number.
    receives: HashMap<u64, PostedReceive>,
    /// Their request, by receive.
    requests: HashMap<RecvId, RequestId>,
    /// Messages without a receive, by arrival number: so in arrival order.
    messages: BTreeMap<u64, (MsgId, Envelope)>,
    arrivals: u64,
    posts: u64,
    cancels: VecDeque<RecvId>,
    /// Probes without an answer, and whether they take; `None`: the one that ends the stream.
    probes: VecDeque<(Option<ProbeId>, bool)>,
    /// Taken messages whose data is being received, by request number.
    taken: HashMap<u64, MsgId>,
    /// Taken messages whose data has not been asked for yet.
    held: Vec<(TakenMessage, Vec<u8>, MsgId)>,
    spare: Vec<Vec<u8>>,
    /// The stream has ended; answers now tell what is left.
    draining: bool,
    left: VecDeque<RecvId>,
}

/// Bytes of every receive's buffer unless the stream says otherwise.
const BUFFER_BYTES: usize = 64;

impl Run {
    pub(super) fn start(matcher: &NicMatcher) -> Result<Self, NicRunError> {
        let nic = Nic::new(&matcher.config).map_err(|_| NicRunError::Stopped)?;
        let monitor = nic.leader.monitor();
        let runner = if matcher.threads {
            let pool =
                Pool::start(nic.leader, nic.workers, |_| ()).map_err(|_| NicRunError::Stopped)?;
            Runner::Pool(pool)
        } else {
            Runner::Caller(Box::new(nic.leader))
        };
        let mut sender = nic.sender;
        sender.set_inline_hashes(matcher.inline_hashes);
        Ok(Self {
            runner,
            port: nic.host,
            sender,
            software: Software::new(matcher.fallback.build()),
            monitor,
            hints: matcher.hints,
            bins: matcher.config.bins as u32,
            eager_limit: matcher.config.eager_limit,
            comms: HashMap::new(),
            receives: HashMap::new(),
            requests: HashMap::new(),
            messages: BTreeMap::new(),
            arrivals: 0,
            posts: 0,
            cancels: VecDeque::new(),
            probes: VecDeque::new(),
            taken: HashMap::new(),
            held: Vec::new(),
            spare: Vec::new(),
            draining: false,
            left: VecDeque::new(),
        })
    }

    pub(super) fn stop(self) {
        self.port.ask_to_stop();
        if let Runner::Pool(pool) = self.runner {
            pool.stop();
        }
    }

    pub(super) fn all(
        &mut self,
        events: &mut dyn Iterator<Item = Event>,
        sink: &mut dyn FnMut(Outcome),
    ) -> Result<(), NicRunError> {
        for event in events {
            self.feed(event, sink)?;
            self.collect(sink)?;
        }
        // A probe as the last command: once it is answered, everything before it is.
        let anything = Selector::new(Rank::default(), Tag::default());
        self.probe(None, CommId(0), anything, false, sink)?;
        self.until(sink, |run| {
            run.probes.is_empty()
                && run.cancels.is_empty()
                && run.taken.is_empty()
                && run.held.is_empty()
        })?;
        self.drain(sink)
    }

    /// Asks the NIC itself what its queues hold, in order, and compares with what its answers left.
    fn drain(&mut self, sink: &mut dyn FnMut(Outcome)) -> Result<(), NicRunError> {
        self.draining = true;
        let mut left: Vec<_> =
            self.receives.values().map(|posted| (posted.order, posted.recv)).collect();
        left.sort_unstable();
        for (_, recv) in left {
            sink(Outcome::Posted { recv });
            self.cancel(recv, sink)?;
            self.left.push_back(recv);
        }
        self.until(sink, |run| run.cancels.is_empty())?;
        if !self.left.is_empty() || !self.receives.is_empty() {
            return Err(NicRunError::LeftDiffers("a receive could not be cancelled"));
        }
        let messages: Vec<_> = self.messages.values().copied().collect();
        for (msg, envelope) in messages {
            sink(Outcome::Unexpected { msg });
            let exact = Selector::new(envelope.source, envelope.tag);
            self.probe_nic(Some(ProbeId(msg.0)), envelope.comm, exact, true, sink)?;
        }
        self.until(sink, |run| {
            run.probes.is_empty() && run.taken.is_empty() && run.held.is_empty()
        })?;
        if self.messages.is_empty() {
            Ok(())
        } else {
            Err(NicRunError::LeftDiffers("a message was not found"))
        }
    }

    fn feed(&mut self, event: Event, sink: &mut dyn FnMut(Outcome)) -> Result<(), NicRunError> {
        match event {
            Event::Post { recv, comm, selector, size, .. } => {
                let comm = self.comm(comm, sink)?;
                let length = size.map_or(BUFFER_BYTES, |size| size.min(PAYLOAD_BYTES_MAX) as usize);
                let mut buffer = self.spare.pop().unwrap_or_default();
                buffer.clear();
                buffer.resize(length, 0);
                let request = loop {
                    match self.port.post(comm, selector, buffer, self.arrivals) {
                        Ok(request) => break request,
                        Err((CommandQueueFull, back)) => buffer = back,
                    }
                    self.step(sink)?;
                };
                let order = self.posts;
                self.posts += 1;
                self.receives.insert(request.as_u64(), PostedReceive { recv, request, order });
                self.requests.insert(recv, request);
                Ok(())
            }
            Event::Arrive { msg, envelope, bytes, .. } => {
                self.send(msg, envelope, bytes.unwrap_or(0), sink)
            }
            Event::Cancel { recv } => self.cancel(recv, sink),
            Event::Probe { probe, comm, selector } => {
                self.probe(Some(probe), comm, selector, false, sink)
            }
            Event::Mprobe { probe, comm, selector } => {
                self.probe(Some(probe), comm, selector, true, sink)
            }
        }
    }

    fn send(
        &mut self,
        msg: MsgId,
        envelope: Envelope,
        bytes: u64,
        sink: &mut dyn FnMut(Outcome),
    ) -> Result<(), NicRunError> {
        let envelope = Envelope { comm: self.comm(envelope.comm, sink)?, ..envelope };
        let eager = self.eager_limit.max(dpa_model::INLINE_BYTES);
        let length = bytes.min(PAYLOAD_BYTES_MAX) as usize;
        let mut payload = payload(msg, length).to_vec();
        self.messages.insert(self.arrivals, (msg, envelope));
        loop {
            let stamp = self.port.commands_counted();
            let sent = if length <= eager {
                self.sender.try_send(envelope, &payload, stamp)
            } else {
                match self.sender.try_send_rendezvous(envelope, std::mem::take(&mut payload), stamp)
                {
                    // Without its request the message is still delivered.
                    Ok(_) => Ok(()),
                    Err((error, back)) => {
                        payload = back;
                        Err(error)
                    }
                }
            };
            match sent {
                Ok(()) => break,
                Err(SendError::ReceiverNotReady) => self.step(sink)?,
                Err(_) => return Err(NicRunError::Stopped),
            }
        }
        self.arrivals += 1;
        Ok(())
    }

    fn cancel(&mut self, recv: RecvId, sink: &mut dyn FnMut(Outcome)) -> Result<(), NicRunError> {
        let request = self.requests.get(&recv).copied().unwrap_or(RequestId::NONE);
        while self.port.cancel(request, self.arrivals).is_err() {
            self.step(sink)?;
        }
        self.cancels.push_back(recv);
        Ok(())
    }

    fn probe(
        &mut self,
        probe: Option<ProbeId>,
        comm: CommId,
        selector: Selector,
        take: bool,
        sink: &mut dyn FnMut(Outcome),
    ) -> Result<(), NicRunError> {
        let comm = self.comm(comm, sink)?;
        self.probe_nic(probe, comm, selector, take, sink)
    }

    fn probe_nic(
        &mut self,
        probe: Option<ProbeId>,
        comm: CommId,
        selector: Selector,
        take: bool,
        sink: &mut dyn FnMut(Outcome),
    ) -> Result<(), NicRunError> {
        while self.port.probe(comm, selector, take, self.arrivals).is_err() {
            self.step(sink)?;
        }
        self.probes.push_back((probe, take));
        Ok(())
    }

    /// The NIC's number for a communicator of the stream; created when first used.
    fn comm(&mut self, comm: CommId, sink: &mut dyn FnMut(Outcome)) -> Result<CommId, NicRunError> {
        if let Some(&known) = self.comms.get(&comm) {
            return Ok(known);
        }
        let new = CommId(self.comms.len() as u32);
        while self.port.create(new, self.bins, self.hints, self.arrivals).is_err() {
            self.step(sink)?;
        }
        self.comms.insert(comm, new);
        Ok(new)
    }

    /// Waits until `reached`.
    fn until(
        &mut self,
        sink: &mut dyn FnMut(Outcome),
        reached: impl Fn(&Self) -> bool,
    ) -> Result<(), NicRunError> {
        let mut wait = Wait::new();
        while !reached(self) {
            if self.step_once(sink)? {
                wait = Wait::new();
            } else {
                wait.pause();
            }
        }
        Ok(())
    }

    /// Lets the NIC go on while a queue is full.
    fn step(&mut self, sink: &mut dyn FnMut(Outcome)) -> Result<(), NicRunError> {
        if !self.step_once(sink)? && matches!(self.runner, Runner::Pool(_)) {
            std::thread::yield_now();
        }
        Ok(())
    }

    fn step_once(&mut self, sink: &mut dyn FnMut(Outcome)) -> Result<bool, NicRunError> {
        self.receive_taken();
        let worked = match &mut self.runner {
            Runner::Caller(leader) => leader.round(1) == Round::Worked,
            Runner::Pool(_) => false,
        };
        let collected = self.collect(sink)?;
        if !worked && !collected && self.port.is_stopped() {
            return Err(NicRunError::Stopped);
        }
        Ok(worked || collected)
    }

    /// Takes in what has become known.
    fn collect(&mut self, sink: &mut dyn FnMut(Outcome)) -> Result<bool, NicRunError> {
        let mut any = false;
        while let Some(done) = self.software.poll(&mut self.port) {
            any = true;
            self.note(done, sink)?;
        }
        Ok(any)
    }

    fn note(&mut self, done: Done, sink: &mut dyn FnMut(Outcome)) -> Result<(), NicRunError> {
        match done {
            Done::Received { request, buffer, message, .. } => {
                if let Some(msg) = self.taken.remove(&request.as_u64()) {
                    return self.check(msg, &buffer, message);
                }
                let posted = self
                    .receives
                    .remove(&request.as_u64())
                    .ok_or(NicRunError::LeftDiffers("no such receive"))?;
                let (msg, _) = self
                    .messages
                    .remove(&message.arrival)
                    .ok_or(NicRunError::LeftDiffers("no such message"))?;
                self.requests.remove(&posted.recv);
                sink(Outcome::Matched { recv: posted.recv, msg });
                self.check(msg, &buffer, message)?;
                self.spare.push(buffer);
            }
            Done::Cancelled { request, buffer } => {
                let recv =
                    self.cancels.pop_front().ok_or(NicRunError::LeftDiffers("no such cancel"))?;
                let posted = self.receives.remove(&request.as_u64());
                if posted
                    .as_ref()
                    .is_none_or(|posted| posted.recv != recv || posted.request != request)
                {
                    return Err(NicRunError::LeftDiffers("another receive was cancelled"));
                }
                self.requests.remove(&recv);
                self.spare.push(buffer);
                if self.draining {
                    self.left.pop_front();
                } else {
                    sink(Outcome::Cancelled { recv });
                }
            }
            Done::TooLate { .. } => {
                let recv =
                    self.cancels.pop_front().ok_or(NicRunError::LeftDiffers("no such cancel"))?;
                if !self.draining {
                    sink(Outcome::TooLate { recv });
                }
            }
            Done::Probed { found, taken, .. } => self.note_probe(found, taken, sink)?,
            Done::Refused { .. } => return Err(NicRunError::HintViolated),
            Done::Created { .. }
            | Done::Freed { .. }
            | Done::Posted { .. }
            | Done::Unexpected { .. } => {}
        }
        Ok(())
    }

    fn note_probe(
        &mut self,
        found: Option<Message>,
        taken: Option<Taken>,
        sink: &mut dyn FnMut(Outcome),
    ) -> Result<(), NicRunError> {
        let (probe, take) =
            self.probes.pop_front().ok_or(NicRunError::LeftDiffers("no such probe"))?;
        let held = found.and_then(|message| self.messages.get(&message.arrival).copied());
        let msg = held.map(|(msg, _)| msg);
        let Some(probe) = probe else { return Ok(()) };
        if self.draining {
            if msg != Some(MsgId(probe.0)) {
                return Err(NicRunError::LeftDiffers("messages are in another order"));
            }
        } else if take {
            sink(Outcome::Mprobed { probe, msg });
        } else {
            sink(Outcome::Probed { probe, msg });
        }
        let (Some(taken), Some(message), Some(msg)) = (taken, found, msg) else { return Ok(()) };
        self.messages.remove(&message.arrival);
        let mut buffer = vec![0; message.length as usize];
        match taken {
            Taken::InSoftware(_, payload) => {
                if !fill(&mut buffer, payload) {
                    return Err(NicRunError::Stopped);
                }
                self.check(msg, &buffer, message)?;
            }
            Taken::OnNic(held) => {
                // Sent as soon as the command queue has room; here the ring is being read, so it
                // must not be waited for.
                self.held.push((held, buffer, msg));
            }
        }
        Ok(())
    }

    /// Fetches the data of messages that probes took.
    fn receive_taken(&mut self) {
        while let Some((held, buffer, msg)) = self.held.pop() {
            match self.port.receive(held, buffer, self.arrivals) {
                Ok(request) => drop(self.taken.insert(request.as_u64(), msg)),
                Err((CommandQueueFull, held, buffer)) => {
                    return self.held.push((held, buffer, msg));
                }
            }
        }
    }

    /// Compares delivered bytes with those that were sent.
    fn check(&mut self, msg: MsgId, buffer: &[u8], message: Message) -> Result<(), NicRunError> {
        let delivered = &buffer[..buffer.len().min(message.length as usize)];
        let right = delivered == payload(msg, delivered.len());
        if right { Ok(()) } else { Err(NicRunError::Payload(msg.0)) }
    }
}
