//! The partial barrier as one bitmap for all workers, as in the paper (O12): a worker sets its bit
//! when its slice has booked, and waits until the bits of all lower workers are set.
//!
//! An option of every build ([`Barrier::Bitmap`](crate::Barrier)). The default, a progress word for
//! each worker (see progress.rs), needs no read-modify-write; the bitmap needs one load for all
//! lower workers.
//!
//! **State.** Two sets of bits, which shared blocks use alternately, by their number.
//!
//! **Invariants.** M1: when a block is published, all bits of its set are clear. M2: in a block
//! each worker sets its bit once, in the block's own set. M3: worker 0 clears the other set after
//! it has set its own bit. No worker reads that set then: the block that used it has ended (K3),
//! and worker 0 publishes the block that will use it later.
//!
//! **Orderings.**
//!
//! | writer | reader | publishes |
//! |---|---|---|
//! | `set`: fetch_or, Release | `set`: the word before, Acquire; `are_set`: Acquire | candidates, bookings |
//! | `clear_other`: Relaxed | the next block's readers, by `Block::publish` | nothing else |
//!
//! A read-modify-write continues the release sequence, so a word that shows the bits of several
//! workers publishes what all of them wrote.
//!
//! **Cost.** One read-modify-write of a word that all workers share. Its result shows one of the
//! first 64 workers whether it has to wait at all.

use core::ops::Range;

use crossbeam_utils::CachePadded;

use crate::booking::{HANDLERS_MAX, HandlerSet};
use crate::number::WorkerId;
use crate::sync::{AtomicU64, Relaxed};

const WORD: usize = 64;

type Set = [AtomicU64; HANDLERS_MAX / WORD];

/// The workers that have booked, in two consecutive blocks.
#[derive(Debug)]
pub(crate) struct Bitmap([CachePadded<Set>; 2]);

impl Bitmap {
    pub(crate) const BYTES: usize = size_of::<Self>();

    pub(crate) fn new() -> Self {
        let set = || CachePadded::new(core::array::from_fn(|_| AtomicU64::new(0)));
        Self([set(), set()])
    }

    fn set_of(&self, block: u64) -> &Set {
        &self.0[block as usize % self.0.len()]
    }

    /// Sets the worker's bit; worker 0 also clears the set of the block before. `true`: the bits of
    /// the workers `awaited` are known to be set.
    pub(crate) fn set(&self, block: u64, worker: WorkerId, awaited: Range<WorkerId>) -> bool {
        step!(BitSet { block });
        let (word, bit) = (worker.0 / WORD, 1 << (worker.0 % WORD));
        let before = self.set_of(block)[word].fetch_or(bit, weak!(AcqRel));
        if worker == WorkerId::LEADER {
            self.clear_other(block);
        }
        let wanted = members(&awaited, word);
        word == 0 && before & wanted == wanted
    }

    /// Whether the bits of the workers `awaited` are set.
    pub(crate) fn are_set(&self, block: u64, awaited: Range<WorkerId>) -> bool {
        let set = self.set_of(block);
        (awaited.start.0 / WORD..awaited.end.0.div_ceil(WORD)).all(|word| {
            step!(BitsRead { block });
            let wanted = members(&awaited, word);
            set[word].load(weak!(Acquire)) & wanted == wanted
        })
    }

    fn clear_other(&self, block: u64) {
        if !fault!(BitsKept) {
            step!(BitsCleared { block });
            self.set_of(block + 1)
                .iter()
                .for_each(|word| word.store(0, Relaxed));
        }
    }
}

/// Mask of these workers' bits in a word.
fn members(workers: &Range<WorkerId>, word: usize) -> u64 {
    HandlerSet::below(workers.end.0).word(word) & !HandlerSet::below(workers.start.0).word(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workers(range: Range<usize>) -> Range<WorkerId> {
        WorkerId(range.start)..WorkerId(range.end)
    }

    #[test]
    fn all_lower_bits_are_waited_for() {
        for worker in [0, 1, 63, 64, 65, 128, HANDLERS_MAX - 1] {
            let bitmap = Bitmap::new();
            for missing in 0..worker {
                assert!(
                    !bitmap.are_set(7, workers(0..worker)),
                    "{missing} of {worker}"
                );
                bitmap.set(7, WorkerId(missing), workers(0..missing));
            }
            assert!(bitmap.are_set(7, workers(0..worker)));
            let knows = bitmap.set(7, WorkerId(worker), workers(0..worker));
            assert_eq!(
                knows,
                worker < WORD,
                "the word of {worker} tells of its lower bits"
            );
        }
    }

    #[test]
    fn a_set_comes_back_clear() {
        let bitmap = Bitmap::new();
        for block in 1..6 {
            assert!(!bitmap.are_set(block, workers(1..2)), "block {block}");
            assert!(
                !bitmap.are_set(block, workers(HANDLERS_MAX - 1..HANDLERS_MAX)),
                "block {block}"
            );
            for worker in [2, 0, HANDLERS_MAX - 1, 1] {
                bitmap.set(block, WorkerId(worker), workers(0..worker));
            }
            assert!(bitmap.are_set(block, workers(0..3)));
            assert!(!bitmap.are_set(block, workers(0..4)));
        }
    }
}
