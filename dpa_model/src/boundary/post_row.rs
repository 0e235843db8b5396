//! Consecutive posts of one communicator and class: loops without calls, for posts that take
//! unexpected messages and for posts while no message waits. The loop in `admit.rs` handles all
//! other posts.

use super::due::Due;
use crate::bin::Bin;
use crate::booking::Bookings;
use crate::communicator::Labels;
use crate::descriptor::state;
use crate::free_list::FreeList;
use crate::index::CommView;
use crate::message::{Command, Completion, Message, Post, one_word};
use crate::number::{BinId, ReceiveId, unchecked};
use crate::ring::Stretch;
use crate::shared::Shared;
use crate::sync::{Peek, Relaxed};
use crate::unexpected::UnexpectedStore;
use crate::{CommId, Envelope, WildcardClass};

/// Whether a command posts a receive of this class in this communicator.
#[inline(always)]
fn is_post<const CLASS: usize>(command: &Command, comm: CommId) -> bool {
    matches!(command, Command::Post(post)
        if post.comm == comm && post.target.class == WildcardClass::ALL[CLASS])
}

/// A row of posts of one communicator and class; the first is being executed.
pub(super) struct PostRow<'a> {
    pub(super) due: Due<'a>,
    pub(super) comm: CommId,
    pub(super) view: CommView,
    /// The commands from `place` on.
    pub(super) commands: Stretch<'a, Command>,
    pub(super) place: usize,
}

impl PostRow<'_> {
    /// The post at a place of the row, if it is due and belongs to the row.
    #[inline(always)]
    fn look<const CLASS: usize>(&self, place: usize) -> Option<Peek<'_, Command>> {
        let stamp = self.commands.stamp_if_ready(place)?;
        // SAFETY: seen ready, and released only at the end of `admit`.
        let command = unsafe { self.commands.peek(place) };
        (stamp <= self.due.until && is_post::<CLASS>(&command, self.comm)).then_some(command)
    }

    /// The post at a place of the row, as [`look`](Self::look) finds it; it is executed now.
    #[inline(always)]
    pub(super) fn next<const CLASS: usize>(&self, place: usize) -> Option<Peek<'_, Command>> {
        let post = self.look::<CLASS>(place)?;
        self.begin(place);
        Some(post)
    }

    /// Reports the step of a post that is executed now.
    #[inline(always)]
    fn begin(&self, place: usize) {
        if place > 0 {
            self.due.begin(self.place + place);
        }
    }

    /// Appends the due posts from `first` on to the posted queue while descriptors are free. The
    /// first has begun, and no message waits for a receive. A separate loop without calls, so that
    /// its values stay in registers.
    #[inline(never)]
    pub(super) fn enter_all<const CLASS: usize>(
        &self,
        first: usize,
        labels: &mut Labels,
        free: &mut FreeList<ReceiveId>,
    ) -> Entered {
        let row = Self { ..*self };
        let tables = Tables::of(row.due.nic);
        let class = WildcardClass::ALL[CLASS];
        let mut own = *labels;
        let (mut posts, mut collisions) = (0, 0);
        for receive in free.next() {
            let command = row.look::<CLASS>(first + posts);
            let Some(Command::Post(post)) = command.as_deref() else {
                break;
            };
            if posts > 0 {
                row.begin(first + posts);
            }
            let bin = row.view.bin(class, post.target.hash);
            collisions += u64::from(enter(tables, post, class, bin, receive, &mut own));
            posts += 1;
            step!(BoundaryEnds);
        }
        free.take_all(posts);
        *labels = own;
        Entered { posts, collisions }
    }

    /// Gives each due post the first message of its chain, out of `stored` messages that wait in
    /// the chains of every message. Returns how many. A separate function, short enough to keep its
    /// values in registers.
    #[inline(never)]
    pub(super) fn receive<const CLASS: usize, const DATA: u8>(
        &self,
        stored: u32,
        store: &mut UnexpectedStore,
        results_tail: &mut u64,
    ) -> u32 {
        let row = Self { ..*self };
        let class = WildcardClass::ALL[CLASS];
        let completions = &row.due.nic.completions;
        let first = *results_tail;
        let results = completions.stretch(first, completions.until_end(first));
        let most = results.places().len().min(stored as usize);
        let mut store = store.in_row();
        let mut late = 0;
        while late < most
            && let Some(Command::Post(post)) = row.look::<CLASS>(late).as_deref()
        {
            let bin = row.view.bin(class, post.target.hash);
            let Some(found) = store.first::<CLASS, DATA>(bin, &post.target, post.capacity) else {
                break;
            };
            row.begin(late);
            step!(UnexpectedVisited { entry: found.0 });
            step!(TakenLate { entry: found.0 });
            store.unlink_first::<CLASS>(&row.view, found, bin);
            // SAFETY: the host lent the buffer until the result reaches it; the ring has a free
            // position for each due command, and only the leader fills it.
            unsafe {
                let entry = store.give::<DATA>(found, post.buffer, post.capacity);
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
        late as u32
    }
}

/// Posts appended to the posted queue.
pub(super) struct Entered {
    pub(super) posts: usize,
    /// Posts whose chains were not empty.
    pub(super) collisions: u64,
}

/// Copies of the tables that a post changes, for a loop.
#[derive(Clone, Copy)]
pub(super) struct Tables<'a> {
    bookings: Bookings<'a>,
    bins: &'a [Bin],
}

impl<'a> Tables<'a> {
    #[inline(always)]
    pub(super) fn of(nic: &'a Shared) -> Self {
        Self {
            bookings: nic.bookings(),
            bins: &nic.bins,
        }
    }
}

/// Appends a receive of this class and bin to the posted queue. Returns whether its chain was not
/// empty.
#[inline(always)]
pub(super) fn enter(
    tables: Tables<'_>,
    post: &Post,
    class: WildcardClass,
    bin: BinId,
    receive: ReceiveId,
    labels: &mut Labels,
) -> bool {
    let Tables {
        bookings: Bookings { receives, far },
        bins,
    } = tables;
    let label = labels.next();
    // SAFETY: the communicator's tables include this bin.
    let bin_there = unsafe { unchecked(bins, bin) };
    let tail = bin_there.tail();
    // SAFETY: the tail stands in a chain, and no block is running (D1).
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
    // Clears the bookings of its last use, whose handlers are long done.
    descriptor.booking.store(0, Relaxed);
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
    if let Some(far) = far.get(receive.index()) {
        far.clear();
    }
    step!(Posted {
        request: post.request,
        bin: bin.0,
        receive: receive.0
    });
    descriptor.state.store(state::POSTED, Relaxed);
    bin_there.append(receives, receive, tail)
}
