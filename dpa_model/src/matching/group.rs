//! The handlers of a block by communicator, as the fast path counts them (S25).

use alloc::boxed::Box;

use crate::CommId;
use crate::block::Claim;
use crate::number::{Label, ReceiveId, RunPlace, Sequence};

/// The handlers of one communicator in a block, from the lowest up (S25: the shift counts only
/// these handlers).
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) comm: CommId,
    /// Handlers so far.
    pub(super) count: u64,
    /// Place and receive of the lowest handler's candidate.
    pub(super) sequence: Sequence,
    pub(super) receive: ReceiveId,
    /// How alike all candidates so far are to it.
    pub(super) alike: Alike,
    /// Successor of the receive that the last fast path took, where the next walk goes on.
    pub(super) cursor: ReceiveId,
}

/// How alike a group's candidates are, in rising order. A whole word, because handlers copy groups,
/// and a card stores single bytes slowly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u32)]
pub(super) enum Alike {
    /// Nothing relevant in common.
    Nothing,
    /// One sequence (form c).
    Sequence,
    /// One receive (form b).
    Receive,
}

impl Group {
    pub(super) const EMPTY: Self = Self {
        comm: CommId(u32::MAX),
        count: 0,
        sequence: Sequence {
            run: RunPlace::EMPTY,
            label: Label(0),
        },
        receive: ReceiveId::NIL,
        alike: Alike::Nothing,
        cursor: ReceiveId::NIL,
    };

    /// A group without handlers, whose lowest will be `claim`.
    #[inline(always)]
    pub(super) fn led_by(claim: &Claim) -> Self {
        let has_candidate = claim.receive != ReceiveId::NIL;
        Self {
            comm: claim.comm,
            count: 0,
            sequence: claim.sequence,
            receive: claim.receive,
            alike: if has_candidate {
                Alike::Receive
            } else {
                Alike::Nothing
            },
            cursor: claim.receive,
        }
    }

    /// Whether this is the candidate of the lowest handler, hence of this communicator and
    /// sequence.
    #[inline(always)]
    pub(super) fn is_led_by(&self, candidate: ReceiveId) -> bool {
        candidate == self.receive && candidate != ReceiveId::NIL
    }

    /// Adds `handlers` handlers with the candidate of the lowest one.
    #[inline(always)]
    pub(super) fn add_alike(&mut self, handlers: u64) {
        self.count += handlers;
    }

    /// Adds the next handler of this communicator.
    #[inline(always)]
    pub(super) fn add(&mut self, claim: &Claim) {
        self.count += 1;
        self.narrow(claim);
    }

    /// Keeps what the next handler's candidate has in common with all before it.
    #[inline(always)]
    pub(super) fn narrow(&mut self, claim: &Claim) {
        let this = if claim.receive == ReceiveId::NIL || !claim.sequence.is_that_of(self.sequence) {
            Alike::Nothing
        } else if claim.receive != self.receive {
            Alike::Sequence
        } else {
            Alike::Receive
        };
        self.alike = self.alike.min(this);
    }
}

/// The groups of a block; at most one per handler. The last used group is kept apart: most blocks
/// have one communicator.
#[derive(Debug)]
pub(super) struct Groups {
    others: Box<[Group]>,
    used: usize,
}

impl Groups {
    pub(super) fn new(handlers: usize) -> Self {
        Self {
            others: (0..handlers).map(|_| Group::EMPTY).collect(),
            used: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    /// Replaces `last`, the group of the previous handler (at first [`Group::EMPTY`]), by the group
    /// of the next handler, whose claim is given.
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

    /// The last handler of a group finds its own receive by the group's length.
    #[test]
    fn a_group_counts_all_its_handlers() {
        let claim = Claim {
            receive: ReceiveId(5),
            ..Claim::none(CommId(1))
        };
        let mut group = Group::led_by(&claim);
        assert!(group.is_led_by(ReceiveId(5)) && !group.is_led_by(ReceiveId(6)));
        group.add(&claim);
        group.add_alike(3);
        assert_eq!((group.count, group.alike), (4, Alike::Receive));
        group.add(&Claim {
            receive: ReceiveId(6),
            ..claim
        });
        assert_eq!((group.count, group.alike), (5, Alike::Sequence));
        group.add(&Claim::none(CommId(1)));
        assert_eq!((group.count, group.alike), (6, Alike::Nothing));
    }
}
