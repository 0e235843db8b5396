//! Cuts the next block: decides how many waiting messages match together (S2, S12).

use super::{Boundary, Front};
use crate::block::BlockInfo;
use crate::communicator::Home;
use crate::config::{Order, UnexpectedFull};
use crate::matching::find;
use crate::number::ReceiveId;
use crate::shared::Shared;

/// Entries that a lone worker checks before it begins a block. A check takes as long as the sender
/// needs for the next message, so checking for a whole wide block would delay its first message
/// until its last. While all checked entries are ready, the number doubles.
pub(super) const PATIENCE_MIN: usize = 8;

impl Boundary {
    /// Checks the `left` remaining queues of this round in turn until one has waiting entries.
    /// Returns how many, at most one block. `alone`: one worker will run the block.
    ///
    /// A round begins after the queue of the last block, so each queue gets its turn.
    pub(super) fn waiting(&mut self, nic: &Shared, alone: bool, left: &mut usize) -> usize {
        while *left > 0 {
            *left -= 1;
            self.turn = self.turn.next_of(nic.arrivals.in_use());
            let ring = &nic.arrivals.queue(self.turn).ring;
            let Front { head, patience } = &mut self.fronts[self.turn.0];
            if ring.stamp_if_ready(*head).is_none() {
                *patience = PATIENCE_MIN;
                continue;
            }
            // A block's entries are adjacent, and so are its results.
            let most = nic.handlers.min(ring.until_end(*head));
            let looked_at = if alone { most.min(*patience) } else { most };
            let count = ring.span(*head, looked_at).ready();
            if alone {
                let all = count == looked_at;
                *patience = if all { 2 * *patience } else { PATIENCE_MIN }.min(nic.handlers);
            }
            return count;
        }
        0
    }

    /// First waiting entry of the current queue.
    pub(super) fn head(&self) -> u64 {
        self.fronts[self.turn.0].head
    }

    /// Cuts the next block: as many of the waiting entries as may be matched now (S2).
    pub(super) fn cut(&mut self, nic: &Shared, waiting: usize) -> Option<BlockInfo> {
        let mut count = waiting;
        if nic.options.order == Order::Stamped {
            let ring = &nic.arrivals.queue(self.turn).ring;
            let due = |&i: &u64| {
                ring.stamp_if_ready(self.head() + i)
                    .is_some_and(|stamp| stamp <= self.commands_done)
            };
            count = (0..waiting as u64).take_while(due).count();
        }
        if count == 0 {
            return None;
        }
        count = count.min(nic.completions.until_end(self.results_tail));
        count = count.min(self.results_room(nic, count));
        if count == 0 {
            nic.boundary_counters.ring_full.add(1);
            return None;
        }
        if nic.options.unexpected_full == UnexpectedFull::BackPressure {
            // No more than could all be stored as unexpected; but at least one, see `can_place`.
            count = self.unexpected.room().clamp(1, count);
        }
        Some(BlockInfo {
            number: 0,
            queue: self.turn,
            first: self.head(),
            arrival: self.matched,
            count,
            slices: 1,
            results: self.results_tail,
        })
    }

    /// Whether the block's first message would match now, has room in the store, or belongs to the
    /// host.
    pub(super) fn can_place(&self, nic: &Shared, block: &BlockInfo) -> bool {
        let ring = &nic.arrivals.queue(block.queue).ring;
        // SAFETY: the entry was seen ready and is not released.
        let entry = unsafe { ring.read(block.first, |entry| *entry) };
        if self.unexpected.has_room(entry.protocol) {
            return true;
        }
        let comm = entry.envelope.comm;
        if self
            .comms
            .get(comm.0 as usize)
            .is_none_or(|comm| comm.home != Home::Nic)
        {
            return true;
        }
        // SAFETY: the boundary.
        let view = unsafe { *nic.view(comm) };
        let uncounted = crate::HandlerCounters::default();
        // The block's own key: with wrong hashes from a sender it finds nothing there, either.
        find(nic, &entry, view, 0, &uncounted) != ReceiveId::NIL
    }
}
