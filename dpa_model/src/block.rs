//! The block: up to N messages matched together, and the partial barrier between the workers that
//! run its handlers (O1, O12, S1-S4).
//!
//! Handler i of a block takes its i-th message. Each worker runs a contiguous slice of handlers;
//! with slices of one handler this is the paper's arrangement to the letter.
//!
//! **State.** `published`: bits 0..12 the number of slices, bits 24.. the block's number; written
//! by the leader (worker 0) to start a block that it shares with other workers. Where handlers end
//! the block (see repost.rs), bits 12..24 have the number of slices, and bits 0..12 none: a worker
//! with a slice needs no further look at who ends it. `progress[w]` (see
//! progress.rs): the block and phase that worker w has passed; phase 1 = all handlers of slice w
//! have booked and published their candidates, 2 = all are matched, 3 = all protocol work is done.
//! Only worker w writes it, and it only grows, so it never has to be reset and no read-modify-write
//! is needed. `bitmap`: where the options ask for it, phase 1 is told there in its place (see
//! bitmap.rs).
//!
//! **Invariants.** K1: a handler's candidate is constant from phase 1 of its slice to the end of
//! the block. K2: a worker reads candidates only of lower slices, after it saw their phase 1
//! (partial barrier: nobody waits for a higher one, O12). K3: the leader starts the next block only
//! after phase 3 of every slice (block fence, S1), or after the last handler's word that the block
//! has ended (repost.rs); so `info`, candidates and what was taken are never written while somebody
//! reads them.
//!
//! **Orderings.**
//!
//! | writer | reader | publishes |
//! |---|---|---|
//! | `publish`: published, Release | `published`: Acquire | `info`, everything the boundary wrote (receives, chains, views), the entries |
//! | `reach(BOOKED)`: progress, Release | `wait_for(BOOKED)`: Acquire | candidates, bookings |
//! | `reach(MATCHED)`: progress, Release | `wait_for(MATCHED)`: Acquire | consumption by lower handlers (S13) |
//! | `reach(FINISHED)`: progress, Release | leader's `wait_for(FINISHED)`: Acquire | what was taken, unlinked chains, the end of all reads |
//!
//! **Progress.** A worker blocks only on lower slices, the leader at the end on all. The lowest
//! unfinished handler never waits, so there is no deadlock however few processors there are (S19).

use alloc::boxed::Box;
use core::ops::Range;

use crossbeam_utils::CachePadded;

use crate::bitmap::Bitmap;
use crate::number::{Label, QueueId, ReceiveId, Sequence, WorkerId};
pub(crate) use crate::progress::Phase;
use crate::progress::Progress;
use crate::sync::{Acquire, AtomicU64, PlainCell, Release, Wait};
use crate::{Barrier, CommId};

const SLICE_BITS: u32 = 12;
const SLICES: u64 = (1 << SLICE_BITS) - 1;
const _: () = assert!(crate::HANDLERS_MAX <= SLICES as usize);

/// What the leader says of a block that it starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Published(u64);

impl Published {
    /// The block's number, or what 40 bits hold of it: more blocks than any worker sleeps through.
    #[inline(always)]
    pub(crate) fn number(self) -> u64 {
        self.0 >> (2 * SLICE_BITS)
    }

    /// Slices of a block that the leader ends.
    #[inline(always)]
    pub(crate) fn slices(self) -> usize {
        (self.0 & SLICES) as usize
    }

    /// Slices of a block that its handlers end.
    pub(crate) fn reposting_slices(self) -> usize {
        (self.0 >> SLICE_BITS & SLICES) as usize
    }
}

/// What a block consists of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlockInfo {
    pub(crate) number: u64,
    /// The completion queue that the messages are in.
    pub(crate) queue: QueueId,
    /// Position of the first message there.
    pub(crate) first: u64,
    /// Its number among the messages of all queues.
    pub(crate) arrival: u64,
    /// Messages, at most N.
    pub(crate) count: usize,
    /// Workers that run it.
    pub(crate) slices: usize,
    /// Position in the completion ring of the first message's result.
    pub(crate) results: u64,
}

