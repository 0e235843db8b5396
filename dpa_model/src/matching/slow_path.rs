//! The slow path: wait for all lower handlers, then keep the candidate or search again (S13).

use super::scratch::Scratch;
use super::search::key;
use super::slice::Slice;
use super::{domain, paper};
use crate::Domains;
use crate::number::{ReceiveId, unchecked};

/// The receive of a handler with a candidate once all lower handlers are done: its own candidate if
/// still there, otherwise the result of a new search. The early booking check does not apply here
/// (S16).
#[inline(never)]
pub(super) fn search_again(slice: &Slice<'_>, handler: usize, scratch: &mut Scratch) -> ReceiveId {
    let nic = slice.nic;
    let candidate = scratch.receives[handler];
    // SAFETY: a search found the receive.
    let own = unsafe { unchecked(&nic.receives, candidate) };
    step!(SlowWaits { handler });
    // All work that does not depend on lower handlers comes before the wait: higher handlers wait
    // for this one.
    let (entry, counters) = (slice.entry(handler), &nic.handler_counters[handler]);
    // SAFETY: inside a block.
    let indexes = nic.indexes(unsafe { *nic.view(entry.envelope.comm) });
    let key = key(&entry, nic.options.inline_hashes, counters);
    // All lower handlers, not only the one before (S13); handlers of this slice are done.
    if !fault!(SlowNoWait) {
        let polls = match nic.options.domains {
            Domains::Paper => paper::wait_for_lower(slice, scratch),
            Domains::Keyed => domain::wait_for_lower(slice, handler),
        };
        counters.slow_polls.add(polls);
    }
    step!(SlowWaited);
    step!(StateRead {
        receive: candidate.0
    });
    let receive = if own.is_posted() || fault!(SlowKeepsOwn) {
        counters.forced.add(1);
        candidate
    } else {
        let skip_below = if fault!(SlowEarlyCheck) {
            nic.handlers
        } else {
            0
        };
        let found = indexes.search(key, skip_below, counters);
        found.map_or(ReceiveId::NIL, |found| found.receive)
    };
    step!(SlowFound {
        handler,
        found: receive.found(),
        own: receive == candidate
    });
    receive
}
