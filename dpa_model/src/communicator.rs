//! The NIC's state of a communicator, and the allocation of its bins (O24, S10, S11, S20).

use alloc::boxed::Box;

use crate::config::bins_of_communicator;
use crate::index::CommView;
use crate::message::Target;
use crate::number::{BinId, Label};
use crate::sync::PlainCell;
use crate::unexpected::LINKED_ALWAYS;
use crate::{ClassSet, WildcardClass};

/// Where a communicator's new receives and unmatched messages go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Home {
    /// Not created, or without tables: everything is for the host.
    Absent,
    /// The NIC matches it.
    Nic,
    /// The host matches what does not fit the NIC's own queues (S20).
    Fallback,
}

/// Boundary-only state of a communicator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Communicator {
    pub(crate) home: Home,
    /// Classes that may be used (S24).
    pub(crate) allowed: ClassSet,
    /// Classes in whose chains its unexpected messages are linked.
    pub(crate) linked: ClassSet,
    pub(crate) view: CommView,
    pub(crate) labels: Labels,
    /// Posted receives per class.
    pub(crate) posted: [u32; 4],
    /// Unexpected messages on the NIC.
    pub(crate) unexpected: u32,
    /// Posts and arrivals sent on to the host so far. The host names this number when it hands the
    /// communicator back.
    pub(crate) forwarded: u64,
}

/// Labels and sequences of a communicator's receives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Labels {
    /// Label of the next receive (S10: only receives that enter the posted queue count).
    next: Label,
    /// Place of the last receive in its sequence (S11).
    place: u32,
    /// [`Target::packed`] of the last labelled receive; `NO_TARGET` starts a new sequence.
    last: u64,
}

impl Labels {
    const NEW: Self = Self { next: Label(0), place: 0, last: NO_TARGET };

    /// Label and place in its sequence for a receive of this class that now enters the posted
    /// queue.
    #[inline(always)]
    pub(crate) fn next(&mut self, class: WildcardClass, target: &Target) -> (Label, u32) {
        let target = target.packed(class);
        let label = self.next;
        self.next = label.plus(1);
        // Place 2^32 begins a new sequence, so no place comes twice in one.
        let place = self.place.wrapping_add(1);
        self.place = if self.last == target { place } else { 0 };
        self.last = target;
        (label, self.place)
    }

    /// Makes the next receive begin a sequence (S11, cancel).
    pub(crate) fn end_sequence(&mut self) {
        self.last = NO_TARGET;
    }
}

pub(crate) const COMMUNICATOR_BYTES: usize =
    size_of::<Communicator>() + size_of::<PlainCell<CommView>>() + EXTENT_BYTES;

/// A value that no receive packs to: all bits set would be rank and tag 2^31 - 1, both wild, but
/// wild ones are stored as 0.
const NO_TARGET: u64 = u64::MAX;

impl Communicator {
    /// A communicator with empty tables. `forwarded` continues the count of what was sent to the
    /// host.
    pub(crate) fn new(home: Home, allowed: ClassSet, view: CommView, forwarded: u64) -> Self {
        Self { home, allowed, linked: LINKED_ALWAYS, view, ..Self::absent(forwarded) }
    }

    /// No communicator; keeps only the count of what was sent to the host.
    pub(crate) fn absent(forwarded: u64) -> Self {
        Self {
            home: Home::Absent,
            allowed: ClassSet::EMPTY,
            linked: ClassSet::EMPTY,
            view: CommView::NONE,
            labels: Labels::NEW,
            posted: [0; 4],
            unexpected: 0,
            forwarded,
        }
    }

    /// Whether the NIC holds neither receives nor messages of the communicator.
    pub(crate) fn is_empty(&self) -> bool {
        self.posted == [0; 4] && self.unexpected == 0
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    first: u32,
    length: u32,
}

const EXTENT_BYTES: usize = size_of::<Extent>();

/// First-fit allocation of runs of bins out of NIC memory, in a list sorted by place. Allocates no
/// memory after set-up.
#[derive(Debug)]
pub(crate) struct BinRoom {
    extents: Box<[Extent]>,
    used: usize,
    total: u32,
}

impl BinRoom {
    pub(crate) fn new(communicators: usize, total: usize) -> Self {
        Self {
            extents: (0..communicators).map(|_| Extent::default()).collect(),
            used: 0,
            total: total as u32,
        }
    }

