//! The four indexes of posted receives, as handlers search them (O5, O6): up to three hash tables
//! and a list, each of bins with chains.
//!
//! **Progress.** Searching is wait-free.
//!
//! **Cost.** A search reads one word of one bin and one line per descriptor walked, for each class
//! in which something is posted.

use crate::bin::Bin;
use crate::booking::Bookings;
use crate::descriptor::{Descriptor, known, state};
use crate::hash::{Hashes, reduce};
use crate::number::{BinId, Label, ReceiveId};
use crate::sync::{Counter, Relaxed};
use crate::{ClassSet, HandlerCounters, WildcardClass};

/// What handlers need to know of a communicator; written by the boundary, constant inside a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommView {
    /// First of the communicator's bins.
    pub(crate) base: BinId,
    /// Bins per hash table; 0: the NIC has no tables for this communicator.
    pub(crate) bins: u32,
    /// Bits 0..8: the classes of which receives are posted. Bit 8: `mpi_assert_allow_overtaking`.
    /// One word, because handlers copy views, and a card stores no single bytes well.
    pub(crate) kinds: u32,
}

const OVERTAKING: u32 = 1 << 8;

impl CommView {
    /// Nothing is known of the communicator.
    pub(crate) const NONE: Self = Self { base: BinId(0), bins: 0, kinds: 0 };

    /// A communicator without receives.
    pub(crate) fn new(base: BinId, bins: u32, overtaking: bool) -> Self {
        Self { base, bins, kinds: if overtaking { OVERTAKING } else { 0 } }
    }

    /// Classes of which receives are posted.
    #[inline(always)]
    pub(crate) fn classes(&self) -> ClassSet {
        ClassSet::from_bits(self.kinds as u8)
    }

    /// Whether only receives without wildcards are posted, and messages do not overtake.
    #[inline(always)]
    pub(crate) fn is_exact(&self) -> bool {
        self.kinds == 1 << WildcardClass::Exact as u32
    }

    /// Receives of this class are posted from now on.
    #[inline(always)]
    pub(crate) fn insert(&mut self, class: WildcardClass) {
        self.kinds |= 1 << class as u32;
    }

    /// None of this class is.
    #[inline(always)]
    pub(crate) fn remove(&mut self, class: WildcardClass) {
        self.kinds &= !(1 << class as u32);
    }

    /// Takes over the classes of another view of the same communicator.
    #[inline(always)]
    pub(crate) fn follow(&mut self, other: &Self) {
        self.kinds = other.kinds;
    }

    /// Whether messages may overtake each other.
    #[inline(always)]
    pub(crate) fn overtaking(&self) -> bool {
        self.kinds & OVERTAKING != 0
    }

    /// The bin that holds `class` and `hash`.
    #[inline(always)]
    pub(crate) fn bin(&self, class: WildcardClass, hash: u32) -> BinId {
        let within = if class == WildcardClass::Any { 0 } else { reduce(hash, self.bins) };
        BinId(self.base.0 + class as u32 * self.bins + within)
    }
}

/// What a handler looks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) source: u32,
    pub(crate) tag: u32,
    pub(crate) hashes: Hashes,
}

/// A posted receive that fits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) receive: ReceiveId,
    /// The one before it in its chain, or `NIL`.
    pub(crate) before: ReceiveId,
    pub(crate) label: Label,
}

/// The oldest receive of a chain, as a message sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Oldest {
    /// It is live and fits.
    Fits { bin: BinId, receive: ReceiveId },
    /// The chain is empty.
    None { bin: BinId },
    /// It does not; what stands behind it was not looked at.
    Other,
}

/// The indexes of one communicator, inside a block or at the boundary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indexes<'a> {
    pub(crate) bookings: Bookings<'a>,
    pub(crate) bins: &'a [Bin],
    pub(crate) view: CommView,
}

