//! Fallback to software matching, and back (O7, O24, S20).
//!
//! When a receive or message does not fit on the NIC, the NIC forwards it and all later ones of its
//! communicator to the host, in the order of matching. The NIC still matches the older entries that
//! it holds. So the host's queues are exactly the younger part of the communicator's queues, and an
//! engine that gets the forwarded events in order gives the oracle's result.
//!
//! **Return.** Once the host holds no message of the communicator, it offers the communicator back
//! with its receives and the number of events seen. The NIC accepts if it has sent no more events
//! and has room. Until it answers, the host cannot match these receives, so events that need them
//! wait. After each refusal with receives, the next offer waits for twice as many events, up to
//! 1024.
//!
//! **How long it stays.** As long as the host holds messages, because their data is on the host,
//! and as long as the host is slower than the NIC, which then has always sent more. If receives
//! come first, the communicator returns, however many are posted.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use dpa_model::{
    CommandQueueFull, Event, ForwardedRequest, HostPort, Message, Payload, RequestId, TakenMessage,
};
use dpamatch_vocabulary::{CommId, Selector};

use crate::engine::{Behind, Engine, MsgId, RecvId};

/// Statistics of the fallback.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SoftwareStats {
    /// Receives sent on to the host.
    pub posts: u64,
    /// Messages sent on to the host.
    pub arrivals: u64,
    /// Matches made here.
    pub matches: u64,
    /// Offers to take a communicator back.
    pub offers: u64,
    /// Offers that the NIC accepted.
    pub resumed: u64,
    /// Nanoseconds that communicators spent in fallbacks that have ended, from the first forwarded
    /// event to the end.
    pub away_ns: u64,
}

/// Software matching for everything that the NIC forwards.
///
/// [`NicMatcher`](super::NicMatcher), which has an example, uses it when its NIC is full.
pub struct Software {
    engine: Box<dyn Engine>,
    /// Messages in the engine's queues and their data, by arrival number.
    messages: HashMap<u64, (Message, Payload)>,
    /// Receives in the engine's queues, by request number.
    receives: HashMap<u64, ForwardedRequest>,
    comms: HashMap<CommId, Side>,
    /// Communicators that changed since they were last considered for an offer.
    changed: Vec<CommId>,
    /// The communicator whose offer the NIC has not answered.
    offered: Option<CommId>,
    /// Events held back until that answer, from the first that needs it on.
    held: VecDeque<Event>,
    stats: SoftwareStats,
}

/// The host's side of a communicator.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    /// Posts, arrivals and cancels sent on so far.
    forwarded: u64,
    /// When the fallback began, if the communicator is in one.
    away: Option<Instant>,
    /// Lengths of the engine's queues.
    messages: u64,
    receives: u64,
    /// After a refused offer: the number of forwarded events from which receives are offered again,
    /// and the events of the last wait.
    next: u64,
    step: u64,
}

/// Maximum number of events between two offers of receives.
const STEP_MAX: u64 = 1024;

impl std::fmt::Debug for Software {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Software")
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}

impl Default for Software {
    /// Software matching in hash bins that grow, with empty queues.
    fn default() -> Self {
        Self {
            engine: Behind::Bins.engine(),
            messages: HashMap::new(),
            receives: HashMap::new(),
            comms: HashMap::new(),
            changed: Vec::new(),
            offered: None,
            held: VecDeque::new(),
            stats: SoftwareStats::default(),
        }
    }
}

impl Software {
    /// Software matching with empty queues of this engine.
    pub fn behind(behind: Behind) -> Self {
        Self {
            engine: behind.engine(),
            ..Self::default()
        }
    }

    /// The statistics so far.
    pub fn stats(&self) -> SoftwareStats {
        self.stats
    }

    /// The engine.
    pub fn engine(&self) -> &dyn Engine {
        self.engine.as_ref()
    }

    /// Whether the host holds nothing of the communicator.
    pub fn is_empty(&self, comm: CommId) -> bool {
        self.engine.is_empty(comm)
    }

    /// Offers the communicator to the NIC at the next [`poll`](Self::poll), if the host holds no
    /// message of it. Call this after creating a communicator: the NIC may have forwarded earlier
    /// messages under its number, and then waits for the offer.
    pub fn offer(&mut self, comm: CommId) {
        self.record_change(comm);
    }

