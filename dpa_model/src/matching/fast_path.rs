//! The fast path: take the receive one's number further in the sequence, without waiting (O16, O17,
//! S8, S9, S25).

use alloc::boxed::Box;
use core::ops::Range;

use super::BlockRun;
use super::crew::Crew;
use super::detect::must_resolve;
use super::scratch::Scratch;
use crate::block::Claim;
use crate::descriptor::{Descriptor, known};
use crate::number::{Label, ReceiveId, Sequence};
use crate::{CommId, FastPath};

/// The handlers of one communicator in a block, seen from the lowest up (S25: the shift counts only
/// these).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    comm: CommId,
    /// Handlers so far.
    count: u64,
    /// Label, sequence and receive of the lowest handler's candidate.
    label: Label,
    sequence: Sequence,
    receive: ReceiveId,
    /// What all candidates so far have in common with it.
    alike: Alike,
    /// Behind the receive that the last fast path took: the next walk goes on from there.
    cursor: ReceiveId,
}

/// What the candidates of a group have in common: what comes later has what comes before, too. In a
/// word, because handlers copy groups, and a card stores no single bytes well.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u32)]
enum Alike {
    /// Nothing that counts.
    Nothing,
    /// The sequence (form c).
    Sequence,
    /// The receive (form b).
    Receive,
}

impl Group {
    pub(crate) const EMPTY: Self = Self {
        comm: CommId(u32::MAX),
        count: 0,
        label: Label(0),
        sequence: Sequence(Label(0)),
        receive: ReceiveId::NIL,
        alike: Alike::Nothing,
        cursor: ReceiveId::NIL,
    };

    /// A group without handlers yet, of which `claim` will be the lowest.
    #[inline(always)]
    fn led_by(claim: &Claim) -> Self {
        let has_candidate = claim.receive != ReceiveId::NIL;
        Self {
            comm: claim.comm,
            count: 0,
            label: claim.label,
            sequence: claim.sequence,
            receive: claim.receive,
            alike: if has_candidate { Alike::Receive } else { Alike::Nothing },
            cursor: claim.receive,
        }
    }

    /// Whether that is the candidate of the lowest handler, so of this communicator and sequence.
    #[inline(always)]
    pub(crate) fn is_led_by(&self, candidate: ReceiveId) -> bool {
        candidate == self.receive && candidate != ReceiveId::NIL
    }

    /// Adds so many handlers with that candidate.
    #[inline(always)]
    pub(crate) fn add_alike(&mut self, handlers: u64) {
        self.count += handlers;
    }

    /// Adds the next handler of this communicator.
    #[inline(always)]
    pub(crate) fn add(&mut self, claim: &Claim) {
        self.count += 1;
        let this = if claim.receive == ReceiveId::NIL || claim.sequence != self.sequence {
            Alike::Nothing
        } else if claim.receive != self.receive {
            Alike::Sequence
        } else {
            Alike::Receive
        };
        self.alike = self.alike.min(this);
    }
}

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

/// The groups of a block; at most one per handler. The one that was used last is kept apart: most
/// blocks have one communicator.
#[derive(Debug)]
pub(crate) struct Groups {
    others: Box<[Group]>,
    used: usize,
}

