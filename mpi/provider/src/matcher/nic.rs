//! The emulated NIC as the matcher.
//!
//! The NIC matches; the provider keeps the data and moves it when it learns of the match. So the
//! NIC gets a message's envelope without payload, and an empty buffer for a receive, whose
//! completion means "matched". The arrival number names a message, since one sender feeds the NIC,
//! and the request names a receive.
//!
//! Where the calling thread runs the NIC, receives and messages need no queue: the NIC matches them
//! in order ([`NicMatcher::post_now`], [`NicMatcher::batch`]). Such a receive has its key as its
//! number on the NIC, and no request. What the NIC has no room for passes the queues, and so does
//! everything if host threads run it or blocks are always shared.
//!
//! A communicator gets tables of the NIC on first use. When none are free, it takes the tables of a
//! communicator with empty queues. If there is none, software matches it, as for any communicator
//! without tables.

use std::collections::VecDeque;

use dpa_model::{
    ConfigError, DirectResult, Event, HostPort, Leader, Message, MessageBatch, Monitor, Nic,
    NicConfig, Pool, RequestId, Round, SendError, Sender, Wait,
};
use dpamatch::engine::Counter;
use dpamatch::host::Software;
use dpamatch::registry::EngineOptions;
use dpamatch_vocabulary::{CommId, Envelope, Hints, Rank, Selector, SourceSel, Tag, TagSel};

use super::messages::Messages;
use super::{Criteria, Matcher, MessageHeader, MsgKey, RecvKey, Verdict};
use crate::endpoint::library::SoftwareCommunicators;

/// Records a match of a receive and a message. `None`: an unknown name.
#[inline]
fn matched(
    receives: &[(RecvKey, CommId)],
    messages: &mut Messages,
    homes: &mut [Home],
    request: RequestId,
    message: Message,
    late: bool,
) -> Option<Verdict> {
    let recv = match request.number() {
        Some(number) => RecvKey(number),
        None => receives.get(request.slot())?.0,
    };
    let (msg, comm) = messages.remove(message.arrival)?;
    homes.get_mut(comm.0 as usize)?.waiting -= 2;
    Some(Verdict::Matched { recv, msg, late })
}

/// The threads that run the NIC.
#[derive(Debug)]
enum Runner {
    Caller(Box<Leader>),
    Pool(#[expect(dead_code, reason = "its threads end when it is dropped")] Pool),
}

/// A communicator's entry in the table of NIC numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Home {
    /// Its number on the NIC.
    slot: Option<u32>,
    /// Receives and messages of it that have no partner.
    waiting: u64,
}

/// A batch of messages, see [`NicMatcher::batch`].
pub(crate) struct Batch<'a> {
    row: MessageBatch<'a>,
    waiting: &'a mut u64,
    counts: [&'a mut u64; 2],
}

impl Batch<'_> {
    /// The receive that the next message takes.
    #[inline(always)]
    pub(crate) fn take(&mut self, source: Rank, tag: Tag) -> Option<RecvKey> {
        match self.row.take(source, tag) {
            DirectResult::Matched(number) => Some(RecvKey(number)),
            _ => None,
        }
    }

    /// Messages that took a receive.
    #[inline(always)]
    pub(crate) fn taken(&self) -> u64 {
        self.row.taken()
    }

    #[inline(always)]
    pub(crate) fn end(self) {
        let taken = self.taken();
        *self.waiting -= taken;
        self.counts.into_iter().for_each(|count| *count += taken);
    }
}

