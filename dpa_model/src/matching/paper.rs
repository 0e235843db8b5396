//! The paper's rule: handlers wait for the block (`Domains::Paper`).

use super::block_run::BlockRun;
use super::crew::{Choice, Crew};
use super::detect::first_conflict;
use super::fast_path::choose_in_block;
use super::scratch::Scratch;
use super::slice::Slice;
use crate::block::Phase;
use crate::number::{ReceiveId, WorkerId};

/// A slice of a block whose handlers wait for the block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paper<'a> {
    pub(super) slice: Slice<'a>,
}

impl Crew for Paper<'_> {
    fn slice(&self) -> &Slice<'_> {
        &self.slice
    }

    /// The partial barrier (O12): returns when all lower handlers have booked, with the first
    /// conflict in `scratch`.
    fn pass_barrier(self, scratch: &mut Scratch) {
        step!(SliceBooked);
        let slice = self.slice;
        let (nic, number) = (slice.nic, slice.block.number);
        let nobody = WorkerId::LEADER..WorkerId::LEADER;
        let awaited = if fault!(BarrierMissing) {
            nobody
        } else {
            slice.awaited(Phase::Booked)
        };
        let handlers = slice.handlers();
        let polls = nic.block.pass_barrier(slice.worker, number, awaited);
        nic.handler_counters[handlers.start]
            .barrier_polls
            .add(polls);
        step!(CandidatesRead);
        for handler in 0..handlers.start {
            // SAFETY: phase 1 of every lower slice was just seen.
            scratch.receives[handler] = unsafe { nic.block.candidate(handler) };
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
        let awaited = block.crew.slice.awaited(Phase::Matched);
        let number = block.info.number;
        block
            .nic
            .block
            .wait_for_each(awaited, number, Phase::Matched)
    }
}
