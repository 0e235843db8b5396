//! The handlers of one slice, phase by phase (O2, S1 to S18).

use core::ops::Range;

use super::detect::first_conflict;
use super::fast_path::{Group, Groups, Refusal, target};
use super::optimistic::{book, find, key, overtake};
use super::protocol::deliver_arrived;
use crate::block::{BlockInfo, Claim, Outcome, phase};
use crate::booking::HandlerSet;
use crate::descriptor::{NIL, state};
use crate::index::CommView;
use crate::message::Entry;
use crate::nic::Shared;
use crate::sync::{Peek, Relaxed};
use crate::{FastPath, HANDLERS_MAX, HandlerCounters, Path};

/// What a worker remembers of a block's handlers, from phase to phase. Reused for every block.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// Of this slice and, after the barrier, of all lower ones.
    claims: [Claim; HANDLERS_MAX],
    /// The receives of the claims.
    pub(super) candidates: [u32; HANDLERS_MAX],
    /// Receives taken: for communicators that allow overtaking before the barrier, else after.
    pub(super) receives: [u32; HANDLERS_MAX],
    /// What stood before the candidates in their chains, if one worker runs the block alone.
    pub(super) before: [u32; HANDLERS_MAX],
    /// Bit i: handler i's communicator allows overtaking.
    pub(super) overtaken: HandlerSet,
    pub(super) groups: Groups,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self {
            claims: [Claim::NONE; HANDLERS_MAX],
            candidates: [NIL; HANDLERS_MAX],
            receives: [NIL; HANDLERS_MAX],
            before: [NIL; HANDLERS_MAX],
            overtaken: HandlerSet::NONE,
            groups: Groups::new(),
        }
    }

    /// Which receive each handler of the last block consumed, if one worker ran it alone; `NIL` for
    /// none.
    pub(crate) fn receives(&self) -> &[u32; HANDLERS_MAX] {
        &self.receives
    }
}

/// Runs all phases of worker `worker`'s slice of a block that several workers share.
pub(crate) fn run_slice(nic: &Shared, block: &BlockInfo, worker: usize, scratch: &mut Scratch) {
    let slice = block.slice(worker);
    charge!(slice_begins(worker, block.number));
    optimistic(nic, block, slice.clone(), scratch);
    charge!(booked(worker, block.number));
    nic.block.reach(worker, block.number, phase::BOOKED);
    if !fault!(BarrierMissing) {
        wait_for_lower(nic, block, worker, phase::BOOKED, &slice);
    }
    charge!(detect(slice.start));
    for handler in 0..slice.end {
        if handler < slice.start {
            // SAFETY: phase 1 of every lower slice was just seen.
            scratch.claims[handler] = unsafe { nic.block.claim(handler) };
        }
        scratch.candidates[handler] = scratch.claims[handler].receive;
    }
    let conflict = first_conflict(&scratch.candidates[..slice.end]);
    tell!({
        for handler in slice.clone() {
            tell!(PassedBarrier { handler, conflict: (conflict < slice.end).then_some(conflict) });
        }
    });
    resolve(nic, block, worker, slice.clone(), conflict, scratch);
    charge!(matched());
    nic.block.reach(worker, block.number, phase::MATCHED);
    charge!(protocol(conflict < slice.end));
    for handler in slice.clone() {
        deliver_arrived(nic, block, handler);
    }
    if conflict < slice.end && slice.end == block.count {
        // The highest slice knows of every conflict of the block.
        nic.boundary_counters.conflict_blocks.add(1);
    }
    nic.block.reach(worker, block.number, phase::FINISHED);
    charge!(slice_ends());
}

/// The partial barrier: waits for every lower slice, never for a higher one (O12).
fn wait_for_lower(
    nic: &Shared,
    block: &BlockInfo,
    worker: usize,
    reached: u64,
    slice: &Range<usize>,
) {
    let first = match reached {
        phase::BOOKED if fault!(BarrierPreviousOnly) => worker.saturating_sub(1),
        phase::MATCHED if fault!(SlowPreviousOnly) => worker.saturating_sub(1),
        _ => 0,
    };
    let end = if reached == phase::BOOKED && fault!(BarrierShort) {
        worker.saturating_sub(1)
    } else {
        worker
    };
    let polls =
        (first..end).map(|lower| u64::from(nic.block.wait_for(lower, block.number, reached))).sum();
    let counters = &nic.handler_counters[slice.start];
    if reached == phase::BOOKED { &counters.barrier_polls } else { &counters.slow_polls }
        .add(polls);
}