/// The NIC with both its ends.
#[derive(Debug)]
pub(crate) struct NicMatcher {
    runner: Runner,
    port: HostPort,
    sender: Sender,
    software: Software,
    monitor: Monitor,
    bins: u32,
    slots: u32,
    /// Which communicator has each of the NIC's numbers.
    tenants: Vec<Option<CommId>>,
    /// Numbers of communicators beyond the NIC's.
    beyond: u32,
    kept_off: SoftwareCommunicators,
    homes: Vec<Home>,
    evictions: u64,
    arrivals: u64,
    /// Messages without a receive.
    messages: Messages,
    /// Receives by the slot of their request, and the last request of each receive's place.
    receives: Vec<(RecvKey, CommId)>,
    requests: Vec<RequestId>,
    cancels: VecDeque<RecvKey>,
    probing: bool,
    /// Whether an operation came since the last settlement.
    busy: bool,
    short_posts: u64,
    short_messages: u64,
    verdicts: Vec<Verdict>,
}

impl NicMatcher {
    /// A NIC with these options. `threads`: host threads run it; otherwise the caller.
    ///
    /// # Errors
    /// [`ConfigError`] for a configuration that no NIC can be built from.
    pub(crate) fn new(
        options: &EngineOptions,
        kept_off: SoftwareCommunicators,
    ) -> Result<Self, ConfigError> {
        // One queue for the one sender, and the shared queue that every NIC has.
        let config = NicConfig {
            bins: options.bins.get() as usize,
            completion_queues: 2,
            ..options.nic
        };
        let nic = Nic::new(&config)?;
        let monitor = nic.leader.monitor();
        let out_of_threads = ConfigError::OutOfRange {
            what: "workers",
            value: config.workers,
            least: 1,
            most: 1,
        };
        let runner = if options.threads {
            Runner::Pool(Pool::start(nic.leader, nic.workers, |_| ()).map_err(|_| out_of_threads)?)
        } else {
            Runner::Caller(Box::new(nic.leader))
        };
        let mut sender = nic.sender;
        sender.set_inline_hashes(options.sender_hashes);
        Ok(Self {
            runner,
            port: nic.host,
            sender,
            software: Software::default(),
            monitor,
            bins: config.bins as u32,
            slots: config.communicators as u32,
            tenants: Vec::new(),
            beyond: 0,
            kept_off,
            homes: Vec::new(),
            evictions: 0,
            arrivals: 0,
            messages: Messages::default(),
            receives: Vec::new(),
            requests: Vec::new(),
            cancels: VecDeque::new(),
            probing: false,
            busy: false,
            short_posts: 0,
            short_messages: 0,
            verdicts: Vec::new(),
        })
    }

    /// Whether operations may bypass the queues.
    #[inline(always)]
    pub(super) fn is_short(&self) -> bool {
        matches!(self.runner, Runner::Caller(_))
    }

    /// Posts a receive directly. [`DirectResult::UseQueues`]: [`post`](Matcher::post) it.
    #[inline(always)]
    pub(crate) fn post_now(
        &mut self,
        recv: RecvKey,
        comm: CommId,
        selector: Selector,
    ) -> DirectResult<MsgKey> {
        debug_assert!(!self.busy);
        let Self {
            runner: Runner::Caller(leader),
            homes,
            ..
        } = self
        else {
            return DirectResult::UseQueues;
        };
        let Some(Home {
            slot: Some(slot),
            waiting,
        }) = homes.get_mut(comm.0 as usize)
        else {
            return DirectResult::UseQueues;
        };
        match leader.post_now(CommId(*slot), selector, recv.0) {
            DirectResult::Unmatched => {
                *waiting += 1;
                self.short_posts += 1;
                DirectResult::Unmatched
            }
            DirectResult::Matched(arrival) => {
                *waiting -= 1;
                self.short_posts += 1;
                let (msg, _) = self.messages.remove(arrival).expect("a message that waits");
                DirectResult::Matched(msg)
            }
            DirectResult::UseQueues => DirectResult::UseQueues,
        }
    }

