//! The host's end of the NIC: commands in, completions out, and who owns a receive's buffer
//! meanwhile.
//!
//! **Invariants.** H1: a posted buffer belongs to the NIC from `post` until `poll` hands it back;
//! nobody on the host holds a reference to its bytes. H2: a slot's generation grows when the slot
//! is freed, and a slot whose generations are used up is not used again; so an old [`RequestId`]
//! names nothing.

use alloc::sync::Arc;
use alloc::vec::Vec;

mod lent;

use self::lent::Lent;
use super::event::{
    CommandQueueFull, Event, ForwardedRequest, Payload, RemoteData, RequestId, TakenMessage,
};
use super::sender::Sender;
use crate::completion_queue::CompletionQueue;
use crate::message::{
    Command, Completion, HostAddress, Message, Post, Protocol, Target, inline_bytes,
};
use crate::nic::{NicName, Shared};
use crate::region::RegionKey;
use crate::{CommId, Hints, Monitor, Selector, SourceSel, TagSel};

#[derive(Debug)]
#[repr(align(64))]
struct Slot {
    generation: u32,
    /// `None`: the slot is free.
    lent: Option<Lent>,
    comm: CommId,
    selector: Option<Selector>,
}

/// The host's end; one thread at a time uses it.
#[derive(Debug)]
pub struct HostPort {
    pub(super) shared: Arc<Shared>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    commands_tail: u64,
    /// First position of the command queue that must not be filled yet, by the NIC's head as last
    /// seen.
    commands_end: u64,
    /// Commands issued that a stamp counts.
    commands_counted: u64,
    /// Receives of the offer that has no answer: not the host's to end.
    offered: Option<Vec<ForwardedRequest>>,
    /// Slots of requests that ended while the offer had no answer. Software matching may keep back
    /// what it was told of them, but not beyond its next offer.
    parked: Vec<u32>,
    results_head: u64,
    results_released: u64,
}

// SAFETY: the raw pointers in `slots` are owned buffers (H1), as movable between threads as the
// `Vec`s they came from.
unsafe impl Send for HostPort {}

/// Completions read before the ring is told about it. Under loom so few that the small rings of the
/// models see it in the middle of reading.
const RELEASE_EVERY: u64 = if cfg!(dpamatch_loom) { 2 } else { 16 };

