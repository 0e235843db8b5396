//! Numbers that name entries of the NIC's tables: a type for each table, so that the compiler keeps
//! them apart.

use core::ops::Index;

use crate::WildcardClass;

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        ///
        /// 32 bits, as on a card.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) u32);

        impl $name {
            /// No entry: the end of a chain.
            pub(crate) const NIL: Self = Self(u32::MAX);

            /// The number as an index of its table.
            #[inline]
            pub(crate) fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<$name> for usize {
            #[inline]
            fn from(number: $name) -> Self {
                number.index()
            }
        }

        impl From<u32> for $name {
            fn from(number: u32) -> Self {
                Self(number)
            }
        }
    )*};
}

numbers! {
    /// A receive: the index of its descriptor.
    ReceiveId,
    /// A bin of posted receives, and the chain of unexpected messages with its hash.
    BinId,
    /// An unexpected message: its entry in the store.
    StoredId,
    /// A buffer for the payload of an unexpected message.
    BufferId,
    /// A region: a buffer that a sender has exposed.
    RegionId,
}

impl ReceiveId {
    /// The number for listeners to steps; `None` for `NIL`.
    pub(crate) fn found(self) -> Option<u32> {
        (self != Self::NIL).then_some(self.0)
    }
}

/// Indexes a table by the numbers of its entries.
macro_rules! indexed {
    ([$entry:ty] by $number:ty) => {
        impl core::ops::Index<$number> for [$entry] {
            type Output = $entry;

            #[inline]
            fn index(&self, number: $number) -> &$entry {
                &self[number.index()]
            }
        }
    };
}
pub(crate) use indexed;

/// The entry of a table with this number, without a bounds check.
///
/// # Safety
/// The number names an entry of this table, and is not `NIL`. Numbers of receives, messages and
/// buffers come from [`FreeList::full`](crate::free_list::FreeList::full), which makes only numbers
/// of its table. A communicator gets only bins of the tables.
#[inline]
pub(crate) unsafe fn unchecked<T, Id: Into<usize>>(table: &[T], number: Id) -> &T
where
    [T]: Index<Id, Output = T>,
{
    let place = number.into();
    debug_assert!(place < table.len());
    // SAFETY: the caller gives a number within the table.
    unsafe { table.get_unchecked(place) }
}

/// The entry of a table with this number, mutable and without a bounds check.
///
/// # Safety
/// The safety contract of [`unchecked`] applies.
#[inline]
pub(crate) unsafe fn unchecked_mut<T, Id: Into<usize>>(table: &mut [T], number: Id) -> &mut T
where
    [T]: Index<Id, Output = T>,
{
    let place = number.into();
    debug_assert!(place < table.len());
    // SAFETY: the caller gives a number within the table.
    unsafe { table.get_unchecked_mut(place) }
}

/// Place of a receive in the posting order of its communicator. Labels are dense: only receives
/// that enter the posted queue count (S9, S10).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(transparent)]
pub(crate) struct Label(pub(crate) u64);

impl Label {
    #[inline]
    pub(crate) fn plus(self, receives: u64) -> Self {
        Self(self.0 + receives)
    }
}

/// The place of a receive in its run: neighbours of one chain with equal selectors (S11). One word:
/// the run's number, which never recurs in a communicator, the place in 16 bits, and the class of
/// the chain in 2 bits. Later places of a run are greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(transparent)]
pub(crate) struct RunPlace(u64);

impl RunPlace {
    const CLASS_BITS: u32 = 2;
    const PLACE_BITS: u32 = 16;
    /// The last place of a run that the word can hold.
    pub(crate) const LAST: u64 = (1 << Self::PLACE_BITS) - 1;
    const NUMBER: u64 = u64::MAX << (Self::CLASS_BITS + Self::PLACE_BITS);

    pub(crate) const EMPTY: Self = Self(0);

    /// The first place of a run.
    #[inline]
    pub(crate) fn first(number: u64, class: WildcardClass) -> Self {
        Self(number << (Self::CLASS_BITS + Self::PLACE_BITS) | class as u64)
    }

    #[inline]
    pub(crate) fn class(self) -> WildcardClass {
        WildcardClass::ALL[(self.0 & ((1 << Self::CLASS_BITS) - 1)) as usize]
    }

    #[inline]
    pub(crate) fn place(self) -> u64 {
        (self.0 & !Self::NUMBER) >> Self::CLASS_BITS
    }

    #[inline]
    pub(crate) fn plus(self, receives: u64) -> Self {
        Self(self.0 + (receives << Self::CLASS_BITS))
    }

    /// How many places further it is than an earlier one of its run.
    #[inline]
    pub(crate) fn behind(self, earlier: Self) -> u32 {
        ((self.0 - earlier.0) >> Self::CLASS_BITS) as u32
    }

    /// Whether both are of one run.
    #[inline]
    pub(crate) fn is_same_run(self, other: Self) -> bool {
        (self.0 ^ other.0) & Self::NUMBER == 0
    }
}

/// Receives with one selector that were posted one after the other (O9, S11): part of a run without
/// a gap in the labels, so label minus place is constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sequence {
    pub(crate) run: RunPlace,
    pub(crate) label: Label,
}

impl Sequence {
    #[inline]
    pub(crate) fn plus(self, receives: u64) -> Self {
        Self {
            run: self.run.plus(receives),
            label: self.label.plus(receives),
        }
    }

    /// Whether both are of one sequence.
    #[inline]
    pub(crate) fn is_same_sequence(self, other: Self) -> bool {
        let labels = self.label.0.wrapping_sub(other.label.0);
        let places = self.run.place().wrapping_sub(other.run.place());
        self.run.is_same_run(other.run) && labels == places
    }
}

/// One of the workers that share a block, 0 for the leader.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(transparent)]
pub(crate) struct WorkerId(pub(crate) usize);

impl WorkerId {
    /// The worker that also runs the boundary.
    pub(crate) const LEADER: Self = Self(0);
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub(crate) struct QueueId(pub(crate) usize);

impl QueueId {
    /// The queue that the first sender gets.
    pub(crate) const FIRST: Self = Self(0);

    #[inline]
    pub(crate) fn next_of(self, queues: usize) -> Self {
        if self.0 + 1 < queues {
            Self(self.0 + 1)
        } else {
            Self(0)
        }
    }
}
