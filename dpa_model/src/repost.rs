//! Block end by handlers: they give back what their messages used, like the paper's handlers, each
//! of which reposts its own entry (O19, O20).
//!
//! An option of every build ([`Repost::Handlers`](crate::Repost)). By default the leader ends
//! shared blocks (boundary/finish.rs), and it always ends blocks that one worker runs alone.
//!
//! **Who gives back what.** A handler records whether the receive that it took has left its chain.
//! Such a receive is free: another handler may still stand on it inside the block, but only the
//! boundary posts it again (S17). A receive that is still in its chain, because the bin's lock was
//! taken or removal is deferred, is left to the boundary. The worker that ends its slice last gives
//! back all entries of the block with their bounce buffers. No handler could do so earlier for its
//! own message: higher handlers read the entries of lower ones until they are resolved, and senders
//! go by one head, as a card's receive queue goes by one index. If a message has no receive, the
//! boundary gives back the entries, because it stores the message first (S14).
//!
//! **State.** `slices`: bits 0..32 count the slices that have ended, bits 32.. count the slices
//! with a message without a receive. The leader clears it before it publishes the block. `ended`:
//! number of the last block that its handlers ended. `left`: for each handler with a receive, the
//! state of that receive.
//!
//! **Invariants.** E1: a worker adds to `slices` once in a block, after its last access to entries,
//! bounce buffers and chains. E2: the worker whose addition completes the count is the last; it
//! alone writes the queue's head and then `ended`. E3: the leader goes on only after `ended` shows
//! the block (in place of phase 3 in K3), so the head never goes back.
//!
//! **Orderings.**
//!
//! | writer | reader | publishes |
//! |---|---|---|
//! | `count`: slices, Release | `count` of the last: Acquire | the end of all accesses to entries and bounce buffers; `left`, taken receives |
//! | the last: head, Release (ring.rs) | sender's `head`: Acquire | the end of all accesses to entries and bounce buffers, to senders |
//! | the last: ended, Release | `has_ended`: Acquire | the whole block, to the leader |
//!
//! **Progress.** Only the leader waits. **Cost.** One read-modify-write for each slice; the leader
//! waits for one word instead of one for each worker.

use alloc::boxed::Box;

use crossbeam_utils::CachePadded;

use crate::block::BlockInfo;
use crate::sync::{AtomicU64, PlainCell, Relaxed};
use crate::{CommId, WildcardClass};

const ONE_UNMATCHED: u64 = 1 << 32;
const ENDED: u64 = ONE_UNMATCHED - 1;

/// State of a taken receive, for the boundary's counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Left {
    pub(crate) comm: CommId,
    /// Bit 0: the receive has left its chain. Above: its class. A whole word, because a card stores
    /// single bytes slowly.
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

    /// Whether the receive has left its chain.
    pub(crate) fn is_free(self) -> bool {
        self.kind & 1 != 0
    }
}

/// The state that the handlers of a block share at its end.
#[derive(Debug)]
pub(crate) struct Reposts {
    slices: CachePadded<AtomicU64>,
    ended: CachePadded<AtomicU64>,
    left: Box<[PlainCell<Left>]>,
}

impl Reposts {
    /// Bytes for each handler.
    pub(crate) const HANDLER_BYTES: usize = size_of::<PlainCell<Left>>();
    /// Number of handlers whose places are as large as the rest.
    pub(crate) const PLACES: usize = size_of::<Self>() / Self::HANDLER_BYTES;

    pub(crate) fn new(handlers: usize) -> Self {
        Self {
            slices: CachePadded::new(AtomicU64::new(0)),
            ended: CachePadded::new(AtomicU64::new(0)),
            left: (0..handlers).map(|_| PlainCell::new(Left::NOTHING)).collect(),
        }
    }

    /// Prepares the end of a block; leader only, before it publishes the block.
    pub(crate) fn begin(&self) {
        self.slices.store(0, Relaxed);
    }

    /// Counts a worker's slice as ended. For the last slice, returns whether all messages of the
    /// block have a receive.
    pub(crate) fn count(&self, block: &BlockInfo, unmatched: bool) -> Option<bool> {
        step!(SliceCounted);
        let this = 1 + if unmatched { ONE_UNMATCHED } else { 0 };
        let sum = self.slices.fetch_add(this, weak!(AcqRel)) + this;
        let last = sum & ENDED == block.slices as u64;
        let all_matched = sum <= ENDED || fault!(RepostedUnmatched);
        (last || fault!(RepostedByFirst)).then_some(all_matched)
    }

    /// Publishes the end of the block; only the last worker calls it.
    pub(crate) fn tell(&self, block: u64) {
        self.ended.store(block, weak!(Release));
    }

    pub(crate) fn has_ended(&self, block: u64) -> bool {
        step!(EndRead);
        self.ended.load(weak!(Acquire)) == block
    }

    /// Whether the entries of the ended block were given back.
    pub(crate) fn have_given_entries(&self) -> bool {
        self.slices.load(Relaxed) <= ENDED
    }

    /// Records the state of the receive that a handler took.
    ///
    /// # Safety
    /// The caller runs this handler, and has not counted its slice.
    pub(crate) unsafe fn note(&self, handler: usize, left: Left) {
        // SAFETY: the leader reads it only after the block's end (E1).
        unsafe { self.left[handler].write(|slot| *slot = left) };
    }

    /// The state of the receive that a handler took.
    ///
    /// # Safety
    /// The caller is the leader, after the block's end, and the handler took a receive.
    pub(crate) unsafe fn left(&self, handler: usize) -> Left {
        // SAFETY: the handler wrote it before its slice was counted (E1).
        unsafe { self.left[handler].read(|left| *left) }
    }
}
