//! Operations of a host that runs the NIC on its own thread, one at a time: matching in order
//! (`matching/in_order.rs`) without command queue, completion queue and completion ring. They take
//! effect immediately, between two blocks.
//!
//! Tables, labels and counters are those of the queues' way, so both ways mix in any order. A
//! message is a block of one: its handler searches and takes. Where no receive has wildcards, it
//! looks at the head of its chain first. A search and an unlinking as in a block would take 578
//! instead of 487 instructions a message under MPICH. Receives have a number of the caller instead
//! of a buffer.
//!
//! **Order.** Everything that was issued through the queues comes first: the caller calls
//! [`Leader::round`] until [`HostPort::is_settled`](crate::HostPort::is_settled), and polls the
//! port's events.

use super::Boundary;
use super::commands::{find_stored, unlink_stored};
use super::post_batch::enter;
use crate::communicator::{Communicator, Home};
use crate::free_list::FreeList;
use crate::hash::Hashes;
use crate::host_address::HostAddress;
use crate::index::{CommView, Indexes, Key, is_live};
use crate::message::{Entry, Post, Protocol, Target};
use crate::number::{ReceiveId, unchecked};
use crate::shared::Shared;
use crate::{
    CommId, Envelope, Leader, Order, Rank, RequestId, Selector, SourceSel, Tag, TagSel,
    WildcardClass,
};

