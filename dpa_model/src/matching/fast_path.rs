//! The fast path: take the receive one's number further in the sequence, without waiting (O16, O17,
//! S8, S9, S25).

use core::ops::Range;

use super::block_run::BlockRun;
use super::crew::Crew;
use super::detect::must_resolve;
use super::group::{Alike, Group};
use super::scratch::Scratch;
use crate::descriptor::{Descriptor, Posted};
use crate::number::{ReceiveId, unchecked};
use crate::shared::Shared;
use crate::{CommId, FastPath};

/// Why a handler in conflict may not take the fast path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// Not all that the form asks for chose alike.
    Mixed,
    /// The receive further on belongs to another sequence.
    SequenceEnded,
    /// The chain ends before.
    Exhausted,
}

/// How far a row of handlers took the fast path.
pub(super) struct Row {
    /// The first handler that did not.
    pub(super) next: usize,
    /// Why that one may not. `None`: it was not asked, because it has no candidate, is of another
    /// communicator, or need not resolve.
    pub(super) refusal: Option<Refusal>,
}

/// Handlers take the fast path, as far as they come in a row and may. `group` is that of the first;
/// the others are added to it as they are asked.
#[inline(always)]
pub(super) fn choose_row<C: Crew>(
    block: BlockRun<'_, C>,
    handlers: Range<usize>,
    conflict: usize,
    group: &mut Group,
    scratch: &mut Scratch,
) -> Row {
    let nic = block.nic;
    let all_booked = |receive| {
        block.info.count == nic.handlers && nic.bookings().all_below(receive, nic.handlers)
    };
    let row = (block, handlers, conflict, group, scratch);
    match nic.options.fast_path {
        FastPath::Off => Row {
            next: row.1.start,
            refusal: Some(Refusal::Mixed),
        },
        FastPath::Literal => choose_row_if(row, |group, receive| {
            group.alike == Alike::Receive && (fault!(FastLiteralUnbooked) || all_booked(receive))
        }),
        FastPath::Prefix => choose_row_if(row, |group, _| group.alike == Alike::Receive),
        FastPath::Sequence => choose_row_if(row, |group, _| {
            group.alike >= Alike::Sequence || fault!(FastByAny)
        }),
    }
}

/// The receive of a handler in conflict, or why it may not take the fast path. `candidates`: those
/// of its domain up to its own, by rank.
pub(super) fn choose_in_domain<C: Crew>(
    block: BlockRun<'_, C>,
    handler: usize,
    candidates: &[ReceiveId],
) -> Result<ReceiveId, Refusal> {
    let nic = block.nic;
    let form = nic.options.fast_path;
    if form == FastPath::Off {
        return Err(Refusal::Mixed);
    }
    // The communicator is of no use here: equal sequences of one bin have the same.
    let comm = Some(CommId(u32::MAX));
    let first = block.claim(handler, comm, candidates[0]);
    let mut group = Group::led_by(&first);
    for &candidate in &candidates[1..] {
        if !group.is_led_by(candidate) {
            group.narrow(&block.claim(handler, comm, candidate));
            let strange = || {
                nic.bin_of(candidate) != nic.bin_of(first.receive)
                    && !fault!(DomainsOfAllCommunicators)
            };
            if group.alike == Alike::Sequence && strange() {
                group.alike = Alike::Nothing;
            }
        }
        if group.alike == Alike::Nothing && !fault!(FastByAny) {
            return Err(Refusal::Mixed);
        }
    }
    let rank = candidates.len() - 1;
    let own = candidates[rank];
    let may = match form {
        FastPath::Off => false,
        FastPath::Literal => {
            let count = block.info.count;
            let all_booked = || nic.bookings().all_below(own, nic.handlers);
            group.alike == Alike::Receive && count == nic.handlers && all_booked()
        }
        FastPath::Prefix => group.alike == Alike::Receive,
        FastPath::Sequence => true,
    };
    if !may {
        return Err(Refusal::Mixed);
    }
    step!(FastPathTried);
    let shift = if fault!(DomainRankInBlock) {
        handler
    } else {
        rank
    };
    let mut cursor = group.cursor;
    group.walk(&nic.receives, shift as u64, &mut cursor)
}

/// The receive `shift` places behind `first` in its run, and behind or at the handler's own
/// candidate, or why there is none.
pub(super) fn choose_in_run(
    nic: &Shared,
    first: ReceiveId,
    shift: usize,
    own: ReceiveId,
) -> Result<ReceiveId, Refusal> {
    step!(FastPathTried);
    // What a handler finds, all lower handlers of its domain find, too: they take nothing before.
    debug_assert!(
        first != ReceiveId::NIL,
        "a lower handler of the domain has no candidate"
    );
    step!(ClaimRead {
        message: None,
        receive: first.found()
    });
    // SAFETY: inside a block (D1).
    let Posted { run, bin, .. } = *unsafe { nic.receives[first].posted.peek() };
    let wanted = run.plus(shift as u64 + u64::from(fault!(FastOffByOne)));
    let by_hops = fault!(DomainRunByHops);
    let (mut current, mut hops) = (if by_hops { first } else { own }, shift);
    let mut row_ends = true;
    // Places, not hops: consumed receives may have left the chain meanwhile. B2 keeps the walk
    // whole.
    while current != ReceiveId::NIL {
        step!(Visited { receive: current.0 });
        // SAFETY: a search found it, or it follows in a chain.
        let descriptor = unsafe { unchecked(&nic.receives, current) };
        // SAFETY: inside a block (D1).
        let place = unsafe { descriptor.posted.peek() }.run;
        if if by_hops { hops == 0 } else { place >= wanted } {
            let is_of_run = by_hops || place.is_of_run_of(wanted);
            debug_assert!(
                !is_of_run || by_hops || place == wanted,
                "a place is missing"
            );
            return if is_of_run {
                Ok(current)
            } else {
                Err(Refusal::SequenceEnded)
            };
        }
        // Receives that were posted in a row often lie in a row.
        if row_ends && !by_hops {
            let ahead = ReceiveId(current.0.wrapping_add(wanted.behind(place)));
            if let Some(guess) = nic.receives.get(ahead.index()) {
                step!(Visited { receive: ahead.0 });
                // SAFETY: inside a block (D1).
                let posted = unsafe { guess.posted.peek() };
                if posted.run == wanted && posted.bin == bin && guess.is_posted() {
                    return Ok(ahead);
                }
            }
        }
        hops = hops.wrapping_sub(1);
        let next = descriptor.next.get();
        row_ends = next.0 != current.0.wrapping_add(1);
        current = next;
    }
    Err(Refusal::Exhausted)
}

