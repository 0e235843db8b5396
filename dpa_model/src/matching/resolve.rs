//! Phase 4: every handler of the slice gets its receive: clean, on the fast path, or on the slow
//! path (S5, S6, O14 to O18, S13).

use super::BlockRun;
use super::crew::Crew;
use super::detect::must_resolve;
use super::fast_path::{Group, Refusal, take_row};
use super::scratch::Scratch;
use super::search::find;
use super::take::Taking;
use crate::descriptor::{NIL, state};
use crate::nic::Shared;
use crate::sync::Relaxed;
use crate::{FastPath, Path};

/// Resolves in handler order. Handlers that go the same path are taken in runs: what they take does
/// not depend on what lower ones have done meanwhile (O16). `comm`: the communicator of all, if it is
/// one. Returns how many have a receive.
#[inline(never)]
pub(super) fn resolve<C: Crew>(
    block: BlockRun<'_, C>,
    conflict: usize,
    comm: Option<u32>,
    scratch: &mut Scratch,
) -> usize {
    let handlers = block.crew.handlers();
    let taking = Taking::new(block);
    if conflict >= handlers.end && scratch.overtaken.is_empty() {
        return taking.take(scratch, handlers, Path::Clean);
    }
    let nic = block.nic;
    let grouped = nic.options.fast_path != FastPath::Off;
    let in_order = scratch.overtaken.is_empty();
    scratch.groups.clear();
    let mut group = Group::EMPTY;
    let (mut matched, mut waited) = (0, false);
    // Below it everybody is taken.
    let mut from = handlers.start;
    let mut handler = if grouped { 0 } else { from };
    while handler < handlers.end {
        let candidate = scratch.receives[handler];
        if !in_order && scratch.overtaken.contains(handler) {
            matched += taking.take(scratch, from..handler, Path::Clean);
            matched += taking.take(scratch, handler..handler + 1, Path::Overtaking);
            (from, handler) = (handler + 1, handler + 1);
            continue;
        }
        let claim = if grouped {
            let claim = block.crew.claim(handler, comm, candidate, scratch);
            scratch.groups.enter(&mut group, &claim);
            Some(claim)
        } else {
            None
        };
        if handler < handlers.start
            || candidate == NIL
            || !must_resolve(conflict, handler, candidate, nic.bookings())
        {
            if let Some(claim) = claim {
                group.add(&claim);
            }
            handler += 1;
            continue;
        }
        matched += taking.take(scratch, from..handler, Path::Clean);
        let row = take_row(block, handler..handlers.end, conflict, &mut group, scratch);
        matched += taking.take(scratch, handler..row.next, Path::Fast);
        (from, handler) = (row.next, row.next);
        if let Some(refusal) = row.refusal {
            count_refusal(nic, handler, refusal);
            step!(SlowWaits { handler });
            // All lower handlers, not only the one before (S13); those of this slice are done.
            if !waited && !fault!(SlowNoWait) {
                block.crew.wait_for_lower();
                waited = true;
            }
            step!(SlowWaited);
            scratch.receives[handler] = slow(block, handler, scratch.receives[handler]);
            matched += taking.take_one(scratch, handler, Path::Slow);
            (from, handler) = (handler + 1, handler + 1);
        }
    }
    matched + taking.take(scratch, from..handlers.end, Path::Clean)
}

/// The slow path, after all lower handlers are done: the own candidate if it is still there, else
/// search again (S13). The early booking check has no place here (S16).
fn slow<C: Crew>(block: BlockRun<'_, C>, handler: usize, candidate: u32) -> u32 {
    let nic = block.nic;
    let counters = &nic.handler_counters[handler];
    step!(StateRead { receive: candidate });
    let receive = if nic.receives[candidate as usize].state.load(Relaxed) == state::POSTED
        || fault!(SlowKeepsOwn)
    {
        counters.forced.add(1);
        candidate
    } else {
        let entry = block.entry(handler);
        let skip_below = if fault!(SlowEarlyCheck) { nic.handlers } else { 0 };
        // SAFETY: inside a block.
        let view = unsafe { *nic.view(entry.envelope.comm.0) };
        find(nic, &entry, view, skip_below, counters)
    };
    step!(SlowFound {
        handler,
        found: (receive != NIL).then_some(receive),
        own: receive == candidate,
    });
    receive
}

fn count_refusal(nic: &Shared, handler: usize, refusal: Refusal) {
    if nic.options.fast_path == FastPath::Off {
        return;
    }
    let counters = &nic.handler_counters[handler];
    match refusal {
        Refusal::Mixed => &counters.refused_mixed,
        Refusal::SequenceEnded => &counters.refused_sequence,
        Refusal::Exhausted => &counters.refused_exhausted,
    }
    .add(1);
}