    /// Messages of one communicator that take their receives directly. `None`: they belong in the
    /// queues.
    #[inline(always)]
    pub(crate) fn batch(&mut self, comm: CommId) -> Option<Batch<'_>> {
        debug_assert!(!self.busy);
        let Self {
            runner: Runner::Caller(leader),
            homes,
            ..
        } = self
        else {
            return None;
        };
        let home = homes.get_mut(comm.0 as usize)?;
        let row = leader.batch(CommId(home.slot?))?;
        let counts = [&mut self.arrivals, &mut self.short_messages];
        Some(Batch {
            row,
            waiting: &mut home.waiting,
            counts,
        })
    }

    /// Enters a message directly. [`DirectResult::UseQueues`]: [`arrive`](Matcher::arrive) it.
    pub(crate) fn arrive_now(&mut self, msg: MsgKey, envelope: &Envelope) -> DirectResult<RecvKey> {
        debug_assert!(!self.busy);
        let Self {
            runner: Runner::Caller(leader),
            homes,
            ..
        } = self
        else {
            return DirectResult::UseQueues;
        };
        let comm = envelope.comm;
        let Some(Home {
            slot: Some(slot),
            waiting,
        }) = homes.get_mut(comm.0 as usize)
        else {
            return DirectResult::UseQueues;
        };
        let now = match leader.arrive_now(&Envelope {
            comm: CommId(*slot),
            ..*envelope
        }) {
            DirectResult::Matched(number) => {
                *waiting -= 1;
                DirectResult::Matched(RecvKey(number))
            }
            DirectResult::Unmatched => {
                *waiting += 1;
                self.messages.insert(self.arrivals, msg, comm);
                DirectResult::Unmatched
            }
            DirectResult::UseQueues => return DirectResult::UseQueues,
        };
        self.arrivals += 1;
        self.short_messages += 1;
        now
    }

    fn cancel_now(&mut self, recv: RecvKey, criteria: &Criteria) -> bool {
        debug_assert!(!self.busy);
        let Self {
            runner: Runner::Caller(leader),
            homes,
            ..
        } = self
        else {
            return false;
        };
        let Some(Home {
            slot: Some(slot),
            waiting,
        }) = homes.get_mut(criteria.comm.0 as usize)
        else {
            return false;
        };
        let cancelled = leader.cancel_now(CommId(*slot), criteria.selector, recv.0);
        *waiting -= u64::from(cancelled);
        cancelled
    }

    #[inline(always)]
    fn home(&mut self, comm: CommId) -> &mut Home {
        let index = comm.0 as usize;
        if index >= self.homes.len() {
            self.homes.resize(index + 1, Home::default());
        }
        &mut self.homes[index]
    }

    /// The NIC's number for a communicator of which one more receive or message waits.
    #[inline(always)]
    fn waits_on_nic(&mut self, comm: CommId, bits: u64) -> CommId {
        if let Some(Home {
            slot: Some(slot),
            waiting,
        }) = self.homes.get_mut(comm.0 as usize)
        {
            *waiting += 1;
            return CommId(*slot);
        }
        let slot = self.bring_onto_nic(comm, bits);
        self.home(comm).waiting += 1;
        slot
    }

    /// The NIC's number for a communicator.
    fn on_nic(&mut self, comm: CommId, bits: u64) -> CommId {
        match self.homes.get(comm.0 as usize) {
            Some(&Home {
                slot: Some(slot), ..
            }) => CommId(slot),
            _ => self.bring_onto_nic(comm, bits),
        }
    }

    #[cold]
    fn bring_onto_nic(&mut self, comm: CommId, bits: u64) -> CommId {
        let slot = if self.kept_off.has(bits) {
            None
        } else {
            self.make_room()
        };
        let slot = slot.unwrap_or_else(|| {
            self.beyond += 1;
            self.slots + self.beyond - 1
        });
        self.home(comm).slot = Some(slot);
        if slot < self.slots {
            self.tenants[slot as usize] = Some(comm);
            while self
                .port
                .create(CommId(slot), self.bins, Hints::default(), 0)
                .is_err()
            {
                self.step();
            }
            self.busy = true;
            // The NIC may have forwarded earlier messages under its number.
            self.software.offer(CommId(slot));
        }
        CommId(slot)
    }

    /// A number with tables that no communicator has: a fresh one, or that of a communicator with
    /// empty queues.
    fn make_room(&mut self) -> Option<u32> {
        if (self.tenants.len() as u32) < self.slots {
            self.tenants.push(None);
            return Some(self.tenants.len() as u32 - 1);
        }
        self.run();
        let idle = self.tenants.iter().enumerate().find_map(|(slot, &comm)| {
            let home = self.homes.get(comm?.0 as usize)?;
            (home.waiting == 0 && self.software.is_empty(CommId(slot as u32)))
                .then_some((slot as u32, comm?))
        });
        let (slot, comm) = idle?;
        self.evictions += 1;
        self.home(comm).slot = None;
        self.software.free_comm(CommId(slot));
        while self.port.free(CommId(slot), 0).is_err() {
            self.step();
        }
        self.busy = true;
        self.run();
        Some(slot)
    }

    /// Posts a receive on the NIC.
    #[inline(always)]
    fn request(&mut self, comm: CommId, selector: Selector) -> RequestId {
        loop {
            match self.port.post(comm, selector, Vec::new(), 0) {
                Ok(request) => return request,
                Err(_) => self.step(),
            }
        }
    }

    /// Whether a round of the caller's did anything.
    #[inline(always)]
    fn round(&mut self) -> bool {
        match &mut self.runner {
            Runner::Caller(leader) => leader.round(1) == Round::Worked,
            Runner::Pool(_) => false,
        }
    }

    #[inline(never)]
    fn step(&mut self) {
        let worked = self.round();
        if !self.collect() && !worked {
            std::thread::yield_now();
        }
    }

    /// Runs until the NIC has handled everything.
    #[inline]
    fn run(&mut self) {
        if !self.busy {
            return;
        }
        let mut wait = Wait::new();
        loop {
            let worked = self.round();
            let settled = self.port.is_settled();
            let offers = self.software.stats().offers;
            let collected = self.collect();
            // Ends once the results are collected, unless collecting them made new work.
            if settled && (self.software.stats().offers == offers || self.port.is_settled()) {
                break;
            }
            if !worked && !collected {
                wait.pause();
            }
        }
        self.busy = false;
    }

    fn collect(&mut self) -> bool {
        let mut any = false;
        loop {
            let Self {
                software,
                port,
                receives,
                messages,
                homes,
                verdicts,
                ..
            } = self;
            let event = software.poll_matched(port, |request, message, late| {
                any = true;
                if let Some(verdict) = matched(receives, messages, homes, request, message, late) {
                    verdicts.push(verdict);
                }
            });
            let Some(event) = event else { return any };
            any = true;
            self.note(event);
        }
    }

    fn note(&mut self, event: Event) {
        match event {
            Event::Received {
                request,
                message,
                late,
                ..
            } => {
                let Self {
                    receives,
                    messages,
                    homes,
                    verdicts,
                    ..
                } = self;
                verdicts.extend(matched(receives, messages, homes, request, message, late));
            }
            Event::Admitted { request } => {
                if let Some(&(recv, _)) = self.receives.get(request.slot()) {
                    self.verdicts.push(Verdict::Posted(recv));
                }
            }
            Event::Unexpected { message } => {
                if let Some((msg, _)) = self.messages.get(message.arrival) {
                    self.verdicts.push(Verdict::Unexpected(msg));
                }
            }
            Event::Cancelled { request, .. } => {
                let Some(recv) = self.cancels.pop_front() else {
                    return;
                };
                if let Some(&(_, comm)) = self.receives.get(request.slot()) {
                    self.home(comm).waiting -= 1;
                }
                self.verdicts.push(Verdict::Cancelled(recv));
            }
            Event::Probed { found, taken, .. } => {
                let arrival = found.map(|message| message.arrival);
                let found = arrival.and_then(|arrival| self.messages.get(arrival));
                // The provider has the data, so the NIC's hold on the message is dropped.
                if let (Some(_), Some(arrival), Some((_, comm))) = (taken, arrival, found) {
                    self.messages.remove(arrival);
                    self.home(comm).waiting -= 1;
                }
                self.probing = false;
                self.verdicts.push(Verdict::Probed {
                    found: found.map(|(msg, _)| msg),
                });
            }
            // No hints are given, so nothing is refused, and a receive waits when it is cancelled.
            _ => {}
        }
    }
}