impl HostPort {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let commands_end = shared.commands.depth();
        Self {
            shared,
            slots: Vec::new(),
            free: Vec::new(),
            commands_tail: 0,
            commands_end,
            commands_counted: 0,
            offered: None,
            parked: Vec::new(),
            results_head: 0,
            results_released: 0,
        }
    }

    /// Posts a receive (O23); the buffer's length is the largest message it takes. `stamp`:
    /// arrivals that come before it, used with `Order::Stamped` only.
    ///
    /// # Errors
    /// [`CommandQueueFull`], with the buffer.
    pub fn post(
        &mut self,
        comm: CommId,
        selector: Selector,
        buffer: Vec<u8>,
        stamp: u64,
    ) -> Result<RequestId, (CommandQueueFull, Vec<u8>)> {
        if !self.has_room() {
            return Err((CommandQueueFull, buffer));
        }
        let (request, address, capacity) = self.lend(comm, Some(selector), buffer);
        let (request_number, target) = (request.0, Target::of(selector));
        let post = Post { request: request_number, comm, target, buffer: address, capacity };
        self.issue(Command::Post(post), stamp);
        Ok(request)
    }

    /// Asks to cancel a posted receive. The answer comes in its place among the events:
    /// `Cancelled`, `TooLate` or `CancelForwarded`; a request that has ended already is too late.
    ///
    /// # Errors
    /// [`CommandQueueFull`].
    pub fn cancel(&mut self, request: RequestId, stamp: u64) -> Result<(), CommandQueueFull> {
        if !self.has_room() {
            return Err(CommandQueueFull);
        }
        // A communicator that nobody has: the NIC finds nothing and says so in order.
        let nowhere = (CommId(u32::MAX), Selector { source: SourceSel::Any, tag: TagSel::Any });
        let (comm, selector) = self.describe(request).unwrap_or(nowhere);
        self.issue(
            Command::Cancel { request: request.0, comm, target: Target::of(selector) },
            stamp,
        );
        Ok(())
    }

    /// Looks for the oldest unexpected message that fits; with `take`, takes it out of matching
    /// (matched probe).
    ///
    /// # Errors
    /// [`CommandQueueFull`].
    pub fn probe(
        &mut self,
        comm: CommId,
        selector: Selector,
        take: bool,
        stamp: u64,
    ) -> Result<RequestId, CommandQueueFull> {
        if !self.has_room() {
            return Err(CommandQueueFull);
        }
        let (request, ..) = self.lend(comm, Some(selector), Vec::new());
        self.issue(
            Command::Probe { request: request.0, comm, target: Target::of(selector), take },
            stamp,
        );
        Ok(request)
    }

    /// Receives a message that a matched probe took (`MPI_Mrecv`).
    ///
    /// # Errors
    /// [`CommandQueueFull`], with message and buffer.
    ///
    /// # Panics
    /// When the message is held by another NIC or by software matching.
    pub fn receive(
        &mut self,
        message: TakenMessage,
        buffer: Vec<u8>,
        stamp: u64,
    ) -> Result<RequestId, (CommandQueueFull, TakenMessage, Vec<u8>)> {
        assert!(message.is_on(&self.shared), "the message is not held by this NIC");
        if !self.has_room() {
            return Err((CommandQueueFull, message, buffer));
        }
        let Some(entry) = message.receive() else { unreachable!("checked above") };
        let (request, address, capacity) = self.lend(CommId(u32::MAX), None, buffer);
        let command = Command::Receive { request: request.0, entry, buffer: address, capacity };
        self.issue(command, stamp);
        Ok(request)
    }

    /// Asks for tables for a communicator. If it gets none, software matches it (O24).
    ///
    /// # Errors
    /// [`CommandQueueFull`].
    pub fn create(
        &mut self,
        comm: CommId,
        bins: u32,
        hints: Hints,
        stamp: u64,
    ) -> Result<RequestId, CommandQueueFull> {
        if !self.has_room() {
            return Err(CommandQueueFull);
        }
        let (request, ..) = self.lend(comm, None, Vec::new());
        self.issue(Command::Create { request: request.0, comm, bins, hints }, stamp);
        Ok(request)
    }

    /// Gives a communicator's tables back.
    ///
    /// # Errors
    /// [`CommandQueueFull`].
    pub fn free(&mut self, comm: CommId, stamp: u64) -> Result<RequestId, CommandQueueFull> {
        if !self.has_room() {
            return Err(CommandQueueFull);
        }
        let (request, ..) = self.lend(comm, None, Vec::new());
        self.issue(Command::Free { request: request.0, comm }, stamp);
        Ok(request)
    }

    /// Offers to end a fallback: after `forwarded` posts, arrivals and cancels that were sent on to
    /// the host, no message of `comm` is left in the software lists, and of its receives only
    /// these, in posting order (S20). The NIC answers with `Resumed` and then has the receives, or
    /// with `Declined` if it has sent on more since or has no room; then they come back with the
    /// answer. There is one offer at a time, and all that was told before it must have been dealt
    /// with.
    ///
    /// # Errors
    /// [`CommandQueueFull`], also while an offer has no answer; `receives` is then as before, else
    /// empty.
    ///
    /// # Panics
    /// When a receive is of another NIC or another communicator.
    pub fn hand_back(
        &mut self,
        comm: CommId,
        forwarded: u64,
        receives: &mut Vec<ForwardedRequest>,
    ) -> Result<(), CommandQueueFull> {
        if self.offered.is_some() || self.room() <= receives.len() as u64 {
            return Err(CommandQueueFull);
        }
        for receive in receives.iter() {
            assert_eq!(receive.nic, self.nic(), "the receive was sent on by another NIC");
            let of = self.describe(receive.request).map(|(comm, _)| comm);
            assert_eq!(of, Some(comm), "the receive is of another communicator");
        }
        self.free.append(&mut self.parked);
        let first = self.commands_tail;
        for (position, receive) in (first + 1..).zip(receives.iter()) {
            let slot = &self.slots[receive.request.slot()];
            let (Some(selector), Some(lent)) = (slot.selector, &slot.lent) else {
                unreachable!("described above")
            };
            let command = Command::Return(Post {
                request: receive.request.0,
                comm,
                target: Target::of(selector),
                buffer: HostAddress::new(lent.start.as_ptr()),
                capacity: lent.capacity(),
            });
            // SAFETY: as in `push`, with room for all.
            unsafe { self.shared.commands.fill(position, 0, |slot| *slot = command) };
        }
        // Last, so that the NIC sees the offer with all that belongs to it.
        let offer = Command::HandBack { comm, forwarded, receives: receives.len() as u32 };
        self.push(offer, 0);
        self.commands_tail += receives.len() as u64;
        self.offered = Some(core::mem::take(receives));
        Ok(())
    }

    /// Commands issued so far that count for the stamps of messages (`Order::Stamped`).
    pub fn commands_counted(&self) -> u64 {
        self.commands_counted
    }

    /// One more sender.
    pub fn sender(&self) -> Sender {
        Sender::new(self.shared.clone())
    }

    /// Whether the NIC has dealt with every command and message there was, so that all that came of
    /// them can be polled.
    pub fn is_settled(&self) -> bool {
        let mut queues = self.shared.arrivals.queues();
        queues.all(CompletionQueue::is_empty) && self.shared.commands.head() == self.commands_tail
    }

    /// Ends a request that was sent on to the host, and gives its buffer back.
    ///
    /// # Panics
    /// When another NIC sent it on.
    pub fn withdraw(&mut self, request: ForwardedRequest) -> Vec<u8> {
        assert_eq!(request.nic, self.nic(), "the request was sent on by another NIC");
        self.end(request.request)
    }

    /// Communicator and selector of a living request.
    pub fn describe(&self, request: RequestId) -> Option<(CommId, Selector)> {
        self.live(request).and_then(|slot| Some((slot.comm, slot.selector?)))
    }

    /// Whether the NIC has stopped for good.
    pub fn is_stopped(&self) -> bool {
        self.shared.life.stopped()
    }

    /// Asks the NIC's workers to end after the current block.
    pub fn ask_to_stop(&self) {
        self.shared.life.ask_to_stop();
    }

    /// The NIC's counters.
    pub fn monitor(&self) -> Monitor {
        Monitor::new(self.shared.clone())
    }

    /// The next event, or `None` if there is none now.
    #[inline]
    pub fn poll(&mut self) -> Option<Event> {
        let mut event = None;
        while event.is_none() && self.step(|next| event = Some(next)) {}
        event
    }

    /// Hands over every event that is there now. Faster than [`poll`](Self::poll) where many come
    /// together: an event is not passed on through memory.
    #[inline]
    pub fn drain(&mut self, mut each: impl FnMut(Event)) {
        while self.step(&mut each) {}
    }

    /// Reads one position of the ring, which need not hold an event. `false`: there is none to
    /// read.
    #[inline(always)]
    fn step(&mut self, each: impl FnOnce(Event)) -> bool {
        let position = self.results_head;
        let ready = |port: &Self| port.shared.completions.stamp_if_ready(position).is_some();
        // What was read is given back, and that may be what the NIC waits for: so one more look. A
        // poll that fails has then had no effect since its last look, see `Wait::pause`.
        let there = ready(self) || self.give_back() && ready(self);
        if !there {
            return false;
        }
        self.results_head += 1;
        // SAFETY: just seen ready; it is released only below.
        let look = || unsafe { self.shared.completions.peek(position) };
        // By far the commonest, so it is built in place.
        let received = match *look() {
            Completion::Received { request, message, late } => {
                Some((RequestId(request), message, late))
            }
            _ => None,
        };
        if let Some((request, message, late)) = received {
            let buffer = self.end(request);
            each(Event::Received { request, buffer, message, late });
        } else {
            let other = *look();
            if let Some(event) = self.rare_event(other, position) {
                each(event);
            }
        }
        if self.results_head - self.results_released >= RELEASE_EVERY {
            self.release();
        }
        true
    }

    /// Gives back what was read and what was dropped. Returns whether there was any.
    #[inline]
    fn give_back(&mut self) -> bool {
        let released = self.release();
        let dropped = self.shared.dropped.any() && self.discard_dropped();
        released || dropped
    }

    /// Tells the NIC which taken messages nobody will receive, as far as the command queue has
    /// room.
    #[cold]
    fn discard_dropped(&mut self) -> bool {
        let mut any = false;
        let shared = self.shared.clone();
        shared.dropped.take_all(|entry| {
            if self.has_room() {
                self.push(Command::Discard { entry }, 0);
                any = true;
            } else {
                shared.dropped.put(entry);
            }
        });
        any
    }

    /// Gives back what was read. Returns whether there was any.
    #[inline]
    fn release(&mut self) -> bool {
        let any = self.results_released != self.results_head;
        if any {
            self.results_released = self.results_head;
            self.shared.completions.release(self.results_head);
        }
        any
    }

    #[cold]
    fn rare_event(&mut self, result: Completion, position: u64) -> Option<Event> {
        Some(match result {
            Completion::None | Completion::Received { .. } => return None,
            Completion::Admitted { request } => Event::Admitted { request: RequestId(request) },
            Completion::Unexpected { message } => Event::Unexpected { message },
            Completion::PostForwarded { request } => {
                Event::PostForwarded { request: self.forwarded(request) }
            }
            Completion::ArrivalForwarded { message, protocol, payload } => {
                Event::ArrivalForwarded {
                    message,
                    payload: self.payload(message, protocol, payload, position),
                }
            }
            Completion::Refused { request } => {
                let request = RequestId(request);
                Event::Refused { request, buffer: self.end(request) }
            }
            Completion::Cancelled { request } => {
                let request = RequestId(request);
                Event::Cancelled { request, buffer: self.end(request) }
            }
            Completion::TooLate { request } => Event::TooLate { request: RequestId(request) },
            Completion::CancelForwarded { request, comm } => {
                Event::CancelForwarded { request: RequestId(request), comm }
            }
            Completion::Probed { request, found } => {
                let request = RequestId(request);
                self.end(request);
                Event::Probed {
                    request,
                    found: found.map(|found| found.0),
                    taken: found
                        .and_then(|(_, entry)| entry)
                        .map(|entry| TakenMessage::new(&self.shared, entry)),
                }
            }
            Completion::ProbeForwarded { request, take } => {
                Event::ProbeForwarded { request: self.forwarded(request), take }
            }
            Completion::Created { request, offloaded } => {
                let request = RequestId(request);
                self.end(request);
                Event::Created { request, offloaded }
            }
            Completion::Freed { request, busy } => {
                let request = RequestId(request);
                self.end(request);
                Event::Freed { request, busy }
            }
            Completion::Resumed { comm } => {
                self.offered = None;
                Event::Resumed { comm }
            }
            Completion::Declined { comm } => {
                Event::Declined { comm, receives: self.offered.take().unwrap_or_default() }
            }
        })
    }

    fn forwarded(&self, request: u64) -> ForwardedRequest {
        ForwardedRequest { request: RequestId(request), nic: self.nic() }
    }

    fn payload(
        &self,
        message: Message,
        protocol: Protocol,
        payload: [u64; 3],
        position: u64,
    ) -> Payload {
        match protocol {
            Protocol::Inline => Payload::Eager(inline_bytes(&payload, message.length).to_vec()),
            Protocol::Buffered => {
                let staging = (position % self.shared.completions.depth()) as usize;
                // SAFETY: the buffer belongs to this ring position until it is released.
                let bytes = unsafe {
                    self.shared.staging.read(staging, message.length as usize, <[u8]>::to_vec)
                };
                Payload::Eager(bytes)
            }
            Protocol::Rendezvous => {
                Payload::Rendezvous(RemoteData::new(&self.shared, RegionKey(payload[0])))
            }
        }
    }

    fn nic(&self) -> NicName {
        self.shared.name
    }

    fn has_room(&mut self) -> bool {
        if self.commands_tail == self.commands_end {
            self.look_for_room();
        }
        self.commands_tail < self.commands_end
    }

    /// Commands that the queue has room for.
    fn room(&mut self) -> u64 {
        self.look_for_room();
        self.commands_end - self.commands_tail
    }

    fn look_for_room(&mut self) {
        self.commands_end = self.shared.commands.head() + self.shared.commands.depth();
    }

    fn issue(&mut self, command: Command, stamp: u64) {
        self.commands_counted += 1;
        self.push(command, stamp);
    }

    fn push(&mut self, command: Command, stamp: u64) {
        // SAFETY: this port is the queue's only producer, and `has_room` was checked.
        unsafe { self.shared.commands.fill(self.commands_tail, stamp, |slot| *slot = command) };
        self.commands_tail += 1;
    }

    fn lend(
        &mut self,
        comm: CommId,
        selector: Option<Selector>,
        buffer: Vec<u8>,
    ) -> (RequestId, HostAddress, u32) {
        let lent = Lent::new(buffer);
        let address = HostAddress::new(lent.start.as_ptr());
        let capacity = lent.capacity();
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                let index = self.slots.len() as u32;
                self.slots.push(Slot { generation: 0, lent: None, comm, selector });
                index
            }
        };
        let slot = &mut self.slots[index as usize];
        (slot.comm, slot.selector, slot.lent) = (comm, selector, Some(lent));
        (RequestId(u64::from(slot.generation) << 32 | u64::from(index)), address, capacity)
    }

    fn live(&self, request: RequestId) -> Option<&Slot> {
        let slot = self.slots.get(request.slot())?;
        (slot.generation == request.generation() && slot.lent.is_some()).then_some(slot)
    }

    #[cold]
    fn park(&mut self, slot: u32) {
        self.parked.push(slot);
    }

    /// Frees a request that has ended on the NIC, or was forwarded and has ended here.
    #[inline(always)]
    fn end(&mut self, request: RequestId) -> Vec<u8> {
        let Some(slot) = self.slots.get_mut(request.slot()) else { return Vec::new() };
        if slot.generation != request.generation() {
            return Vec::new();
        }
        let Some(lent) = slot.lent.take() else { return Vec::new() };
        slot.generation = slot.generation.wrapping_add(1);
        if slot.generation != 0 {
            if self.offered.is_some() {
                self.park(request.slot() as u32);
            } else {
                self.free.push(request.slot() as u32);
            }
        }
        // SAFETY: the NIC reported the request as ended or forwarded (it holds no copy of the
        // address any more), which the ring's owner bit ordered before this; `take` makes this the
        // only call.
        unsafe { lent.give_back() }
    }
}

impl Drop for HostPort {
    fn drop(&mut self) {
        self.ask_to_stop();
        if self.is_stopped() {
            for slot in &mut self.slots {
                if let Some(lent) = slot.lent.take() {
                    // SAFETY: the NIC has stopped: nobody else uses the buffer.
                    drop(unsafe { lent.give_back() });
                }
            }
        }
        // Otherwise the buffers still lent are leaked: the NIC may yet write them.
    }
}

#[cfg(all(test, not(any(dpamatch_loom, dpamatch_shuttle))))]
mod tests;
