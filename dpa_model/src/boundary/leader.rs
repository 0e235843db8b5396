//! The roles that run blocks: the leader (worker 0) and the other workers.

use alloc::sync::Arc;

use super::Boundary;
use crate::NicConfig;
use crate::block::{BlockInfo, Phase};
use crate::config::UnexpectedFull;
use crate::matching::{DomainKey, Scratch, run_in_order, run_only, run_slice};
use crate::number::WorkerId;
use crate::shared::Shared;

/// Blocks between two samples of the queue's depth: reading the sender's counter costs a cache
/// miss.
const DEPTH_EVERY: u64 = 16;

/// Result of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Round {
    /// Commands were admitted or messages matched.
    Worked,
    /// There was no work, or all of it waits for the host.
    Idle,
}

/// Worker 0, with the state that only the boundary accesses.
#[derive(Debug)]
pub struct Leader {
    pub(crate) shared: Arc<Shared>,
    pub(crate) boundary: Boundary,
    scratch: Scratch,
    /// Blocks shared with other workers so far.
    shared_blocks: u64,
    /// Number of workers, a prefix of which may share a block.
    workers: usize,
    /// See [`NicConfig::slice_min`].
    #[cfg(feature = "std")]
    share_if_faster: bool,
    /// 1: a shared block is running, so other workers may be moving data. A word, because a card
    /// stores single bytes slowly.
    in_block: u32,
    /// Number of messages in the last block.
    last_count: usize,
}

impl Drop for Leader {
    /// Without a leader no block runs, so the NIC has stopped accessing host memory, unless a panic
    /// ended the leader inside a shared block.
    fn drop(&mut self) {
        if self.in_block == 0 {
            self.shared.life.record_stopped();
        }
    }
}

impl Leader {
    pub(crate) fn new(shared: Arc<Shared>, config: &NicConfig) -> Self {
        let boundary = Boundary::new(&shared, config);
        Self {
            shared,
            boundary,
            scratch: Scratch::new(config.handlers, config.options.domains),
            shared_blocks: 0,
            workers: config.workers,
            #[cfg(feature = "std")]
            share_if_faster: config.slice_min == 0,
            in_block: 0,
            last_count: 0,
        }
    }

    /// Whether the host asked the NIC to stop; the runner then ends between two rounds.
    pub fn should_stop(&self) -> bool {
        self.shared.life.should_stop()
    }

    /// Runs one boundary and at most one block. `awake`: number of workers, including this one,
    /// that may get a slice now.
    pub fn round(&mut self, awake: usize) -> Round {
        let mut left = self.shared.arrivals.in_use();
        let mut any = false;
        while left > 0 {
            let Self {
                shared, boundary, ..
            } = self;
            let alone = awake.min(self.workers) <= 1 && !shared.options.always_shared;
            // Checks the queues first and admits then: so a receive posted before a message was
            // sent is admitted before the match.
            let mut waiting = boundary.waiting(shared, alone, &mut left);
            any |= boundary.admit(shared);
            if fault!(LookAfterAdmit) {
                left = shared.arrivals.in_use();
                waiting = boundary.waiting(shared, alone, &mut left);
            }
            step!(EntriesSeen {
                first: boundary.head(),
                count: waiting
            });
            // While a command waits for the host, messages wait, too: the host may make room at any
            // moment, and a block cut then would overtake the command.
            if boundary.held_up && !fault!(CutPastCommands) {
                break;
            }
            // A message that must wait holds up its own queue only.
            if let Some(block) = boundary.cut(shared, waiting)
                && self.run(block, awake)
            {
                return Round::Worked;
            }
        }
        if any { Round::Worked } else { Round::Idle }
    }

    /// Runs a block to its end, with other workers if it is long enough. `false`: its one message
    /// has neither a receive nor room (back-pressure), so it stays in the queue.
    fn run(&mut self, mut block: BlockInfo, awake: usize) -> bool {
        let Self {
            shared,
            boundary,
            scratch,
            ..
        } = self;
        let nic = &**shared;
        if nic.options.unexpected_full == UnexpectedFull::BackPressure
            && !(boundary.can_place(nic, &block) || fault!(BackPressureIgnored))
        {
            nic.boundary_counters.unexpected_full.add(1);
            return false;
        }
        record_block(nic, &block);
        self.last_count = block.count;
        let most = awake.min(self.workers);
        if most > 1 {
            block.slices = slices(nic, &block, most);
        }
        if block.slices > 1 || nic.options.always_shared {
            self.run_shared(block);
            return true;
        }
        if block.count == 1 {
            let taken = run_only(nic, &block);
            boundary.finish_only(nic, &block, taken);
            return true;
        }
        let all_of = run_in_order(nic, &block, scratch);
        boundary.finish_alone(nic, &block, all_of, &scratch.receives()[..block.count]);
        true
    }

