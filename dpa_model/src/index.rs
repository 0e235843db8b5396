//! The four indexes of posted receives, as handlers search them (O5, O6): up to three hash tables
//! and a list, each of bins with chains.
//!
//! **Progress.** Searching is wait-free.
//!
//! **Cost.** A search reads one word of one bin and one line per descriptor walked, for each class
//! in which something is posted.

use crate::bin::Bin;
use crate::booking::HandlerSet;
use crate::descriptor::{Descriptor, NIL, state};
use crate::hash::{Hashes, reduce};
use crate::sync::{Counter, Relaxed};
use crate::{HandlerCounters, WildcardClass};

/// What handlers need to know of a communicator; written by the boundary, constant inside a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommView {
    /// First of the communicator's bins.
    pub(crate) base: u32,
    /// Bins per hash table; 0: the NIC has no tables for this communicator.
    pub(crate) bins: u32,
    /// Bit c: receives of class c are posted.
    pub(crate) classes: u8,
    /// `mpi_assert_allow_overtaking`.
    pub(crate) overtaking: bool,
}

impl CommView {
    /// Nothing is known of the communicator.
    pub(crate) const NONE: Self = Self { base: 0, bins: 0, classes: 0, overtaking: false };

    /// Receives without wildcards are posted, and no others.
    #[inline(always)]
    pub(crate) fn only_exact(&self) -> bool {
        self.classes == 1 << WildcardClass::Exact as u8
    }

    /// The bin that holds `class` and `hash`.
    #[inline(always)]
    pub(crate) fn bin(&self, class: WildcardClass, hash: u32) -> u32 {
        let within = if class == WildcardClass::Any { 0 } else { reduce(hash, self.bins) };
        self.base + class as u32 * self.bins + within
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
    pub(crate) receive: u32,
    /// The one before it in its chain, or `NIL`.
    pub(crate) before: u32,
    pub(crate) sequence: u32,
    pub(crate) label: u64,
}

/// Searches the indexes in which something is posted: the first live receive that fits in each, of
/// these the one posted first (O8, O11). Receives with a booking in `skip_booked` are passed over
/// (early booking check, O27).
#[inline(never)]
pub(crate) fn search(
    receives: &[Descriptor],
    bins: &[Bin],
    view: &CommView,
    key: &Key,
    skip_booked: HandlerSet,
    counters: &HandlerCounters,
) -> Option<Candidate> {
    let mut best = None;
    // Written out, so that each class has its own compare and one that has no receives costs one
    // test.
    if view.classes & 1 != 0 {
        best = first_fit::<0>(receives, bins, view, key, skip_booked, &counters.walked_exact);
    }
    if view.classes & 2 != 0 {
        best = older(
            best,
            first_fit::<1>(receives, bins, view, key, skip_booked, &counters.walked_any_source),
        );
    }
    if view.classes & 4 != 0 {
        best = older(
            best,
            first_fit::<2>(receives, bins, view, key, skip_booked, &counters.walked_any_tag),
        );
    }
    if view.classes & 8 != 0 {
        best = older(
            best,
            first_fit::<3>(receives, bins, view, key, skip_booked, &counters.walked_any),
        );
    }
    best
}

/// The same where only receives of one class are posted.
#[inline(always)]
pub(crate) fn search_class<const CLASS: usize>(
    receives: &[Descriptor],
    bins: &[Bin],
    view: &CommView,
    key: &Key,
    skip_booked: HandlerSet,
    counters: &HandlerCounters,
) -> Option<Candidate> {
    let walked = match CLASS {
        0 => &counters.walked_exact,
        1 => &counters.walked_any_source,
        2 => &counters.walked_any_tag,
        _ => &counters.walked_any,
    };
    first_fit::<CLASS>(receives, bins, view, key, skip_booked, walked)
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

/// Walks one chain to the first live receive that fits; counts the descriptors visited.
#[inline(always)]
fn first_fit<const CLASS: usize>(
    receives: &[Descriptor],
    bins: &[Bin],
    view: &CommView,
    key: &Key,
    skip_booked: HandlerSet,
    walked: &Counter,
) -> Option<Candidate> {
    let class = WildcardClass::ALL[CLASS];
    let bin = view.bin(class, key.hashes.of_class(class));
    charge!(bin(bin));
    let head = bins[bin as usize].head();
    if head == NIL {
        return None;
    }
    // By far the commonest: the oldest of the chain, without a loop.
    match fitting::<CLASS>(receives, head, NIL, key, skip_booked) {
        Ok(found) => {
            walked.add(1);
            Some(found)
        }
        Err(next) => further_fit::<CLASS>(receives, (head, next), key, skip_booked, walked),
    }
}

/// The walk behind the oldest: `before`, and what follows it.
#[inline(always)]
fn further_fit<const CLASS: usize>(
    receives: &[Descriptor],
    (mut before, mut current): (u32, u32),
    key: &Key,
    skip_booked: HandlerSet,
    walked: &Counter,
) -> Option<Candidate> {
    let mut visited = 1;
    let mut found = None;
    while current != NIL {
        visited += 1;
        match fitting::<CLASS>(receives, current, before, key, skip_booked) {
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
    receives: &[Descriptor],
    receive: u32,
    before: u32,
    key: &Key,
    skip_booked: HandlerSet,
) -> Result<Candidate, u32> {
    let descriptor = &receives[receive as usize];
    charge!(visit(receive));
    // SAFETY: handlers search inside a block, the boundary between blocks (D1).
    let posted = unsafe { descriptor.posted.peek() };
    if posted.fits(WildcardClass::ALL[CLASS], key.source, key.tag)
        && (descriptor.state.load(Relaxed) == state::POSTED || fault!(SearchTakesConsumed))
        && (skip_booked.is_empty() || !descriptor.booking.load(Relaxed).meets(&skip_booked))
    {
        Ok(Candidate { receive, before, sequence: posted.sequence, label: posted.label })
    } else {
        Err(descriptor.next.load(Relaxed))
    }
}
