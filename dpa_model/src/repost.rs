//! The end of a shared block by its handlers: they give back what their messages used, as in the
//! paper, where each handler reposts its own entry (O19, O20).
//!
//! An option of every build ([`Repost::Handlers`](crate::Repost)). The other way is the leader's,
//! see boundary/finish.rs. Blocks that a worker runs alone end in that way, too.
//!
//! **Who gives back what.** A handler says whether the receive that it took has left its chain.
//! Such a receive is free: inside the block somebody may still stand on it, but only the boundary
//! posts it again (S17). What is still in its chain, because the bin's lock was taken or removal is
//! deferred, only the boundary can take out. The worker that ends its slice last gives the entries
//! back, all of the block, with their bounce buffers. None could do so for its own message before:
//! higher handlers look at the entries of lower ones until they are resolved, and senders go by one
//! head, as a card's receive queue goes by one index. Where a message has no receive, the entries
//! are the boundary's, which stores the message first (S14).
//!
//! **State.** `slices`: bits 0..32 how many slices have ended, bits 32.. how many of these have a
//! message without a receive; the leader sets it to 0 before it publishes the block. `ended`: the
//! number of the last block that ended so. `left`: of each handler with a receive, what became of
//! that.
//!
//! **Invariants.** E1: a worker adds to `slices` once in a block, after its last look at entries,
//! bounce buffers and chains. E2: the one that makes it whole is the last; it alone writes the
//! queue's head and `ended`, in this order. E3: the leader goes on only after `ended` shows the
//! block (this takes the place of phase 3 in K3), so the head never goes back.
//!
//! **Orderings.**
//!
//! | writer | reader | publishes |
//! |---|---|---|
//! | `count`: slices, Release | `count` of the last: Acquire | the end of all looks at entries and bounce buffers; `left`, what was taken |
//! | the last: head, Release (ring.rs) | sender's `head`: Acquire | the same, to senders |
//! | the last: ended, Release | `has_ended`: Acquire | all of it, to the leader |
//!
//! **Progress.** Nobody waits but the leader. **Cost.** One read-modify-write for each slice, and
//! one word that the leader waits for in place of one for each worker.

use alloc::boxed::Box;

use crossbeam_utils::CachePadded;

use crate::block::BlockInfo;
use crate::sync::{AcqRel, Acquire, AtomicU64, PlainCell, Relaxed, Release};
use crate::{CommId, WildcardClass};

const ONE_UNMATCHED: u64 = 1 << 32;
const ENDED: u64 = ONE_UNMATCHED - 1;

/// What became of a receive that a handler took, for the boundary's counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Left {
    pub(crate) comm: CommId,
    /// Bit 0: it has left its chain. Above: its class. A word, because a card stores no single
    /// bytes well.
    kind: u32,
}

impl Left {
    pub(crate) const NOTHING: Self = Self { comm: CommId(0), kind: 1 };

    pub(crate) fn new(comm: CommId, class: WildcardClass, free: bool) -> Self {
        Self { comm, kind: (class as u32) << 1 | u32::from(free) }
    }

    pub(crate) fn class(self) -> WildcardClass {
        WildcardClass::ALL[(self.kind >> 1) as usize]
    }

    /// Whether it has left its chain.
    pub(crate) fn is_free(self) -> bool {
        self.kind & 1 != 0
    }
}

/// Where the handlers of a block meet at its end.
#[derive(Debug)]
pub(crate) struct Reposts {
    slices: CachePadded<AtomicU64>,
    ended: CachePadded<AtomicU64>,
    left: Box<[PlainCell<Left>]>,
}

impl Reposts {
    /// Bytes that each handler takes.
    pub(crate) const HANDLER_BYTES: usize = size_of::<PlainCell<Left>>();
    /// How many handlers take as much as all the rest.
    pub(crate) const PLACES: usize = size_of::<Self>() / Self::HANDLER_BYTES;

    pub(crate) fn new(handlers: usize) -> Self {
        Self {
            slices: CachePadded::new(AtomicU64::new(0)),
            ended: CachePadded::new(AtomicU64::new(0)),
            left: (0..handlers).map(|_| PlainCell::new(Left::NOTHING)).collect(),
        }
    }

    /// Before a block is published; leader only.
    pub(crate) fn begin(&self) {
        self.slices.store(0, Relaxed);
    }

    /// A worker's slice has ended. Says whether it was the last, and whether all messages of the
    /// block have a receive.
    pub(crate) fn count(&self, block: &BlockInfo, unmatched: bool) -> Option<bool> {
        step!(SliceCounted);
        let this = 1 + if unmatched { ONE_UNMATCHED } else { 0 };
        let sum = self.slices.fetch_add(this, weak!(SliceCountRelaxed, AcqRel)) + this;
        let last = sum & ENDED == block.slices as u64;
        let all_matched = sum <= ENDED || fault!(RepostedUnmatched);
        (last || fault!(RepostedByFirst)).then_some(all_matched)
    }

    /// Says that the block has ended; the last handler only.
    pub(crate) fn tell(&self, block: u64) {
        self.ended.store(block, weak!(EndedRelaxed, Release));
    }

    /// Whether the block has ended.
    pub(crate) fn has_ended(&self, block: u64) -> bool {
        step!(EndRead);
        self.ended.load(weak!(HasEndedRelaxed, Acquire)) == block
    }

    /// Whether the entries of the block that has ended were given back.
    pub(crate) fn have_given_entries(&self) -> bool {
        self.slices.load(Relaxed) <= ENDED
    }

    /// Notes what became of the receive that a handler took.
    ///
    /// # Safety
    /// The caller runs this handler, and has not counted its slice.
    pub(crate) unsafe fn note(&self, handler: usize, left: Left) {
        // SAFETY: the leader reads it only after the block's end (E1).
        unsafe { self.left[handler].write(|slot| *slot = left) };
    }

    /// What became of the receive that a handler took.
    ///
    /// # Safety
    /// The caller is the leader, after the block's end, and the handler took one.
    pub(crate) unsafe fn left(&self, handler: usize) -> Left {
        // SAFETY: its handler wrote it before it counted its slice (E1).
        unsafe { self.left[handler].read(|left| *left) }
    }
}