    /// Allocates the bins of a communicator with `bins` bins per table; `None` if no gap is large
    /// enough. O(communicators).
    pub(crate) fn take(&mut self, bins: u32) -> Option<BinId> {
        if self.used == self.extents.len() {
            return None;
        }
        let length = u32::try_from(bins_of_communicator(bins as usize)).ok()?;
        let mut first = 0u32;
        let mut place = self.used;
        for (index, extent) in self.extents[..self.used].iter().enumerate() {
            if extent.first - first >= length {
                place = index;
                break;
            }
            first = extent.first + extent.length;
        }
        if self.total - first < length {
            return None;
        }
        self.extents.copy_within(place..self.used, place + 1);
        self.extents[place] = Extent { first, length };
        self.used += 1;
        Some(BinId(first))
    }

    /// Frees the bins that begin at `first`.
    pub(crate) fn give(&mut self, BinId(first): BinId) {
        if let Some(place) =
            self.extents[..self.used].iter().position(|extent| extent.first == first)
        {
            self.extents.copy_within(place + 1..self.used, place);
            self.used -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_found_again_after_it_was_given_back() {
        let mut room = BinRoom::new(4, 30);
        assert_eq!(room.take(3), Some(BinId(0)));
        assert_eq!(room.take(2), Some(BinId(10)));
        assert_eq!(room.take(3), Some(BinId(17)));
        assert_eq!(room.take(1), None, "27 of 30 used, 4 wanted");
        room.give(BinId(10));
        assert_eq!(room.take(3), None, "the hole has 7 bins, 10 wanted");
        assert_eq!(room.take(2), Some(BinId(10)), "a hole that fits exactly");
        room.give(BinId(10));
        assert_eq!(room.take(1), Some(BinId(10)));
        assert_eq!(room.take(u32::MAX), None);
        room.give(BinId(0));
        room.give(BinId(17));
        room.give(BinId(10));
        assert_eq!(room.take(9), Some(BinId(0)));
    }

    #[test]
    fn room_in_front_leaves_the_others_their_own() {
        let mut room = BinRoom::new(4, 30);
        assert_eq!(room.take(3), Some(BinId(0)));
        assert_eq!(room.take(2), Some(BinId(10)));
        assert_eq!(room.take(2), Some(BinId(17)));
        room.give(BinId(0));
        room.give(BinId(17));
        assert_eq!(room.take(1), Some(BinId(0)));
        assert_eq!(room.take(3), Some(BinId(17)), "10 to 16 are in use");
    }

    #[test]
    fn sequences_follow_the_posting_order() {
        let mut labels = Labels::NEW;
        let from_any =
            |tag| crate::Selector::new(crate::SourceSel::Any, crate::Tag::new(tag).unwrap());
        let five = Target::of(from_any(5));
        let six = Target::of(from_any(6));
        let next = |labels: &mut Labels, target| labels.next(WildcardClass::AnySource, target);
        assert_eq!(next(&mut labels, &five), (Label(0), 0));
        assert_eq!(next(&mut labels, &five), (Label(1), 1));
        assert_eq!(next(&mut labels, &six), (Label(2), 0));
        assert_eq!(next(&mut labels, &five), (Label(3), 0));
        labels.end_sequence();
        let after_cancel = next(&mut labels, &five);
        assert_eq!(after_cancel, (Label(4), 0), "no later receive joins the sequence");
        assert_eq!(next(&mut labels, &five), (Label(5), 1));
        // Place 2^32 begins a new sequence, so no place comes twice in one.
        labels.place = u32::MAX - 1;
        assert_eq!(next(&mut labels, &five).1, u32::MAX);
        assert_eq!(next(&mut labels, &five).1, 0);
    }
}