/// What became of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DirectResult<T> {
    /// It found its partner: a message by its arrival number, or a receive by its number.
    Matched(T),
    /// There is no partner yet.
    Unmatched,
    /// Nothing has changed. The operation belongs in the queues: every block runs as a shared one
    /// ([`Options::always_shared`](crate::Options::always_shared)), the NIC has no tables or no
    /// room for it, or its partner came through the queues and has a request.
    UseQueues,
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
    #[inline]
    pub fn post_now(&mut self, comm: CommId, selector: Selector, number: u32) -> DirectResult<u64> {
        debug_assert!(self.is_settled());
        let Selector { source, tag } = selector;
        let Self {
            shared, boundary, ..
        } = self;
        match (source, tag) {
            (SourceSel::Rank(source), TagSel::Tag(tag)) => {
                boundary.enter_exact_now(shared, comm, source, tag, number)
            }
            _ => boundary.enter_any_now(shared, comm, source, tag, number),
        }
    }

    /// Takes the receive that a message of this envelope matches. [`DirectResult::Unmatched`]:
    /// there is none, and nothing has changed. A matched message counts as an arrival; its data are
    /// the caller's.
    ///
    /// # Complexity
    /// O(receives in the searched chains).
    #[inline]
    pub fn match_now(&mut self, envelope: &Envelope) -> DirectResult<u32> {
        let &Envelope { comm, source, tag } = envelope;
        self.batch(comm)
            .map_or(DirectResult::UseQueues, |mut row| row.take(source, tag))
    }

    /// Consecutive messages of one communicator. `None`: they belong in the queues, as for
    /// [`DirectResult::UseQueues`].
    #[inline]
    pub fn batch(&mut self, comm: CommId) -> Option<MessageBatch<'_>> {
        debug_assert!(self.is_settled());
        let Self {
            shared, boundary, ..
        } = self;
        if shared.options.always_shared {
            return None;
        }
        let view = boundary.comms.get(comm.0 as usize)?.view;
        Some(MessageBatch {
            nic: shared,
            boundary,
            comm,
            view,
            taken: 0,
            searched: 0,
        })
    }

    /// Works like [`match_now`](Self::match_now), but stores the message if no receive fits. A
    /// probe or a receive then finds it by its arrival number. Its data stay the caller's.
    ///
    /// # Complexity
    /// O(receives in the searched chains).
    pub fn arrive_now(&mut self, envelope: &Envelope) -> DirectResult<u32> {
        let found = self.match_now(envelope);
        let Self {
            shared, boundary, ..
        } = self;
        if found == DirectResult::Unmatched && !boundary.store_now(shared, envelope) {
            return DirectResult::UseQueues;
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
        boundary.take_out(shared, request, comm, &Target::from_selector(selector))
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
    /// Posts a receive without wildcards.
    #[inline]
    fn enter_exact_now(
        &mut self,
        nic: &Shared,
        comm: CommId,
        source: Rank,
        tag: Tag,
        number: u32,
    ) -> DirectResult<u64> {
        let Some(control) = self.comms.get_mut(comm.0 as usize) else {
            return DirectResult::UseQueues;
        };
        if control.home != Home::Nic || control.unexpected > 0 || nic.options.always_shared {
            return self.enter_any_now(nic, comm, source.into(), tag.into(), number);
        }
        let target = Target::exact(source, tag);
        let only = enter_free(nic, control, &mut self.free_receives, comm, target, number);
        self.entered(nic, comm, target.class, only)
    }

    /// Takes the selector's parts, which stay in registers.
    #[inline(never)]
    fn enter_any_now(
        &mut self,
        nic: &Shared,
        comm: CommId,
        source: SourceSel,
        tag: TagSel,
        number: u32,
    ) -> DirectResult<u64> {
        let target = Target::from_selector(Selector { source, tag });
        let Some(control) = self.comms.get_mut(comm.0 as usize) else {
            return DirectResult::UseQueues;
        };
        if control.home != Home::Nic
            || !control.allowed.contains(target.class)
            || nic.options.always_shared
        {
            return DirectResult::UseQueues;
        }
        if control.unexpected > 0
            && let Some(arrival) = self.take_stored(nic, comm, &target)
        {
            return DirectResult::Matched(arrival);
        }
        let Self {
            comms,
            free_receives,
            ..
        } = self;
        let control = &mut comms[comm.0 as usize];
        let only = enter_free(nic, control, free_receives, comm, target, number);
        self.entered(nic, comm, target.class, only)
    }

    /// The result of [`enter_free`].
    #[inline]
    fn entered<T>(
        &mut self,
        nic: &Shared,
        comm: CommId,
        class: WildcardClass,
        only: Option<bool>,
    ) -> DirectResult<T> {
        match only {
            None => return DirectResult::UseQueues,
            Some(true) => self.record_class(nic, comm, class),
            Some(false) => {}
        }
        DirectResult::Unmatched
    }

    /// Notes that the first receive of a class is posted.
    #[inline(never)]
    fn record_class(&mut self, nic: &Shared, comm: CommId, class: WildcardClass) {
        self.comms[comm.0 as usize].view.insert(class);
        self.set_classes(nic, comm);
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
        let hashes = Hashes::new(envelope.source, envelope.tag);
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
        self.record_stored(nic, 1);
        self.count_matched(nic, 1);
        nic.handler_counters[0].no_candidate.add(1);
        true
    }

    #[inline]
    fn count_matched(&mut self, nic: &Shared, messages: u64) {
        self.matched += messages;
        nic.block_sizes.note(1, messages);
    }
}

/// Appends a receive to the posted queue: communicator, target and number. Returns whether it is
/// the only one of its class. `None`: no descriptor is free.
#[inline]
fn enter_free(
    nic: &Shared,
    control: &mut Communicator,
    free: &mut FreeList<ReceiveId>,
    comm: CommId,
    target: Target,
    number: u32,
) -> Option<bool> {
    let class = target.class;
    let receive = free.pop()?;
    let request = RequestId::of_number(number).as_u64();
    let post = Post {
        request,
        comm,
        target,
        buffer: HostAddress::none(),
        capacity: 0,
    };
    let indexes = nic.indexes(control.view);
    let collided = enter(indexes, &post, class, receive, &mut control.labels);
    let counters = &nic.boundary_counters;
    counters.posts_admitted.add(1);
    counters.collisions.add(u64::from(collided));
    counters.posted_high.raise(free.used() as u64);
    let posted = &mut control.posted[class as usize];
    *posted += 1;
    Some(*posted == 1)
}

/// Consecutive messages of one communicator, see [`Leader::batch`]. Until it is dropped, the counts
/// leave its messages out.
#[derive(Debug)]
pub struct MessageBatch<'a> {
    nic: &'a Shared,
    boundary: &'a mut Boundary,
    comm: CommId,
    view: CommView,
    /// Messages that took a receive, and those of them that are counted.
    taken: u64,
    searched: u64,
}