impl Matcher for NicMatcher {
    fn post(&mut self, recv: RecvKey, criteria: &Criteria) {
        let comm = self.waits_on_nic(criteria.comm, criteria.bits);
        let request = match (criteria.selector.source, criteria.selector.tag) {
            // Copied field by field: the caller has just written it in parts, and a read as a whole
            // would wait for those stores longer than the rest takes.
            (SourceSel::Rank(source), TagSel::Tag(tag)) => {
                let selector = Selector {
                    source: SourceSel::Rank(source),
                    tag: TagSel::Tag(tag),
                };
                self.request(comm, selector)
            }
            _ => self.request(comm, criteria.selector),
        };
        let slot = request.slot();
        if slot >= self.receives.len() {
            self.receives.resize(slot + 1, (recv, criteria.comm));
        }
        self.receives[slot] = (recv, criteria.comm);
        let place = recv.0 as usize;
        if place >= self.requests.len() {
            self.requests.resize(place + 1, RequestId::NONE);
        }
        self.requests[place] = request;
        self.busy = true;
    }

    fn arrive(&mut self, msg: MsgKey, header: &MessageHeader) {
        let comm = self.waits_on_nic(header.envelope.comm, header.bits);
        self.messages
            .insert(self.arrivals, msg, header.envelope.comm);
        let envelope = Envelope {
            comm,
            ..header.envelope
        };
        while self.sender.try_send(envelope, &[], 0) == Err(SendError::ReceiverNotReady) {
            self.step();
        }
        self.arrivals += 1;
        self.busy = true;
    }