    /// Runs a block with other workers, or as if there were some.
    #[inline(never)]
    fn run_shared(&mut self, mut block: BlockInfo) {
        let Self {
            shared,
            boundary,
            scratch,
            ..
        } = self;
        let nic = &**shared;
        self.in_block = 1;
        self.shared_blocks += 1;
        block.number = self.shared_blocks;
        nic.boundary_counters.shared_blocks.add(1);
        if DomainKey::wraps_at(block.number) {
            nic.block.clear_keys();
        }
        nic.block.publish(block);
        if fault!(PostInsideBlock) {
            boundary.admit(nic);
        }
        run_slice(nic, &block, WorkerId::LEADER, scratch);
        for worker in 1..block.slices {
            let end = if fault!(FenceMatchedOnly) {
                Phase::Matched
            } else {
                Phase::Finished
            };
            if !fault!(FenceMissing) {
                nic.block.wait_for(WorkerId(worker), block.number, end);
            }
        }
        self.in_block = 0;
        // SAFETY: every slice of the block has reached phase 3.
        boundary.finish_each(nic, &block, 0, |handler| unsafe {
            nic.block.taken(handler)
        });
        if fault!(DomainsBeforePosts) {
            boundary.mark_all_early(nic);
        }
        if nic.block.had_conflict(block.number) {
            nic.boundary_counters.conflict_blocks.add(1);
        }
        if cfg!(debug_assertions) {
            check_bookings(nic, &block);
        }
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
                worker.worker.0
            );
        }
        assert_eq!(
            workers.len() + 1,
            self.workers,
            "all workers of the NIC run, or none"
        );
    }

    /// A handle to stop this leader.
    pub fn stop(&self) -> crate::Stop {
        crate::Stop::new(self.shared.clone())
    }

    /// Whether the last block had a message for every handler, which suggests that more wait.
    pub fn last_block_was_full(&self) -> bool {
        self.last_count == self.shared.handlers
    }

    /// Whether to share blocks only while that is faster.
    #[cfg(feature = "std")]
    pub(crate) fn shares_if_faster(&self) -> bool {
        self.share_if_faster
    }

    /// The NIC's counters.
    pub fn monitor(&self) -> crate::Monitor {
        crate::Monitor::new(self.shared.clone())
    }
}

/// Counts a block that begins.
#[inline]
fn record_block(nic: &Shared, block: &BlockInfo) {
    step!(BlockCut {
        first: block.first,
        count: block.count
    });
    if fault!(ArrivalReleasedEarly) {
        nic.arrivals
            .queue(block.queue)
            .ring
            .release(block.first + block.count as u64);
    }
    let counters = &nic.boundary_counters;
    if counters.blocks.get().is_multiple_of(DEPTH_EVERY) {
        let claimed = nic.arrivals.queue(block.queue).claimed();
        counters
            .arrivals_high
            .raise(claimed.saturating_sub(block.first));
    }
    counters.blocks.add(1);
    nic.block_sizes.note(block.count, 1);
}

#[inline]
fn slices(nic: &Shared, block: &BlockInfo, most: usize) -> usize {
    (block.count / nic.slice_min).clamp(1, most)
}

/// No receive that was booked survives its block (S7).
fn check_bookings(nic: &Shared, block: &BlockInfo) {
    for handler in 0..block.count {
        // SAFETY: every slice of the block has reached phase 3.
        let candidate = unsafe { nic.block.candidate(handler) };
        let receive = nic.receives.get(candidate.index());
        let left = receive.is_some_and(|receive| receive.is_posted());
        assert!(!left, "a booked receive survived its block (S7)");
    }
}

/// A worker other than the leader.
#[derive(Debug)]
pub struct Worker {
    shared: Arc<Shared>,
    worker: WorkerId,
    scratch: Scratch,
    /// Number of the last shared block seen.
    seen: u64,
}

impl Worker {
    pub(crate) fn new(shared: Arc<Shared>, worker: WorkerId) -> Self {
        let scratch = Scratch::new(shared.handlers, shared.options.domains);
        Self {
            shared,
            worker,
            scratch,
            seen: 0,
        }
    }

    /// The worker's number; the leader is 0.
    pub fn index(&self) -> usize {
        self.worker.0
    }

    /// Runs this worker's slice if a block with one was published since the last call. Returns
    /// whether it ran one.
    pub fn round(&mut self) -> bool {
        // SAFETY: this worker runs the slice that it gets, and keeps `seen` for the next call.
        let block = unsafe { self.shared.block.next_for(self.worker, &mut self.seen) };
        let Some(block) = block else {
            return false;
        };
        run_slice(&self.shared, &block, self.worker, &mut self.scratch);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::{Envelope, Nic};

    #[test]
    fn a_leader_that_panics_in_a_block_of_its_own_stops_the_nic() {
        let mut nic = Nic::new(&NicConfig::default()).unwrap();
        for _ in 0..2 {
            nic.sender.try_send(Envelope::default(), b"", 0).unwrap();
        }
        nic.leader.scratch = Scratch::new(0, crate::Domains::Paper);
        let panicked = catch_unwind(AssertUnwindSafe(move || nic.leader.round(1)));
        assert!(panicked.is_err(), "a block has as many places as handlers");
        assert!(nic.host.is_stopped());
    }
}
