//! The host's end of the NIC: commands in, completions out, and the ownership of receives' buffers.
//!
//! **Invariants.** H1: a posted buffer belongs to the NIC from `post` until the host reads the
//! receive's end from the completion ring; until then the host holds no reference to its bytes. The
//! host gets the buffer with that end, or it stays in its slot until collected. H2: a slot's
//! generation grows when the slot is freed, and a slot whose generations are used up is not reused;
//! so an old [`RequestId`] names nothing.

use alloc::sync::Arc;
use alloc::vec::Vec;

mod completion_event;
mod lent_buffer;
mod requests;

use self::requests::Requests;
use super::event::{CommandQueueFull, Event, ForwardedRequest, RequestId, TakenMessage};
use super::sender::Sender;
use crate::completion_queue::CompletionQueue;
use crate::host_address::HostAddress;
use crate::message::{Command, Completion, Message, Post, Target};
use crate::shared::{NicName, Shared};
use crate::{CommId, Hints, Monitor, Selector, SourceSel, TagSel};

/// The host's end; one thread at a time uses it.
#[derive(Debug)]
pub struct HostPort {
    pub(super) shared: Arc<Shared>,
    requests: Requests,
    commands_tail: u64,
    /// End of the known free positions of the command queue, by the NIC's head as last seen.
    commands_end: u64,
    /// Number of commands that count in stamps.
    commands_counted: u64,
    /// Receives of the unanswered offer, which the host must not end. Requests that end meanwhile
    /// are parked: software matching may keep back their events, but not beyond its next offer.
    offered: Option<Vec<ForwardedRequest>>,
    results_head: u64,
    results_released: u64,
}

// SAFETY: the raw pointers in `requests` are owned buffers (H1), as movable between threads as the
// `Vec`s they came from.
unsafe impl Send for HostPort {}

/// Completions read between two releases. Under loom few enough that the models' small rings
/// release in the middle of reading.
const RELEASE_EVERY: u64 = if cfg!(dpamatch_loom) { 2 } else { 16 };