type RowOf<'b, 's, C> = (
    BlockRun<'b, C>,
    Range<usize>,
    usize,
    &'s mut Group,
    &'s mut Scratch,
);

/// `allowed` says whether a handler with this candidate, the last one added to the group, may.
#[inline(always)]
fn choose_row_if<C: Crew>(
    (block, handlers, conflict, group, scratch): RowOf<'_, '_, C>,
    allowed: impl Fn(&Group, ReceiveId) -> bool,
) -> Row {
    let tables = block.nic.bookings();
    let Range { start, end } = handlers;
    // In a local variable: a compiler must otherwise write it back for each handler.
    let mut own = *group;
    // The commonest candidate in a row; no receive has that number if the lowest handler has none.
    let nobodys = ReceiveId(ReceiveId::NIL.0 - 1);
    let common = if own.receive == ReceiveId::NIL {
        nobodys
    } else {
        own.receive
    };
    let mut row = Row {
        next: end,
        refusal: None,
    };
    let mut handler = start;
    while handler < end {
        let candidate = scratch.receives[handler];
        let mut alike_end = end;
        if candidate != common {
            let claim = block.claim(handler, None, candidate);
            let other = claim.comm != own.comm && !fault!(FastCountsAllCommunicators);
            if candidate == ReceiveId::NIL
                || other
                || !must_resolve(conflict, handler, candidate, tables)
            {
                row.next = handler;
                break;
            }
            own.narrow(&claim);
            alike_end = handler + 1;
        }
        let may = allowed(&own, candidate);
        let places = &mut scratch.receives[handler..alike_end];
        let (taken, refusal) = own.take_alike(tables.receives, places, candidate, may);
        handler += taken;
        if refusal.is_some() {
            row = Row {
                next: handler,
                refusal,
            };
            break;
        }
    }
    *group = own;
    row
}

impl Group {
    /// Handlers in a row with this candidate take the fast path, if they `may`: who chose alike
    /// changes nothing that the forms ask for. Returns how many did, and why the next one may not.
    /// A function of its own, short enough for its values to stay in registers.
    #[cfg_attr(not(target_arch = "riscv64"), inline(never))]
    fn take_alike(
        &mut self,
        receives: &[Descriptor],
        places: &mut [ReceiveId],
        candidate: ReceiveId,
        may: bool,
    ) -> (usize, Option<Refusal>) {
        let own = *self;
        let mut cursor = own.cursor;
        let mut taken = 0;
        let mut refusal = None;
        while let Some(place) = places.get_mut(taken)
            && *place == candidate
        {
            step!(FastPathTried);
            let shift = own.count + taken as u64;
            match if may {
                own.walk(receives, shift, &mut cursor)
            } else {
                Err(Refusal::Mixed)
            } {
                Ok(receive) => *place = receive,
                Err(why) => {
                    refusal = Some(why);
                    break;
                }
            }
            taken += 1;
        }
        // A refused handler is one of the group, too.
        self.count += taken as u64 + u64::from(refusal.is_some());
        self.cursor = cursor;
        (taken, refusal)
    }

    /// The receive that a handler takes: as many labels further as there are lower handlers, which
    /// is the `shift`. `cursor`: behind the receive that the last fast path took.
    #[inline(always)]
    fn walk(
        &self,
        receives: &[Descriptor],
        shift: u64,
        cursor: &mut ReceiveId,
    ) -> Result<ReceiveId, Refusal> {
        let wanted = self.sequence.plus(shift + u64::from(fault!(FastOffByOne)));
        let by_hops = fault!(FastByHops);
        let mut current = if by_hops { self.receive } else { *cursor };
        let mut hops = shift;
        // Labels, not hops: consumed receives may have left the chain meanwhile (S9). B2 keeps the
        // walk whole.
        while current != ReceiveId::NIL {
            step!(Visited { receive: current.0 });
            // SAFETY: a search found it, or it follows in a chain.
            let descriptor = unsafe { unchecked(receives, current) };
            // SAFETY: inside a block (D1).
            let posted = unsafe { descriptor.posted.peek() };
            let ignored = fault!(FastIgnoresSequence);
            let next = descriptor.next.get();
            let at_place = match by_hops {
                true => hops == 0,
                false => posted.run == wanted.run || ignored && posted.label == wanted.label,
            };
            if at_place {
                // Behind a gap in the labels begins another sequence of the run.
                if posted.label != wanted.label && !by_hops {
                    return Err(Refusal::SequenceEnded);
                }
                *cursor = next;
                return Ok(current);
            }
            if posted.run > wanted.run && !(by_hops || ignored) {
                return Err(Refusal::SequenceEnded);
            }
            hops = hops.wrapping_sub(1);
            current = next;
        }
        Err(Refusal::Exhausted)
    }
}
