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
mod rare;

use self::lent::Lent;
use super::event::{CommandQueueFull, Event, ForwardedRequest, RequestId, TakenMessage};
use super::sender::Sender;
use crate::completion_queue::CompletionQueue;
use crate::message::{Command, Completion, HostAddress, Message, Post, Target};
use crate::nic::{NicName, Shared};
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

    /// Hands over the receives that have ended, as fast, until `each` wants no more or another
    /// event comes, which is returned. The last that `each` is told: whether the message was there
    /// before the receive.
    #[inline]
    pub fn drain_received(
        &mut self,
        mut each: impl FnMut(RequestId, Vec<u8>, Message, bool) -> bool,
    ) -> Option<Event> {
        let (mut more, mut other) = (true, None);
        while more && other.is_none() && self.is_ready() {
            if let Some((request, message, late)) = self.next_received() {
                let buffer = self.end(request);
                more = each(request, buffer, message, late);
            } else {
                other = self.next_other();
            }
            self.note_read();
        }
        other
    }

    /// Reads one position of the ring, which need not hold an event. `false`: there is none to
    /// read.
    #[inline(always)]
    fn step(&mut self, each: impl FnOnce(Event)) -> bool {
        if !self.is_ready() {
            return false;
        }
        if let Some((request, message, late)) = self.next_received() {
            let buffer = self.end(request);
            each(Event::Received { request, buffer, message, late });
        } else if let Some(event) = self.next_other() {
            each(event);
        }
        self.note_read();
        true
    }

    /// Whether there is a position to read.
    #[inline(always)]
    fn is_ready(&mut self) -> bool {
        let position = self.results_head;
        let ready = |port: &Self| port.shared.completions.stamp_if_ready(position).is_some();
        // What was read is given back, and that may be what the NIC waits for: so one more look. A
        // poll that fails has then had no effect since its last look, see `Wait::pause`.
        ready(self) || self.give_back() && ready(self)
    }

    /// The receive that the next position tells of, by far the commonest event, so it is built in
    /// place.
    #[inline(always)]
    fn next_received(&self) -> Option<(RequestId, Message, bool)> {
        // SAFETY: seen ready; it is released only by `note_read`.
        match *unsafe { self.shared.completions.peek(self.results_head) } {
            Completion::Received { request, message, late } => {
                Some((RequestId(request), message, late))
            }
            _ => None,
        }
    }

    /// Any other event of the next position.
    #[cold]
    fn next_other(&mut self) -> Option<Event> {
        let position = self.results_head;
        // SAFETY: as in `next_received`.
        let result = *unsafe { self.shared.completions.peek(position) };
        self.rare_event(result, position)
    }

    /// The next position is read.
    #[inline(always)]
    fn note_read(&mut self) {
        self.results_head += 1;
        if self.results_head - self.results_released >= RELEASE_EVERY {
            self.release();
        }
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
