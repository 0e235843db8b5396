//! Phase 1: match as if alone, book the candidate, publish the claim (O11, O12 first half, S3).

use crate::descriptor::{Descriptor, NIL, state};
use crate::index::{CommView, Key, search};
use crate::message::Entry;
use crate::nic::Shared;
use crate::sync::Relaxed;
use crate::{HandlerCounters, Hashes, InlineHashes};

/// The key of a message, with the hashes that the options ask for (S29).
#[inline(always)]
pub(crate) fn key(entry: &Entry, hashes: InlineHashes, counters: &HandlerCounters) -> Key {
    let (source, tag) = (entry.envelope.source, entry.envelope.tag);
    let computed = || Hashes::of(source, tag);
    let hashes = match hashes {
        InlineHashes::Trust if entry.has_hashes => entry.hashes,
        InlineHashes::Verify => {
            let right = computed();
            if entry.has_hashes && entry.hashes != right {
                counters.hash_mismatch.add(1);
            }
            right
        }
        InlineHashes::Trust | InlineHashes::Ignore => computed(),
    };
    Key { source: source.get(), tag: tag.get(), hashes }
}

/// Searches and counts.
#[inline(always)]
pub(crate) fn find(
    nic: &Shared,
    view: &CommView,
    key: &Key,
    skip_booked: u64,
    counters: &HandlerCounters,
) -> Option<crate::index::Candidate> {
    let mut walked = [0; 4];
    let found = search(&nic.receives, &nic.bins, view, key, skip_booked, &mut walked);
    for (count, counter) in walked.into_iter().zip([
        &counters.walked_none,
        &counters.walked_source,
        &counters.walked_tag,
        &counters.walked_both,
    ]) {
        if count > 0 {
            counter.add(u64::from(count));
        }
    }
    found
}

/// Sets the handler's booking bit (O10). Returns whether a lower handler had booked already, which is all lower ones when a
/// worker runs the whole block alone.
#[inline(always)]
pub(crate) fn book<const ALONE: bool>(descriptor: &Descriptor, handler: usize) -> bool {
    let bit = 1u64 << handler;
    let before = if ALONE {
        let before = descriptor.booking.load(Relaxed);
        descriptor.booking.store(before | bit, Relaxed);
        before
    } else {
        // Relaxed: the barrier orders it for those who must see it; the early check may miss it (S16).
        descriptor.booking.fetch_or(bit, Relaxed)
    };
    before & (bit - 1) != 0
}

/// Under `mpi_assert_allow_overtaking`: takes the first live receive at once (S24). A claim lost to another handler means searching on.
#[inline]
pub(crate) fn overtake(nic: &Shared, view: &CommView, key: &Key, counters: &HandlerCounters) -> u32 {
    loop {
        let Some(found) = find(nic, view, key, 0, counters) else { return NIL };
        let state = &nic.receives[found.receive as usize].state;
        if state.compare_exchange(state::POSTED, state::CONSUMED, Relaxed, Relaxed).is_ok() {
            return found.receive;
        }
    }
}
