//! The slow path: wait for all lower handlers, then keep the candidate or search again (S13).

use super::block_run::BlockRun;
use super::crew::{Crew, Part};
use super::search::key;
use crate::descriptor::Descriptor;
use crate::index::{CommView, Indexes, fits_exactly};
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
    pub(super) fn new(block: BlockRun<'a, C>, comm: Option<CommId>, waited: bool) -> Self {
        let indexes = block.nic.indexes(CommView::NONE);
        let mut slow = Self {
            block,
            waited,
            comm: CommId(u32::MAX),
            indexes,
        };
        if let (Some(comm), Part::Block) = (comm, C::PART) {
            // Alone a handler waits for nobody.
            slow.waited = true;
            slow.turn_to(comm);
        }
        slow
    }

    #[inline(always)]
    fn turn_to(&mut self, comm: CommId) {
        // SAFETY: inside a block.
        let view = unsafe { *self.block.nic.view(comm) };
        (self.comm, self.indexes) = (comm, self.block.nic.indexes(view));
    }

    /// Whether the next handlers may be usual ones: all lower handlers are done, and the indexes
    /// are known.
    #[inline(always)]
    pub(super) fn is_usual(&self) -> bool {
        self.waited
    }

    /// [`find`](Self::find) for a usual handler, once all lower handlers are done: whether it takes
    /// the oldest receive of its candidate's chain. It does if that is its candidate. `EXACT`:
    /// receives are posted in such chains only, so it also does if that fits.
    #[inline(always)]
    pub(super) fn takes_oldest<const EXACT: bool>(
        receives: &[Descriptor],
        handler: usize,
        entry: &Entry,
        [candidate, oldest]: [ReceiveId; 2],
    ) -> bool {
        // The candidate's state is not asked: no processor foresees it.
        let takes = if EXACT {
            oldest != ReceiveId::NIL && fits_exactly(receives, oldest, entry)
        } else {
            oldest == candidate
        };
        if !takes || fault!(SlowKeepsOwn) && oldest != candidate {
            return false;
        }
        step!(SlowWaits { handler });
        step!(SlowWaited);
        step!(StateRead {
            receive: candidate.0
        });
        if oldest != candidate {
            step!(Visited { receive: oldest.0 });
        }
        step!(SlowFound {
            handler,
            found: oldest.found(),
            own: oldest == candidate
        });
        true
    }

    /// Whether all receives of the last communicator are without wildcards, and its messages do not
    /// overtake.
    #[inline(always)]
    pub(super) fn is_exact(&self) -> bool {
        self.indexes.view.is_exact()
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
            let found = if self.is_exact() {
                self.indexes.search_class::<0>(&key, skip_below, counters)
            } else {
                self.indexes.search(key, skip_below, counters)
            };
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