impl MessageBatch<'_> {
    /// Messages that took a receive.
    #[inline]
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Works like [`Leader::match_now`] for the next message.
    ///
    /// # Complexity
    /// O(receives in the searched chains).
    #[inline]
    pub fn take(&mut self, source: Rank, tag: Tag) -> DirectResult<u32> {
        if !self.view.is_exact() {
            return self.search(source, tag);
        }
        let both = Hashes::for_class(WildcardClass::Exact, source, tag);
        let hashes = Hashes {
            both,
            ..Hashes::default()
        };
        let key = Key {
            source: source.get(),
            tag: tag.get(),
            hashes,
        };
        let Indexes { bookings, bins, .. } = self.nic.indexes(self.view);
        // SAFETY: receives are posted, so the communicator has tables.
        let bin = unsafe { unchecked(bins, self.view.bin(WildcardClass::Exact, both)) };
        let receive = bin.head();
        if receive == ReceiveId::NIL {
            return DirectResult::Unmatched;
        }
        let receives = bookings.receives;
        // SAFETY: the receive is in a chain.
        let descriptor = unsafe { unchecked(receives, receive) };
        if !is_live(WildcardClass::Exact, descriptor, &key) {
            return self.search(source, tag);
        }
        // SAFETY: no block is running (D1).
        let request = unsafe { descriptor.posted.peek() }.request;
        let Some(number) = RequestId::from_u64(request).number() else {
            // Finds it again, and answers `Queue`. A call keeps what is here in registers.
            return self.search(source, tag);
        };
        bin.unlink(receives, receive, &ReceiveId::NIL);
        self.boundary.free_receives.push(receive);
        self.taken += 1;
        DirectResult::Matched(number)
    }

    #[inline(never)]
    fn search(&mut self, source: Rank, tag: Tag) -> DirectResult<u32> {
        let Self {
            nic,
            boundary,
            comm,
            view,
            ..
        } = self;
        let key = Key {
            source: source.get(),
            tag: tag.get(),
            hashes: Hashes::new(source, tag),
        };
        let Some(found) = nic.indexes(*view).search(key, 0, &nic.handler_counters[0]) else {
            return DirectResult::Unmatched;
        };
        // SAFETY: a search found the receive, and no block is running (D1).
        let posted = unsafe { unchecked(&nic.receives, found.receive).posted.peek() };
        let Some(number) = RequestId::from_u64(posted.request).number() else {
            return DirectResult::UseQueues;
        };
        let (bin, class) = (posted.bin, posted.run.class());
        nic.bins[bin].unlink(&nic.receives, found.receive, &found.before);
        boundary.free_receives.push(found.receive);
        boundary.count_left(nic, *comm, class, 1);
        boundary.count_matched(nic, 1);
        nic.handler_counters[0].in_order.add(1);
        self.taken += 1;
        self.searched += 1;
        DirectResult::Matched(number)
    }
}

impl Drop for MessageBatch<'_> {
    #[inline]
    fn drop(&mut self) {
        let (nic, first) = (self.nic, self.taken - self.searched);
        if first > 0 {
            nic.handler_counters[0].walked_exact.add(first);
            nic.handler_counters[0].in_order.add(first);
            self.boundary.count_matched(nic, first);
            self.boundary
                .count_left(nic, self.comm, WildcardClass::Exact, first as usize);
        }
    }
}
