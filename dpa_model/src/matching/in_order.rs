//! Matching in order: a worker that runs a block alone has nobody to be optimistic against.
//!
//! All handlers search first, so that their cache misses overlap. Then each handler takes its
//! candidate, or searches again if a lower handler took it. Nothing is booked, nobody waits, and
//! there are no paths. The rule is the slow path's (S13): when a handler takes its receive, all
//! lower handlers are done.

use core::ops::Range;

use super::scratch::Scratch;
use super::search::key;
use super::slice::Slice;
use crate::bin::Bin;
use crate::block::BlockInfo;
use crate::descriptor::{Descriptor, Posted};
use crate::index::{Candidate, Indexes, Key};
use crate::message::Transfer;
use crate::number::{ReceiveId, unchecked};
use crate::shared::Shared;
use crate::sync::Counter;
use crate::{CommId, HandlerCounters, WildcardClass};

/// After a block of at least this size the next messages are probably there already.
const STREAMING_BLOCK: usize = 8;

/// Runs all handlers of a block in their order. Returns the communicator, if all messages are of
/// one and have a receive.
pub(crate) fn run_in_order(
    nic: &Shared,
    block: &BlockInfo,
    scratch: &mut Scratch,
) -> Option<CommId> {
    Slice::whole(nic, block, block.count).run_alone(scratch)
}

/// [`run_in_order`] for a block of one message: the receive that it takes. The loops over a block
/// and the lists between them would take 250 instructions more.
#[inline]
pub(crate) fn run_only(nic: &Shared, block: &BlockInfo) -> Option<ReceiveId> {
    let slice = Slice::whole(nic, block, 1);
    let entry = slice.entry(0);
    // SAFETY: inside a block.
    let view = unsafe { *nic.view(entry.envelope.comm) };
    let counters = &nic.handler_counters[0];
    step!(EntryRead {
        position: slice.entries.position(0)
    });
    step!(SearchBegins);
    let found = if view.classes().is_empty() {
        None
    } else {
        let key = key(&entry, nic.options.inline_hashes, counters);
        let indexes = nic.indexes(view);
        if view.is_exact() {
            indexes.search_class(WildcardClass::Exact, &key, 0, counters)
        } else {
            indexes.search(key, 0, counters)
        }
    };
    step!(Searched {
        handler: 0,
        found: found.map(|found| found.receive.0)
    });
    let Some(Candidate {
        receive, before, ..
    }) = found
    else {
        step!(Unmatched { handler: 0 });
        counters.no_candidate.add(1);
        return None;
    };
    // SAFETY: a search found the receive; inside a block (D1).
    let posted = unsafe { unchecked(&nic.receives, receive).posted.peek() };
    step!(StateRead { receive: receive.0 });
    step!(Taken {
        handler: 0,
        receive: receive.0,
        path: crate::Path::Clean
    });
    unlink_found(&nic.receives, &nic.bins, &posted, receive, &before);
    let transfer = entry.transfer(posted.capacity);
    // SAFETY: this worker runs the handler.
    unsafe { slice.deliver(0, &posted, transfer) };
    counters.in_order.add(1);
    Some(receive)
}

