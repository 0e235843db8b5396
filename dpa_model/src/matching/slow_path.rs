//! The slow path: wait for all lower handlers, then keep the candidate or search again (S13).

use super::block_run::BlockRun;
use super::crew::Crew;
use super::search::key;
use crate::index::{CommView, Indexes};
use crate::message::Entry;
use crate::number::{ReceiveId, unchecked};
use crate::{CommId, HandlerCounters};

/// The slow path of consecutive handlers (S13).
#[derive(Clone, Copy, Debug)]
pub(super) struct SlowPath<'a, C> {
    block: BlockRun<'a, C>,
    /// Whether all handlers of lower slices are done.
    waited: bool,
    /// The communicator of these indexes.
    comm: CommId,
    indexes: Indexes<'a>,
}

impl<'a, C: Crew> SlowPath<'a, C> {
    #[inline(always)]
    pub(super) fn new(block: BlockRun<'a, C>, waited: bool) -> Self {
        let indexes = block.nic.indexes(CommView::NONE);
        Self {
            block,
            waited,
            comm: CommId(u32::MAX),
            indexes,
        }
    }

    #[inline(always)]
    fn turn_to(&mut self, comm: CommId) {
        // SAFETY: inside a block.
        let view = unsafe { *self.block.nic.view(comm) };
        (self.comm, self.indexes) = (comm, self.block.nic.indexes(view));
    }

    /// The receive of a handler once all lower handlers are done: its own candidate if still there,
    /// otherwise a new search. The early booking check does not apply here (S16).
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        handler: usize,
        entry: &Entry,
        candidate: ReceiveId,
        counters: &HandlerCounters,
    ) -> ReceiveId {
        let nic = self.block.nic;
        // SAFETY: a search found the receive.
        let own = unsafe { unchecked(self.indexes.bookings.receives, candidate) };
        step!(SlowWaits { handler });
        // All work that does not depend on lower handlers comes before the wait: higher handlers
        // wait for this one.
        let comm = entry.envelope.comm;
        if comm != self.comm {
            self.turn_to(comm);
        }
        let key = key(entry, nic.options.inline_hashes, counters);
        // All lower handlers, not only the one before (S13); handlers of this slice are done.
        if !self.waited && !fault!(SlowNoWait) {
            counters.slow_polls.add(self.block.crew.wait_for_lower());
            self.waited = true;
        }
        step!(SlowWaited);
        step!(StateRead {
            receive: candidate.0
        });
        let receive = if own.is_posted() || fault!(SlowKeepsOwn) {
            counters.forced.add(1);
            candidate
        } else {
            let skip_below = if fault!(SlowEarlyCheck) {
                nic.handlers
            } else {
                0
            };
            let found = self.indexes.search(key, skip_below, counters);
            found.map_or(ReceiveId::NIL, |found| found.receive)
        };
        step!(SlowFound {
            handler,
            found: receive.found(),
            own: receive == candidate
        });
        receive
    }
}
