//! Who runs a slice of a block with other workers: [`Slice`], or `Keyed` (`domain`), whose handlers
//! wait within their conflict domains. Every rule of matching is written once, over a [`Crew`].
//!
//! A worker that runs a block alone needs none of this: see `in_order`.

use core::ops::Range;

use super::block_run::BlockRun;
use super::detect::first_conflict;
use super::fast_path::{Refusal, choose_in_block};
use super::scratch::Scratch;
use crate::block::{BlockInfo, Phase};
use crate::booking::Bookings;
use crate::descriptor::{Descriptor, state};
use crate::index::CommView;
use crate::message::Entry;
use crate::number::{BinId, ReceiveId, WorkerId, unchecked};
use crate::shared::Shared;
use crate::sync::Relaxed;
use crate::{FastPath, Path, Removal};

/// What a handler does.
pub(super) enum Choice {
    /// It takes its candidate, if it has one.
    Own,
    /// It takes this receive, without waiting for what the others take.
    Further(ReceiveId),
    /// It takes the slow path.
    Wait(Refusal),
}

pub(super) trait Crew: Copy {
    fn worker(self) -> WorkerId;

    /// The handlers that this worker runs.
    fn handlers(self) -> Range<usize>;

    /// Tells higher handlers what the key of a handler's message is, if they ask.
    #[inline]
    fn announce(self, _handler: usize, _entry: &Entry, _view: CommView) {}

