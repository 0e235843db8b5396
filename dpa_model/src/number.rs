//! The numbers by which the NIC's tables name what they hold: a type for each, so that one cannot
//! stand for another.

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
            /// None: the end of a chain.
            pub(crate) const NIL: Self = Self(u32::MAX);

            /// As an index of its table.
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
    /// A receive, by the place of its descriptor.
    ReceiveId,
    /// A bin of posted receives; the unexpected messages with that hash have a chain of the same
    /// number.
    BinId,
    /// An unexpected message, by its entry of the store.
    StoredId,
    /// A buffer for the payload of an unexpected message.
    BufferId,
    /// A region: a buffer that a sender has exposed.
    RegionId,
}

impl ReceiveId {
    /// The number for who listens to the steps; `None` for none.
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
/// The number is that of an entry of this table, and not `NIL`. Numbers of receives, messages and
/// buffers come from [`FreeList::full`](crate::free_list::FreeList::full), which makes those of its
/// table. A communicator gets only bins of the tables.
#[inline(always)]
pub(crate) unsafe fn unchecked<T, Id: Into<usize>>(table: &[T], number: Id) -> &T
where
    [T]: Index<Id, Output = T>,
{
    let place = number.into();
    debug_assert!(place < table.len());
    // SAFETY: the caller's promise.
    unsafe { table.get_unchecked(place) }
}

/// As [`unchecked`], to change the entry.
///
/// # Safety
/// As [`unchecked`].
#[inline(always)]
pub(crate) unsafe fn unchecked_mut<T, Id: Into<usize>>(table: &mut [T], number: Id) -> &mut T
where
    [T]: Index<Id, Output = T>,
{
    let place = number.into();
    debug_assert!(place < table.len());
    // SAFETY: the caller's promise.
    unsafe { table.get_unchecked_mut(place) }
}

/// Place of a receive in the posting order of its communicator, dense: only receives that enter the
/// posted queue count (S9, S10).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(transparent)]
pub(crate) struct Label(pub(crate) u64);

impl Label {
    /// The label so many receives later.
    #[inline(always)]
    pub(crate) fn plus(self, receives: u64) -> Self {
        Self(self.0 + receives)
    }

    /// How many receives came between that one and this.
    #[inline(always)]
    pub(crate) fn since(self, earlier: Self) -> u64 {
        self.0 - earlier.0
    }
}

/// A run of receives with one selector (O9, S11), by the label of its first. Labels never come
/// twice, so two sequences of a communicator are never the same.
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

    /// The next one of so many, after the last the first.
    #[inline(always)]
    pub(crate) fn next_of(self, queues: usize) -> Self {
        if self.0 + 1 < queues { Self(self.0 + 1) } else { Self(0) }
    }
}
