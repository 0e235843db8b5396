//! The block: up to N messages matched together, and the partial barrier between the workers that
//! run its handlers (O1, O12, S1-S4).
//!
//! Handler i of a block takes its i-th message. Each worker runs a contiguous slice of handlers;
//! with slices of one handler this is exactly the paper's arrangement.
//!
//! **State.** `published`: bits 0..12 hold the number of slices, bits 12.. the block's number. The
//! leader (worker 0) writes it to start a block that it shares with other workers. `progress[w]`
//! (see progress.rs): the block and phase that worker w has passed. Phase 1: all handlers of slice
//! w have booked and published their candidates. Phase 2: all are matched. Phase 3: all protocol
//! work is done. Only worker w writes its word, which only grows, so it needs neither a reset nor a
//! read-modify-write. `bitmap`: replaces phase 1 if the options select it (see bitmap.rs).
//!
//! **Invariants.** K1: a handler's candidate is constant from phase 1 of its slice to the end of
//! the block. K2: a worker reads candidates only of lower slices, after it saw their phase 1
//! (partial barrier: no worker waits for a higher one, O12). K3: the leader starts the next block
//! only after phase 3 of every slice (block fence, S1). So `info`, candidates and taken receives
//! are never written during a read.
//!
//! **Orderings.**
//!
//! | writer | reader | publishes |
//! |---|---|---|
//! | `publish`: published, Release | `next_for`: Acquire | `info`, everything the boundary wrote (receives, chains, views), the entries |
//! | `reach(BOOKED)`: progress, Release | `wait_for(BOOKED)`: Acquire | candidates, bookings |
//! | `reach(MATCHED)`: progress, Release | `wait_for(MATCHED)`: Acquire | consumption by lower handlers (S13) |
//! | `reach(FINISHED)`: progress, Release | leader's `wait_for(FINISHED)`: Acquire | what was taken, unlinked chains, the end of all reads |
//!
//! **Progress.** A worker blocks only on lower slices; at the end the leader blocks on all. The
//! lowest unfinished handler never waits, so no number of processors can deadlock (S19).

use alloc::boxed::Box;
use core::ops::Range;

use crossbeam_utils::CachePadded;

use crate::bitmap::Bitmap;
use crate::matching::DomainKey;
use crate::number::{QueueId, ReceiveId, WorkerId};
pub(crate) use crate::progress::Phase;
use crate::progress::Progress;
use crate::sync::{AtomicU64, Counter, PlainCell, Relaxed, Wait};
use crate::{Barrier, Domains};

const SLICE_BITS: u32 = 12;
const SLICES: u64 = (1 << SLICE_BITS) - 1;
const _: () = assert!(crate::HANDLERS_MAX <= SLICES as usize);

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlockInfo {
    pub(crate) number: u64,
    /// The completion queue that holds the messages.
    pub(crate) queue: QueueId,
    /// Position of the first message in that queue.
    pub(crate) first: u64,
    /// Number of the first message over all queues.
    pub(crate) arrival: u64,
    /// Number of messages, at most N.
    pub(crate) count: usize,
    /// Number of workers that run the block.
    pub(crate) slices: usize,
    /// Position in the completion ring of the first message's result.
    pub(crate) results: u64,
}

impl BlockInfo {
    /// The worker whose slice has this handler.
    pub(crate) fn worker_of(&self, handler: usize) -> WorkerId {
        if self.slices == self.count {
            return WorkerId(handler);
        }
        WorkerId(((handler + 1) * self.slices - 1) / self.count)
    }

    pub(crate) fn slice(&self, WorkerId(slice): WorkerId) -> Range<usize> {
        if self.slices == self.count {
            // One handler each needs no division, which is slow on a card.
            return slice..slice + 1;
        }
        slice * self.count / self.slices..(slice + 1) * self.count / self.slices
    }
}

#[derive(Debug)]
pub(crate) struct Block {
    published: CachePadded<AtomicU64>,
    info: PlainCell<BlockInfo>,
    /// The candidate of each handler, or `NIL`: all that a handler publishes (S3). Four bytes each
    /// keep the lines that detection reads few.
    candidates: Box<[PlainCell<ReceiveId>]>,
    /// The receive that each handler took; `NIL` if the message is unexpected or for the host.
    taken: Box<[PlainCell<ReceiveId>]>,
    progress: Box<[CachePadded<Progress>]>,
    bitmap: Option<Bitmap>,
    /// The key of each handler's message; without places unless blocks have domains.
    keys: Box<[AtomicU64]>,
    /// The last block in which a slice with domains met a conflict.
    in_conflict: Counter,
    /// 1 after a worker's panic: waits may never end. Publishes nothing.
    broken: AtomicU64,
}

