//! Phase 4: every handler of the slice gets its receive: clean, on the fast path, or on the slow
//! path (S5, S6, O14 to O18, S13).

use core::ops::Range;

use super::BlockRun;
use super::crew::Crew;
use super::detect::must_resolve;
use super::fast_path::{Group, Refusal, take_row};
use super::scratch::Scratch;
use super::search::key;
use super::take::Taking;
use crate::descriptor::state;
use crate::index::{CommView, Indexes};
use crate::nic::Shared;
use crate::number::ReceiveId;
use crate::sync::Relaxed;
use crate::{CommId, FastPath, HandlerCounters, InlineHashes, Path};

/// Resolves in handler order. Handlers that go the same path are taken in runs: what they take does
/// not depend on what lower ones have done meanwhile (O16). `comm`: the communicator of all, if it
/// is one. Returns how many have a receive.
#[cfg_attr(not(target_arch = "riscv64"), inline(never))]
pub(super) fn resolve<C: Crew>(
    block: BlockRun<'_, C>,
    conflict: usize,
    comm: Option<CommId>,
    scratch: &mut Scratch,
) -> usize {
    resolve_each(block, conflict, comm, scratch)
}

/// The same, as part of its caller.
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
        // Lower slices' handlers in a row that chose as their lowest did: most often all of them.
        if handler < handlers.start && group.is_led_by(candidate) {
            let lower = &scratch.receives[handler..handlers.start];
            let alike = lower.iter().take_while(|&&other| other == candidate).count();
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
            // `comm` is that of this slice's handlers.
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
        let row = take_row(block, handler..handlers.end, conflict, &mut group, scratch);
        matched += taking.take(scratch, handler..row.next, Path::Fast);
        (from, handler) = (row.next, row.next);
        if let Some(refusal) = row.refusal {
            count_refusal(nic, handler, refusal);
            let end = slow_row(block, handler..handlers.end, conflict, scratch);
            matched += taking.take_slowly(scratch, handler..end, &mut SlowPath::new(block, waited));
            waited = true;
            (from, handler) = (end, end);
        }
    }
    matched + taking.take(scratch, from..handlers.end, Path::Clean)
}

/// How far a row of handlers goes the slow path, the first of which does: without a fast path all
/// that come in a row and must resolve, else the first alone.
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
    (start + 1..end).find(|&handler| !goes(handler)).unwrap_or(end)
}

/// The slow path of handlers in a row (S13).
pub(super) struct SlowPath<'a, C> {
    block: BlockRun<'a, C>,
    /// Failed polls of the wait for all handlers of lower slices; `None` before it.
    polls: Option<u64>,
    /// The communicator whose indexes these are.
    comm: CommId,
    indexes: Indexes<'a>,
}

impl<'a, C: Crew> SlowPath<'a, C> {
    #[inline(always)]
    fn new(block: BlockRun<'a, C>, waited: bool) -> Self {
        let indexes = block.nic.indexes(CommView::NONE);
        Self { block, polls: waited.then_some(0), comm: CommId(u32::MAX), indexes }
    }

    /// The indexes, where the next handlers may look for the oldest receive of a chain: the one
    /// before has looked there, and receives have no wildcards.
    #[inline(always)]
    pub(super) fn usual(&self) -> Option<Indexes<'a>> {
        let trusted = self.block.nic.options.inline_hashes == InlineHashes::Trust;
        // The general loop has these faults.
        if fault!(SlowKeepsOwn) {
            return None;
        }
        if fault!(SlowEarlyCheck) {
            return None;
        }
        (trusted && self.indexes.view.is_exact()).then_some(self.indexes)
    }

    /// Their communicator.
    pub(super) fn comm(&self) -> CommId {
        self.comm
    }

    /// Failed polls of the wait for lower slices.
    pub(super) fn polls(&self) -> u64 {
        self.polls.unwrap_or(0)
    }

    /// Which receive a handler gets, after all lower handlers are done: its own candidate if that
    /// is still there, else it searches again. The early booking check has no place here (S16).
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        handler: usize,
        candidate: ReceiveId,
        counters: &HandlerCounters,
    ) -> ReceiveId {
        let nic = self.block.nic;
        step!(SlowWaits { handler });
        // Before the wait, because behind it higher handlers wait for this one: whatever does not
        // depend on lower ones.
        let entry = self.block.entry(handler);
        let comm = entry.envelope.comm;
        if comm != self.comm {
            // SAFETY: inside a block.
            let view = unsafe { *nic.view(comm) };
            (self.comm, self.indexes) = (comm, nic.indexes(view));
        }
        let key = key(&entry, nic.options.inline_hashes, counters);
        // All lower handlers, not only the one before (S13); those of this slice are done.
        if self.polls.is_none() && !fault!(SlowNoWait) {
            self.polls = Some(self.block.crew.wait_for_lower());
        }
        step!(SlowWaited);
        step!(StateRead { receive: candidate.0 });
        let receive = if nic.receives[candidate].state.load(Relaxed) == state::POSTED
            || fault!(SlowKeepsOwn)
        {
            counters.forced.add(1);
            candidate
        } else {
            let skip_below = if fault!(SlowEarlyCheck) { nic.handlers } else { 0 };
            let found = if self.indexes.view.is_exact() {
                self.indexes.search_class::<0>(&key, skip_below, counters)
            } else {
                self.indexes.search(&key, skip_below, counters)
            };
            found.map_or(ReceiveId::NIL, |found| found.receive)
        };
        step!(SlowFound { handler, found: receive.found(), own: receive == candidate });
        receive
    }
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
