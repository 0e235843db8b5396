//! The progress of one worker: the word on which the partial barrier, the slow path and the block
//! fence wait.
//!
//! **State.** One word, block number * 4 + phase. Only its worker writes it, and it only grows.
//!
//! **Under loom** each phase has its own word with the block's number. A waiter for a phase
//! then sees only that phase's own store. The one word may also show a later store of the worker,
//! which publishes more. So the separate words allow every behaviour of the one word and some
//! weaker ones. And no model has to explore which of several equally good values ended a wait: that
//! made up nine tenths of all executions.

use crate::sync::{AtomicU64, Ordering};

/// What every handler of a slice has done, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// It has booked and published its candidate.
    Booked = 1,
    /// It is matched.
    Matched = 2,
    /// Its data has moved.
    Finished = 3,
}

#[cfg(not(dpamatch_loom))]
const PHASE_BITS: u32 = 2;

#[derive(Debug)]
pub(crate) struct Progress(Words);

#[cfg(not(dpamatch_loom))]
type Words = AtomicU64;
#[cfg(dpamatch_loom)]
type Words = [AtomicU64; 3];

#[cfg(not(dpamatch_loom))]
// ordering: models have a word for each phase; random schedules and the firmware run this word.
impl Progress {
    /// The progress before the first block.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Publishes that the worker has passed `phase` of a block.
    #[inline]
    pub(crate) fn reach(&self, block: u64, phase: Phase, release: Ordering) {
        self.0.store(block << PHASE_BITS | phase as u64, release);
    }

    /// Whether the worker has passed `phase` of that block.
    #[inline]
    pub(crate) fn has_reached(&self, block: u64, phase: Phase, acquire: Ordering) -> bool {
        self.0.load(acquire) >= (block << PHASE_BITS | phase as u64)
    }
}

#[cfg(dpamatch_loom)]
impl Progress {
    pub(crate) fn new() -> Self {
        Self(core::array::from_fn(|_| AtomicU64::new(0)))
    }

    pub(crate) fn reach(&self, block: u64, phase: Phase, release: Ordering) {
        self.0[phase as usize - 1].store(block, release);
    }

    pub(crate) fn has_reached(&self, block: u64, phase: Phase, acquire: Ordering) -> bool {
        self.0[phase as usize - 1].load(acquire) >= block
    }
}
