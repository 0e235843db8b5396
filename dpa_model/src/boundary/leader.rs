//! The roles that run blocks: the leader (worker 0) and the other workers.

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::NicConfig;
use crate::block::{BlockInfo, phase};
use crate::communicator::{BinRoom, Communicator, Home};
use crate::config::{Order, UnexpectedFull};
use crate::descriptor::NIL;
use crate::matching::{Alone, Scratch, Slice, find, run};
use crate::message::Completion;
use crate::nic::Shared;
use crate::unexpected::{FreeList, UnexpectedStore};

/// Blocks between two looks at how deep the completion queue is: the senders' counter lies in their
/// processor's cache.
const DEPTH_EVERY: u64 = 16;

/// Entries that a single worker looks at before it begins with a block. Looking takes as long as
/// the sender needs for the next message, so looking for a whole wide block would wait for its last
/// message before the first is matched. As long as all entries looked at are there, twice as many
/// are looked at next time.
const PATIENCE_MIN: u64 = 8;

/// What a round did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Round {
    /// Commands were admitted or messages matched.
    Worked,
    /// There was nothing to do, or what there was has to wait for the host.
    Idle,
}

/// Worker 0 with the state that only the boundary touches.
#[derive(Debug)]
pub struct Leader {
    pub(crate) shared: Arc<Shared>,
    pub(super) scratch: Scratch,
    pub(super) comms: Box<[Communicator]>,
    pub(super) room: BinRoom,
    pub(super) free_receives: FreeList,
    pub(super) unexpected: UnexpectedStore,
    /// Next command to admit.
    pub(super) commands_head: u64,
    /// Commands admitted that the host counted in its stamps.
    pub(super) commands_done: u64,
    /// The host's last offer was taken, so the receives that follow it are.
    pub(super) taking_back: bool,
    /// Next message to match: also the number of messages matched.
    pub(crate) arrivals_head: u64,
    /// Next free position of the completion ring.
    pub(super) results_tail: u64,
    /// First position of it that must not be filled yet, by the host's head as last seen.
    results_end: u64,
    /// Blocks shared with other workers so far.
    shared_blocks: u64,
    /// Workers, of which a prefix may be used for a block.
    workers: usize,
    /// See [`NicConfig::slice_min`].
    #[cfg(feature = "std")]
    share_if_faster: bool,
    /// A block is running: other workers may be moving data.
    in_block: bool,
    /// Messages in the last block.
    last_count: usize,
    /// Entries looked at before a block is cut, if this worker runs it alone.
    pub(crate) patience: u64,
}

impl Drop for Leader {
    /// Without a leader no block runs, so the NIC has stopped touching host memory; unless a panic
    /// tore the leader out of a block.
    fn drop(&mut self) {
        if !self.in_block {
            self.shared.life.note_stopped();
        }
    }
}

impl Leader {
    pub(crate) fn new(shared: Arc<Shared>, config: &NicConfig) -> Self {
        let bins = config.total_index_bins();
        let results_end = shared.completions.depth();
        Self {
            shared,
            scratch: Scratch::new(config.handlers),
            comms: (0..config.communicators).map(|_| Communicator::default()).collect(),
            room: BinRoom::new(config.communicators, bins),
            free_receives: FreeList::full(config.receives),
            unexpected: UnexpectedStore::new(
                config.unexpected,
                config.unexpected_buffers,
                config.eager_limit,
                bins,
            ),
            commands_head: 0,
            commands_done: 0,
            taking_back: false,
            arrivals_head: 0,
            results_tail: 0,
            results_end,
            shared_blocks: 0,
            workers: config.workers,
            #[cfg(feature = "std")]
            share_if_faster: config.slice_min == 0,
            in_block: false,
            last_count: 0,
            patience: PATIENCE_MIN,
        }
    }

    /// Whether the host asked the NIC to stop; the runner then ends between two rounds.
    pub fn should_stop(&self) -> bool {
        self.shared.life.should_stop()
    }

    /// One boundary and at most one block. `awake` says how many workers, this one included, may be
    /// given a slice now.
    pub fn round(&mut self, awake: usize) -> Round {
        // Look first, admit then: what was posted before a message was sent is admitted before it
        // is matched.
        let waiting = self.waiting(awake);
        let admitted = self.admit();
        let waiting = if fault!(LookAfterAdmit) { self.waiting(awake) } else { waiting };
        step!(EntriesSeen { first: self.arrivals_head, count: waiting });
        // While a command waits for the host, so do the messages: the host may make room at any
        // moment, and a block cut then would leave the command behind.
        let waiting = if admitted.held_up && !fault!(CutPastCommands) { 0 } else { waiting };
        let Some(block) = self.cut(waiting) else {
            return if admitted.any { Round::Worked } else { Round::Idle };
        };
        if self.run(block, awake) || admitted.any { Round::Worked } else { Round::Idle }
    }