impl BlockInfo {
    /// The handlers of a worker's slice.
    pub(crate) fn slice(&self, WorkerId(slice): WorkerId) -> Range<usize> {
        if self.slices == self.count {
            // A handler each, as on a card, whose units divide slowly.
            return slice..slice + 1;
        }
        slice * self.count / self.slices..(slice + 1) * self.count / self.slices
    }
}

/// How many messages a slice has at least, as a factor: a card's units divide slowly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SliceMin(usize);

impl SliceMin {
    /// Enough bits that rounding changes no quotient of two numbers up to the widest block.
    const BITS: u32 = 16;

    pub(crate) fn new(least: usize) -> Self {
        Self((1usize << Self::BITS).div_ceil(least))
    }

    /// How many slices of that length a block of `count` messages has.
    #[inline(always)]
    pub(crate) fn slices_of(self, count: usize) -> usize {
        (count * self.0) >> Self::BITS
    }
}

/// What the others have to know of a handler that booked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// Its candidate, or `NIL`.
    pub(crate) receive: ReceiveId,
    pub(crate) sequence: Sequence,
    pub(crate) comm: CommId,
    pub(crate) label: Label,
}

impl Claim {
    /// The claim of a handler without a candidate.
    pub(crate) fn none(comm: CommId) -> Self {
        Self { receive: ReceiveId::NIL, sequence: Sequence(Label(0)), comm, label: Label(0) }
    }
}

#[derive(Debug)]
pub(crate) struct Block {
    published: CachePadded<AtomicU64>,
    info: PlainCell<BlockInfo>,
    /// The candidate of each handler, or `NIL`: all that a handler publishes (S3). Four bytes each,
    /// so that detection reads few lines.
    candidates: Box<[PlainCell<ReceiveId>]>,
    /// The receive that each handler took; `NIL`: unexpected, or for the host.
    taken: Box<[PlainCell<ReceiveId>]>,
    progress: Box<[CachePadded<Progress>]>,
    bitmap: Option<Bitmap>,
    /// 1: a worker died of a panic, so waits may never end.
    broken: AtomicU64,
}

impl Block {
    pub(crate) fn new(handlers: usize, workers: usize, barrier: Barrier) -> Self {
        let receives = || (0..handlers).map(|_| PlainCell::new(ReceiveId::NIL)).collect();
        Self {
            published: CachePadded::new(AtomicU64::new(0)),
            info: PlainCell::new(BlockInfo::default()),
            candidates: receives(),
            taken: receives(),
            progress: (0..workers).map(|_| CachePadded::new(Progress::new())).collect(),
            bitmap: (barrier == Barrier::Bitmap).then(Bitmap::new),
            broken: AtomicU64::new(0),
        }
    }

    /// Bytes that each handler takes.
    pub(crate) const HANDLER_BYTES: usize = 2 * size_of::<PlainCell<ReceiveId>>();

    /// Starts a block with the other workers; leader only, after the last block's end (K3).
    pub(crate) fn publish(&self, info: BlockInfo) {
        self.publish_as(info, info.slices as u64);
    }

    /// The same for a block that its handlers end.
    pub(crate) fn publish_reposting(&self, info: BlockInfo) {
        self.publish_as(info, (info.slices as u64) << SLICE_BITS);
    }

    #[inline(always)]
    fn publish_as(&self, info: BlockInfo, slices: u64) {
        // SAFETY: K3: every worker that could read `info` has finished the last shared block.
        unsafe { self.info.write(|slot| *slot = info) };
        self.published
            .store(info.number << (2 * SLICE_BITS) | slices, weak!(PublishRelaxed, Release));
    }

