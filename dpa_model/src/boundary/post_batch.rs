//! Consecutive posts of one communicator and class: loops without calls, for posts that take
//! unexpected messages and for posts while no message waits. The loop in `admit.rs` handles all
//! other posts.

use super::admit::begin;
use crate::communicator::Labels;
use crate::descriptor::state;
use crate::free_list::FreeList;
use crate::index::Indexes;
use crate::message::{Command, Completion, Message, Post, one_word};
use crate::number::{ReceiveId, unchecked};
use crate::ring::RingSpan;
use crate::shared::Shared;
use crate::sync::{Peek, Relaxed};
use crate::unexpected::{LINKED_ALWAYS, UnexpectedStore};
use crate::{CommId, Envelope, WildcardClass};

/// Whether a command posts a receive of this class in this communicator.
#[inline]
fn is_post(command: &Command, comm: CommId, class: WildcardClass) -> bool {
    matches!(command, Command::Post(post) if post.comm == comm && post.target.class == class)
}

/// Posts of one communicator and class; the first is being executed.
pub(super) struct PostBatch<'a> {
    pub(super) nic: &'a Shared,
    pub(super) comm: CommId,
    /// The indexes of the communicator.
    pub(super) indexes: Indexes<'a>,
    /// The commands from the first post on.
    pub(super) commands: RingSpan<'a, Command>,
    /// The last stamp of due commands.
    pub(super) last_stamp: u64,
}

impl PostBatch<'_> {
    /// The post at a place of the batch, if it is due and belongs to the batch.
    #[inline]
    fn peek(&self, class: WildcardClass, place: usize) -> Option<Peek<'_, Command>> {
        let stamp = self.commands.stamp_if_ready(place)?;
        // SAFETY: seen ready, and released only at the end of `admit`.
        let command = unsafe { self.commands.peek(place) };
        (stamp <= self.last_stamp && is_post(&command, self.comm, class)).then_some(command)
    }

    /// Reports the step of a post that is executed now.
    #[inline]
    fn begin(&self, place: usize) {
        if place > 0 {
            begin(self.nic, self.commands.position(place));
        }
    }

    /// Appends the due posts to the posted queue while descriptors are free; no message waits for a
    /// receive. Returns how many. A separate loop without calls, so that its values stay in
    /// registers.
    #[inline(never)]
    pub(super) fn enter_all(
        &self,
        class: WildcardClass,
        labels: &mut Labels,
        free: &mut FreeList<ReceiveId>,
    ) -> usize {
        let batch = Self { ..*self };
        let mut own = *labels;
        let (mut posts, mut collisions) = (0, 0);
        for receive in free.upcoming() {
            let command = batch.peek(class, posts);
            let Some(Command::Post(post)) = command.as_deref() else {
                break;
            };
            batch.begin(posts);
            let collided = enter(batch.indexes, post, class, receive, &mut own);
            collisions += u64::from(collided);
            posts += 1;
            step!(BoundaryEnds);
        }
        free.pop_many(posts);
        *labels = own;
        batch.nic.boundary_counters.collisions.add(collisions);
        posts
    }

    /// Gives each due post the first message of its chain, out of `stored` messages that wait in
    /// the chains of every message. Returns how many. A separate function, short enough to keep its
    /// values in registers.
    #[inline(never)]
    pub(super) fn receive<const CLASS: usize>(
        &self,
        stored: usize,
        store: &mut UnexpectedStore,
        results_tail: &mut u64,
    ) -> usize {
        let batch = Self { ..*self };
        let class = WildcardClass::ALL[CLASS];
        let completions = &batch.nic.completions;
        let first = *results_tail;
        let results = completions.span(first, completions.until_end(first));
        let most = results.places().len().min(stored);
        let view = batch.indexes.view;
        let mut late = 0;
        while late < most
            && let Some(Command::Post(post)) = batch.peek(class, late).as_deref()
        {
            let bin = view.bin(class, post.target.hash);
            let Some(found) = store.first(class, bin, &post.target, post.capacity) else {
                break;
            };
            batch.begin(late);
            step!(UnexpectedVisited { entry: found.0 });
            step!(TakenLate { entry: found.0 });
            store.unlink(&view, LINKED_ALWAYS, class, found, bin);
            // SAFETY: the host lent the buffer until the result reaches it; the ring has a free
            // position for each due command, and only the leader fills it.
            unsafe {
                let entry = store.deliver_and_free(found, post.buffer, post.capacity);
                results.fill(late, |slot| {
                    // Word by word: a copy of the whole would pass through the stack.
                    let Message {
                        arrival,
                        envelope,
                        length,
                    } = entry.message;
                    let Envelope { comm, source, tag } = envelope;
                    let envelope = Envelope { comm, source, tag };
                    let message = Message {
                        arrival,
                        envelope,
                        length,
                    };
                    *slot = Completion::Received {
                        request: post.request,
                        message,
                        late: true,
                    };
                });
            }
            late += 1;
            step!(BoundaryEnds);
        }
        *results_tail = first + late as u64;
        late
    }
}

/// Appends a receive of this class to the posted queue of a communicator with tables. Returns
/// whether its chain was not empty.
#[inline(always)]
pub(super) fn enter(
    indexes: Indexes<'_>,
    post: &Post,
    class: WildcardClass,
    receive: ReceiveId,
    labels: &mut Labels,
) -> bool {
    let Indexes {
        bookings,
        bins,
        view,
    } = indexes;
    let receives = bookings.receives;
    let bin = view.bin(class, post.target.hash);
    let label = labels.next();
    // SAFETY: the communicator's tables include this bin.
    let bin_there = unsafe { unchecked(bins, bin) };
    let tail = bin_there.tail();
    // SAFETY: the tail is in a chain, and no block is running (D1).
    let last = (tail != ReceiveId::NIL).then(|| unsafe { unchecked(receives, tail).posted.peek() });
    let run = labels.run_after(last.as_deref(), class, &post.target);
    let fields = one_word(post.target.source.get(), post.target.tag.get());
    // SAFETY: the free list made the number.
    let descriptor = unsafe { unchecked(receives, receive) };
    debug_assert_eq!(
        descriptor.state.load(Relaxed),
        state::FREE,
        "the descriptor is in use"
    );
    bookings.clear(receive);
    // SAFETY: the descriptor was free and no block is running (D1).
    unsafe {
        descriptor.posted.write(|slot| {
            // Word by word: no value then stays longer in a register than needed.
            slot.label = label;
            slot.buffer = post.buffer;
            slot.request = post.request;
            slot.run = run;
            (slot.source, slot.tag) = (fields as u32, (fields >> u32::BITS) as u32);
            slot.bin = bin;
            slot.capacity = post.capacity;
        });
    }
    step!(Posted {
        request: post.request,
        bin: bin.0,
        receive: receive.0
    });
    descriptor.state.store(state::POSTED, Relaxed);
    bin_there.append(receives, receive, tail)
}
