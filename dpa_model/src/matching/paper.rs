//! The paper's rule: handlers wait for the block (`Domains::Paper`).

use super::detect::first_conflict;
use super::fast_path::choose_in_block;
use super::scratch::Scratch;
use super::slice::Slice;
use crate::Path;
use crate::block::Phase;
use crate::number::{ReceiveId, WorkerId};

/// The partial barrier (O12): returns when all lower handlers have booked, with the first conflict
/// in `scratch`.
pub(super) fn pass_barrier(slice: &Slice<'_>, scratch: &mut Scratch) {
    step!(SliceBooked);
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

/// The path of a handler, once all lower handlers have booked. A handler on the fast path has its
/// receive in `scratch`.
#[inline]
pub(super) fn choose_path(slice: &Slice<'_>, handler: usize, scratch: &mut Scratch) -> Path {
    // The forcing rule (O14): every handler from the first conflict on must resolve.
    if handler < scratch.conflict {
        return Path::Clean;
    }
    let candidate = scratch.receives[handler];
    let group = &mut scratch.group;
    group.extend_to(slice, handler);
    let excused = || fault!(ForcingIgnored) && !slice.nic.bookings().any_below(candidate, handler);
    if candidate == ReceiveId::NIL || excused() {
        return Path::Clean;
    }
    match choose_in_block(slice, handler, group) {
        Some(receive) => {
            scratch.receives[handler] = receive;
            Path::Fast
        }
        None => Path::Slow,
    }
}

/// Waits for all handlers of lower slices, once. Returns the failed polls.
pub(super) fn wait_for_lower(slice: &Slice<'_>, scratch: &mut Scratch) -> u64 {
    if core::mem::replace(&mut scratch.waited, true) {
        return 0;
    }
    let awaited = slice.awaited(Phase::Matched);
    let number = slice.block.number;
    slice
        .nic
        .block
        .wait_for_each(awaited, number, Phase::Matched)
}