impl Block {
    pub(crate) fn new(handlers: usize, workers: usize, barrier: Barrier, domains: Domains) -> Self {
        let keys = if domains == Domains::Keyed {
            handlers
        } else {
            0
        };
        let receives = || {
            (0..handlers)
                .map(|_| PlainCell::new(ReceiveId::NIL))
                .collect()
        };
        Self {
            published: CachePadded::new(AtomicU64::new(0)),
            info: PlainCell::new(BlockInfo::default()),
            candidates: receives(),
            taken: receives(),
            progress: (0..workers)
                .map(|_| CachePadded::new(Progress::new()))
                .collect(),
            bitmap: (barrier == Barrier::Bitmap).then(Bitmap::new),
            keys: (0..keys).map(|_| AtomicU64::new(0)).collect(),
            in_conflict: Counter::default(),
            broken: AtomicU64::new(0),
        }
    }

    /// Bytes for each handler.
    pub(crate) const HANDLER_BYTES: usize = 2 * size_of::<PlainCell<ReceiveId>>();
    /// Bytes for each handler of a block with domains.
    pub(crate) const KEY_BYTES: usize = size_of::<DomainKey>();

    /// Starts a shared block; leader only, after the end of the last block (K3).
    #[inline]
    pub(crate) fn publish(&self, info: BlockInfo) {
        // SAFETY: K3: every worker that could read `info` has finished the last shared block.
        unsafe { self.info.write(|slot| *slot = info) };
        self.published.store(
            info.number << SLICE_BITS | info.slices as u64,
            weak!(Release),
        );
    }

    /// The published block, if it has a slice for the worker and is not `seen`, the number of the
    /// last block that the worker saw. Only the low 52 bits of numbers count: more blocks than any
    /// worker sleeps through.
    ///
    /// # Safety
    /// The caller is this worker. It runs the slice to phase 3 before it calls again, with the
    /// `seen` of the last call.
    pub(crate) unsafe fn next_for(&self, worker: WorkerId, seen: &mut u64) -> Option<BlockInfo> {
        let published = self.published.load(weak!(Acquire));
        let (number, slices) = (published >> SLICE_BITS, published & SLICES);
        if core::mem::replace(seen, number) == number || worker.0 >= slices as usize {
            return None;
        }
        // SAFETY: the leader writes `info` again only after this worker's phase 3 (K3).
        Some(unsafe { self.info.read(|info| *info) })
    }

    /// Publishes that every handler of this worker's slice has passed `phase`.
    #[inline]
    pub(crate) fn reach(&self, worker: WorkerId, block: u64, phase: Phase) {
        let release = match phase {
            Phase::Booked => weak!(Release),
            Phase::Matched => weak!(Release),
            Phase::Finished => weak!(Release),
        };
        step!(ProgressWritten { worker: worker.0 });
        self.progress[worker.0].reach(block, phase, release);
    }

    /// The partial barrier (O12): publishes that all handlers of this worker's slice have booked,
    /// and waits until all handlers of the workers `awaited` have. Returns the failed polls.
    pub(crate) fn pass_barrier(
        &self,
        worker: WorkerId,
        block: u64,
        awaited: Range<WorkerId>,
    ) -> u64 {
        let Some(bitmap) = &self.bitmap else {
            self.reach(worker, block, Phase::Booked);
            return self.wait_for_each(awaited, block, Phase::Booked);
        };
        if bitmap.set(block, worker, awaited.clone()) {
            return 0;
        }
        self.wait_until(|| bitmap.are_set(block, awaited.clone()))
    }

    /// Waits until these workers have reached `phase` of the block; returns the failed polls.
    pub(crate) fn wait_for_each(&self, workers: Range<WorkerId>, block: u64, phase: Phase) -> u64 {
        (workers.start.0..workers.end.0)
            .map(|worker| self.wait_for(WorkerId(worker), block, phase))
            .sum()
    }

    /// Waits until worker `worker` has reached `phase` of the block; returns the failed polls.
    #[inline]
    pub(crate) fn wait_for(&self, worker: WorkerId, block: u64, phase: Phase) -> u64 {
        self.wait_until(|| {
            step!(ProgressRead { worker: worker.0 });
            self.progress[worker.0].has_reached(block, phase, weak!(Acquire))
        })
    }

