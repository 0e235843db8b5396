//! Operations of a host that runs the NIC on its own thread, one at a time: matching in order
//! (`matching/in_order.rs`) without command queue, completion queue and completion ring. They take
//! effect immediately, between two blocks.
//!
//! Tables, labels and counters are those of the queues' way, so both ways mix in any order. A
//! message is a block of one: its handler searches and takes. Receives have a number of the caller
//! instead of a buffer.
//!
//! **Order.** Everything that was issued through the queues comes first: the caller calls
//! [`Leader::round`] until [`HostPort::is_settled`](crate::HostPort::is_settled), and polls the
//! port's events.

use super::Boundary;
use super::commands::{find_stored, unlink_stored};
use crate::communicator::Home;
use crate::hash::Hashes;
use crate::host_address::HostAddress;
use crate::index::{Candidate, CommView, Key};
use crate::matching::unlink_found;
use crate::message::{Entry, Post, Protocol, Target};
use crate::number::unchecked;
use crate::shared::Shared;
use crate::{CommId, Envelope, Leader, Order, Rank, RequestId, Selector, Tag, WildcardClass};

/// What became of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Now<T> {
    /// It found its partner: a message by its arrival number, or a receive by its number.
    Matched(T),
    /// There is no partner yet.
    Waits,
    /// Nothing has changed. The operation belongs in the queues: every block runs as a shared one
    /// ([`Options::always_shared`](crate::Options::always_shared)), the NIC has no tables or no
    /// room for it, or its partner came through the queues and has a request.
    Queue,
}

impl Leader {
    /// Posts a receive with this number, below 2^31 and unique among the posted ones. It takes the
    /// oldest stored message that fits, or waits.
    ///
    /// A block may also match the receive. Its event names [`RequestId::of_number`], with an empty
    /// buffer.
    ///
    /// # Complexity
    /// O(messages in the searched chain).
    #[inline(always)]
    pub fn post_now(&mut self, comm: CommId, selector: Selector, number: u32) -> Now<u64> {
        debug_assert!(self.is_settled());
        let Self {
            shared, boundary, ..
        } = self;
        boundary.enter_now(shared, comm, Target::of(selector), number)
    }

    /// Takes the receive that a message of this envelope matches. [`Now::Waits`]: there is none,
    /// and nothing has changed. A matched message counts as an arrival; its data are the caller's.
    ///
    /// # Complexity
    /// O(receives in the searched chains).
    #[inline]
    pub fn match_now(&mut self, envelope: &Envelope) -> Now<u32> {
        let &Envelope { comm, source, tag } = envelope;
        self.row(comm)
            .map_or(Now::Queue, |mut row| row.take(source, tag))
    }

    /// Consecutive messages of one communicator. `None`: they belong in the queues, as for
    /// [`Now::Queue`].
    #[inline(always)]
    pub fn row(&mut self, comm: CommId) -> Option<MessageRow<'_>> {
        debug_assert!(self.is_settled());
        let Self {
            shared, boundary, ..
        } = self;
        if shared.options.always_shared {
            return None;
        }
        let view = boundary.comms.get(comm.0 as usize)?.view;
        Some(MessageRow {
            nic: shared,
            boundary,
            comm,
            view,
            taken: 0,
        })
    }

    /// Works like [`match_now`](Self::match_now), but stores the message if no receive fits. A
    /// probe or a receive then finds it by its arrival number. Its data stay the caller's.
    ///
    /// # Complexity
    /// O(receives in the searched chains).
    pub fn arrive_now(&mut self, envelope: &Envelope) -> Now<u32> {
        let found = self.match_now(envelope);
        let Self {
            shared, boundary, ..
        } = self;
        if found == Now::Waits && !boundary.store_now(shared, envelope) {
            return Now::Queue;
        }
        found
    }

    /// Cancels a receive that [`post_now`](Self::post_now) posted. `false`: it is not posted.
    ///
    /// # Complexity
    /// O(receives in its chain).
    pub fn cancel_now(&mut self, comm: CommId, selector: Selector, number: u32) -> bool {
        debug_assert!(self.is_settled());
        let Self {
            shared, boundary, ..
        } = self;
        let request = RequestId::of_number(number).as_u64();
        boundary.take_out(shared, request, comm, &Target::of(selector))
    }

    /// Whether no message waits, and the order is free. A command may wait: one that gives the
    /// memory of a dropped message back.
    fn is_settled(&self) -> bool {
        let Self {
            shared, boundary, ..
        } = self;
        let queues = shared.arrivals.queues().zip(&boundary.fronts);
        let mut stamps = queues.map(|(queue, front)| queue.ring.stamp_if_ready(front.head));
        stamps.all(|stamp| stamp.is_none()) && shared.options.order == Order::Free
    }
}