    /// What was said of the last published block.
    pub(crate) fn published(&self) -> Published {
        Published(self.published.load(weak!(PublishedRelaxed, Acquire)))
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
    pub(crate) fn reach(&self, worker: WorkerId, block: u64, phase: Phase) {
        let release = match phase {
            Phase::Booked => weak!(ReachBookedRelaxed, Release),
            Phase::Matched => weak!(ReachMatchedRelaxed, Release),
            Phase::Finished => weak!(ReachFinishedRelaxed, Release),
        };
        step!(ProgressWritten { worker: worker.0 });
        self.progress[worker.0].reach(block, phase, release);
    }

    /// The partial barrier (O12): says that all handlers of this worker's slice have booked, and
    /// waits until those of the workers `awaited` have; returns the failed polls.
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
            self.progress[worker.0].has_reached(block, phase, weak!(WaitRelaxed, Acquire))
        })
    }

    #[inline(always)]
    pub(crate) fn wait_until(&self, reached: impl Fn() -> bool) -> u64 {
        let polls = self.poll_until(reached);
        step!(Waited);
        polls
    }

    /// Polls until `reached`; returns the failed polls.
    ///
    /// # Panics
    /// When another worker has died inside a block: what is waited for may never come.
    #[inline(always)]
    pub(crate) fn poll_until(&self, reached: impl Fn() -> bool) -> u64 {
        let mut wait = Wait::new();
        while !reached() {
            wait.pause();
            if wait.failed_polls() % 1024 == 1023 {
                assert!(
                    self.broken.load(Acquire) == 0,
                    "another worker panicked inside this block"
                );
            }
        }
        u64::from(wait.failed_polls())
    }

    /// Says that a worker has died inside a block: whoever waits for it panics, too, instead of
    /// waiting for ever.
    #[cfg(feature = "std")]
    pub(crate) fn break_down(&self) {
        self.broken.store(1, Release);
    }

    /// Publishes the candidate of a handler.
    ///
    /// # Safety
    /// The caller runs this handler and has not reached phase 1.
    #[inline(always)]
    pub(crate) unsafe fn set_candidate(&self, handler: usize, receive: ReceiveId) {
        // SAFETY: K2: others read it only after phase 1; the readers of the last block are done
        // (K3).
        unsafe { self.candidates[handler].write(|slot| *slot = receive) };
    }

    /// The candidate of a lower handler.
    ///
    /// # Safety
    /// The caller saw phase 1 of the slice that runs it.
    #[inline(always)]
    pub(crate) unsafe fn candidate(&self, handler: usize) -> ReceiveId {
        // SAFETY: K1.
        unsafe { self.candidates[handler].read(|receive| *receive) }
    }

    /// Notes which receive a handler took.
    ///
    /// # Safety
    /// The caller runs this handler and has not reached phase 3.
    #[inline(always)]
    pub(crate) unsafe fn set_taken(&self, handler: usize, receive: ReceiveId) {
        // SAFETY: the leader reads it only after phase 3.
        unsafe { self.taken[handler].write(|slot| *slot = receive) };
    }

    /// Which receive a handler took; `NIL` if none.
    ///
    /// # Safety
    /// The caller is the leader after phase 3 of the handler's slice.
    #[inline(always)]
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
    fn what_is_published_says_who_ends_the_block() {
        let block = Block::new(8, 8, Barrier::Lanes);
        let read = |block: &Block| {
            let published = block.published();
            (published.number(), published.slices(), published.reposting_slices())
        };
        assert_eq!(read(&block), (0, 0, 0));
        block.publish(BlockInfo { number: 1, slices: 5, ..BlockInfo::default() });
        assert_eq!(read(&block), (1, 5, 0));
        block.publish_reposting(BlockInfo { number: 2, slices: 7, ..BlockInfo::default() });
        assert_eq!(read(&block), (2, 0, 7));
        // SAFETY: no other thread knows the block.
        assert_eq!(unsafe { block.info() }.slices, 7);
    }

    #[test]
    fn a_factor_divides_as_a_division_does() {
        for least in 1..=HANDLERS_MAX {
            for count in 0..=HANDLERS_MAX {
                let slices = SliceMin::new(least).slices_of(count);
                assert_eq!(slices, count / least, "{count} / {least}");
            }
        }
    }
}