    /// How many entries wait at the completion queue's head, counted up to one block.
    fn waiting(&mut self, awake: usize) -> usize {
        let ring = &self.shared.arrivals.ring;
        let ready = |&i: &u64| ring.stamp_if_ready(self.arrivals_head + i).is_some();
        let most = (self.shared.handlers as u64).min(ring.depth());
        if awake.min(self.workers) > 1 || self.shared.options.always_shared {
            return (0..most).take_while(ready).count();
        }
        let count = (0..most.min(self.patience)).take_while(ready).count();
        self.patience =
            if count as u64 == self.patience { 2 * self.patience } else { PATIENCE_MIN }.min(most);
        count
    }

    /// The next block: of the waiting entries as many as may be matched now (S2).
    fn cut(&mut self, waiting: usize) -> Option<BlockInfo> {
        let mut count = waiting;
        if self.shared.options.order == Order::Stamped {
            let ring = &self.shared.arrivals.ring;
            let due = |&i: &u64| {
                ring.stamp_if_ready(self.arrivals_head + i)
                    .is_some_and(|stamp| stamp <= self.commands_done)
            };
            count = (0..waiting as u64).take_while(due).count();
        }
        if count == 0 {
            return None;
        }
        count = count.min(self.results_room(count));
        if count == 0 {
            self.shared.boundary_counters.ring_full.add(1);
            return None;
        }
        if self.shared.options.unexpected_full == UnexpectedFull::BackPressure {
            // No more than could all be unexpected; at least one is tried, see `can_place`.
            count = self.unexpected.room().clamp(1, count);
        }
        Some(BlockInfo {
            number: 0,
            first: self.arrivals_head,
            count,
            slices: 1,
            results: self.results_tail,
        })
    }

    /// Free positions of the completion ring, looked up only when fewer than `wanted` are known.
    #[inline(always)]
    pub(super) fn results_room(&mut self, wanted: usize) -> usize {
        if self.results_tail + wanted as u64 > self.results_end {
            self.results_end = self.shared.completions.head() + self.shared.completions.depth();
        }
        (self.results_end - self.results_tail) as usize
    }

    /// Runs a block to its end, with other workers if it is long enough. `false`: its one message
    /// has no receive and no room (back-pressure), so it stays in the queue.
    fn run(&mut self, mut block: BlockInfo, awake: usize) -> bool {
        if self.shared.options.unexpected_full == UnexpectedFull::BackPressure
            && !(self.can_place(block.first) || fault!(BackPressureIgnored))
        {
            self.shared.boundary_counters.unexpected_full.add(1);
            return false;
        }
        step!(BlockCut { first: block.first, count: block.count });
        self.in_block = true;
        self.last_count = block.count;
        if fault!(ArrivalReleasedEarly) {
            self.shared.arrivals.ring.release(block.first + block.count as u64);
        }
        let counters = &self.shared.boundary_counters;
        if counters.blocks.get().is_multiple_of(DEPTH_EVERY) {
            let waiting = self.shared.arrivals.claimed().saturating_sub(self.arrivals_head);
            counters.arrivals_high.raise(waiting);
        }
        counters.blocks.add(1);
        block.slices = (block.count / self.shared.slice_min).clamp(1, awake.clamp(1, self.workers));
        let nic = &*self.shared;
        if block.slices == 1 && !nic.options.always_shared {
            let crew = Alone { nic, block: &block };
            let matched = run(nic, &block, crew, &mut self.scratch);
            self.in_block = false;
            self.finish_alone(&block, matched);
        } else {
            self.shared_blocks += 1;
            block.number = self.shared_blocks;
            counters.shared_blocks.add(1);
            nic.block.publish(block);
            if fault!(PostInsideBlock) {
                self.admit();
            }
            let nic = &*self.shared;
            let crew = Slice { nic, block: &block, worker: 0 };
            run(nic, &block, crew, &mut self.scratch);
            for worker in 1..block.slices {
                let end = if fault!(FenceMatchedOnly) { phase::MATCHED } else { phase::FINISHED };
                if !fault!(FenceMissing) {
                    nic.block.wait_for(worker, block.number, end);
                    step!(FenceRead { worker });
                }
            }
            self.in_block = false;
            self.finish_each(&block, |leader, handler| {
                // SAFETY: every slice of the block has reached phase 3.
                unsafe { leader.shared.block.taken(handler) }
            });
        }
        if cfg!(debug_assertions) {
            self.check_bookings(&block);
        }
        true
    }