    fn cancel(&mut self, recv: RecvKey, criteria: &Criteria) {
        if self.cancel_now(recv, criteria) {
            return self.verdicts.push(Verdict::Cancelled(recv));
        }
        let request = self
            .requests
            .get(recv.0 as usize)
            .copied()
            .unwrap_or(RequestId::NONE);
        while self.port.cancel(request, 0).is_err() {
            self.step();
        }
        self.cancels.push_back(recv);
        self.busy = true;
    }

    fn probe(&mut self, criteria: &Criteria, take: bool) {
        let comm = self.on_nic(criteria.comm, criteria.bits);
        while self.port.probe(comm, criteria.selector, take, 0).is_err() {
            self.step();
        }
        self.probing = true;
        self.busy = true;
    }

    fn settle(&mut self, sink: &mut Vec<Verdict>) {
        self.run();
        if sink.is_empty() {
            std::mem::swap(sink, &mut self.verdicts);
        } else {
            sink.append(&mut self.verdicts);
        }
    }

    fn counters(&self) -> Vec<Counter> {
        let counts = self.monitor.counts();
        let software = self.software.stats();
        let own = [
            ("software_posts", software.posts),
            ("software_arrivals", software.arrivals),
            ("software_matches", software.matches),
            ("hand_back_offers", software.offers),
            ("communicators_evicted", self.evictions),
            ("short_posts", self.short_posts),
            ("short_messages", self.short_messages),
        ];
        let rows = counts
            .handlers
            .rows()
            .chain(counts.boundary.rows())
            .chain(own);
        rows.map(|(name, value)| Counter::new(name, value))
            .collect()
    }
}
