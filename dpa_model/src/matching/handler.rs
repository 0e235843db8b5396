//! The handlers of one slice, phase by phase (O2, S1 to S18).

use core::ops::Range;

use super::detect::{NO_CONFLICT, first_conflict};
use super::fast_path::{Groups, Refusal, target};
use super::optimistic::{book, find, key, overtake};
use super::protocol::deliver_arrived;
use crate::block::{BlockInfo, Claim, Outcome, phase};
use crate::descriptor::{NIL, state};
use crate::index::CommView;
use crate::message::Entry;
use crate::nic::Shared;
use crate::story::{Step, tell};
use crate::sync::{Peek, Relaxed};
use crate::{FastPath, HANDLERS_MAX, HandlerCounters, Path};

/// What a worker remembers of a block's handlers, from phase to phase. Reused for every block.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// Of this slice and, after the barrier, of all lower ones.
    claims: [Claim; HANDLERS_MAX],
    /// Receive already taken, for communicators that allow overtaking.
    taken: [u32; HANDLERS_MAX],
    groups: Groups,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { claims: [Claim::NONE; HANDLERS_MAX], taken: [NIL; HANDLERS_MAX], groups: Groups::new() }
    }

    /// The claims of a block's handlers, for the worker that ran the highest slice.
    pub(crate) fn claims(&self) -> &[Claim; HANDLERS_MAX] {
        &self.claims
    }
}

/// Runs all phases of worker `worker`'s slice. `ALONE`: the block has one slice, so nothing is waited for and
/// no read-modify-write is needed.
pub(crate) fn run_slice<const ALONE: bool>(
    nic: &Shared,
    block: &BlockInfo,
    worker: usize,
    scratch: &mut Scratch,
) {
    let slice = if ALONE { 0..block.count } else { block.slice(worker) };
    let conflict = optimistic::<ALONE>(nic, block, slice.clone(), scratch);
    let conflict = if ALONE {
        conflict
    } else {
        nic.block.reach(worker, block.number, phase::BOOKED);
        if !fault!(BarrierMissing) {
            wait_for_lower(nic, block, worker, phase::BOOKED, &slice);
        }
        for handler in 0..slice.start {
            // SAFETY: phase 1 of every lower slice was just seen.
            scratch.claims[handler] = unsafe { nic.block.claim(handler) };
        }
        first_conflict(&scratch.claims[..slice.end])
    };
    debug_assert!(!ALONE || conflict == first_conflict(&scratch.claims[..slice.end]));
    for handler in slice.clone() {
        tell(|| Step::PassedBarrier { handler, conflict: (conflict < slice.end).then_some(conflict) });
    }
    resolve::<ALONE>(nic, block, worker, slice.clone(), conflict, scratch);
    if !ALONE {
        nic.block.reach(worker, block.number, phase::MATCHED);
    }
    for handler in slice.clone() {
        deliver_arrived(nic, block, handler);
    }
    if conflict < slice.end && slice.end == block.count {
        // The highest slice knows of every conflict of the block.
        nic.boundary_counters.conflict_blocks.add(1);
    }
    if !ALONE {
        nic.block.reach(worker, block.number, phase::FINISHED);
    }
}

/// The partial barrier: waits for every lower slice, never for a higher one (O12).
fn wait_for_lower(nic: &Shared, block: &BlockInfo, worker: usize, reached: u64, slice: &Range<usize>) {
    let first = match reached {
        phase::BOOKED if fault!(BarrierPreviousOnly) => worker.saturating_sub(1),
        phase::MATCHED if fault!(SlowPreviousOnly) => worker.saturating_sub(1),
        _ => 0,
    };
    let end =
        if reached == phase::BOOKED && fault!(BarrierShort) { worker.saturating_sub(1) } else { worker };
    let polls = (first..end).map(|lower| u64::from(nic.block.wait_for(lower, block.number, reached))).sum();
    let counters = &nic.handler_counters[slice.start];
    if reached == phase::BOOKED { &counters.barrier_polls } else { &counters.slow_polls }.add(polls);
}