    /// Frees the state of a communicator that has ended. Returns `false` and does nothing if the
    /// host holds entries of it.
    pub fn free_comm(&mut self, comm: CommId) -> bool {
        let freed = self.engine.free_comm(comm);
        if freed {
            self.end_fallback(comm);
        }
        freed
    }

    /// The next event, decided by the NIC or by software, or `None` if there is none now. No event
    /// forwards a request or message. Call this until `None`: communicators are offered back when
    /// the NIC has no more events.
    pub fn poll(&mut self, port: &mut HostPort) -> Option<Event> {
        while let Some(event) = self.next(port) {
            if let Some(done) = self.digest(port, event) {
                return Some(done);
            }
        }
        self.hand_back(port);
        None
    }

    /// Polls like [`poll`](Self::poll), with a faster path for receives that the NIC matched while
    /// software is idle: they go to `received`, each with its message and whether the message came
    /// first. Only for receives without a buffer.
    #[inline]
    pub fn poll_matched(
        &mut self,
        port: &mut HostPort,
        mut received: impl FnMut(RequestId, Message, bool),
    ) -> Option<Event> {
        while self.is_quiet() {
            let event = port.drain(|request, _, &message, late| {
                received(request, message, late);
                true
            })?;
            if let Some(done) = self.digest(port, event) {
                return Some(done);
            }
        }
        self.poll(port)
    }

    /// Whether software only waits for forwarded events. The NIC's other reports may then bypass
    /// it, and the caller may poll `port` itself, if it passes each event to
    /// [`digest`](Self::digest).
    #[inline(always)]
    pub fn is_quiet(&self) -> bool {
        // Without branches between the three, since each receive runs this.
        self.offered.is_none() & ((self.held.len() | self.changed.len()) == 0)
    }

    fn next(&mut self, port: &mut HostPort) -> Option<Event> {
        if self.offered.is_none()
            && let Some(event) = self.held.pop_front()
        {
            return Some(event);
        }
        while let Some(event) = port.poll() {
            let Some(comm) = self.offered else {
                return Some(event);
            };
            if matches!(event, Event::Resumed { .. } | Event::Declined { .. }) {
                self.answered(port, event);
                if let Some(event) = self.held.pop_front() {
                    return Some(event);
                }
            } else if self.held.is_empty() && !needs_lists(port, &event, comm) {
                return Some(event);
            } else {
                self.held.push_back(event);
            }
        }
        None
    }

    /// Handles the NIC's answer to the offer.
    fn answered(&mut self, port: &HostPort, event: Event) {
        self.offered = None;
        match event {
            Event::Resumed { comm } => {
                self.stats.resumed += 1;
                for recv in self.posted(port, comm) {
                    self.engine.cancel(recv);
                }
                self.end_fallback(comm);
            }
            Event::Declined { comm, receives } => {
                if !receives.is_empty() {
                    let side = self.side(comm);
                    side.step = (2 * side.step).clamp(1, STEP_MAX);
                    side.next = side.forwarded + side.step;
                }
                self.receives.extend(
                    receives
                        .into_iter()
                        .map(|receive| (receive.id().as_u64(), receive)),
                );
            }
            _ => {}
        }
    }

    /// The software holds nothing of the communicator any more, or of the next one of its number.
    fn end_fallback(&mut self, comm: CommId) {
        let side = self.side(comm);
        (side.receives, side.next, side.step) = (0, 0, 0);
        if let Some(since) = side.away.take() {
            self.stats.away_ns += u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        }
    }

    /// The receives of a communicator in the engine's queue, in posting order.
    fn posted(&self, port: &HostPort, comm: CommId) -> Vec<RecvId> {
        if self.engine.is_empty(comm) {
            return Vec::new();
        }
        let mut posted = self.engine.posted();
        posted.retain(|recv| {
            port.describe(RequestId::from_u64(recv.0))
                .is_some_and(|(of, _)| of == comm)
        });
        posted
    }

    /// Runs the software's part of an event that the NIC reported while software was
    /// [quiet](Self::is_quiet). Returns the resulting event, if there is one yet.
    pub fn digest(&mut self, port: &mut HostPort, event: Event) -> Option<Event> {
        match event {
            Event::PostForwarded { request } => self.post(port, request),
            Event::ArrivalForwarded { message, payload } => self.arrive(port, message, payload),
            Event::CancelForwarded { request, comm } => Some(self.cancel(port, request, comm)),
            Event::ProbeForwarded { request, take } => self.probe(port, request, take),
            Event::Resumed { .. } | Event::Declined { .. } => None,
            decided => Some(decided),
        }
    }