impl Boundary {
    #[inline(always)]
    fn enter_now(&mut self, nic: &Shared, comm: CommId, target: Target, number: u32) -> Now<u64> {
        let Some(control) = self.comms.get_mut(comm.0 as usize) else {
            return Now::Queue;
        };
        if control.home != Home::Nic
            || !control.allowed.contains(target.class)
            || nic.options.always_shared
        {
            return Now::Queue;
        }
        // A copy of the target: the target itself stays in registers.
        if control.unexpected > 0
            && let Some(arrival) = self.take_stored(nic, comm, &{ target })
        {
            return Now::Matched(arrival);
        }
        let post = Post {
            request: RequestId::of_number(number).as_u64(),
            comm,
            target,
            buffer: HostAddress::none(),
            capacity: 0,
        };
        if !self.enter_one(nic, &post) {
            return Now::Queue;
        }
        nic.boundary_counters.posts_admitted.add(1);
        Now::Waits
    }

    /// Takes the oldest stored message that a new receive fits. Returns its arrival number.
    #[inline(never)]
    fn take_stored(&mut self, nic: &Shared, comm: CommId, target: &Target) -> Option<u64> {
        let control = &mut self.comms[comm.0 as usize];
        let found = find_stored(nic, &mut self.unexpected, control, target)?;
        control.unexpected -= 1;
        unlink_stored(&mut self.unexpected, control, target, found);
        let arrival = self.unexpected.entry(found).message.arrival;
        self.unexpected.free(found);
        nic.boundary_counters.posts_late.add(1);
        Some(arrival)
    }

    /// Stores a message that no receive fits. `false`: the NIC has no room for it.
    #[inline(never)]
    fn store_now(&mut self, nic: &Shared, envelope: &Envelope) -> bool {
        let hashes = Hashes::of(envelope.source, envelope.tag);
        let (protocol, arrival) = (Protocol::Inline, self.matched);
        let entry = Entry {
            envelope: *envelope,
            hashes,
            protocol,
            has_hashes: true,
            ..Entry::default()
        };
        let mut inbox = self.inbox(envelope.comm);
        if self.store(nic, &mut inbox, arrival, &entry).is_none() {
            return false;
        }
        self.close(inbox);
        self.note_stored(nic, 1);
        self.count_matched(nic, 1);
        nic.handler_counters[0].no_candidate.add(1);
        true
    }

    #[inline(always)]
    fn count_matched(&mut self, nic: &Shared, messages: u64) {
        self.matched += messages;
        nic.block_sizes.note(1, messages);
    }
}

/// Consecutive messages of one communicator, see [`Leader::row`]. Until it is dropped, the counts
/// leave its messages out.
#[derive(Debug)]
pub struct MessageRow<'a> {
    nic: &'a Shared,
    boundary: &'a mut Boundary,
    comm: CommId,
    view: CommView,
    taken: u64,
}

impl MessageRow<'_> {
    /// Messages that took a receive.
    #[inline(always)]
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Works like [`Leader::match_now`] for the next message.
    ///
    /// # Complexity
    /// O(receives in the searched chains).
    #[inline(always)]
    pub fn take(&mut self, source: Rank, tag: Tag) -> Now<u32> {
        let nic = self.nic;
        let Some(Candidate {
            receive, before, ..
        }) = self.search(source, tag)
        else {
            return Now::Waits;
        };
        let receives = &nic.receives[..];
        // SAFETY: a search found the receive, and no block is running (D1).
        let posted = unsafe { unchecked(receives, receive).posted.peek() };
        let Some(number) = RequestId::from_u64(posted.request).number() else {
            return Now::Queue;
        };
        unlink_found(receives, &nic.bins, &posted, receive, &before);
        self.boundary.free_receives.give(receive);
        self.boundary
            .count_left(nic, self.comm, posted.run.class(), 1);
        self.taken += 1;
        Now::Matched(number)
    }

    /// The receive that fits and was posted first. Where no receive has wildcards, as in most
    /// programs, the search is inlined, and computes one hash.
    #[inline(always)]
    fn search(&self, source: Rank, tag: Tag) -> Option<Candidate> {
        let Self { nic, view, .. } = *self;
        if !view.is_exact() {
            return self.search_classes(source, tag);
        }
        let hashes = Hashes {
            both: Hashes::of_one(WildcardClass::Exact, source, tag),
            ..Hashes::default()
        };
        let key = Key::new(source, tag, hashes);
        nic.indexes(view)
            .search_class::<0>(&key, 0, &nic.handler_counters[0])
    }

    #[inline(never)]
    fn search_classes(&self, source: Rank, tag: Tag) -> Option<Candidate> {
        let key = Key::new(source, tag, Hashes::of(source, tag));
        let counters = &self.nic.handler_counters[0];
        self.nic.indexes(self.view).search(key, 0, counters)
    }
}

impl Drop for MessageRow<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.taken > 0 {
            self.nic.handler_counters[0].in_order.add(self.taken);
            self.boundary.count_matched(self.nic, self.taken);
        }
    }
}
