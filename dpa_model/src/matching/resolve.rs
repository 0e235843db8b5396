//! Phase 4: every handler of the slice gets its receive, clean, on the fast path or on the slow
//! path (S5, S6, O14 to O18, S13).

use core::ops::Range;

use super::block_run::BlockRun;
use super::crew::Crew;
use super::detect::must_resolve;
use super::fast_path::{Refusal, choose_row};
use super::group::Group;
use super::scratch::Scratch;
use super::take::Taking;
use crate::number::ReceiveId;
use crate::shared::Shared;
use crate::{CommId, FastPath, Path};

/// Resolves in handler order, in runs of handlers on one path: what they take is independent of
/// what lower ones have done meanwhile (O16). `comm`: the communicator of all handlers, if there is
/// only one.
pub(super) fn resolve<C: Crew>(
    block: BlockRun<'_, C>,
    conflict: usize,
    comm: Option<CommId>,
    scratch: &mut Scratch,
) {
    if scratch.kinds == 0 {
        return Taking::new(block).leave(block.crew.handlers());
    }
    if conflict >= block.crew.handlers().end && scratch.overtaken.is_empty() {
        return Taking::new(block).take(scratch, block.crew.handlers(), Path::Clean);
    }
    let handlers = block.crew.handlers();
    let taking = Taking::new(block);
    let nic = block.nic;
    let form = nic.options.fast_path;
    let grouped = form != FastPath::Off;
    let in_order = scratch.overtaken.is_empty();
    scratch.groups.clear();
    let mut group = Group::EMPTY;
    let mut waited = false;
    // Handlers below it take their candidates.
    let mut from = handlers.start;
    let mut handler = if grouped { 0 } else { from };
    while handler < handlers.end {
        let candidate = scratch.receives[handler];
        // Skip a run of lower-slice handlers with the candidate of their lowest one, usually all.
        if handler < handlers.start && group.is_led_by(candidate) {
            let lower = &scratch.receives[handler..handlers.start];
            let alike = lower
                .iter()
                .take_while(|&&other| other == candidate)
                .count();
            group.add_alike(alike as u64);
            handler += alike;
            continue;
        }
        if !in_order && scratch.overtaken.contains(handler) {
            taking.take(scratch, from..handler, Path::Clean);
            taking.take(scratch, handler..handler + 1, Path::Overtaking);
            (from, handler) = (handler + 1, handler + 1);
            continue;
        }
        let alike = group.is_led_by(candidate);
        let claim = if grouped && !alike {
            // `comm` is the communicator of this slice's handlers.
            let comm = comm.filter(|_| handler >= handlers.start);
            let claim = block.claim(handler, comm, candidate);
            scratch.groups.enter(&mut group, &claim);
            Some(claim)
        } else {
            None
        };
        if handler < handlers.start
            || candidate == ReceiveId::NIL
            || !must_resolve(conflict, handler, candidate, nic.bookings())
        {
            if alike {
                group.add_alike(1);
            } else if let Some(claim) = claim {
                group.add(&claim);
            }
            handler += 1;
            continue;
        }
        taking.take(scratch, from..handler, Path::Clean);
        let row = choose_row(block, handler..handlers.end, conflict, &mut group, scratch);
        taking.take(scratch, handler..row.next, Path::Fast);
        (from, handler) = (row.next, row.next);
        if let Some(refusal) = row.refusal {
            count_refusals(nic, handler, refusal, 1);
            let end = slow_row(block, handler..handlers.end, conflict, scratch);
            taking.take_slowly(scratch, handler..end, waited);
            waited = true;
            (from, handler) = (end, end);
        }
    }
    taking.take(scratch, from..handler, Path::Clean);
}

/// End of a run on the slow path. Without a fast path the run has all consecutive handlers that
/// must resolve; otherwise only the first.
#[inline(always)]
fn slow_row<C: Crew>(
    block: BlockRun<'_, C>,
    handlers: Range<usize>,
    conflict: usize,
    scratch: &Scratch,
) -> usize {
    let Range { start, end } = handlers;
    if block.nic.options.fast_path != FastPath::Off || !scratch.overtaken.is_empty() {
        return start + 1;
    }
    let bookings = block.nic.bookings();
    let goes = |handler: usize| {
        let candidate = scratch.receives[handler];
        candidate != ReceiveId::NIL && must_resolve(conflict, handler, candidate, bookings)
    };
    (start + 1..end)
        .find(|&handler| !goes(handler))
        .unwrap_or(end)
}

pub(super) fn count_refusals(nic: &Shared, handler: usize, refusal: Refusal, count: u64) {
    if nic.options.fast_path == FastPath::Off {
        return;
    }
    let counters = &nic.handler_counters[handler];
    match refusal {
        Refusal::Mixed => &counters.refused_mixed,
        Refusal::SequenceEnded => &counters.refused_sequence,
        Refusal::Exhausted => &counters.refused_exhausted,
    }
    .add(count);
}