    fn post(&mut self, port: &mut HostPort, request: ForwardedRequest) -> Option<Event> {
        let id = request.id();
        let (comm, selector) = port.describe(id)?;
        self.stats.posts += 1;
        self.count_forwarded(comm);
        let matched = self.engine.post(RecvId(id.as_u64()), comm, selector);
        let Some(MsgId(arrival)) = matched else {
            self.receives.insert(id.as_u64(), request);
            self.side(comm).receives += 1;
            self.record_change(comm);
            return Some(Event::Admitted { request: id });
        };
        let (message, payload) = self.remove(comm, arrival)?;
        self.deliver(port, request, message, payload, true)
    }

    fn arrive(&mut self, port: &mut HostPort, message: Message, payload: Payload) -> Option<Event> {
        let comm = message.envelope.comm;
        self.stats.arrivals += 1;
        self.count_forwarded(comm);
        let matched = self.engine.arrive(MsgId(message.arrival), message.envelope);
        if let Some(request) = matched.and_then(|recv| self.receives.remove(&recv.0)) {
            self.side(comm).receives -= 1;
            self.record_change(comm);
            return self.deliver(port, request, message, payload, false);
        }
        self.side(comm).messages += 1;
        self.messages.insert(message.arrival, (message, payload));
        Some(Event::Unexpected { message })
    }

    fn deliver(
        &mut self,
        port: &mut HostPort,
        request: ForwardedRequest,
        message: Message,
        payload: Payload,
        late: bool,
    ) -> Option<Event> {
        self.stats.matches += 1;
        let id = request.id();
        let mut buffer = port.withdraw(request);
        // Otherwise the NIC has stopped and the sender has its data again: the receive never ends.
        payload.read(&mut buffer)?;
        Some(Event::Received {
            request: id,
            buffer,
            message,
            late,
        })
    }

    fn cancel(&mut self, port: &mut HostPort, request: RequestId, comm: CommId) -> Event {
        if request == RequestId::NONE {
            return Event::TooLate { request };
        }
        self.side(comm).forwarded += 1;
        self.record_change(comm);
        if !self.engine.cancel(RecvId(request.as_u64())) {
            return Event::TooLate { request };
        }
        let Some(forwarded) = self.receives.remove(&request.as_u64()) else {
            return Event::TooLate { request };
        };
        self.side(comm).receives -= 1;
        Event::Cancelled {
            request,
            buffer: port.withdraw(forwarded),
        }
    }

    fn probe(
        &mut self,
        port: &mut HostPort,
        request: ForwardedRequest,
        take: bool,
    ) -> Option<Event> {
        let id = request.id();
        let (comm, selector): (CommId, Selector) = port.describe(id)?;
        port.withdraw(request);
        if !take {
            let found = self
                .engine
                .probe(comm, selector)
                .and_then(|msg| self.messages.get(&msg.0));
            return Some(Event::Probed {
                request: id,
                found: found.map(|held| held.0),
                taken: None,
            });
        }
        let found = self
            .engine
            .mprobe(comm, selector)
            .and_then(|msg| self.remove(comm, msg.0));
        Some(match found {
            Some((message, payload)) => Event::Probed {
                request: id,
                found: Some(message),
                taken: Some(TakenMessage::by_software(payload)),
            },
            None => Event::Probed {
                request: id,
                found: None,
                taken: None,
            },
        })
    }

    fn count_forwarded(&mut self, comm: CommId) {
        let side = self.side(comm);
        side.forwarded += 1;
        side.away.get_or_insert_with(Instant::now);
    }

    /// Removes a message that has left the engine's queue.
    fn remove(&mut self, comm: CommId, arrival: u64) -> Option<(Message, Payload)> {
        let held = self.messages.remove(&arrival)?;
        self.side(comm).messages -= 1;
        self.record_change(comm);
        Some(held)
    }

    fn side(&mut self, comm: CommId) -> &mut Side {
        self.comms.entry(comm).or_default()
    }

