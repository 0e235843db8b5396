//! The slow path: wait for all lower handlers, then keep the candidate or search again (S13).

use super::block_run::BlockRun;
use super::crew::{Crew, Part};
use super::search::{key, usual_key};
use crate::index::{CommView, Indexes, Oldest};
use crate::message::{Entry, data};
use crate::number::{BinId, ReceiveId, unchecked};
use crate::{CommId, HandlerCounters, InlineHashes};

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
        let nic = block.nic;
        match comm {
            // Alone a handler waits for nobody.
            Some(comm) if C::PART == Part::Block => {
                // SAFETY: inside a block.
                let view = unsafe { *nic.view(comm) };
                Self { block, waited: true, comm, indexes: nic.indexes(view) }
            }
            _ => {
                let indexes = nic.indexes(CommView::NONE);
                Self { block, waited, comm: CommId(u32::MAX), indexes }
            }
        }
    }

    /// Whether the next handlers may be usual ones: all lower handlers are done, and the indexes
    /// are known.
    #[inline(always)]
    pub(super) fn is_usual(&self) -> bool {
        self.waited
    }

    /// Whether a usual handler may search the head of one chain: receives have no wildcards.
    #[inline(always)]
    fn searches_heads(&self) -> bool {
        let trusted = self.block.nic.options.inline_hashes == InlineHashes::Trust;
        trusted && self.indexes.view.is_exact()
    }

    /// The receive of a handler once all lower handlers are done: its own candidate if still there,
    /// otherwise a new search. The early booking check does not apply here (S16).
    ///
    /// `DATA` other than [`ANY`](data::ANY): acts only if the data is of this kind, and either the
    /// candidate is still there, at the head of its chain, or the message is of the last
    /// communicator and the head of a chain fits; otherwise returns `NIL`. The caller counts the
    /// visit of a head that is not the candidate.
    #[inline(always)]
    pub(super) fn find<const DATA: u8>(
        &mut self,
        handler: usize,
        entry: &Entry,
        candidate: ReceiveId,
        counters: &HandlerCounters,
    ) -> ReceiveId {
        let nic = self.block.nic;
        // SAFETY: a search found the receive.
        let own = unsafe { unchecked(self.indexes.bookings.receives, candidate) };
        let (mut bin, mut oldest) = (BinId::NIL, ReceiveId::NIL);
        let usual = DATA != data::ANY;
        if usual {
            if !entry.is::<DATA>() {
                return ReceiveId::NIL;
            }
            if own.is_posted() {
                // SAFETY: inside a block (D1).
                bin = unsafe { own.posted.peek() }.bin;
                // SAFETY: the receive was posted in this bin.
                if unsafe { unchecked(self.indexes.bins, bin) }.head() != candidate {
                    return ReceiveId::NIL;
                }
            } else {
                let key = usual_key(entry, self.comm).filter(|_| self.searches_heads());
                let Some(key) = key else { return ReceiveId::NIL };
                let found = self.indexes.oldest::<0>(&key);
                let Oldest::Fits { bin: there, receive } = found else { return ReceiveId::NIL };
                (bin, oldest) = (there, receive);
            }
        }
        step!(SlowWaits { handler });
        let mut other = None;
        if !usual {
            // All work that does not depend on lower handlers comes before the wait: higher
            // handlers wait for this one.
            let comm = entry.envelope.comm;
            if comm != self.comm {
                // SAFETY: inside a block.
                let view = unsafe { *nic.view(comm) };
                (self.comm, self.indexes) = (comm, nic.indexes(view));
            }
            other = Some(key(entry, nic.options.inline_hashes, counters));
            // All lower handlers, not only the one before (S13); handlers of this slice are done.
            if !self.waited && !fault!(SlowNoWait) {
                counters.slow_polls.add(self.block.crew.wait_for_lower());
                self.waited = true;
            }
        }
        step!(SlowWaited);
        step!(StateRead { receive: candidate.0 });
        let keeps = if usual { oldest == ReceiveId::NIL } else { own.is_posted() };
        let receive = if keeps || fault!(SlowKeepsOwn) {
            counters.forced.add(1);
            candidate
        } else if usual {
            step!(BinRead { bin: bin.0 });
            step!(Visited { receive: oldest.0 });
            oldest
        } else {
            let skip_below = if fault!(SlowEarlyCheck) { nic.handlers } else { 0 };
            let Some(key) = other else { unreachable!("made above") };
            let found = if self.indexes.view.is_exact() {
                self.indexes.search_class::<0>(&key, skip_below, counters)
            } else {
                self.indexes.search(key, skip_below, counters)
            };
            found.map_or(ReceiveId::NIL, |found| found.receive)
        };
        step!(SlowFound { handler, found: receive.found(), own: receive == candidate });
        receive
    }
}
