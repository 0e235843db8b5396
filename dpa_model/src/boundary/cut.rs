//! The next block: how many of the messages that wait are matched together (S2, S12).

use super::Boundary;
use crate::block::BlockInfo;
use crate::communicator::Home;
use crate::config::{Order, UnexpectedFull};
use crate::matching::find;
use crate::nic::Shared;
use crate::number::ReceiveId;

/// Entries that a single worker looks at before it begins with a block. Looking takes as long as
/// the sender needs for the next message, so looking for a whole wide block would wait for its last
/// message before the first is matched. As long as all entries looked at are there, twice as many
/// are looked at next time.
pub(super) const PATIENCE_MIN: u64 = 8;

impl Boundary {
    /// How many entries wait at the completion queue's head, counted up to one block. `alone`: one
    /// worker will run it.
    pub(super) fn waiting(&mut self, nic: &Shared, alone: bool) -> usize {
        let ring = &nic.arrivals.ring;
        let first = self.arrivals_head;
        let ready = |&i: &u64| ring.stamp_if_ready(first + i).is_some();
        let most = (nic.handlers as u64).min(ring.depth());
        if !alone {
            return (0..most).take_while(ready).count();
        }
        let count = (0..most.min(self.patience)).take_while(ready).count();
        self.patience =
            if count as u64 == self.patience { 2 * self.patience } else { PATIENCE_MIN }.min(most);
        count
    }

    /// The next block: of the waiting entries as many as may be matched now (S2).
    pub(super) fn cut(&mut self, nic: &Shared, waiting: usize) -> Option<BlockInfo> {
        let mut count = waiting;
        if nic.options.order == Order::Stamped {
            let ring = &nic.arrivals.ring;
            let due = |&i: &u64| {
                ring.stamp_if_ready(self.arrivals_head + i)
                    .is_some_and(|stamp| stamp <= self.commands_done)
            };
            count = (0..waiting as u64).take_while(due).count();
        }
        if count == 0 {
            return None;
        }
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
            first: self.arrivals_head,
            count,
            slices: 1,
            results: self.results_tail,
        })
    }

    /// Whether the message at `position` would match now, could be stored, or is none of the NIC's
    /// business.
    pub(super) fn can_place(&self, nic: &Shared, position: u64) -> bool {
        // SAFETY: the entry was seen ready and is not released.
        let entry = unsafe { nic.arrivals.ring.read(position, |entry| *entry) };
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
