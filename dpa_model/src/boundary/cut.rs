//! The next block: how many of the messages that wait are matched together (S2, S12).

use super::{Boundary, Front};
use crate::block::BlockInfo;
use crate::communicator::Home;
use crate::config::{Order, UnexpectedFull};
use crate::matching::find;
use crate::number::ReceiveId;
use crate::shared::Shared;

/// Entries that a single worker looks at before it begins with a block. Looking takes as long as
/// the sender needs for the next message, so looking for a whole wide block would wait for its last
/// message before the first is matched. As long as all entries looked at are there, twice as many
/// are looked at next time.
pub(super) const PATIENCE_MIN: usize = 8;

impl Boundary {
    /// Looks at the queues that are `left` to be looked at in this round, one after the other,
    /// until entries wait in one: how many, counted up to one block. `alone`: one worker will run
    /// it.
    ///
    /// A round begins behind the queue that had the last block, so each has its turn.
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
            // A block's entries lie side by side, as do its results.
            let most = nic.handlers.min(ring.until_end(*head));
            let looked_at = if alone { most.min(*patience) } else { most };
            let count = ring.stretch(*head, looked_at).ready();
            if alone {
                let all = count == looked_at;
                *patience = if all { 2 * *patience } else { PATIENCE_MIN }.min(nic.handlers);
            }
            return count;
        }
        0
    }

    /// First waiting entry of the queue whose turn it is.
    pub(super) fn head(&self) -> u64 {
        self.fronts[self.turn.0].head
    }

    /// The next block: of the waiting entries as many as may be matched now (S2).
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
            // No more than could all be unexpected; at least one is tried, see `can_place`.
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

    /// Whether the block's first message would match now, could be stored, or is none of the NIC's
    /// business.
    pub(super) fn can_place(&self, nic: &Shared, block: &BlockInfo) -> bool {
        let ring = &nic.arrivals.queue(block.queue).ring;
        // SAFETY: the entry was seen ready and is not released.
        let entry = unsafe { ring.read(block.first, |entry| *entry) };
        if self.unexpected.has_room(entry.protocol) {
            return true;
        }
        let comm = entry.envelope.comm;
        if self.comms.get(comm.0 as usize).is_none_or(|comm| comm.home != Home::Nic) {
            return true;
        }
        // SAFETY: the boundary.
        let view = unsafe { *nic.view(comm) };
        let uncounted = crate::HandlerCounters::default();
        // The same key as in the block: with hashes that a sender got wrong it finds nothing there.
        find(nic, &entry, view, 0, &uncounted) != ReceiveId::NIL
    }
}