/// Search, book, publish. Alone, also finds the first conflict: a bit lower than one's own in the bitmap (O13).
fn optimistic<const ALONE: bool>(
    nic: &Shared,
    block: &BlockInfo,
    slice: Range<usize>,
    scratch: &mut Scratch,
) -> usize {
    prefetch_bins(nic, block, slice.clone());
    let mut conflict = NO_CONFLICT;
    let mut views = Views::new(nic);
    for (handler, counters) in slice.clone().zip(&nic.handler_counters[slice]) {
        counters.messages.add(1);
        let entry = entry(nic, block, handler);
        let comm = entry.envelope.comm.0;
        let view = views.of(comm);
        let key = key(&entry, nic.options.inline_hashes, counters);
        let claim = if view.overtaking {
            scratch.taken[handler] = overtake(nic, view, &key, counters);
            Claim { comm, ..Claim::NONE }
        } else {
            let skip_booked = if nic.options.early_check { (1 << handler) - 1 } else { 0 };
            let found = find(nic, view, &key, skip_booked, counters);
            tell(|| Step::Searched { handler, found: found.map(|found| request(nic, found.receive)) });
            match found {
                Some(found) => {
                    let contested = book::<ALONE>(&nic.receives[found.receive as usize], handler);
                    tell(|| Step::Booked { handler, receive: request(nic, found.receive) });
                    counters.bookings.add(1);
                    if ALONE && contested && conflict == NO_CONFLICT {
                        conflict = handler;
                    }
                    Claim { receive: found.receive, sequence: found.sequence, comm, label: found.label }
                }
                None => Claim { comm, ..Claim::NONE },
            }
        };
        scratch.claims[handler] = claim;
        if !ALONE {
            // SAFETY: this worker runs the handler and has not reached phase 1.
            unsafe { nic.block.set_claim(handler, claim) };
        }
    }
    conflict
}

/// The message of a handler of this block.
#[inline(always)]
fn entry<'a>(nic: &'a Shared, block: &BlockInfo, handler: usize) -> Peek<'a, Entry> {
    // SAFETY: the leader saw the block's entries ready, and releases them only after the block's end.
    unsafe { nic.arrivals.ring.peek(block.first + handler as u64) }
}

/// All bins of the slice are on their way before the first is walked.
fn prefetch_bins(nic: &Shared, block: &BlockInfo, slice: Range<usize>) {
    let mut views = Views::new(nic);
    let ahead = if block.count == nic.handlers { block.count as u64 } else { 0 };
    for handler in slice {
        let entry = entry(nic, block, handler);
        if ahead > 0 {
            nic.arrivals.ring.prefetch(block.first + ahead + handler as u64);
        }
        if entry.has_hashes {
            let view = views.of(entry.envelope.comm.0);
            nic.prefetch_bins(view, &entry.hashes);
        }
    }
}

/// Views of communicators, the last one kept: most blocks have one communicator.
struct Views<'a> {
    nic: &'a Shared,
    comm: u32,
    view: Peek<'a, CommView>,
}

impl<'a> Views<'a> {
    fn new(nic: &'a Shared) -> Self {
        Self { nic, comm: NIL, view: Peek::constant(&CommView::NONE) }
    }

    #[inline(always)]
    fn of(&mut self, comm: u32) -> &CommView {
        if comm != self.comm {
            // SAFETY: inside a block.
            (self.comm, self.view) = (comm, unsafe { self.nic.view(comm) });
        }
        &self.view
    }
}

