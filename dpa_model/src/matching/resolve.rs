//! Phase 4: every handler of the slice gets its receive, clean, on the fast path or on the slow
//! path (S5, S6, O14 to O18, S13).

use core::ops::Range;

use super::block_run::BlockRun;
use super::crew::{Crew, Part};
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
/// only one. Returns the number of handlers with a receive.
#[inline(always)]
pub(super) fn resolve<C: Crew>(
    block: BlockRun<'_, C>,
    conflict: usize,
    comm: Option<CommId>,
    scratch: &mut Scratch,
) -> usize {
    // Probably a row of equal messages.
    if C::PART == Part::Block && conflict == 1 && block.nic.options.fast_path != FastPath::Off {
        return resolve_in_groups(block, conflict, comm, scratch);
    }
    resolve_apart(block, conflict, comm, scratch)
}

#[cfg_attr(not(target_arch = "riscv64"), inline(never))]
fn resolve_apart<C: Crew>(
    block: BlockRun<'_, C>,
    conflict: usize,
    comm: Option<CommId>,
    scratch: &mut Scratch,
) -> usize {
    resolve_each(block, conflict, comm, scratch)
}

/// [`resolve`], inlined into its caller.
#[inline(always)]
pub(super) fn resolve_each<C: Crew>(
    block: BlockRun<'_, C>,
    conflict: usize,
    comm: Option<CommId>,
    scratch: &mut Scratch,
) -> usize {
    let handlers = block.crew.handlers();
    let taking = Taking::new(block);
    if scratch.kinds == 0 {
        taking.leave(handlers);
        return 0;
    }
    if conflict >= handlers.end && scratch.overtaken.is_empty() {
        return taking.take(scratch, handlers, Path::Clean);
    }
    // A lone worker of one communicator asks no handler again once none can take the fast path,
    // which the first two usually tell.
    let asks_once = C::PART == Part::Block && scratch.overtaken.is_empty();
    if let Some(comm) = comm.filter(|_| asks_once && !fault!(ForcingIgnored)) {
        let mut group = Group::led_by(&block.claim(0, Some(comm), scratch.receives[0]));
        group.add_alike(1);
        if !group.is_refused(block.nic.options.fast_path) {
            group.add(&block.claim(1, Some(comm), scratch.receives[1]));
        }
        if group.is_refused(block.nic.options.fast_path) {
            return rest(
                taking,
                scratch,
                [handlers.start; 2],
                conflict,
                Some(comm),
                false,
            );
        }
    }
    resolve_in_groups(block, conflict, comm, scratch)
}

/// [`resolve`] where handlers may take the fast path.
#[cfg_attr(not(target_arch = "riscv64"), inline(never))]
fn resolve_in_groups<C: Crew>(
    block: BlockRun<'_, C>,
    conflict: usize,
    comm: Option<CommId>,
    scratch: &mut Scratch,
) -> usize {
    let handlers = block.crew.handlers();
    let taking = Taking::new(block);
    let nic = block.nic;
    let form = nic.options.fast_path;
    let grouped = form != FastPath::Off;
    let in_order = scratch.overtaken.is_empty();
    let asks_once = C::PART == Part::Block && in_order && comm.is_some();
    let asks_once = asks_once && !fault!(ForcingIgnored);
    scratch.groups.clear();
    let mut group = Group::EMPTY;
    let (mut matched, mut waited) = (0, false);
    // Handlers below it take their candidates.
    let mut from = handlers.start;
    let mut handler = if grouped { 0 } else { from };
    while handler < handlers.end && !(asks_once && group.is_refused(form)) {
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
            matched += taking.take(scratch, from..handler, Path::Clean);
            matched += taking.take(scratch, handler..handler + 1, Path::Overtaking);
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
        matched += taking.take(scratch, from..handler, Path::Clean);
        let row = choose_row(block, handler..handlers.end, conflict, &mut group, scratch);
        matched += taking.take(scratch, handler..row.next, Path::Fast);
        (from, handler) = (row.next, row.next);
        if let Some(refusal) = row.refusal {
            count_refusals(nic, handler, refusal, 1);
            let end = slow_row(block, handler..handlers.end, conflict, scratch);
            matched += taking.take_slowly(scratch, handler..end, None, waited);
            waited = true;
            (from, handler) = (end, end);
        }
    }
    matched + rest(taking, scratch, [from, handler], conflict, comm, waited)
}

/// The handlers from `from` on: those before `handler` and before the conflict take their
/// candidates, and the others go the slow path.
#[inline(always)]
fn rest<C: Crew>(
    taking: Taking<'_, C>,
    scratch: &mut Scratch,
    [from, handler]: [usize; 2],
    conflict: usize,
    comm: Option<CommId>,
    waited: bool,
) -> usize {
    let end = taking.block.crew.handlers().end;
    let slow = conflict.clamp(handler, end);
    let mut matched = taking.take(scratch, from..slow, Path::Clean);
    if slow < end {
        let candidates = || scratch.receives[slow..end].iter();
        let refused = match scratch.idle {
            0 => end - slow,
            _ => candidates()
                .filter(|&&candidate| candidate != ReceiveId::NIL)
                .count(),
        };
        count_refusals(taking.block.nic, slow, Refusal::Mixed, refused as u64);
        matched += taking.take_slowly(scratch, slow..end, comm, waited);
    }
    matched
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