    fn record_change(&mut self, comm: CommId) {
        if !self.changed.contains(&comm) {
            self.changed.push(comm);
        }
    }

    /// Offers back to the NIC the communicators without a message on the host.
    fn hand_back(&mut self, port: &mut HostPort) {
        while self.offered.is_none()
            && let Some(&comm) = self.changed.last()
        {
            let Side {
                forwarded,
                messages,
                receives,
                next,
                ..
            } = *self.side(comm);
            let early = forwarded < next;
            // No offer can hold that many receives. Try again after one has left.
            let too_many = receives > port.offer_most();
            if messages == 0 && !too_many && (!early || receives == 0) {
                // The next call tries again. Checked before gathering the receives, which takes
                // O(receives).
                if !port.has_offer_room(receives) {
                    return;
                }
                let posted = self.posted(port, comm);
                debug_assert_eq!(posted.len() as u64, receives, "they are counted");
                let mut receives: Vec<_> = posted
                    .iter()
                    .filter_map(|recv| self.receives.remove(&recv.0))
                    .collect();
                let result = port.hand_back(comm, forwarded, &mut receives);
                self.receives.extend(
                    receives
                        .into_iter()
                        .map(|receive| (receive.id().as_u64(), receive)),
                );
                match result {
                    Ok(()) => {
                        self.offered = Some(comm);
                        self.stats.offers += 1;
                    }
                    // The next call tries again.
                    Err(CommandQueueFull) => return,
                }
            }
            self.changed.pop();
        }
    }
}

/// Whether an event must wait while the NIC considers an offer of `comm` with its receives.
fn needs_lists(port: &HostPort, event: &Event, comm: CommId) -> bool {
    let of = match event {
        Event::PostForwarded { request } | Event::ProbeForwarded { request, .. } => {
            port.describe(request.id()).map(|(of, _)| of)
        }
        Event::ArrivalForwarded { message, .. } => Some(message.envelope.comm),
        Event::CancelForwarded { comm: of, .. } => Some(*of),
        _ => None,
    };
    of == Some(comm)
}

#[cfg(test)]
mod tests {
    use dpa_model::{Hints, Leader, Nic, NicConfig, Round, SourceSel, TagSel};

    use super::*;

    const COMM: CommId = CommId(0);
    const ANY: Selector = Selector {
        source: SourceSel::Any,
        tag: TagSel::Any,
    };