/// Clean, fast or slow, in handler order.
fn resolve<const ALONE: bool>(
    nic: &Shared,
    block: &BlockInfo,
    worker: usize,
    slice: Range<usize>,
    conflict: usize,
    scratch: &mut Scratch,
) {
    let in_conflict = conflict < slice.end;
    if in_conflict {
        scratch.groups.clear();
        for handler in 0..slice.start {
            scratch.groups.add(&scratch.claims[handler]);
        }
    }
    let mut waited = ALONE;
    let mut views = Views::new(nic);
    for (handler, counters) in slice.clone().zip(&nic.handler_counters[slice.clone()]) {
        let claim = scratch.claims[handler];
        let (receive, path) = if !in_conflict && claim.receive != NIL {
            (claim.receive, Path::Clean)
        } else if views.of(claim.comm).overtaking {
            (scratch.taken[handler], Path::Overtaking)
        } else if !in_conflict {
            (NIL, Path::Clean)
        } else {
            let group = scratch.groups.add(&claim);
            let lower = || scratch.claims[..handler].iter().map(|lower| lower.receive);
            let excused = fault!(ForcingIgnored) && !lower().any(|receive| receive == claim.receive);
            if claim.receive == NIL || handler < conflict || excused {
                (claim.receive, Path::Clean)
            } else {
                let fast = target(nic.options.fast_path, group, &claim, &nic.receives, || {
                    block.count == nic.handlers
                        && nic.receives[claim.receive as usize].booking.load(Relaxed) == nic.all_booked()
                });
                match fast {
                    Ok(receive) => (receive, Path::Fast),
                    Err(refusal) => {
                        count_refusal(nic, counters, refusal);
                        tell(|| Step::SlowWaits { handler });
                        if !waited && !fault!(SlowNoWait) {
                            // All lower handlers, not only the one before (S13); those of this slice are done.
                            wait_for_lower(nic, block, worker, phase::MATCHED, &slice);
                            waited = true;
                        }
                        let view = views.of(claim.comm);
                        let receive = slow(nic, view, &entry(nic, block, handler), &claim, counters);
                        tell(|| Step::SlowFound {
                            handler,
                            found: (receive != NIL).then(|| request(nic, receive)),
                            own: receive == claim.receive,
                        });
                        (receive, Path::Slow)
                    }
                }
            }
        };
        count_path(counters, receive, path);
        tell_result(nic, handler, receive, path);
        if receive != NIL && !consume::<ALONE>(nic, receive, path) {
            counters.lock_missed.add(1);
            tell(|| Step::LockMissed { handler });
        }
        // SAFETY: this worker runs the handler and has not reached phase 3.
        unsafe { nic.block.set_outcome(handler, Outcome { receive, comm: claim.comm }) };
    }
}

/// The slow path, after all lower handlers are done: the own candidate if it is still there, else search
/// again (S13). The early booking check has no place here (S16).
fn slow(nic: &Shared, view: &CommView, entry: &Entry, claim: &Claim, counters: &HandlerCounters) -> u32 {
    if nic.receives[claim.receive as usize].state.load(Relaxed) == state::POSTED || fault!(SlowKeepsOwn) {
        counters.forced.add(1);
        return claim.receive;
    }
    let key = key(entry, nic.options.inline_hashes, counters);
    let skip_booked = if fault!(SlowEarlyCheck) { u64::MAX } else { 0 };
    find(nic, view, &key, skip_booked, counters).map_or(NIL, |found| found.receive)
}

/// The name of a receive for the story.
fn request(nic: &Shared, receive: u32) -> u64 {
    // SAFETY: inside a block (D1).
    unsafe { nic.receives[receive as usize].posted.peek() }.request
}

#[inline(always)]
fn tell_result(nic: &Shared, handler: usize, receive: u32, path: Path) {
    match path {
        Path::Clean if receive != NIL => tell(|| Step::Clean { handler }),
        Path::Fast => tell(|| Step::Fast { handler }),
        _ => {}
    }
    tell(|| match receive {
        NIL => Step::Unmatched { handler },
        receive => Step::Consumed { handler, receive: request(nic, receive) },
    });
}

/// Marks the receive taken and tries to unlink it (S17, S18). `false`: another handler holds the bin's lock.
#[inline(always)]
fn consume<const ALONE: bool>(nic: &Shared, receive: u32, path: Path) -> bool {
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
    let bin = &nic.bins[bin as usize];
    if ALONE {
        bin.remove_alone(&nic.receives, receive);
        true
    } else {
        bin.remove(&nic.receives, receive, nic.options.removal)
    }
}

#[inline(always)]
fn count_path(counters: &HandlerCounters, receive: u32, path: Path) {
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