/// Search, book, publish.
fn optimistic(nic: &Shared, block: &BlockInfo, slice: Range<usize>, scratch: &mut Scratch) {
    prefetch_bins(nic, block, slice.clone());
    let mut views = Views::new(nic);
    scratch.overtaken = HandlerSet::NONE;
    for (handler, counters) in slice.clone().zip(&nic.handler_counters[slice]) {
        charge!(entry(block.first + handler as u64));
        let entry = entry(nic, block, handler);
        let comm = entry.envelope.comm.0;
        let view = views.of(comm);
        let key = key(&entry, nic.options.inline_hashes, counters);
        let claim = if view.overtaking {
            scratch.overtaken.insert(handler);
            scratch.receives[handler] = overtake(nic, view, &key, counters);
            Claim { comm, ..Claim::NONE }
        } else {
            let skip_booked =
                if nic.options.early_check { HandlerSet::below(handler) } else { HandlerSet::NONE };
            charge!(search());
            let found = find(nic, view, &key, skip_booked, counters);
            tell!(Searched { handler, found: found.map(|found| nic.request(found.receive)) });
            match found {
                Some(found) => {
                    charge!(book(found.receive));
                    book(&nic.receives[found.receive as usize], handler);
                    tell!(Booked { handler, receive: nic.request(found.receive) });
                    Claim {
                        receive: found.receive,
                        sequence: found.sequence,
                        comm,
                        label: found.label,
                    }
                }
                None => {
                    counters.no_candidate.add(1);
                    Claim { comm, ..Claim::NONE }
                }
            }
        };
        scratch.claims[handler] = claim;
        charge!(claim(handler));
        // SAFETY: this worker runs the handler and has not reached phase 1.
        unsafe { nic.block.set_claim(handler, claim) };
    }
}

/// The message of a handler of this block.
#[inline(always)]
pub(super) fn entry<'a>(nic: &'a Shared, block: &BlockInfo, handler: usize) -> Peek<'a, Entry> {
    // SAFETY: the leader saw the block's entries ready, and releases them only after the block's
    // end.
    unsafe { nic.arrivals.ring.peek(block.first + handler as u64) }
}

/// All bins of the slice are on their way before the first is walked.
fn prefetch_bins(nic: &Shared, block: &BlockInfo, slice: Range<usize>) {
    let mut views = Views::new(nic);
    for handler in slice {
        let entry = entry(nic, block, handler);
        if entry.has_hashes {
            let view = views.of(entry.envelope.comm.0);
            nic.prefetch_bins(view, &entry.hashes);
        }
    }
}

/// Views of communicators, the last one kept: most blocks have one communicator.
pub(super) struct Views<'a> {
    nic: &'a Shared,
    comm: u32,
    view: Peek<'a, CommView>,
}

impl<'a> Views<'a> {
    pub(super) fn new(nic: &'a Shared) -> Self {
        Self { nic, comm: NIL, view: Peek::constant(&CommView::NONE) }
    }

    #[inline(always)]
    pub(super) fn of(&mut self, comm: u32) -> &CommView {
        if comm != self.comm {
            // SAFETY: inside a block.
            (self.comm, self.view) = (comm, unsafe { self.nic.view(comm) });
        }
        &self.view
    }
}

/// Clean, fast or slow, in handler order.
fn resolve(
    nic: &Shared,
    block: &BlockInfo,
    worker: usize,
    slice: Range<usize>,
    conflict: usize,
    scratch: &mut Scratch,
) {
    let Scratch { claims, candidates, receives, overtaken, groups, .. } = scratch;
    let in_conflict = conflict < slice.end;
    if in_conflict {
        groups.clear();
        for claim in &claims[..slice.start] {
            groups.add(claim);
        }
    }
    let mut waited = false;
    for (handler, counters) in slice.clone().zip(&nic.handler_counters[slice.clone()]) {
        let claim = &claims[handler];
        charge!(clean());
        let (receive, path) = if overtaken.contains(handler) {
            (receives[handler], Path::Overtaking)
        } else if in_conflict {
            let group = groups.add(claim);
            let wait = || {
                // All lower handlers, not only the one before (S13); those of this slice are done.
                if !waited && !fault!(SlowNoWait) {
                    wait_for_lower(nic, block, worker, phase::MATCHED, &slice);
                    waited = true;
                }
            };
            resolve_one(nic, block, handler, conflict, claim, group, &candidates[..handler], wait)
        } else {
            (claim.receive, Path::Clean)
        };
        count_path(counters, receive, path);
        tell!({ tell_result(nic, handler, receive, path) });
        if receive != NIL && !consume(nic, receive, path) {
            counters.lock_missed.add(1);
            tell!(LockMissed { handler });
        }
        // SAFETY: this worker runs the handler and has not reached phase 3.
        unsafe { nic.block.set_outcome(handler, Outcome { receive, comm: claim.comm }) };
    }
}

