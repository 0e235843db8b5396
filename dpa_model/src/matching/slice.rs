//! A slice of a block, the argument of every phase, and the steps that both rules of waiting have
//! in common.

use core::ops::Range;

use super::protocol::deliver;
use crate::block::{BlockInfo, Phase};
use crate::booking::Bookings;
use crate::descriptor::{Descriptor, Posted, state};
use crate::message::{Completion, Entry, Transfer};
use crate::number::{BinId, ReceiveId, Sequence, WorkerId, unchecked};
use crate::ring::RingSpan;
use crate::shared::Shared;
use crate::sync::{Peek, Relaxed};
use crate::{CommId, FastPath, Path, Removal};

/// The handlers of a block that one worker runs, with the entries and results of the whole block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice<'a> {
    pub(super) nic: &'a Shared,
    pub(super) block: &'a BlockInfo,
    pub(super) worker: WorkerId,
    /// Its handlers: to find them again needs divisions.
    start: usize,
    end: usize,
    pub(super) entries: RingSpan<'a, Entry>,
    pub(super) results: RingSpan<'a, Completion>,
}

impl<'a> Slice<'a> {
    /// A worker's slice of a block that several workers run.
    #[inline]
    pub(super) fn new(nic: &'a Shared, block: &'a BlockInfo, worker: WorkerId) -> Self {
        let Range { start, end } = block.slice(worker);
        Self {
            worker,
            start,
            end,
            ..Self::whole(nic, block, block.count)
        }
    }

    /// All handlers of a block that the leader runs alone. `messages`: the block's number of
    /// messages.
    #[inline(always)]
    pub(super) fn whole(nic: &'a Shared, block: &'a BlockInfo, messages: usize) -> Self {
        let queue = nic.arrivals.queue(block.queue);
        Self {
            nic,
            block,
            worker: WorkerId::LEADER,
            start: 0,
            end: messages,
            entries: queue.ring.span(block.first, messages),
            results: nic.completions.span(block.results, messages),
        }
    }

    /// The handlers that this worker runs.
    #[inline]
    pub(super) fn handlers(&self) -> Range<usize> {
        self.start..self.end
    }