    #[inline]
    pub(crate) fn wait_until(&self, reached: impl Fn() -> bool) -> u64 {
        let polls = self.poll_until(reached);
        step!(Waited);
        polls
    }

    /// Polls until `reached`; returns the failed polls.
    ///
    /// # Panics
    /// If another worker has panicked inside a block: the awaited store may never come.
    #[inline]
    pub(crate) fn poll_until(&self, reached: impl Fn() -> bool) -> u64 {
        let mut wait = Wait::new();
        // ordering: the look at `broken` only ends a wait for a worker that has panicked.
        while !reached() {
            wait.pause();
            if wait.failed_polls() % 1024 == 1023 {
                assert!(
                    self.broken.load(Relaxed) == 0,
                    "another worker panicked inside this block"
                );
            }
        }
        u64::from(wait.failed_polls())
    }

    /// Marks that a worker has panicked inside a block. Workers that wait for it panic, too.
    #[cfg(feature = "std")]
    pub(crate) fn break_down(&self) {
        // ordering: the panic that follows ends the team, and its threads are joined.
        self.broken.store(1, Relaxed);
    }

    /// Publishes the candidate of a handler.
    ///
    /// # Safety
    /// The caller runs this handler and has not reached phase 1.
    #[inline]
    pub(crate) unsafe fn set_candidate(&self, handler: usize, receive: ReceiveId) {
        // SAFETY: other workers read it only after phase 1 (K2); readers of the last block are done
        // (K3).
        unsafe { self.candidates[handler].write(|slot| *slot = receive) };
    }

    /// The candidate of a lower handler.
    ///
    /// # Safety
    /// The caller saw phase 1 of the slice that runs it.
    #[inline]
    pub(crate) unsafe fn candidate(&self, handler: usize) -> ReceiveId {
        // SAFETY: K1.
        unsafe { self.candidates[handler].read(|receive| *receive) }
    }

    /// The key of a handler's message in this block, or one of an earlier block.
    #[inline(always)]
    pub(crate) fn key(&self, handler: usize) -> DomainKey {
        DomainKey(self.keys[handler].load(Relaxed))
    }

    /// The keys of the handlers below one.
    #[inline(always)]
    pub(crate) fn keys(&self, handler: usize) -> &[AtomicU64] {
        &self.keys[..handler]
    }

    /// Makes all keys those of no block; leader only, between blocks.
    pub(crate) fn clear_keys(&self) {
        self.keys.iter().for_each(|key| key.store(0, Relaxed));
    }

    /// Writes the key of a handler's message.
    #[inline(always)]
    pub(crate) fn set_key(&self, handler: usize, DomainKey(key): DomainKey) {
        self.keys[handler].store(key, Relaxed);
    }

    /// Records that a slice with domains has met a conflict in this block.
    pub(crate) fn record_conflict(&self, block: u64) {
        self.in_conflict.raise(block);
    }

    /// Whether a slice with domains met a conflict in this block; leader only, after its end.
    pub(crate) fn had_conflict(&self, block: u64) -> bool {
        self.in_conflict.get() == block
    }

    /// Records the receive that a handler took.
    ///
    /// # Safety
    /// The caller runs this handler and has not reached phase 3.
    #[inline]
    pub(crate) unsafe fn set_taken(&self, handler: usize, receive: ReceiveId) {
        // SAFETY: the leader reads it only after phase 3.
        unsafe { self.taken[handler].write(|slot| *slot = receive) };
    }

    /// The receive that a handler took; `NIL` if none.
    ///
    /// # Safety
    /// The caller is the leader after phase 3 of the handler's slice.
    #[inline]
    pub(crate) unsafe fn taken(&self, handler: usize) -> ReceiveId {
        // SAFETY: see `set_taken`.
        unsafe { self.taken[handler].read(|taken| *taken) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HANDLERS_MAX;

    #[test]
    fn every_handler_is_found_in_its_slice() {
        for count in [1, 2, 5, 16, 31, HANDLERS_MAX] {
            for slices in 1..=count {
                let block = BlockInfo {
                    count,
                    slices,
                    ..BlockInfo::default()
                };
                let of = |handler| block.slice(block.worker_of(handler));
                assert!(
                    (0..count).all(|at| of(at).contains(&at)),
                    "{count} in {slices}"
                );
            }
        }
    }
}