/// What a handler takes in a block with a conflict, and how (O14 to O17). `group`: its
/// communicator's, to which `claim` was just added; `lower`: candidates of the handlers below;
/// `wait` ends when those are all done.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) fn resolve_one(
    nic: &Shared,
    block: &BlockInfo,
    handler: usize,
    conflict: usize,
    claim: &Claim,
    group: &mut Group,
    lower: &[u32],
    wait: impl FnOnce(),
) -> (u32, Path) {
    let excused = fault!(ForcingIgnored) && !lower.contains(&claim.receive);
    if claim.receive == NIL || handler < conflict || excused {
        return (claim.receive, Path::Clean);
    }
    charge!(fast(nic.options.fast_path != FastPath::Off));
    let refusal = match fast(nic, block, group, claim) {
        Ok(receive) => return (receive, Path::Fast),
        Err(refusal) => refusal,
    };
    let counters = &nic.handler_counters[handler];
    count_refusal(nic, counters, refusal);
    tell!(SlowWaits { handler });
    charge!(slow());
    wait();
    charge!(waited());
    let receive = slow(nic, &entry(nic, block, handler), claim, counters);
    tell!(SlowFound {
        handler,
        found: (receive != NIL).then(|| nic.request(receive)),
        own: receive == claim.receive,
    });
    (receive, Path::Slow)
}

/// The receive that the handler just added to its group may take without waiting.
#[inline(always)]
pub(super) fn fast(
    nic: &Shared,
    block: &BlockInfo,
    group: &mut Group,
    claim: &Claim,
) -> Result<u32, Refusal> {
    target(nic.options.fast_path, group, claim, &nic.receives, || {
        block.count == nic.handlers
            && nic.receives[claim.receive as usize].booking.load(Relaxed) == nic.all_booked()
    })
}

/// The slow path, after all lower handlers are done: the own candidate if it is still there, else
/// search again (S13). The early booking check has no place here (S16).
fn slow(nic: &Shared, entry: &Entry, claim: &Claim, counters: &HandlerCounters) -> u32 {
    charge!(state(claim.receive));
    if nic.receives[claim.receive as usize].state.load(Relaxed) == state::POSTED
        || fault!(SlowKeepsOwn)
    {
        counters.forced.add(1);
        return claim.receive;
    }
    let key = key(entry, nic.options.inline_hashes, counters);
    let skip_booked = if fault!(SlowEarlyCheck) { HandlerSet::ALL } else { HandlerSet::NONE };
    // SAFETY: inside a block.
    let view = unsafe { nic.view(claim.comm) };
    find(nic, &view, &key, skip_booked, counters).map_or(NIL, |found| found.receive)
}

/// What became of a handler.
#[cfg(dpamatch_shuttle)]
pub(super) fn tell_result(nic: &Shared, handler: usize, receive: u32, path: Path) {
    match path {
        Path::Clean if receive != NIL => tell!(Clean { handler }),
        Path::Fast => tell!(Fast { handler }),
        _ => {}
    }
    match receive {
        NIL => tell!(Unmatched { handler }),
        receive => tell!(Consumed { handler, receive: nic.request(receive) }),
    }
}

/// Marks the receive taken and tries to unlink it (S17, S18). `false`: another handler holds the
/// bin's lock.
#[inline(always)]
fn consume(nic: &Shared, receive: u32, path: Path) -> bool {
    charge!(consume(receive));
    let descriptor = &nic.receives[receive as usize];
    if path != Path::Overtaking {
        // A plain store is enough: no two handlers take the same receive (S18).
        if cfg!(all(debug_assertions, not(dpamatch_loom))) {
            let before = descriptor.state.swap(state::CONSUMED, Relaxed);
            assert_eq!(before, state::POSTED, "receive {receive} was consumed twice (S18)");
        } else {
            descriptor.state.store(state::CONSUMED, Relaxed);
        }
    }
    // SAFETY: inside a block (D1).
    let bin = unsafe { descriptor.posted.peek() }.bin;
    charge!(remove(bin, receive, nic.options.removal != crate::Removal::Deferred));
    nic.bins[bin as usize].remove(&nic.receives, receive, nic.options.removal)
}

#[inline(always)]
pub(super) fn count_path(counters: &HandlerCounters, receive: u32, path: Path) {
    if receive == NIL {
        counters.unexpected.add(1);
    }
    match path {
        Path::Clean if receive != NIL => counters.clean.add(1),
        Path::Clean => {}
        Path::Fast => counters.fast.add(1),
        Path::Slow => counters.slow.add(1),
        Path::Overtaking => counters.overtaking.add(1),
    }
}

fn count_refusal(nic: &Shared, counters: &HandlerCounters, refusal: Refusal) {
    if nic.options.fast_path == FastPath::Off {
        return;
    }
    match refusal {
        Refusal::Mixed => &counters.refused_mixed,
        Refusal::SequenceEnded => &counters.refused_sequence,
        Refusal::Exhausted => &counters.refused_exhausted,
    }
    .add(1);
}
