//! Numbers that name entries of the NIC's tables: a type for each table, so that the compiler keeps
//! them apart.

use core::ops::Index;

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
            #[inline(always)]
            pub(crate) fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<$name> for usize {
            #[inline(always)]
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

            #[inline(always)]
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
#[inline(always)]
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
#[inline(always)]
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
    /// The label `receives` receives later.
    #[inline(always)]
    pub(crate) fn plus(self, receives: u64) -> Self {
        Self(self.0 + receives)
    }

    /// Number of receives from label `earlier` to this one.
    #[inline(always)]
    pub(crate) fn since(self, earlier: Self) -> u64 {
        self.0 - earlier.0
    }
}

/// A run of receives with one selector (O9, S11), named by the label of its first. Labels never
/// recur, so two sequences of a communicator always differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub(crate) struct Sequence(pub(crate) Label);

/// One of the workers that share a block, 0 for the leader.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(transparent)]
pub(crate) struct WorkerId(pub(crate) usize);

impl WorkerId {
    /// The worker that also runs the boundary.
    pub(crate) const LEADER: Self = Self(0);
}

/// One of the completion queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub(crate) struct QueueId(pub(crate) usize);

impl QueueId {
    /// The queue that the first sender gets.
    pub(crate) const FIRST: Self = Self(0);

    /// The next of `queues` queues, cyclically.
    #[inline(always)]
    pub(crate) fn next_of(self, queues: usize) -> Self {
        if self.0 + 1 < queues { Self(self.0 + 1) } else { Self(0) }
    }
}