    /// Collects all events, running the NIC in between until it is idle.
    fn settle(software: &mut Software, leader: &mut Leader, host: &mut HostPort) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let worked = leader.round(1) == Round::Worked;
            let before = events.len();
            events.extend(std::iter::from_fn(|| software.poll(host)));
            if !worked && events.len() == before {
                return events;
            }
        }
    }

    /// The NIC holds the receives of an offer, so a cancel waits for its answer.
    #[test]
    fn a_receive_is_cancelled_although_it_was_just_offered() {
        let config = NicConfig {
            receives: 1,
            ..NicConfig::default()
        };
        let Nic {
            mut leader,
            mut host,
            ..
        } = Nic::new(&config).expect("a NIC can be built");
        let mut software = Software::default();
        host.create(COMM, 4, Hints::default(), 0).expect("room");
        let requests =
            [1, 2, 3].map(|bytes| host.post(COMM, ANY, vec![0; bytes], 0).expect("room"));
        settle(&mut software, &mut leader, &mut host);
        assert_eq!(software.stats().posts, 2, "more than fit on the NIC");
        // One receive leaves, so that the other is offered again; that one leaves meanwhile.
        host.cancel(requests[1], 0).expect("room");
        assert_eq!(leader.round(1), Round::Worked);
        host.cancel(requests[2], 0).expect("room");
        let offers = software.stats().offers;
        let mut events: Vec<_> = std::iter::from_fn(|| software.poll(&mut host)).collect();
        assert_eq!(software.stats().offers, offers + 1, "behind the cancel");
        events.extend(settle(&mut software, &mut leader, &mut host));
        let cancelled = |event: &Event| match event {
            Event::Cancelled { request, buffer } => Some((*request, buffer.len())),
            _ => None,
        };
        let cancelled: Vec<_> = events.iter().filter_map(cancelled).collect();
        assert_eq!(
            cancelled,
            [(requests[1], 2), (requests[2], 3)],
            "{events:?}"
        );
        // Nothing is left but the NIC's receive: the fallback is over, and the next one ends when
        // its communicator is freed.
        let (resumed, away) = (software.stats().resumed, software.stats().away_ns);
        assert!(resumed > 0 && away > 0, "{:?}", software.stats());
        host.post(COMM, ANY, vec![0; 4], 0).expect("room");
        let _ = leader.round(1);
        assert!(matches!(
            software.poll(&mut host),
            Some(Event::Admitted { .. })
        ));
        std::thread::sleep(std::time::Duration::from_millis(2));
        host.post(COMM, ANY, vec![0; 5], 0).expect("room");
        let _ = leader.round(1);
        let Some(Event::Admitted { request: second }) = software.poll(&mut host) else {
            panic!("admitted by software")
        };
        host.cancel(second, 0).expect("room");
        let _ = leader.round(1);
        assert!(matches!(
            software.poll(&mut host),
            Some(Event::Cancelled { .. })
        ));
        assert!(!software.free_comm(COMM), "it holds a receive");
        assert_eq!(
            (software.stats().away_ns, software.side(COMM).receives),
            (away, 1)
        );
        let last = RequestId::from_u64(*software.receives.keys().next().expect("the receive"));
        host.cancel(last, 0).expect("room");
        let _ = leader.round(1);
        assert!(matches!(
            software.poll(&mut host),
            Some(Event::Cancelled { .. })
        ));
        assert!(software.free_comm(COMM) && software.stats().away_ns >= away + 2_000_000);
        assert_eq!(software.side(COMM).away, None);
    }

    /// Each refused offer doubles the wait for the next one, up to 1024 events. The next fallback
    /// begins without a wait.
    #[test]
    fn offers_grow_rarer() {
        let config = NicConfig {
            receives: 1,
            command_queue: 4096,
            ..NicConfig::default()
        };
        let Nic {
            mut leader,
            mut host,
            ..
        } = Nic::new(&config).expect("a NIC can be built");
        let mut software = Software::default();
        host.create(COMM, 4, Hints::default(), 0).expect("room");
        for length in [3100, 9] {
            let (mut requests, mut offered) = (Vec::new(), Vec::new());
            let before = software.stats();
            while requests.len() < length {
                let offers = software.stats().offers;
                requests.push(host.post(COMM, ANY, Vec::new(), 0).expect("room"));
                settle(&mut software, &mut leader, &mut host);
                if software.stats().offers > offers {
                    offered.push(software.stats().posts - before.posts);
                }
            }
            let rare = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3072];
            assert_eq!(offered, &rare[..if length > 9 { 13 } else { 4 }]);
            for request in requests {
                host.cancel(request, 0).expect("room");
            }
            settle(&mut software, &mut leader, &mut host);
            assert_eq!(software.stats().resumed, before.resumed + 1);
        }
    }

    /// More receives than fit in an offer stay on the host, without repeated cost.
    #[test]
    fn receives_that_no_offer_can_tell_of_wait_until_they_are_fewer() {
        let config = NicConfig {
            receives: 4,
            command_queue: 8,
            ..NicConfig::default()
        };
        let Nic {
            mut leader,
            mut host,
            mut sender,
            ..
        } = Nic::new(&config).expect("a NIC");
        let mut software = Software::default();
        host.create(COMM, 4, Hints::default(), 0).expect("room");
        for _ in 0..24 {
            host.post(COMM, ANY, Vec::new(), 0).expect("room");
            settle(&mut software, &mut leader, &mut host);
            let held = software.side(COMM).receives;
            assert!(software.is_quiet(), "{held}: nothing is left to try");
        }
        // The receive that found no room sent the NIC's receives along.
        assert_eq!((software.side(COMM).receives, host.offer_most()), (20, 7));
        let envelope = dpamatch_vocabulary::Envelope {
            comm: COMM,
            ..Default::default()
        };
        for left in (0..24).rev() {
            sender.try_send(envelope, &[], 0).expect("room");
            let events = settle(&mut software, &mut leader, &mut host);
            let received = events
                .iter()
                .filter(|event| matches!(event, Event::Received { .. }));
            assert_eq!(received.count(), 1, "{left} are left");
        }
        assert!(software.stats().resumed > 0, "{:?}", software.stats());
        assert_eq!(software.side(COMM).receives, 0);
    }
}
