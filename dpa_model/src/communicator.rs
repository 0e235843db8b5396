//! The NIC's state of a communicator, and the allocation of its bins (O24, S10, S11, S20).

use alloc::boxed::Box;

use crate::booking::HANDLERS_MAX;
use crate::config::bins_of_communicator;
use crate::descriptor::Posted;
use crate::index::CommView;
use crate::message::{Target, one_word};
use crate::number::{BinId, Label, RunPlace};
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

/// Labels and runs of a communicator's receives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Labels {
    /// Label of the next receive (S10: only receives that enter the posted queue count).
    next: Label,
    /// Runs so far.
    runs: u64,
}

impl Labels {
    const NEW: Self = Self {
        next: Label(0),
        runs: 0,
    };

    /// The label of a receive that now enters the posted queue.
    #[inline]
    pub(crate) fn next(&mut self) -> Label {
        let label = self.next;
        self.next = label.plus(1);
        label
    }

    /// The place of a receive behind `last`, the last of its chain.
    #[inline]
    pub(crate) fn run_after(
        &mut self,
        last: Option<&Posted>,
        class: WildcardClass,
        target: &Target,
    ) -> RunPlace {
        let fields = one_word(target.source.get(), target.tag.get());
        let fits = |last: &&Posted| one_word(last.source, last.tag) == fields;
        if let Some(last) = last.filter(|last| fits(last) || fault!(RunsByBin)) {
            // So no handler of a block that starts in a run leaves its number.
            if last.run.place() < RunPlace::LAST - HANDLERS_MAX as u64 {
                return last.run.plus(1);
            }
        }
        self.new_run(class)
    }

    #[inline]
    pub(crate) fn new_run(&mut self, class: WildcardClass) -> RunPlace {
        self.runs += 1;
        RunPlace::first(self.runs, class)
    }
}

pub(crate) const COMMUNICATOR_BYTES: usize =
    size_of::<Communicator>() + size_of::<PlainCell<CommView>>() + EXTENT_BYTES;

impl Communicator {
    /// A communicator with empty tables. `forwarded` continues the count of what was sent to the
    /// host.
    pub(crate) fn new(home: Home, allowed: ClassSet, view: CommView, forwarded: u64) -> Self {
        Self {
            home,
            allowed,
            linked: LINKED_ALWAYS,
            view,
            ..Self::absent(forwarded)
        }
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
    pub(crate) fn allocate(&mut self, bins: u32) -> Option<BinId> {
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

    pub(crate) fn free(&mut self, BinId(first): BinId) {
        if let Some(place) = self.extents[..self.used]
            .iter()
            .position(|extent| extent.first == first)
        {
            self.extents.copy_within(place + 1..self.used, place);
            self.used -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Sequence;

    #[test]
    fn room_is_found_again_after_it_was_given_back() {
        let mut room = BinRoom::new(4, 30);
        assert_eq!(room.allocate(3), Some(BinId(0)));
        assert_eq!(room.allocate(2), Some(BinId(10)));
        assert_eq!(room.allocate(3), Some(BinId(17)));
        assert_eq!(room.allocate(1), None, "27 of 30 used, 4 wanted");
        room.free(BinId(10));
        assert_eq!(room.allocate(3), None, "the hole has 7 bins, 10 wanted");
        assert_eq!(
            room.allocate(2),
            Some(BinId(10)),
            "a hole that fits exactly"
        );
        room.free(BinId(10));
        assert_eq!(room.allocate(1), Some(BinId(10)));
        assert_eq!(room.allocate(u32::MAX), None);
        room.free(BinId(0));
        room.free(BinId(17));
        room.free(BinId(10));
        assert_eq!(room.allocate(9), Some(BinId(0)));
    }

    #[test]
    fn room_in_front_leaves_the_others_their_own() {
        let mut room = BinRoom::new(4, 30);
        assert_eq!(room.allocate(3), Some(BinId(0)));
        assert_eq!(room.allocate(2), Some(BinId(10)));
        assert_eq!(room.allocate(2), Some(BinId(17)));
        room.free(BinId(0));
        room.free(BinId(17));
        assert_eq!(room.allocate(1), Some(BinId(0)));
        assert_eq!(room.allocate(3), Some(BinId(17)), "10 to 16 are in use");
    }

    #[test]
    fn a_run_is_neighbours_of_a_chain_with_one_selector() {
        let mut labels = Labels::NEW;
        let class = WildcardClass::AnySource;
        let from_any =
            |tag| crate::Selector::new(crate::SourceSel::Any, crate::Tag::new(tag).unwrap());
        let [five, six] = [5, 6].map(|tag| Target::from_selector(from_any(tag)));
        let receives = crate::descriptor::table(1);
        // SAFETY: no other thread has a reference to the table.
        let mut last = unsafe { receives[0].posted() };
        let mut post = |last: &mut Posted, target: &Target, first: bool| {
            let label = labels.next();
            let run = labels.run_after((!first).then_some(&*last), class, target);
            (last.run, last.label) = (run, label);
            (last.source, last.tag) = (target.source.get(), target.tag.get());
            assert_eq!(run.class(), class);
            last.sequence()
        };
        let one = post(&mut last, &five, true);
        let two = post(&mut last, &five, false);
        assert_eq!((two.run.place(), one.plus(1)), (1, two));
        assert!(two.is_same_sequence(one));
        let other = post(&mut last, &six, false);
        assert_eq!(other.run.place(), 0);
        assert!(!other.run.is_same_run(one.run) && !other.is_same_sequence(one));
        let again = post(&mut last, &five, false);
        assert!(again.run.place() == 0 && !again.run.is_same_run(one.run));
        // A receive of another chain is between.
        labels.next();
        let behind = labels.run_after(Some(&last), class, &five);
        let behind = Sequence {
            run: behind,
            label: labels.next(),
        };
        assert!(behind.run == again.run.plus(1) && !behind.is_same_sequence(again));
        // A run ends early enough for the widest block to count on from each place.
        last.run = RunPlace::first(7, class).plus((1 << 16) - 258);
        let end = labels.run_after(Some(&last), class, &five);
        assert_eq!(
            (end.place(), end.is_same_run(last.run)),
            ((1 << 16) - 257, true)
        );
        assert!(end.plus(256).is_same_run(end) && !end.plus(257).is_same_run(end));
        last.run = end;
        let next = labels.run_after(Some(&last), class, &five);
        assert_eq!(
            (next.place(), next.is_same_run(end), next.class()),
            (0, false, class)
        );
    }
}
