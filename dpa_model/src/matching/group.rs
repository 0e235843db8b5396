//! The handlers of a block by communicator, as the fast path counts them (S25).

use alloc::boxed::Box;

use crate::CommId;
use crate::block::Claim;
use crate::number::{Label, ReceiveId, Sequence};

/// The handlers of one communicator in a block, seen from the lowest up (S25: the shift counts only
/// these).
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) comm: CommId,
    /// Handlers so far.
    pub(super) count: u64,
    /// Label, sequence and receive of the lowest handler's candidate.
    pub(super) label: Label,
    pub(super) sequence: Sequence,
    pub(super) receive: ReceiveId,
    /// What all candidates so far have in common with it.
    pub(super) alike: Alike,
    /// Behind the receive that the last fast path took: the next walk goes on from there.
    pub(super) cursor: ReceiveId,
}

/// What the candidates of a group have in common: what comes later has what comes before, too. In a
/// word, because handlers copy groups, and a card stores no single bytes well.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u32)]
pub(super) enum Alike {
    /// Nothing that counts.
    Nothing,
    /// The sequence (form c).
    Sequence,
    /// The receive (form b).
    Receive,
}

impl Group {
    pub(super) const EMPTY: Self = Self {
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
    pub(super) fn is_led_by(&self, candidate: ReceiveId) -> bool {
        candidate == self.receive && candidate != ReceiveId::NIL
    }

    /// Adds so many handlers with that candidate.
    #[inline(always)]
    pub(super) fn add_alike(&mut self, handlers: u64) {
        self.count += handlers;
    }

    /// Adds the next handler of this communicator.
    #[inline(always)]
    pub(super) fn add(&mut self, claim: &Claim) {
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

/// The groups of a block; at most one per handler. The one that was used last is kept apart: most
/// blocks have one communicator.
#[derive(Debug)]
pub(super) struct Groups {
    others: Box<[Group]>,
    used: usize,
}

impl Groups {
    pub(super) fn new(handlers: usize) -> Self {
        Self { others: (0..handlers).map(|_| Group::EMPTY).collect(), used: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    /// Makes `last`, the group of the handler before and [`Group::EMPTY`] at first, the group of
    /// the next one, whose claim this is.
    #[inline(always)]
    pub(super) fn enter(&mut self, last: &mut Group, claim: &Claim) {
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
