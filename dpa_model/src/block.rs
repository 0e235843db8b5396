//! The block: up to N messages matched together, and the partial barrier between the workers that
//! run its handlers (O1, O12, S1-S4).
//!
//! Handler i of a block takes its i-th message. Each worker runs a contiguous slice of handlers;
//! with slices of one handler this is the paper's arrangement to the letter.
//!
//! **State.** `published`: bits 0..16 the number of slices, bits 16.. the block's number; written by
//! the leader (worker 0) to start a block that it shares with other workers. `progress[w]` (see
//! progress.rs): the block and phase that worker w has passed; phase 1 = all handlers of slice w
//! have booked and published their claims, 2 = all are matched, 3 = all protocol work is done. Only
//! worker w writes it, and it only grows, so it never has to be reset and no read-modify-write is
//! needed.
//!
//! **Invariants.** K1: a handler's claim is constant from phase 1 of its slice to the end of the
//! block. K2: a worker reads claims only of lower slices, after it saw their phase 1 (partial
//! barrier: nobody waits for a higher one, O12). K3: the leader starts the next block only after
//! phase 3 of every slice (block fence, S1); so `info`, claims and what was taken are never written while
//! somebody reads them.
//!
//! **Orderings.**
//!
//! | writer | reader | publishes |
//! |---|---|---|
//! | `publish`: published, Release | `published`: Acquire | `info`, everything the boundary wrote (receives, chains, views), the entries |
//! | `reach(BOOKED)`: progress, Release | `wait_for(BOOKED)`: Acquire | claims, bookings |
//! | `reach(MATCHED)`: progress, Release | `wait_for(MATCHED)`: Acquire | consumption by lower handlers (S13) |
//! | `reach(FINISHED)`: progress, Release | leader's `wait_for(FINISHED)`: Acquire | what was taken, unlinked chains, the end of all reads |
//!
//! **Progress.** A worker blocks only on lower slices, the leader at the end on all. The lowest
//! unfinished handler never waits, so there is no deadlock however few processors there are (S19).

use alloc::boxed::Box;

use crossbeam_utils::CachePadded;

use crate::descriptor::NIL;
use crate::progress::Progress;
pub(crate) use crate::progress::phase;
use crate::sync::{Acquire, AtomicU64, PlainCell, Release, Wait};

const SLICE_BITS: u32 = 16;

/// What a block consists of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlockInfo {
    pub(crate) number: u64,
    /// Position of the first message in the completion queue: its arrival number.
    pub(crate) first: u64,
    /// Messages, at most N.
    pub(crate) count: usize,
    /// Workers that run it.
    pub(crate) slices: usize,
    /// Position in the completion ring of the first message's result.
    pub(crate) results: u64,
}

impl BlockInfo {
    /// The handlers of slice `slice`.
    pub(crate) fn slice(&self, slice: usize) -> core::ops::Range<usize> {
        slice * self.count / self.slices..(slice + 1) * self.count / self.slices
    }
}

/// What a handler publishes before the barrier (S3).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// The booked receive, or `NIL`.
    pub(crate) receive: u32,
    /// [`Posted::sequence`](crate::descriptor::Posted::sequence).
    pub(crate) sequence: u64,
    pub(crate) comm: u32,
    pub(crate) label: u64,
}

impl Claim {
    pub(crate) const NONE: Self = Self { receive: NIL, sequence: 0, comm: NIL, label: 0 };
}

/// How a handler found its result, for the statistics (S28).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Path {
    /// No conflict at or below this handler.
    Clean,
    /// Took the receive its number further in the sequence.
    Fast,
    /// Waited for all lower handlers.
    Slow,
    /// Claimed at once, order being dropped by the hint `mpi_assert_allow_overtaking`.
    Overtaking,
}

#[derive(Debug)]
struct Lane {
    claim: PlainCell<Claim>,
    /// The receive that the handler took; `NIL`: unexpected, or for the host.
    taken: PlainCell<u32>,
}

#[derive(Debug)]
pub(crate) struct Block {
    published: CachePadded<AtomicU64>,
    info: PlainCell<BlockInfo>,
    lanes: Box<[Lane]>,
    progress: Box<[CachePadded<Progress>]>,
    /// 1: a worker died of a panic, so waits may never end.
    broken: AtomicU64,
}