impl Groups {
    pub(crate) fn new(handlers: usize) -> Self {
        Self { others: (0..handlers).map(|_| Group::EMPTY).collect(), used: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }

    /// Makes `last`, the group of the handler before and [`Group::EMPTY`] at first, the group of
    /// the next one, whose claim this is.
    #[inline(always)]
    pub(crate) fn enter(&mut self, last: &mut Group, claim: &Claim) {
        if claim.comm != last.comm && !(fault!(FastCountsAllCommunicators) && last.count > 0) {
            self.change(last, claim);
        }
    }

    #[inline(never)]
    fn change(&mut self, last: &mut Group, claim: &Claim) {
        let place = |groups: &[Group], comm| groups.iter().position(|group| group.comm == comm);
        if last.count > 0 {
            let at = place(&self.others[..self.used], last.comm).unwrap_or(self.used);
            self.used = self.used.max(at + 1);
            self.others[at] = *last;
        }
        *last = match place(&self.others[..self.used], claim.comm) {
            Some(at) => self.others[at],
            None => Group::led_by(claim),
        };
    }
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
pub(super) fn take_row<C: Crew>(
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
        FastPath::Off => Row { next: row.1.start, refusal: Some(Refusal::Mixed) },
        FastPath::Literal => take_row_if(row, |group, receive| {
            group.alike == Alike::Receive && (fault!(FastLiteralUnbooked) || all_booked(receive))
        }),
        FastPath::Prefix => take_row_if(row, |group, _| group.alike == Alike::Receive),
        FastPath::Sequence => {
            take_row_if(row, |group, _| group.alike >= Alike::Sequence || fault!(FastByAny))
        }
    }
}

type RowOf<'b, 's, C> = (BlockRun<'b, C>, Range<usize>, usize, &'s mut Group, &'s mut Scratch);

/// `allowed` says whether a handler with this candidate, the last one added to the group, may.
#[inline(always)]
fn take_row_if<C: Crew>(
    (block, handlers, conflict, group, scratch): RowOf<'_, '_, C>,
    allowed: impl Fn(&Group, ReceiveId) -> bool,
) -> Row {
    let tables = block.nic.bookings();
    let Range { start, end } = handlers;
    // In a local variable: a compiler must otherwise write it back for each handler.
    let mut own = *group;
    // The commonest candidate in a row; no receive has that number if the lowest handler has none.
    let nobodys = ReceiveId(ReceiveId::NIL.0 - 1);
    let common = if own.receive == ReceiveId::NIL { nobodys } else { own.receive };
    let mut row = Row { next: end, refusal: None };
    let mut handler = start;
    while handler < end {
        let candidate = scratch.receives[handler];
        if candidate == common {
            let may = allowed(&own, candidate);
            let alike = &mut scratch.receives[handler..end];
            let (taken, refusal) = own.take_alike(tables.receives, alike, common, may, C::IN_ROWS);
            handler += taken;
            if refusal.is_some() {
                row = Row { next: handler, refusal };
                break;
            }
            continue;
        }
        let claim = block.claim(handler, None, candidate);
        let other = claim.comm != own.comm && !fault!(FastCountsAllCommunicators);
        if candidate == ReceiveId::NIL
            || other
            || !must_resolve(conflict, handler, candidate, tables)
        {
            row.next = handler;
            break;
        }
        own.add(&claim);
        step!(FastPathTried);
        let taken =
            if allowed(&own, candidate) { own.walk(tables.receives) } else { Err(Refusal::Mixed) };
        match taken {
            Ok(receive) => scratch.receives[handler] = receive,
            Err(refusal) => {
                row = Row { next: handler, refusal: Some(refusal) };
                break;
            }
        }
        handler += 1;
    }
    *group = own;
    row
}

impl Group {
    /// Handlers in a row with the candidate of the lowest one take the fast path, if they `may`:
    /// who chose alike changes nothing that the forms ask for. Returns how many did, and why the
    /// next one may not.
    #[inline(always)]
    fn take_alike(
        &mut self,
        receives: &[Descriptor],
        places: &mut [ReceiveId],
        common: ReceiveId,
        may: bool,
        in_rows: bool,
    ) -> (usize, Option<Refusal>) {
        // In a local variable, as above.
        let mut own = *self;
        let mut taken = 0;
        let mut refusal = None;
        while let Some(place) = places.get_mut(taken)
            && *place == common
        {
            own.count += 1;
            step!(FastPathTried);
            match if may { own.walk(receives) } else { Err(Refusal::Mixed) } {
                Ok(receive) => *place = receive,
                Err(why) => {
                    refusal = Some(why);
                    break;
                }
            }
            taken += 1;
            if in_rows && !fault!(FastByHops) {
                taken += own.follow(receives, &mut places[taken..], common);
            }
        }
        *self = own;
        (taken, refusal)
    }

    /// The same, as long as it is each time the next receive of the chain. A function of its own,
    /// short enough for its values to stay in registers.
    #[inline(never)]
    fn follow(
        &mut self,
        receives: &[Descriptor],
        places: &mut [ReceiveId],
        common: ReceiveId,
    ) -> usize {
        let sequence = self.sequence;
        let mut wanted = self.label.plus(self.count + u64::from(fault!(FastOffByOne)));
        let mut current = self.cursor;
        let mut taken = 0;
        for place in places {
            if *place != common || current == ReceiveId::NIL {
                break;
            }
            // SAFETY: it follows in a chain.
            let descriptor = unsafe { known(receives, current) };
            // SAFETY: inside a block (D1).
            let posted = unsafe { descriptor.posted.peek() };
            if posted.label != wanted || posted.sequence() != sequence {
                break;
            }
            step!(FastPathTried);
            step!(Visited { receive: current.0 });
            *place = current;
            current = descriptor.next.get();
            wanted = wanted.plus(1);
            taken += 1;
        }
        self.count += taken as u64;
        self.cursor = current;
        taken
    }

    /// The receive that the handler added last takes: as many labels further as there are lower
    /// handlers.
    #[inline(always)]
    fn walk(&mut self, receives: &[Descriptor]) -> Result<ReceiveId, Refusal> {
        #[cfg(any(dpamatch_loom, dpamatch_shuttle))]
        if fault!(FastByHops) {
            return self.hops(receives);
        }
        let wanted = self.label.plus(self.count - 1 + u64::from(fault!(FastOffByOne)));
        let mut current = self.cursor;
        // Labels, not hops: consumed receives may have left the chain meanwhile (S9). B2 keeps the
        // walk whole.
        while current != ReceiveId::NIL {
            step!(Visited { receive: current.0 });
            // SAFETY: a search found it, or it follows in a chain.
            let descriptor = unsafe { known(receives, current) };
            // SAFETY: inside a block (D1).
            let posted = unsafe { descriptor.posted.peek() };
            let left = posted.sequence() != self.sequence && !fault!(FastIgnoresSequence);
            if left || posted.label > wanted {
                return Err(Refusal::SequenceEnded);
            }
            let next = descriptor.next.get();
            if posted.label == wanted {
                self.cursor = next;
                return Ok(current);
            }
            current = next;
        }
        Err(Refusal::Exhausted)
    }

    /// The fault [`FastByHops`](crate::fault): as many steps along the chain as the shift says.
    #[cfg(any(dpamatch_loom, dpamatch_shuttle))]
    fn hops(&self, receives: &[Descriptor]) -> Result<ReceiveId, Refusal> {
        let mut current = self.receive;
        for _ in 1..self.count {
            current = receives[current].next.get();
            if current == ReceiveId::NIL {
                return Err(Refusal::Exhausted);
            }
        }
        Ok(current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By its length the last handler of a group knows which receive is its own.
    #[test]
    fn a_group_counts_all_its_handlers() {
        let claim = Claim { receive: ReceiveId(5), ..Claim::none(CommId(1)) };
        let mut group = Group::led_by(&claim);
        assert!(group.is_led_by(ReceiveId(5)) && !group.is_led_by(ReceiveId(6)));
        group.add(&claim);
        group.add_alike(3);
        assert_eq!((group.count, group.alike), (4, Alike::Receive));
        group.add(&Claim { receive: ReceiveId(6), ..claim });
        assert_eq!((group.count, group.alike), (5, Alike::Sequence));
        group.add(&Claim::none(CommId(1)));
        assert_eq!((group.count, group.alike), (6, Alike::Nothing));
    }
}