    /// The message of a handler of the block.
    #[inline]
    pub(super) fn entry(&self, handler: usize) -> Peek<'a, Entry> {
        // SAFETY: the leader saw the block's entries ready, and releases them only after its end.
        unsafe { self.entries.peek(handler) }
    }

    /// Workers that this slice waits for: every lower slice, never a higher one (O12).
    pub(super) fn awaited(&self, reached: Phase) -> Range<WorkerId> {
        let worker = self.worker;
        let previous = WorkerId(worker.0.saturating_sub(1));
        let first = match reached {
            Phase::Booked if fault!(BarrierPreviousOnly) => previous,
            Phase::Matched if fault!(SlowPreviousOnly) => previous,
            _ => WorkerId::LEADER,
        };
        let short = reached == Phase::Booked && fault!(BarrierShort);
        first..if short { previous } else { worker }
    }

    /// Sets the handler's booking bit (O10), where it is read.
    ///
    /// Only the early check and form (a) of the fast path read bookings.
    #[inline(always)]
    pub(super) fn book(&self, bookings: Bookings<'_>, receive: ReceiveId, handler: usize) {
        let options = &self.nic.options;
        let are_read = options.early_check || options.fast_path == FastPath::Literal;
        if are_read || options.always_book || fault!(ForcingIgnored) {
            step!(Booked {
                handler,
                receive: receive.0,
                alone: false
            });
            bookings.book(receive, handler);
        }
    }

    /// Publishes a handler's candidate, or `NIL` (S3).
    #[inline]
    pub(super) fn publish(&self, handler: usize, candidate: ReceiveId) {
        step!(Published { handler });
        // SAFETY: this worker runs the handler and has not reached phase 1.
        unsafe { self.nic.block.set_candidate(handler, candidate) };
    }

    /// Reads what a handler of this or a lower slice has chosen, after the barrier: its
    /// communicator (`comm`, if known) and the sequence of its candidate.
    #[inline]
    pub(super) fn claim(
        &self,
        handler: usize,
        comm: Option<CommId>,
        candidate: ReceiveId,
    ) -> (CommId, Sequence) {
        step!(ClaimRead {
            message: comm.is_none().then(|| self.entries.position(handler)),
            receive: candidate.found(),
        });
        let comm = comm.unwrap_or_else(|| self.entry(handler).envelope.comm);
        if candidate == ReceiveId::NIL {
            return (comm, Sequence::default());
        }
        // SAFETY: inside a block (D1).
        let posted = unsafe { self.nic.receives[candidate].posted.peek() };
        (comm, posted.sequence())
    }

    /// Marks a receive taken (S18).
    #[inline]
    pub(super) fn mark(&self, descriptor: &Descriptor, receive: ReceiveId, path: Path) {
        if path == Path::Overtaking {
            return;
        }
        let state = &descriptor.state;
        // A plain store is enough: no two handlers take the same receive (S18).
        // ordering: the swap replaces the store in builds that look for a second consumer.
        if cfg!(all(debug_assertions, not(dpamatch_loom))) {
            let before = state.swap(state::CONSUMED, Relaxed);
            assert_eq!(
                before,
                state::POSTED,
                "receive {} was consumed twice (S18)",
                receive.0
            );
        } else {
            state.store(state::CONSUMED, Relaxed);
        }
    }

    /// All handlers of the slice are matched, and what they took is marked: higher ones wait for
    /// no more than that.
    #[inline]
    pub(super) fn matched(&self) {
        step!(SliceMatched);
        self.nic
            .block
            .reach(self.worker, self.block.number, Phase::Matched);
    }

    /// Takes a marked receive out of its chain, or leaves that to the block's end (O28, S17).
    /// `bin` is the bin of the receive, and `before` its predecessor in the chain at search time.
    /// `false`: another handler holds the bin's lock.
    pub(super) fn unlink(&self, receive: ReceiveId, bin: BinId, before: &ReceiveId) -> bool {
        let Shared {
            receives,
            bins,
            block,
            options,
            ..
        } = self.nic;
        let removal = options.removal;
        if removal != Removal::Deferred {
            step!(Unlinking {
                bin: bin.0,
                receive: receive.0,
                alone: false
            });
        }
        // SAFETY: the receive was posted in this bin.
        let bin = unsafe { unchecked(bins, bin) };
        bin.try_unlink(receives, receive, before, removal, block)
    }

    /// Records for the leader which receive a handler took.
    #[inline]
    pub(super) fn record_taken(&self, handler: usize, receive: ReceiveId) {
        step!(Noted { handler });
        // SAFETY: this worker runs the handler and has not reached phase 3.
        unsafe { self.nic.block.set_taken(handler, receive) };
    }

    /// Moves the data of a message to its receive, and reports the receive.
    ///
    /// # Safety
    /// The caller runs this handler, which has taken the receive and has not reported its result.
    /// `transfer` is that of its message and receive.
    #[inline(always)]
    pub(super) unsafe fn deliver(&self, handler: usize, posted: &Posted, transfer: Transfer) {
        // SAFETY: the caller's promise; `whole` began both runs with the block's first message, and
        // the leader claimed a result's position for each.
        unsafe {
            deliver(
                self.nic,
                self.block,
                self.entries,
                self.results,
                handler,
                posted,
                transfer,
            );
        }
    }

    /// All data of the slice's messages has moved.
    pub(super) fn finished(&self) {
        #[cfg(dpamatch_card)]
        crate::card::write_back();
        self.nic
            .block
            .reach(self.worker, self.block.number, Phase::Finished);
        step!(SliceEnds);
    }
}
