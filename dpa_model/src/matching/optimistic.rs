//! Phase 1: match as if alone, book the candidate, publish the claim (O11, O12 first half, S3).

use crate::booking::HandlerSet;
use crate::descriptor::{Descriptor, NIL, state};
use crate::index::{Candidate, CommView, Key, search, search_class};
use crate::message::Entry;
use crate::nic::Shared;
use crate::sync::Relaxed;
use crate::{HandlerCounters, Hashes, InlineHashes};

/// The key of a message, with the hashes that the options ask for (S29).
#[inline(always)]
pub(crate) fn key(entry: &Entry, hashes: InlineHashes, counters: &HandlerCounters) -> Key {
    let (source, tag) = (entry.envelope.source, entry.envelope.tag);
    let hashes = if hashes == InlineHashes::Trust && entry.has_hashes {
        entry.hashes
    } else {
        computed(entry, hashes == InlineHashes::Verify, counters)
    };
    Key { source: source.get(), tag: tag.get(), hashes }
}

#[cold]
fn computed(entry: &Entry, verify: bool, counters: &HandlerCounters) -> Hashes {
    charge!(hash());
    let right = Hashes::of(entry.envelope.source, entry.envelope.tag);
    if verify && entry.has_hashes && entry.hashes != right {
        counters.hash_mismatch.add(1);
    }
    right
}

/// Searches the indexes. Most communicators have receives without wildcards only, so that search
/// stands inline.
#[inline(always)]
pub(crate) fn find(
    nic: &Shared,
    view: &CommView,
    key: &Key,
    skip_booked: HandlerSet,
    counters: &HandlerCounters,
) -> Option<Candidate> {
    if view.only_exact() {
        search_class::<0>(&nic.receives, &nic.bins, view, key, skip_booked, counters)
    } else {
        search(&nic.receives, &nic.bins, view, key, skip_booked, counters)
    }
}

/// Sets the handler's booking bit (O10).
#[inline(always)]
pub(crate) fn book(descriptor: &Descriptor, handler: usize) {
    // Relaxed: the barrier orders it for those who must see it; the early check may miss it (S16).
    descriptor.booking.book(handler, Relaxed);
}

/// The same by the only worker of a block. Returns whether a lower handler, so one that has
/// searched already, has booked the receive, too: the conflict (O13).
#[inline(always)]
pub(crate) fn book_alone(descriptor: &Descriptor, handler: usize) -> bool {
    descriptor.booking.book_alone(handler, Relaxed)
}

/// Under `mpi_assert_allow_overtaking`: takes the first live receive at once (S24). A claim lost to
/// another handler means searching on.
#[inline]
pub(crate) fn overtake(
    nic: &Shared,
    view: &CommView,
    key: &Key,
    counters: &HandlerCounters,
) -> u32 {
    loop {
        charge!(search());
        let Some(found) = find(nic, view, key, HandlerSet::NONE, counters) else { return NIL };
        let state = &nic.receives[found.receive as usize].state;
        if fault!(OvertakeTorn) {
            state.store(state::CONSUMED, Relaxed);
            return found.receive;
        }
        if state.compare_exchange(state::POSTED, state::CONSUMED, Relaxed, Relaxed).is_ok() {
            return found.receive;
        }
    }
}
