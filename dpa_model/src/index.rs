//! The four indexes of posted receives as handlers search them (O5, O6): up to three hash tables
//! and a list, each of bins with chains.
//!
//! **Progress.** Searching is wait-free.
//!
//! **Cost.** A search reads one word of one bin and one line per visited descriptor, for each class
//! with posted receives.

use crate::bin::Bin;
use crate::booking::Bookings;
use crate::descriptor::{Descriptor, state};
use crate::hash::{Hashes, reduce};
use crate::number::{BinId, Label, ReceiveId, unchecked};
use crate::sync::{Counter, Relaxed};
use crate::{ClassSet, HandlerCounters, Rank, Tag, WildcardClass};

/// Compiles an expression for each class of receives, which is the constant `$name` in it, and runs
/// the one of `$class`.
macro_rules! by_class {
    ($class:expr, $name:ident => $run:expr) => {
        match $class {
            $crate::WildcardClass::Exact => {
                const $name: $crate::WildcardClass = $crate::WildcardClass::Exact;
                $run
            }
            $crate::WildcardClass::AnySource => {
                const $name: $crate::WildcardClass = $crate::WildcardClass::AnySource;
                $run
            }
            $crate::WildcardClass::AnyTag => {
                const $name: $crate::WildcardClass = $crate::WildcardClass::AnyTag;
                $run
            }
            $crate::WildcardClass::Any => {
                const $name: $crate::WildcardClass = $crate::WildcardClass::Any;
                $run
            }
        }
    };
}
pub(crate) use by_class;

/// The handlers' view of a communicator; the boundary writes it, and it is constant inside a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommView {
    /// First of the communicator's bins.
    pub(crate) base: BinId,
    /// Bins per hash table; 0: the NIC has no tables for this communicator.
    pub(crate) bins: u32,
    /// Bits 0..8: classes with posted receives. Bit 8: `mpi_assert_allow_overtaking`. One word,
    /// because handlers copy views, and a card stores single bytes slowly.
    pub(crate) kinds: u32,
}

const OVERTAKING: u32 = 1 << 8;
/// Of the first class: posted since the last block. For a seeded fault only.
const LATE: u32 = 1 << 16;

impl CommView {
    /// The view of an unknown communicator.
    pub(crate) const NONE: Self = Self {
        base: BinId(0),
        bins: 0,
        kinds: 0,
    };

    /// The view of a communicator without receives.
    pub(crate) fn new(base: BinId, bins: u32, overtaking: bool) -> Self {
        Self {
            base,
            bins,
            kinds: if overtaking { OVERTAKING } else { 0 },
        }
    }

    /// Classes with posted receives.
    #[inline]
    pub(crate) fn classes(&self) -> ClassSet {
        ClassSet::from_bits(self.kinds as u8)
    }

    /// Whether all posted receives are without wildcards and messages do not overtake.
    #[inline]
    pub(crate) fn is_exact(&self) -> bool {
        self.kinds == 1 << WildcardClass::Exact as u32
    }

    /// Marks that receives of this class are posted.
    #[inline(always)]
    pub(crate) fn insert(&mut self, class: WildcardClass) {
        self.kinds |= 1 << class as u32;
        if fault!(DomainsBeforePosts) {
            self.kinds |= LATE << class as u32;
        }
    }

    /// Marks that no receive of this class is posted.
    #[inline]
    pub(crate) fn remove(&mut self, class: WildcardClass) {
        self.kinds &= !(1 << class as u32);
    }

    /// Kinds of receives posted before the last block; for a seeded fault only.
    pub(crate) fn early_kinds(&self) -> u32 {
        self.kinds & !(self.kinds / LATE)
    }

    /// All classes are early ones from now on.
    pub(crate) fn mark_all_early(&mut self) {
        self.kinds %= LATE;
    }

    /// Copies the classes of another view of this communicator.
    #[inline]
    pub(crate) fn follow(&mut self, other: &Self) {
        self.kinds = other.kinds;
    }

    /// Whether messages may overtake each other.
    #[inline]
    pub(crate) fn overtaking(&self) -> bool {
        self.kinds & OVERTAKING != 0
    }

    #[inline(always)]
    pub(crate) fn bin(&self, class: WildcardClass, hash: u32) -> BinId {
        let within = if class == WildcardClass::Any {
            0
        } else {
            reduce(hash, self.bins)
        };
        BinId(self.base.0 + class as u32 * self.bins + within)
    }
}

/// A handler's search key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) source: u32,
    pub(crate) tag: u32,
    pub(crate) hashes: Hashes,
}

impl Key {
    /// The key of a message with these hashes.
    #[inline(always)]
    pub(crate) fn new(source: Rank, tag: Tag, hashes: Hashes) -> Self {
        Self {
            source: source.get(),
            tag: tag.get(),
            hashes,
        }
    }
}

/// A fitting posted receive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) receive: ReceiveId,
    /// The receive before it in its chain, or `NIL`.
    pub(crate) before: ReceiveId,
    pub(crate) label: Label,
}