impl HostPort {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let commands_end = shared.commands.depth();
        Self {
            shared,
            requests: Requests::new(),
            commands_tail: 0,
            commands_end,
            commands_counted: 0,
            offered: None,
            results_head: 0,
            results_released: 0,
        }
    }

    /// Posts a receive; the buffer's length is the largest message it takes. `stamp`: number
    /// of arrivals before it, used with `Order::Stamped` only.
    ///
    /// Source: O23.
    ///
    /// Inlined into the caller's loop for receives without wildcards.
    ///
    /// # Errors
    /// [`CommandQueueFull`], with the buffer.
    #[inline(always)]
    pub fn post(
        &mut self,
        comm: CommId,
        selector: Selector,
        buffer: Vec<u8>,
        stamp: u64,
    ) -> Result<RequestId, (CommandQueueFull, Vec<u8>)> {
        let Selector { source, tag } = selector;
        if let (SourceSel::Rank(source), TagSel::Tag(tag)) = (source, tag) {
            self.post_target(comm, selector, Target::exact(source, tag), buffer, stamp)
        } else {
            self.post_wild(comm, source, tag, buffer, stamp)
        }
    }

    /// Takes the selector's parts, which stay in registers.
    #[inline(never)]
    fn post_wild(
        &mut self,
        comm: CommId,
        source: SourceSel,
        tag: TagSel,
        buffer: Vec<u8>,
        stamp: u64,
    ) -> Result<RequestId, (CommandQueueFull, Vec<u8>)> {
        let selector = Selector { source, tag };
        self.post_target(
            comm,
            selector,
            Target::from_selector(selector),
            buffer,
            stamp,
        )
    }

    #[inline(always)]
    fn post_target(
        &mut self,
        comm: CommId,
        selector: Selector,
        target: Target,
        buffer: Vec<u8>,
        stamp: u64,
    ) -> Result<RequestId, (CommandQueueFull, Vec<u8>)> {
        if !self.has_room() {
            return Err((CommandQueueFull, buffer));
        }
        let (request, address, capacity) = self.requests.receive(comm, Some(selector), buffer);
        let post = Post {
            request: request.0,
            comm,
            target,
            buffer: address,
            capacity,
        };
        self.issue(Command::Post(post), stamp);
        Ok(request)
    }

    /// Cancels a posted receive. The answer comes in order among the events: `Cancelled`, `TooLate`
    /// or `CancelForwarded`. A request that has already ended is too late.
    ///
    /// # Errors
    /// [`CommandQueueFull`].
    pub fn cancel(&mut self, request: RequestId, stamp: u64) -> Result<(), CommandQueueFull> {
        if !self.has_room() {
            return Err(CommandQueueFull);
        }
        // A communicator that does not exist: the NIC finds nothing and answers in order.
        let nowhere = (
            CommId(u32::MAX),
            Selector {
                source: SourceSel::Any,
                tag: TagSel::Any,
            },
        );
        let (comm, selector) = self.describe(request).unwrap_or(nowhere);
        self.issue(
            Command::Cancel {
                request: request.0,
                comm,
                target: Target::from_selector(selector),
            },
            stamp,
        );
        Ok(())
    }

    /// Searches for the oldest fitting unexpected message; with `take`, takes it out of matching
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
        let request = self.requests.without_buffer(comm, Some(selector));
        self.issue(
            Command::Probe {
                request: request.0,
                comm,
                target: Target::from_selector(selector),
                take,
            },
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
    /// If another NIC or software matching holds the message.
    pub fn receive(
        &mut self,
        message: TakenMessage,
        buffer: Vec<u8>,
        stamp: u64,
    ) -> Result<RequestId, (CommandQueueFull, TakenMessage, Vec<u8>)> {
        assert!(
            message.is_on(&self.shared),
            "the message is not held by this NIC"
        );
        if !self.has_room() {
            return Err((CommandQueueFull, message, buffer));
        }
        let Some((comm, entry)) = message.receive() else {
            unreachable!("checked above")
        };
        let (request, address, capacity) = self.requests.receive(comm, None, buffer);
        let command = Command::Receive {
            request: request.0,
            entry,
            buffer: address,
            capacity,
        };
        self.issue(command, stamp);
        Ok(request)
    }

    /// Requests tables for a communicator. Without tables, software matches it.
    ///
    /// Source: O24.
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
        let request = self.requests.without_buffer(comm, None);
        self.issue(
            Command::Create {
                request: request.0,
                comm,
                bins,
                hints,
            },
            stamp,
        );
        Ok(request)
    }

    /// Frees a communicator's tables.
    ///
    /// # Errors
    /// [`CommandQueueFull`].
    pub fn free(&mut self, comm: CommId, stamp: u64) -> Result<RequestId, CommandQueueFull> {
        if !self.has_room() {
            return Err(CommandQueueFull);
        }
        let request = self.requests.without_buffer(comm, None);
        self.issue(
            Command::Free {
                request: request.0,
                comm,
            },
            stamp,
        );
        Ok(request)
    }

    /// Offers to end a fallback: after `forwarded` posts, arrivals and cancels that were sent on to
    /// the host, no message of `comm` is left in the software lists, and of its receives only
    /// these, in posting order. The NIC answers with `Resumed` and then has the receives, or with
    /// `Declined` if it has sent on more since or has no room; then they come back with the answer.
    /// There is one offer at a time, and all that was reported before it must have been dealt with.
    ///
    /// Source: S20.
    ///
    /// # Errors
    /// [`CommandQueueFull`], also while an offer has no answer; `receives` is then as before, else
    /// empty.
    ///
    /// # Panics
    /// If a receive is of another NIC or another communicator.
    pub fn hand_back(
        &mut self,
        comm: CommId,
        forwarded: u64,
        receives: &mut Vec<ForwardedRequest>,
    ) -> Result<(), CommandQueueFull> {
        if self.offered.is_some() || !self.has_offer_room(receives.len() as u64) {
            return Err(CommandQueueFull);
        }
        for receive in receives.iter() {
            assert_eq!(
                receive.nic,
                self.nic(),
                "the receive was sent on by another NIC"
            );
            let of = self.describe(receive.request).map(|(comm, _)| comm);
            assert_eq!(of, Some(comm), "the receive is of another communicator");
        }
        self.requests.free_parked();
        let first = self.commands_tail;
        let offer = Command::HandBack {
            comm,
            forwarded,
            receives: receives.len() as u32,
        };
        if fault!(OfferBeforeReceives) {
            self.push(offer, 0);
        }
        for (position, receive) in (first + 1..).zip(receives.iter()) {
            let slot = self.requests.live(receive.request);
            let described = slot.and_then(|slot| slot.selector.zip(slot.lent.as_ref()));
            let Some((selector, lent)) = described else {
                unreachable!("described above")
            };
            let command = Command::Return(Post {
                request: receive.request.0,
                comm,
                target: Target::from_selector(selector),
                buffer: HostAddress::new(lent.start.as_ptr()),
                capacity: lent.capacity(),
            });
            // SAFETY: as in `push`, with room for all.
            unsafe {
                self.shared
                    .commands
                    .fill(position, 0, |slot| *slot = command)
            };
        }
        // Last, so that the NIC sees the offer with all its receives.
        if !fault!(OfferBeforeReceives) {
            self.push(offer, 0);
        }
        self.commands_tail += receives.len() as u64;
        self.offered = Some(core::mem::take(receives));
        self.requests.park();
        Ok(())
    }

    /// Commands issued so far that count for the stamps of messages (`Order::Stamped`).
    pub fn commands_counted(&self) -> u64 {
        self.commands_counted
    }

    /// A further sender.
    pub fn sender(&self) -> Sender {
        Sender::new(self.shared.clone())
    }

    /// Whether the NIC has consumed every command and message so far, so that all their events can
    /// be polled.
    pub fn is_settled(&self) -> bool {
        let mut queues = self.shared.arrivals.queues();
        queues.all(CompletionQueue::is_empty) && self.shared.commands.head() == self.commands_tail
    }

    /// Ends a request that was sent on to the host, and returns its buffer.
    ///
    /// # Panics
    /// If another NIC sent it on.
    pub fn withdraw(&mut self, request: ForwardedRequest) -> Vec<u8> {
        assert_eq!(
            request.nic,
            self.nic(),
            "the request was sent on by another NIC"
        );
        self.requests.end(request.request)
    }

    /// Lets each receive hold its slot after its end, until [`free_slot`](Self::free_slot): a
    /// caller can store a receive's data under that number ([`RequestId::slot`]).
    pub fn hold_slots(&mut self) {
        self.requests.hold();
    }

    /// Frees the slot of a receive that has ended. Returns the buffer if it was
    /// [kept](Self::drain_kept) there.
    ///
    /// # Panics
    /// If no ended receive holds the slot.
    #[inline]
    pub fn free_slot(&mut self, slot: usize) -> Option<Vec<u8>> {
        self.requests.free(slot)
    }

    /// The request that holds a slot.
    ///
    /// # Panics
    /// When there never was one.
    pub fn request_of(&self, slot: usize) -> RequestId {
        self.requests.request(slot)
    }

    /// Takes a slot as if an ended receive of the communicator held it.
    pub fn take_slot(&mut self, comm: CommId) -> usize {
        let (request, ..) = self.requests.receive(comm, None, Vec::new());
        drop(self.requests.end(request));
        request.slot()
    }

    /// Communicator and selector of the receive that holds or last held a slot; no selector for
    /// one whose message a matched probe had taken.
    pub fn describe_slot(&self, slot: usize) -> Option<(CommId, Option<Selector>)> {
        self.requests
            .slots
            .get(slot)
            .map(|slot| (slot.comm, slot.selector))
    }

    /// Receives of the communicator that have not ended, or still hold their slots.
    ///
    /// # Complexity
    /// O(maximum number of requests at a time until now).
    pub fn receives_of(&self, comm: CommId) -> usize {
        self.requests
            .slots
            .iter()
            .filter(|slot| slot.comm == comm && slot.is_taken())
            .count()
    }

    /// Communicator and selector of a living request.
    pub fn describe(&self, request: RequestId) -> Option<(CommId, Selector)> {
        self.requests
            .live(request)
            .and_then(|slot| Some((slot.comm, slot.selector?)))
    }

    /// Whether the NIC has stopped for good.
    pub fn is_stopped(&self) -> bool {
        self.shared.life.stopped()
    }

    /// Asks the NIC's workers to stop after the current block.
    pub fn request_stop(&self) {
        self.shared.life.request_stop();
    }

    /// The NIC's counters.
    pub fn monitor(&self) -> Monitor {
        Monitor::new(self.shared.clone())
    }

    /// The next event, or `None` if there is none now.
    #[inline]
    pub fn poll(&mut self) -> Option<Event> {
        let mut event = None;
        let other = self.drain(|request, buffer, &message, late| {
            event = Some(Event::Received {
                request,
                buffer,
                message,
                late,
            });
            false
        });
        event.or(other)
    }

    /// Passes ended receives to `each`, until it returns `false` or another event comes, which is
    /// returned. The last argument says whether the message had been unexpected. Faster than
    /// [`poll`](Self::poll) for many receives: they do not pass through memory as events.
    #[inline]
    pub fn drain(
        &mut self,
        mut each: impl FnMut(RequestId, Vec<u8>, &Message, bool) -> bool,
    ) -> Option<Event> {
        self.read(|requests, request, message, late| {
            each(request, requests.end(request), message, late)
        })
    }

    /// Works like [`drain`](Self::drain), but buffers stay in their slots until
    /// [`free_slot`](Self::free_slot). Slots must be [held](Self::hold_slots).
    #[inline]
    pub fn drain_kept(
        &mut self,
        mut each: impl FnMut(RequestId, &Message) -> bool,
    ) -> Option<Event> {
        self.read(|requests, request, message, _| !requests.keep(request) || each(request, message))
    }

    /// Buffer and message of the receive that holds this slot, if its end is the NIC's next event;
    /// frees the slot. Faster than [`drain_kept`](Self::drain_kept) if the caller waits for
    /// receives in the order of their ends, because it keeps no buffer.
    #[inline(always)]
    pub fn take_next(&mut self, slot: usize) -> Option<(Vec<u8>, Message)> {
        let Self {
            shared,
            requests,
            results_head,
            ..
        } = self;
        // SAFETY: it is released only by `record_read`.
        let result = unsafe { shared.completions.peek_if_ready(*results_head) }?;
        let Completion::Received {
            request, message, ..
        } = &*result
        else {
            return None;
        };
        let request = RequestId(*request);
        if request.slot() != slot {
            return None;
        }
        let message = *message;
        let buffer = requests.end_held(request)?;
        *results_head += 1;
        if *results_head % RELEASE_EVERY == 0 {
            self.release();
        }
        Some((buffer, message))
    }

    /// Reads the ring until it is empty, `each` returns `false`, or another event comes, which is
    /// returned. `each` gets a receive, its message, and whether the message had been unexpected.
    #[inline(always)]
    fn read(
        &mut self,
        mut each: impl FnMut(&mut Requests, RequestId, &Message, bool) -> bool,
    ) -> Option<Event> {
        let mut more = true;
        while more && self.is_ready() {
            let Self {
                shared,
                requests,
                results_head,
                ..
            } = self;
            let first = *results_head;
            let most = (RELEASE_EVERY as usize).min(shared.completions.until_end(first));
            let results = shared.completions.span(first, most);
            let mut place = 0;
            while more && results.is_ready(place) {
                // SAFETY: just seen ready; it is released only by `record_read`.
                let result = unsafe { results.peek(place) };
                let Completion::Received {
                    request,
                    message,
                    late,
                } = &*result
                else {
                    break;
                };
                place += 1;
                *results_head = results.position(place);
                more = each(requests, RequestId(*request), message, *late);
            }
            let other = if place == 0 { self.read_other() } else { None };
            self.record_read();
            if other.is_some() {
                return other;
            }
        }
        None
    }

    /// Whether the next position is ready.
    #[inline(always)]
    fn is_ready(&mut self) -> bool {
        let position = self.results_head;
        let ready = |port: &Self| port.shared.completions.stamp_if_ready(position).is_some();
        // Releases the read positions, for which the NIC may wait, and checks once more. So a
        // failed poll has no effect after its last load, see `Wait::pause`.
        ready(self) || self.give_back() && ready(self)
    }

    /// Any other event at the next position, which is ready but may be empty.
    #[cold]
    fn read_other(&mut self) -> Option<Event> {
        let position = self.results_head;
        self.results_head += 1;
        // SAFETY: seen ready; it is released only by `record_read`.
        let result = *unsafe { self.shared.completions.peek(position) };
        self.other_event(result, position)
    }

    /// Releases the read positions if there are enough.
    #[inline]
    fn record_read(&mut self) {
        if self.results_head - self.results_released >= RELEASE_EVERY {
            self.release();
        }
    }

    /// Releases read positions and dropped messages. Returns whether there were any.
    #[inline]
    fn give_back(&mut self) -> bool {
        let released = self.release();
        let dropped = self.shared.dropped.any() && self.discard_dropped();
        released || dropped
    }

    /// Sends the NIC the taken messages that will never be received, while the command queue has
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

    /// Releases read positions. Returns whether there were any.
    #[inline]
    fn release(&mut self) -> bool {
        let any = self.results_released != self.results_head;
        if any {
            self.results_released = self.results_head;
            self.shared.completions.release(self.results_head);
        }
        any
    }

    /// Maximum number of receives that [`hand_back`](Self::hand_back) may offer: the command queue
    /// holds the offer and all receives at the same time.
    pub fn offer_most(&self) -> u64 {
        self.shared.commands.depth() - 1
    }

    /// Whether the command queue has room for an offer of `receives` receives now.
    pub fn has_offer_room(&mut self, receives: u64) -> bool {
        self.room() > receives
    }

    fn nic(&self) -> NicName {
        self.shared.name
    }

    #[inline]
    fn has_room(&mut self) -> bool {
        self.commands_tail < self.commands_end || self.room() > 0
    }

    /// Number of commands that the queue has room for.
    #[inline(never)]
    fn room(&mut self) -> u64 {
        self.commands_end = self.shared.commands.head() + self.shared.commands.depth();
        self.commands_end - self.commands_tail
    }

    #[inline]
    fn issue(&mut self, command: Command, stamp: u64) {
        self.commands_counted += 1;
        self.push(command, stamp);
    }

    #[inline(always)]
    fn push(&mut self, command: Command, stamp: u64) {
        // SAFETY: this port is the queue's only producer, and `has_room` was checked.
        unsafe {
            self.shared
                .commands
                .fill(self.commands_tail, stamp, |slot| *slot = command)
        };
        self.commands_tail += 1;
    }
}

impl Drop for HostPort {
    fn drop(&mut self) {
        self.request_stop();
        for lent in self.requests.take_lent(self.shared.life.stopped()) {
            // SAFETY: the NIC has stopped or is done with the buffer, so this is the only access.
            drop(unsafe { lent.give_back() });
        }
        // Otherwise the buffers still lent are leaked: the NIC may yet write them.
    }
}

#[cfg(test)]
mod tests;