    /// Sets the handler's booking bit (O10), where it is read.
    fn book(self, bookings: Bookings<'_>, receive: ReceiveId, handler: usize);

    /// Publishes a handler's candidate, or `NIL` (S3).
    fn publish(self, handler: usize, candidate: ReceiveId);

    /// Says that the slice has booked. Where handlers resolve by the rule of the block, this is the
    /// partial barrier (O12): it returns when all lower handlers have booked, with the first
    /// conflict in `scratch`.
    fn pass_barrier(self, scratch: &mut Scratch);

    /// What a handler does, once the lower ones that it depends on have booked.
    fn choose(block: &BlockRun<'_, Self>, handler: usize, scratch: &mut Scratch) -> Choice;

    /// Waits until all lower handlers that may take what this one wants are done (S13). Returns the
    /// failed polls.
    fn wait_for_lower(block: &BlockRun<'_, Self>, handler: usize, scratch: &mut Scratch) -> u64;

    /// Marks a receive taken (S18).
    fn mark(self, descriptor: &Descriptor, receive: ReceiveId, path: Path);

    /// All handlers of the slice are matched, and what they took is marked: higher ones wait for
    /// no more than that.
    fn matched(self);

    /// Takes a marked receive out of its chain, or leaves that to the block's end (O28, S17).
    /// `bin` is the bin of the receive, and `before` its predecessor in the chain at search time.
    /// `false`: another handler holds the bin's lock.
    fn unlink(self, receive: ReceiveId, bin: BinId, before: &ReceiveId) -> bool;

    /// Records for the leader which receive a handler took.
    fn note_taken(self, handler: usize, receive: ReceiveId);

    /// All their data has moved.
    fn finished(self);
}

/// One of several workers runs its slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice<'a> {
    pub(crate) nic: &'a Shared,
    pub(crate) block: &'a BlockInfo,
    pub(crate) worker: WorkerId,
    /// Its handlers: to find them again needs divisions.
    start: usize,
    end: usize,
}

impl<'a> Slice<'a> {
    #[inline]
    pub(crate) fn new(nic: &'a Shared, block: &'a BlockInfo, worker: WorkerId) -> Self {
        let Range { start, end } = block.slice(worker);
        Self {
            nic,
            block,
            worker,
            start,
            end,
        }
    }

    /// Workers that this slice waits for: every lower slice, never a higher one (O12).
    fn awaited(self, reached: Phase) -> Range<WorkerId> {
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
}

impl Crew for Slice<'_> {
    fn worker(self) -> WorkerId {
        self.worker
    }

    fn handlers(self) -> Range<usize> {
        self.start..self.end
    }

    /// Only the early check and form (a) read bookings.
    #[inline(always)]
    fn book(self, bookings: Bookings<'_>, receive: ReceiveId, handler: usize) {
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

    #[inline]
    fn publish(self, handler: usize, candidate: ReceiveId) {
        step!(Published { handler });
        // SAFETY: this worker runs the handler and has not reached phase 1.
        unsafe { self.nic.block.set_candidate(handler, candidate) };
    }

    fn pass_barrier(self, scratch: &mut Scratch) {
        step!(SliceBooked);
        let nobody = WorkerId::LEADER..WorkerId::LEADER;
        let awaited = if fault!(BarrierMissing) {
            nobody
        } else {
            self.awaited(Phase::Booked)
        };
        let handlers = self.handlers();
        let polls = self
            .nic
            .block
            .pass_barrier(self.worker, self.block.number, awaited);
        self.nic.handler_counters[handlers.start]
            .barrier_polls
            .add(polls);
        step!(CandidatesRead);
        for handler in 0..handlers.start {
            // SAFETY: phase 1 of every lower slice was just seen.
            scratch.receives[handler] = unsafe { self.nic.block.candidate(handler) };
        }
        step!(ConflictSought);
        scratch.conflict = first_conflict(&scratch.receives[..handlers.end]);
        scratch.met = scratch.conflict < handlers.end;
        step!(BarrierPassed {
            first: handlers.start,
            end: handlers.end,
            conflict: scratch.met.then_some(scratch.conflict),
        });
    }

    #[inline]
    fn choose(block: &BlockRun<'_, Self>, handler: usize, scratch: &mut Scratch) -> Choice {
        // The forcing rule (O14): every handler from the first conflict on must resolve.
        if handler < scratch.conflict {
            return Choice::Own;
        }
        let candidate = scratch.receives[handler];
        let group = &mut scratch.group;
        group.look_up_to(block, handler);
        let excused =
            || fault!(ForcingIgnored) && !block.nic.bookings().any_below(candidate, handler);
        if candidate == ReceiveId::NIL || excused() {
            return Choice::Own;
        }
        match choose_in_block(block, handler, group) {
            Ok(receive) => Choice::Further(receive),
            Err(refusal) => Choice::Wait(refusal),
        }
    }

    /// All handlers of lower slices, once.
    fn wait_for_lower(block: &BlockRun<'_, Self>, _: usize, scratch: &mut Scratch) -> u64 {
        if core::mem::replace(&mut scratch.waited, true) {
            return 0;
        }
        let awaited = block.crew.awaited(Phase::Matched);
        let number = block.info.number;
        block
            .nic
            .block
            .wait_for_each(awaited, number, Phase::Matched)
    }

    #[inline]
    fn mark(self, descriptor: &Descriptor, receive: ReceiveId, path: Path) {
        if path == Path::Overtaking {
            return;
        }
        let state = &descriptor.state;
        // A plain store is enough: no two handlers take the same receive (S18).
        // ordering: the swap stands for the store in builds that look for a second consumer.
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

    #[inline]
    fn matched(self) {
        step!(SliceMatched);
        self.nic
            .block
            .reach(self.worker, self.block.number, Phase::Matched);
    }

    fn unlink(self, receive: ReceiveId, bin: BinId, before: &ReceiveId) -> bool {
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

    #[inline]
    fn note_taken(self, handler: usize, receive: ReceiveId) {
        step!(Noted { handler });
        // SAFETY: this worker runs the handler and has not reached phase 3.
        unsafe { self.nic.block.set_taken(handler, receive) };
    }

    fn finished(self) {
        #[cfg(dpamatch_card)]
        crate::card::write_back();
        self.nic
            .block
            .reach(self.worker, self.block.number, Phase::Finished);
        step!(SliceEnds);
    }
}