impl Block {
    pub(crate) fn new(handlers: usize, workers: usize) -> Self {
        let lane = || Lane { claim: PlainCell::new(Claim::NONE), taken: PlainCell::new(NIL) };
        Self {
            published: CachePadded::new(AtomicU64::new(0)),
            info: PlainCell::new(BlockInfo::default()),
            lanes: (0..handlers).map(|_| lane()).collect(),
            progress: (0..workers).map(|_| CachePadded::new(Progress::new())).collect(),
            broken: AtomicU64::new(0),
        }
    }

    pub(crate) const LANE_BYTES: usize = size_of::<Lane>();

    /// Starts a block with the other workers; leader only, after the last block's end (K3).
    pub(crate) fn publish(&self, info: BlockInfo) {
        // SAFETY: K3: every worker that could read `info` has finished the last shared block.
        unsafe { self.info.write(|slot| *slot = info) };
        self.published
            .store(info.number << SLICE_BITS | info.slices as u64, weak!(PublishRelaxed, Release));
    }

    /// Number of the last published block and how many slices it has.
    pub(crate) fn published(&self) -> (u64, usize) {
        let word = self.published.load(weak!(PublishedRelaxed, Acquire));
        (word >> SLICE_BITS, (word & ((1 << SLICE_BITS) - 1)) as usize)
    }

    /// The published block; for a worker whose slice it has.
    ///
    /// # Safety
    /// `published` showed a block with a slice for the calling worker, which has not reached its
    /// phase 3.
    pub(crate) unsafe fn info(&self) -> BlockInfo {
        // SAFETY: the leader writes `info` again only after this worker's phase 3 (K3).
        unsafe { self.info.read(|info| *info) }
    }

    /// Says that every handler of this worker's slice has passed `phase`.
    #[inline]
    pub(crate) fn reach(&self, worker: usize, block: u64, phase: u64) {
        let release = match phase {
            phase::BOOKED => weak!(ReachBookedRelaxed, Release),
            phase::MATCHED => weak!(ReachMatchedRelaxed, Release),
            _ => weak!(ReachFinishedRelaxed, Release),
        };
        self.progress[worker].reach(block, phase, release);
    }

    /// Waits until worker `worker` has reached `phase` of the block; returns the failed polls.
    #[inline]
    pub(crate) fn wait_for(&self, worker: usize, block: u64, phase: u64) -> u32 {
        let mut wait = Wait::new();
        loop {
            step!(ProgressRead { worker, block });
            if self.progress[worker].has_reached(block, phase, weak!(WaitRelaxed, Acquire)) {
                break;
            }
            wait.pause();
            if wait.failed_polls() % 1024 == 1023 {
                assert!(
                    self.broken.load(Acquire) == 0,
                    "another worker panicked inside this block"
                );
            }
        }
        wait.failed_polls()
    }

    /// Says that a worker has died inside a block: whoever waits for it panics, too, instead of
    /// waiting for ever.
    #[cfg(feature = "std")]
    pub(crate) fn break_down(&self) {
        self.broken.store(1, Release);
    }

    /// Publishes handler `handler`'s claim.
    ///
    /// # Safety
    /// The caller runs this handler and has not reached phase 1.
    #[inline(always)]
    pub(crate) unsafe fn set_claim(&self, handler: usize, claim: Claim) {
        // SAFETY: K2: others read it only after phase 1; the readers of the last block are done
        // (K3).
        unsafe { self.lanes[handler].claim.write(|slot| *slot = claim) };
    }

    /// The claim of a lower handler.
    ///
    /// # Safety
    /// The caller saw phase 1 of the slice that runs it.
    #[inline(always)]
    pub(crate) unsafe fn claim(&self, handler: usize) -> Claim {
        // SAFETY: K1.
        unsafe { self.lanes[handler].claim.read(|claim| *claim) }
    }

    /// Notes which receive a handler took.
    ///
    /// # Safety
    /// The caller runs this handler and has not reached phase 3.
    #[inline(always)]
    pub(crate) unsafe fn set_taken(&self, handler: usize, receive: u32) {
        // SAFETY: the leader reads it only after phase 3.
        unsafe { self.lanes[handler].taken.write(|slot| *slot = receive) };
    }

    /// Which receive a handler took; `NIL` if none.
    ///
    /// # Safety
    /// The caller is the leader after phase 3 of the handler's slice.
    #[inline(always)]
    pub(crate) unsafe fn taken(&self, handler: usize) -> u32 {
        // SAFETY: see `set_taken`.
        unsafe { self.lanes[handler].taken.read(|taken| *taken) }
    }
}