impl Indexes<'_> {
    /// Searches the indexes in which something is posted: the first live receive that fits in each,
    /// of these the one posted first (O8, O11). Receives that a handler below `skip_below` has
    /// booked are passed over (early booking check, O27).
    #[inline(never)]
    pub(crate) fn search(
        self,
        key: Key,
        skip_below: usize,
        counters: &HandlerCounters,
    ) -> Option<Candidate> {
        let mut best = None;
        // Written out, so that each class has its own compare and one that has no receives costs
        // one test.
        if self.view.classes().contains(WildcardClass::Exact) {
            best = self.search_class::<0>(&key, skip_below, counters);
        }
        if self.view.classes().contains(WildcardClass::AnySource) {
            best = older(best, self.search_class::<1>(&key, skip_below, counters));
        }
        if self.view.classes().contains(WildcardClass::AnyTag) {
            best = older(best, self.search_class::<2>(&key, skip_below, counters));
        }
        if self.view.classes().contains(WildcardClass::Any) {
            best = older(best, self.search_class::<3>(&key, skip_below, counters));
        }
        best
    }

    /// Walks the one chain of index `CLASS` in which a receive can be, to the first live one that
    /// fits; counts the descriptors visited.
    #[inline(always)]
    pub(crate) fn search_class<const CLASS: usize>(
        &self,
        key: &Key,
        skip_below: usize,
        counters: &HandlerCounters,
    ) -> Option<Candidate> {
        let class = WildcardClass::ALL[CLASS];
        let walked = walked(counters, class);
        let bin = self.view.bin(class, key.hashes.of_class(class));
        step!(BinRead { bin: bin.0 });
        // SAFETY: receives of this class are posted, so the communicator has tables.
        let head = unsafe { crate::bin::known(self.bins, bin) }.head();
        if head == ReceiveId::NIL {
            return None;
        }
        // By far the commonest: the oldest of the chain, without a loop.
        match self.fitting::<CLASS>(head, ReceiveId::NIL, key, skip_below) {
            Ok(found) => {
                walked.add(1);
                Some(found)
            }
            Err(next) => self.walk_on::<CLASS>((head, next), key, skip_below, walked),
        }
    }

    /// The oldest receive of the chain that [`search_class`](Self::search_class) walks: by far most
    /// often that is all it looks at. Its caller counts the step and says that it was made.
    #[inline(always)]
    pub(crate) fn oldest<const CLASS: usize>(&self, key: &Key) -> Oldest {
        let class = WildcardClass::ALL[CLASS];
        let bin = self.view.bin(class, key.hashes.of_class(class));
        // SAFETY: as there.
        let receive = unsafe { crate::bin::known(self.bins, bin) }.head();
        if receive == ReceiveId::NIL {
            return Oldest::None { bin };
        }
        // SAFETY: it stands in a chain.
        let descriptor = unsafe { known(self.bookings.receives, receive) };
        if live::<CLASS>(descriptor, key) { Oldest::Fits { bin, receive } } else { Oldest::Other }
    }

    /// The walk behind the oldest: `before`, and what follows it.
    #[inline(always)]
    fn walk_on<const CLASS: usize>(
        &self,
        (mut before, mut current): (ReceiveId, ReceiveId),
        key: &Key,
        skip_below: usize,
        walked: &Counter,
    ) -> Option<Candidate> {
        let mut visited = 1;
        let mut found = None;
        while current != ReceiveId::NIL {
            visited += 1;
            match self.fitting::<CLASS>(current, before, key, skip_below) {
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

    /// One receive of a chain, if it is live and fits; otherwise the next.
    #[inline(always)]
    fn fitting<const CLASS: usize>(
        &self,
        receive: ReceiveId,
        before: ReceiveId,
        key: &Key,
        skip_below: usize,
    ) -> Result<Candidate, ReceiveId> {
        // SAFETY: the callers found it in a chain.
        let descriptor = unsafe { known(self.bookings.receives, receive) };
        step!(Visited { receive: receive.0 });
        if live::<CLASS>(descriptor, key)
            && (skip_below == 0 || !self.bookings.any_below(receive, skip_below))
        {
            // SAFETY: as in `live`.
            let label = unsafe { descriptor.posted.peek() }.label;
            Ok(Candidate { receive, before, label })
        } else {
            Err(descriptor.next.get())
        }
    }
}

/// Whether a receive of this class is live and fits.
#[inline(always)]
fn live<const CLASS: usize>(descriptor: &Descriptor, key: &Key) -> bool {
    // SAFETY: handlers search inside a block, the boundary between blocks (D1).
    let posted = unsafe { descriptor.posted.peek() };
    posted.fits(WildcardClass::ALL[CLASS], key.source, key.tag)
        && (descriptor.state.load(Relaxed) == state::POSTED || fault!(SearchTakesConsumed))
}

/// Descriptors visited in the index of a class.
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
        (Some(a), Some(b)) => {
            Some(if a.label < b.label || fault!(SearchTakesFirstIndex) { a } else { b })
        }
        (found, None) | (None, found) => found,
    }
}
