//! The four indexes of posted receives: bins with chains, searched by handlers, cleaned under a bin's lock
//! (O5, O6, O28).
//!
//! **State of a bin.** `lock`: 0 free, 1 held by one remover. `head`, `tail`: descriptors or `NIL`. `length`:
//! receives linked. `tail` and `length` are only touched by the boundary and by the lock's holder.
//!
//! **Invariants.** B1: the chain is in posting order (C1 inside an index). B2: following `next` from any
//! descriptor of the chain, also one unlinked in this block, visits every later receive that is still posted
//! (S17). B3: while a receive is `CONSUMED` and not `UNLINKED` it is in its chain.
//!
//! **Orderings.** `lock`: taken with Acquire, given with Release; it orders removers among each other.
//! Searchers take no lock and need none, see descriptor.rs.
//!
//! **Progress.** Searching is wait-free; lazy removal too; eager removal blocks on the lock's holder.
//!
//! **Cost.** 20 bytes per bin, as the paper counts (O29): five 32-bit words where the paper has a lock and
//! two 64-bit pointers (O31). A search reads one word of one bin and one line per descriptor walked, for each
//! class in which something is posted.

use crate::booking::HandlerSet;
use crate::descriptor::{Descriptor, NIL, state};
use crate::hash::{Hashes, reduce};
use crate::sync::{Acquire, AtomicU32, Counter, Relaxed, Release, Wait};
use crate::{HandlerCounters, Removal, WildcardClass};

/// Bytes of one bin (O29).
pub const BIN_BYTES: usize = 20;

#[derive(Debug)]
#[repr(C)]
pub(crate) struct Bin {
    lock: AtomicU32,
    head: AtomicU32,
    tail: AtomicU32,
    length: AtomicU32,
    /// Receives ever linked here: tells a bin that was never used from one that is empty now.
    linked: AtomicU32,
}

#[cfg(not(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual)))]
const _: () = assert!(size_of::<Bin>() == BIN_BYTES);

impl Bin {
    pub(crate) fn empty() -> Self {
        Self {
            lock: AtomicU32::new(0),
            head: AtomicU32::new(NIL),
            tail: AtomicU32::new(NIL),
            length: AtomicU32::new(0),
            linked: AtomicU32::new(0),
        }
    }

    #[inline(always)]
    pub(crate) fn head(&self) -> u32 {
        self.head.load(Relaxed)
    }

    pub(crate) fn length(&self) -> u32 {
        self.length.load(Relaxed)
    }

    /// Whether a receive was ever linked here.
    pub(crate) fn was_used(&self) -> bool {
        self.linked.load(Relaxed) != 0
    }

    /// Appends; boundary only. Returns whether the chain held something already (a collision, S28).
    #[inline]
    pub(crate) fn append(&self, receives: &[Descriptor], receive: u32) -> bool {
        let tail = self.tail.load(Relaxed);
        receives[receive as usize].next.store(NIL, Relaxed);
        if tail == NIL {
            self.head.store(receive, Relaxed);
        } else {
            receives[tail as usize].next.store(receive, Relaxed);
        }
        self.tail.store(receive, Relaxed);
        self.length.store(self.length() + 1, Relaxed);
        self.linked.store(self.linked.load(Relaxed).wrapping_add(1), Relaxed);
        tail != NIL
    }

    /// Unlinks a consumed receive as the block's only worker, or as the boundary: nobody else uses the bin.
    #[inline]
    pub(crate) fn remove_alone(&self, receives: &[Descriptor], receive: u32) {
        let descriptor = &receives[receive as usize];
        if descriptor.state.load(Relaxed) == state::UNLINKED {
            return;
        }
        if self.head() != receive {
            return self.unlink_up_to(receives, receive);
        }
        // The oldest of its chain: by far the commonest.
        let next = descriptor.next.load(Relaxed);
        self.head.store(next, Relaxed);
        if next == NIL {
            self.tail.store(NIL, Relaxed);
        }
        descriptor.state.store(state::UNLINKED, Relaxed);
        self.length.store(self.length() - 1, Relaxed);
    }

    /// Takes a receive out of the chain and makes it free at once, as the block's only worker. `before`: what stood
    /// before it when the block began, or anything; if that still holds, nothing has to be walked.
    #[inline(always)]
    pub(crate) fn take_out(&self, receives: &[Descriptor], receive: u32, before: u32) {
        let descriptor = &receives[receive as usize];
        if self.head() == receive {
            // The oldest of its chain: by far the commonest.
            let next = descriptor.next.load(Relaxed);
            self.head.store(next, Relaxed);
            if next == NIL {
                self.tail.store(NIL, Relaxed);
            }
            self.length.store(self.length() - 1, Relaxed);
        } else if !self.take_out_after(receives, receive, before) {
            descriptor.state.store(state::CONSUMED, Relaxed);
            self.unlink_up_to(receives, receive);
        }
        descriptor.state.store(state::FREE, Relaxed);
    }