    /// No receive that was booked survives its block (S7).
    fn check_bookings(&self, block: &BlockInfo) {
        for handler in 0..block.count {
            // SAFETY: every slice of the block has reached phase 3.
            let claim = unsafe { self.shared.block.claim(handler) };
            let receive = self.shared.receives.get(claim.receive as usize);
            let left = receive.is_some_and(|receive| receive.is_posted());
            assert!(!left, "a booked receive survived its block (S7)");
        }
    }

    /// Whether the message at `position` would match now, could be stored, or is none of the NIC's
    /// business.
    fn can_place(&self, position: u64) -> bool {
        // SAFETY: the entry was seen ready and is not released.
        let entry = unsafe { self.shared.arrivals.ring.read(position, |entry| *entry) };
        if self.unexpected.has_room(entry.protocol) {
            return true;
        }
        let comm = entry.envelope.comm.0;
        if self.comms.get(comm as usize).is_none_or(|comm| comm.home != Home::Nic) {
            return true;
        }
        // SAFETY: the boundary.
        let view = unsafe { *self.shared.view(comm) };
        let uncounted = crate::HandlerCounters::default();
        // The same key as in the block: with hashes that a sender got wrong it finds nothing there.
        find(&self.shared, &entry, view, 0, &uncounted) != NIL
    }

    /// Writes the next result. There must be room.
    pub(super) fn report(&mut self, result: Completion) {
        let position = self.results_tail;
        self.results_tail += 1;
        // SAFETY: only the leader claims positions, and it checked the room.
        unsafe { self.shared.completions.fill(position, 0, |slot| *slot = result) };
    }

    /// Publishes what handlers see of a communicator.
    pub(super) fn set_view(&mut self, comm: u32) {
        let view = self.comms[comm as usize].view;
        // SAFETY: the boundary runs between blocks: no handler reads views now.
        unsafe { self.shared.views[comm as usize].write(|slot| *slot = view) };
    }

    /// # Panics
    /// When `workers` are not all the others of this NIC. A [`Worker`] exists once, so it is enough
    /// to count them.
    #[cfg(feature = "std")]
    pub(crate) fn check_workers(&self, workers: &[Worker]) {
        for worker in workers {
            assert!(
                worker.shared.name == self.shared.name,
                "worker {} belongs to another NIC",
                worker.worker
            );
        }
        assert_eq!(workers.len() + 1, self.workers, "all workers of the NIC run, or none");
    }

    /// A handle by which others ask this leader to stop.
    pub fn stop(&self) -> crate::Stop {
        crate::Stop::new(self.shared.clone())
    }

    /// Whether the last block had a message for every handler: a sign that more wait.
    pub fn last_block_was_full(&self) -> bool {
        self.last_count == self.shared.handlers
    }

    /// Whether blocks are to be shared only while that is faster.
    #[cfg(feature = "std")]
    pub(crate) fn shares_if_faster(&self) -> bool {
        self.share_if_faster
    }

    /// The NIC's counters.
    pub fn monitor(&self) -> crate::Monitor {
        crate::Monitor::new(self.shared.clone())
    }
}

/// A worker other than the leader.
#[derive(Debug)]
pub struct Worker {
    shared: Arc<Shared>,
    worker: usize,
    scratch: Scratch,
    /// Number of the last shared block that it has seen.
    seen: u64,
}

impl Worker {
    pub(crate) fn new(shared: Arc<Shared>, worker: usize) -> Self {
        let scratch = Scratch::new(shared.handlers);
        Self { shared, worker, scratch, seen: 0 }
    }

    /// Which worker this is; the leader is 0.
    pub fn index(&self) -> usize {
        self.worker
    }

    /// Runs this worker's slice if a block with one was published since the last call. Returns
    /// whether it did.
    pub fn round(&mut self) -> bool {
        let (number, slices) = self.shared.block.published();
        if number == self.seen {
            return false;
        }
        self.seen = number;
        if self.worker >= slices {
            return false;
        }
        // SAFETY: the block has a slice for this worker, which has not run it: the numbers
        // differed.
        let block = unsafe { self.shared.block.info() };
        let crew = Slice { nic: &self.shared, block: &block, worker: self.worker };
        run(&self.shared, &block, crew, &mut self.scratch);
        true
    }
}