impl Slice<'_> {
    #[inline(always)]
    fn run_alone(&self, scratch: &mut Scratch) -> Option<CommId> {
        scratch.unmatched = 0;
        let first = self.entry(0).envelope.comm;
        let end = self.run_batch(first, 0, scratch);
        if end == self.handlers().end {
            return (scratch.unmatched == 0).then_some(first);
        }
        let mut next = end;
        while next < self.handlers().end {
            let comm = self.entry(next).envelope.comm;
            next = self.run_batch(comm, next, scratch);
        }
        None
    }

    /// Matches the handlers from `first` on whose messages are of `comm`. Returns the next handler.
    /// Most communicators have receives of one class at a time; then the search of that class is
    /// inlined into the loops.
    #[inline(always)]
    fn run_batch(&self, comm: CommId, first: usize, scratch: &mut Scratch) -> usize {
        // SAFETY: inside a block.
        let view = unsafe { *self.nic.view(comm) };
        let indexes: Indexes<'_> = self.nic.indexes(view);
        if view.classes().is_empty() {
            return self.match_batch(comm, first, scratch, |_, _| None);
        }
        match view.classes().only() {
            Some(WildcardClass::Exact) => {
                self.match_batch(comm, first, scratch, move |key, counters| {
                    indexes.search_class(WildcardClass::Exact, key, 0, counters)
                })
            }
            Some(WildcardClass::AnySource) => {
                self.match_batch(comm, first, scratch, move |key, counters| {
                    indexes.search_class(WildcardClass::AnySource, key, 0, counters)
                })
            }
            _ => self.match_batch(comm, first, scratch, move |key, counters| {
                indexes.search(*key, 0, counters)
            }),
        }
    }

    /// The two loops: all handlers search, then all take.
    #[inline(always)]
    fn match_batch(
        &self,
        comm: CommId,
        first: usize,
        scratch: &mut Scratch,
        search: impl Fn(&Key, &HandlerCounters) -> Option<Candidate>,
    ) -> usize {
        // The first handler counts for all of its batch.
        let counters = &self.nic.handler_counters[first];
        let unmatched_before = scratch.unmatched;
        let end = self.search_all(comm, first, counters, scratch, &search);
        if scratch.unmatched - unmatched_before == end - first {
            return end;
        }
        let mut next = first;
        loop {
            next = self.take_candidates(next..end, scratch);
            if next == end {
                return end;
            }
            next = self.take_others(next..end, counters, scratch, &search);
        }
    }

    /// Each handler looks for its candidate as if it were alone. Returns the first handler whose
    /// message is of another communicator. A separate function, short enough to keep its values in
    /// registers.
    #[inline(never)]
    fn search_all(
        &self,
        comm: CommId,
        first: usize,
        counters: &HandlerCounters,
        scratch: &mut Scratch,
        search: &impl Fn(&Key, &HandlerCounters) -> Option<Candidate>,
    ) -> usize {
        let hashes = self.nic.options.inline_hashes;
        let messages = self.entries.places().end;
        let candidates = &mut scratch.receives[..messages];
        let befores = &mut scratch.before[..messages];
        let mut without_candidate = 0;
        let mut end = messages;
        for handler in first..messages {
            let entry = self.entry(handler);
            if entry.envelope.comm != comm {
                end = handler;
                break;
            }
            step!(EntryRead {
                position: self.entries.position(handler)
            });
            step!(SearchBegins);
            let found = search(&key(&entry, hashes, counters), counters);
            step!(Searched {
                handler,
                found: found.map(|found| found.receive.0)
            });
            candidates[handler] = match found {
                Some(candidate) => {
                    // The head of a chain needs no predecessor.
                    if candidate.before != ReceiveId::NIL {
                        befores[handler] = candidate.before;
                    }
                    candidate.receive
                }
                None => {
                    step!(Unmatched { handler });
                    without_candidate += 1;
                    ReceiveId::NIL
                }
            };
        }
        add(&counters.no_candidate, without_candidate);
        add(&counters.in_order, end - first - without_candidate);
        scratch.unmatched += without_candidate;
        end
    }

    /// The leading handlers whose candidates are still posted, and whose data needs no call, take
    /// them. Returns the next handler. A separate loop without calls, so that its values stay in
    /// registers.
    #[inline(never)]
    fn take_candidates(&self, handlers: Range<usize>, scratch: &Scratch) -> usize {
        // A compiler reads fields again after each store: copy what the loop needs.
        let receives = &self.nic.receives[..];
        let bins = &self.nic.bins[..];
        let ahead = self.prefetch_distance();
        let candidates = &scratch.receives[..handlers.end];
        let befores = &scratch.before[..handlers.end];
        for handler in handlers.clone() {
            let receive = candidates[handler];
            if receive == ReceiveId::NIL {
                return handler;
            }
            // SAFETY: a search found the receive.
            let descriptor = unsafe { unchecked(receives, receive) };
            if !descriptor.is_posted() {
                return handler;
            }
            // SAFETY: inside a block (D1).
            let posted = unsafe { descriptor.posted.peek() };
            let transfer = self.entry(handler).transfer(posted.capacity);
            if transfer == Transfer::Call {
                return handler;
            }
            step!(StateRead { receive: receive.0 });
            step!(Taken {
                handler,
                receive: receive.0,
                path: crate::Path::Clean
            });
            unlink_found(receives, bins, &posted, receive, &befores[handler]);
            // SAFETY: this worker runs the handler.
            unsafe { self.deliver(handler, &posted, transfer) };
            self.entries.prefetch(handler + ahead);
        }
        handlers.end
    }

    /// The first of the handlers, which [`take_candidates`](Self::take_candidates) left, and those
    /// that follow it without a posted candidate. Returns the next handler.
    #[inline(never)]
    fn take_others(
        &self,
        handlers: Range<usize>,
        counters: &HandlerCounters,
        scratch: &mut Scratch,
        search: &impl Fn(&Key, &HandlerCounters) -> Option<Candidate>,
    ) -> usize {
        let Range { start, end } = handlers;
        let receives = &self.nic.receives[..];
        let bins = &self.nic.bins[..];
        let hashes = self.nic.options.inline_hashes;
        let ahead = self.prefetch_distance();
        let candidates = &mut scratch.receives[..end];
        let befores = &mut scratch.before[..end];
        let (mut searched_again, mut unmatched) = (0, 0);
        let mut next = end;
        for handler in start..end {
            let mut receive = candidates[handler];
            if receive == ReceiveId::NIL {
                continue;
            }
            // SAFETY: a search found the receive.
            let posted = unsafe { unchecked(receives, receive) }.is_posted();
            if posted && handler > start {
                next = handler;
                break;
            }
            step!(StateRead { receive: receive.0 });
            if !posted && !fault!(InOrderKeepsTaken) {
                searched_again += 1;
                let found = search(&key(&self.entry(handler), hashes, counters), counters);
                let Some(candidate) = found else {
                    candidates[handler] = ReceiveId::NIL;
                    step!(Unmatched { handler });
                    unmatched += 1;
                    continue;
                };
                receive = candidate.receive;
                candidates[handler] = receive;
                befores[handler] = candidate.before;
            }
            // SAFETY: a search found the receive; inside a block (D1).
            let posted = unsafe { unchecked(receives, receive).posted.peek() };
            step!(Taken {
                handler,
                receive: receive.0,
                path: crate::Path::Clean
            });
            unlink_found(receives, bins, &posted, receive, &befores[handler]);
            let transfer = self.entry(handler).transfer(posted.capacity);
            // SAFETY: this worker runs the handler.
            unsafe { self.deliver(handler, &posted, transfer) };
            self.entries.prefetch(handler + ahead);
        }
        add(&counters.searched_again, searched_again);
        add(&counters.unexpected, unmatched);
        scratch.unmatched += unmatched;
        next
    }

    /// Past the block, if more messages are likely there.
    #[inline(always)]
    fn prefetch_distance(&self) -> usize {
        if self.block.count >= STREAMING_BLOCK {
            self.block.count
        } else {
            0
        }
    }
}

/// Takes a receive that a search found out of its chain; no other handler is at work. `before`: its
/// predecessor at search time.
#[inline(always)]
fn unlink_found(
    receives: &[Descriptor],
    bins: &[Bin],
    posted: &Posted,
    receive: ReceiveId,
    before: &ReceiveId,
) {
    step!(Unlinking {
        bin: posted.bin.0,
        receive: receive.0,
        alone: true
    });
    // SAFETY: the receive was posted in this bin.
    let bin = unsafe { unchecked(bins, posted.bin) };
    bin.unlink(receives, receive, before);
}

/// Writes no counter that does not change.
#[inline]
fn add(counter: &Counter, count: usize) {
    if count > 0 {
        counter.add(count as u64);
    }
}