/// The indexes of one communicator, inside a block or at the boundary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indexes<'a> {
    pub(crate) bookings: Bookings<'a>,
    pub(crate) bins: &'a [Bin],
    pub(crate) view: CommView,
}

impl Indexes<'_> {
    /// Searches all indexes with posted receives: of the first live fitting receive in each,
    /// returns the one posted first (O8, O11). Skips receives booked by a handler below
    /// `skip_below` (early booking check, O27).
    #[inline(never)]
    pub(crate) fn search(
        self,
        key: Key,
        skip_below: usize,
        counters: &HandlerCounters,
    ) -> Option<Candidate> {
        let mut best = None;
        // Unrolled: each class has its own compare, and a class without receives costs one test.
        let classes = self.view.classes();
        if classes.contains(WildcardClass::Exact) {
            best = self.search_class(WildcardClass::Exact, &key, skip_below, counters);
        }
        if classes.contains(WildcardClass::AnySource) {
            let found = self.search_class(WildcardClass::AnySource, &key, skip_below, counters);
            best = older(best, found);
        }
        if classes.contains(WildcardClass::AnyTag) {
            let found = self.search_class(WildcardClass::AnyTag, &key, skip_below, counters);
            best = older(best, found);
        }
        if classes.contains(WildcardClass::Any) {
            let found = self.search_class(WildcardClass::Any, &key, skip_below, counters);
            best = older(best, found);
        }
        best
    }

    /// Walks the only chain of a class's index that can hold the receive, up to the first live
    /// fitting one. Counts the visited descriptors. Inlined, because most callers know the class.
    #[inline(always)]
    pub(crate) fn search_class(
        &self,
        class: WildcardClass,
        key: &Key,
        skip_below: usize,
        counters: &HandlerCounters,
    ) -> Option<Candidate> {
        let walked = walked(counters, class);
        let bin = self.view.bin(class, key.hashes.of_class(class));
        step!(BinRead { bin: bin.0 });
        // SAFETY: receives of this class are posted, so the communicator has tables.
        let head = unsafe { unchecked(self.bins, bin) }.head();
        if head == ReceiveId::NIL {
            return None;
        }
        // Fast exit: most searches end at the head.
        match self.fitting(class, head, ReceiveId::NIL, key, skip_below) {
            Ok(found) => {
                walked.add(1);
                Some(found)
            }
            Err(next) => self.walk_on(class, head, next, key, skip_below, walked),
        }
    }

    /// Walks the chain behind the head: `before` and its successors.
    #[inline(always)]
    fn walk_on(
        &self,
        class: WildcardClass,
        mut before: ReceiveId,
        mut current: ReceiveId,
        key: &Key,
        skip_below: usize,
        walked: &Counter,
    ) -> Option<Candidate> {
        let mut visited = 1;
        let mut found = None;
        while current != ReceiveId::NIL {
            visited += 1;
            match self.fitting(class, current, before, key, skip_below) {
                Ok(candidate) => {
                    found = Some(candidate);
                    break;
                }
                Err(next) => (before, current) = (current, next),
            }
        }
        walked.add(visited);
        found
    }

    /// One receive of a chain if it is live and fits; otherwise its successor.
    #[inline(always)]
    fn fitting(
        &self,
        class: WildcardClass,
        receive: ReceiveId,
        before: ReceiveId,
        key: &Key,
        skip_below: usize,
    ) -> Result<Candidate, ReceiveId> {
        // SAFETY: the callers found it in a chain.
        let descriptor = unsafe { unchecked(self.bookings.receives, receive) };
        step!(Visited { receive: receive.0 });
        if is_live(class, descriptor, key)
            && (skip_below == 0 || !self.bookings.any_below(receive, skip_below))
        {
            // SAFETY: as in `is_live`.
            let label = unsafe { descriptor.posted.peek() }.label;
            Ok(Candidate {
                receive,
                before,
                label,
            })
        } else {
            Err(descriptor.next.get())
        }
    }
}

/// Whether a receive of this class is live and fits.
#[inline]
pub(crate) fn is_live(class: WildcardClass, descriptor: &Descriptor, key: &Key) -> bool {
    // SAFETY: handlers search inside a block, the boundary between blocks (D1).
    let posted = unsafe { descriptor.posted.peek() };
    posted.fits(class, key.source, key.tag)
        && (descriptor.state.load(Relaxed) == state::POSTED || fault!(SearchTakesConsumed))
}

/// Counts visited descriptors in the index of a class.
#[inline(always)]
pub(crate) fn walked(counters: &HandlerCounters, class: WildcardClass) -> &Counter {
    match class {
        WildcardClass::Exact => &counters.walked_exact,
        WildcardClass::AnySource => &counters.walked_any_source,
        WildcardClass::AnyTag => &counters.walked_any_tag,
        WildcardClass::Any => &counters.walked_any,
    }
}

#[inline(always)]
fn older(one: Option<Candidate>, other: Option<Candidate>) -> Option<Candidate> {
    match (one, other) {
        (Some(a), Some(b)) => Some(if a.label < b.label || fault!(SearchTakesFirstIndex) {
            a
        } else {
            b
        }),
        (found, None) | (None, found) => found,
    }
}