    /// Unlinks a receive behind `before`. `false`: it does not stand there. A receive that is still posted is still in
    /// its chain (B3), so its `next` is.
    #[inline]
    fn take_out_after(&self, receives: &[Descriptor], receive: u32, before: u32) -> bool {
        let Some(neighbour) = receives.get(before as usize) else { return false };
        if !neighbour.is_posted() || neighbour.next.load(Relaxed) != receive {
            return false;
        }
        let next = receives[receive as usize].next.load(Relaxed);
        neighbour.next.store(next, Relaxed);
        if next == NIL {
            self.tail.store(before, Relaxed);
        }
        self.length.store(self.length() - 1, Relaxed);
        true
    }

    /// Unlinks a consumed receive while other handlers search and remove, or leaves that to the boundary.
    /// `false`: it had to, because the lock was taken.
    #[inline]
    pub(crate) fn remove(&self, receives: &[Descriptor], receive: u32, removal: Removal) -> bool {
        if removal == Removal::Deferred {
            return true;
        }
        let acquire = weak!(LockAcquireRelaxed, Acquire);
        if self.lock.compare_exchange(0, 1, acquire, Relaxed).is_err() && !fault!(UnlinkWithoutLock) {
            if removal == Removal::Lazy {
                return false;
            }
            let mut wait = Wait::new();
            while self.lock.compare_exchange(0, 1, acquire, Relaxed).is_err() {
                wait.pause();
            }
        }
        // Read under the lock: an earlier holder may have taken it along (B3).
        self.remove_alone(receives, receive);
        if fault!(UnlinkedLosesNext) {
            receives[receive as usize].next.store(NIL, Relaxed);
        }
        self.lock.store(0, weak!(LockReleaseRelaxed, Release));
        true
    }

    /// Walks from the head to `receive` and unlinks it and every consumed receive before it. Ends because of
    /// B3.
    #[inline(never)]
    fn unlink_up_to(&self, receives: &[Descriptor], receive: u32) {
        let mut before = NIL;
        let mut current = self.head();
        let mut unlinked = 0;
        while current != NIL {
            charge!(link(current));
            let descriptor = &receives[current as usize];
            let next = descriptor.next.load(Relaxed);
            if descriptor.state.load(Relaxed) == state::CONSUMED {
                if before == NIL {
                    self.head.store(next, Relaxed);
                } else {
                    receives[before as usize].next.store(next, Relaxed);
                }
                if next == NIL {
                    self.tail.store(before, Relaxed);
                }
                // `descriptor.next` stays: a searcher may stand here (B2).
                descriptor.state.store(state::UNLINKED, Relaxed);
                unlinked += 1;
            } else {
                before = current;
            }
            if current == receive {
                break;
            }
            current = next;
        }
        self.length.store(self.length() - unlinked, Relaxed);
    }
}

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
        self.classes == 1 << WildcardClass::None as u8
    }

    /// The bin that holds `class` and `hash`.
    #[inline(always)]
    pub(crate) fn bin(&self, class: WildcardClass, hash: u32) -> u32 {
        let within = if class == WildcardClass::Both { 0 } else { reduce(hash, self.bins) };
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

/// Searches the indexes in which something is posted: the first live receive that fits in each, of these the
/// one posted first (O8, O11). Receives with a booking in `skip_booked` are passed over (early booking check,
/// O27).
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
    // Written out, so that each class has its own compare and one that has no receives costs one test.
    if view.classes & 1 != 0 {
        best = first_fit::<0>(receives, bins, view, key, skip_booked, &counters.walked_none);
    }
    if view.classes & 2 != 0 {
        best = older(best, first_fit::<1>(receives, bins, view, key, skip_booked, &counters.walked_source));
    }
    if view.classes & 4 != 0 {
        best = older(best, first_fit::<2>(receives, bins, view, key, skip_booked, &counters.walked_tag));
    }
    if view.classes & 8 != 0 {
        best = older(best, first_fit::<3>(receives, bins, view, key, skip_booked, &counters.walked_both));
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
        0 => &counters.walked_none,
        1 => &counters.walked_source,
        2 => &counters.walked_tag,
        _ => &counters.walked_both,
    };
    first_fit::<CLASS>(receives, bins, view, key, skip_booked, walked)
}

#[inline(always)]
fn older(one: Option<Candidate>, other: Option<Candidate>) -> Option<Candidate> {
    match (one, other) {
        (Some(a), Some(b)) => Some(if a.label < b.label || fault!(SearchTakesFirstIndex) { a } else { b }),
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
