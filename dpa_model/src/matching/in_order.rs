//! Matching in order: a worker that runs a block alone has nobody to be optimistic against.
//!
//! All handlers search first, so that their cache misses overlap. Then each handler takes its
//! candidate, or searches again if a lower handler took it. Nothing is booked, nobody waits, and
//! there are no paths. The rule is the slow path's (S13): when a handler takes its receive, all
//! lower handlers are done.

use core::ops::Range;

use super::Matched;
use super::protocol::deliver;
use super::scratch::Scratch;
use super::search::key;
use crate::bin::Bin;
use crate::block::BlockInfo;
use crate::descriptor::{Descriptor, Posted};
use crate::index::{Candidate, Indexes, Key};
use crate::message::{Completion, Entry};
use crate::number::{ReceiveId, unchecked};
use crate::ring::Stretch;
use crate::shared::Shared;
use crate::sync::{Counter, Peek};
use crate::{CommId, HandlerCounters, WildcardClass};

/// After a block of at least this size the next messages are probably there already.
const STREAMING_BLOCK: usize = 8;

/// Runs all handlers of a block in their order.
pub(crate) fn run_in_order(nic: &Shared, block: &BlockInfo, scratch: &mut Scratch) -> Matched {
    // A constant count lets the compiler remove the loops over a block of one message.
    if block.count == 1 {
        InOrder::new(nic, block, 1).run(scratch)
    } else {
        InOrder::new(nic, block, block.count).run(scratch)
    }
}

/// A block and its place in the two rings.
#[derive(Clone, Copy, Debug)]
struct InOrder<'a> {
    nic: &'a Shared,
    block: &'a BlockInfo,
    messages: usize,
    entries: Stretch<'a, Entry>,
    results: Stretch<'a, Completion>,
}

/// Consecutive handlers whose messages are of one communicator.
#[derive(Clone, Debug)]
struct Batch {
    handlers: Range<usize>,
    matched: usize,
}

impl<'a> InOrder<'a> {
    #[inline(always)]
    fn new(nic: &'a Shared, block: &'a BlockInfo, messages: usize) -> Self {
        let queue = nic.arrivals.queue(block.queue);
        Self {
            nic,
            block,
            messages,
            entries: queue.ring.stretch(block.first, messages),
            results: nic.completions.stretch(block.results, messages),
        }
    }

    #[inline(always)]
    fn run(self, scratch: &mut Scratch) -> Matched {
        let mut next = 0;
        let mut matched = 0;
        let mut communicators = 0;
        let mut comm = CommId::default();
        while next < self.messages {
            comm = self.entry(next).envelope.comm;
            let batch = self.run_batch(comm, next, scratch);
            next = batch.handlers.end;
            matched += batch.matched;
            communicators += 1;
        }
        match matched {
            0 => Matched::Nothing,
            all if all == self.messages && communicators == 1 => Matched::AllOf(comm),
            _ => Matched::Mixed,
        }
    }

    #[inline(always)]
    fn entry(&self, handler: usize) -> Peek<'a, Entry> {
        // SAFETY: the leader saw the block's entries ready, and releases them only after its end.
        unsafe { self.entries.peek(handler) }
    }

    /// Matches the handlers from `first` on whose messages are of `comm`. Most communicators have
    /// receives of one class at a time; then the search of that class is inlined into the loops.
    #[inline(always)]
    fn run_batch(self, comm: CommId, first: usize, scratch: &mut Scratch) -> Batch {
        // SAFETY: inside a block.
        let view = unsafe { *self.nic.view(comm) };
        let indexes: Indexes<'_> = self.nic.indexes(view);
        if view.classes().is_empty() {
            return self.match_batch(comm, first, scratch, |_, _| None);
        }
        match view.classes().only() {
            Some(WildcardClass::Exact) => {
                self.match_batch(comm, first, scratch, |key, counters| {
                    indexes.search_class::<0>(key, 0, counters)
                })
            }
            Some(WildcardClass::AnySource) => {
                self.match_batch(comm, first, scratch, |key, counters| {
                    indexes.search_class::<1>(key, 0, counters)
                })
            }
            _ => self.match_batch(comm, first, scratch, |key, counters| {
                indexes.search(*key, 0, counters)
            }),
        }
    }

    /// The two loops: all handlers search, then all take.
    #[inline(always)]
    fn match_batch(
        self,
        comm: CommId,
        first: usize,
        scratch: &mut Scratch,
        search: impl Fn(&Key, &HandlerCounters) -> Option<Candidate>,
    ) -> Batch {
        let end = self.search_all(comm, first, scratch, &search);
        let handlers = first..end;
        let matched = self.take_all(handlers.clone(), scratch, search);
        Batch { handlers, matched }
    }

    /// Each handler looks for its candidate as if it were alone. Returns the first handler whose
    /// message is of another communicator.
    #[inline(always)]
    fn search_all(
        self,
        comm: CommId,
        first: usize,
        scratch: &mut Scratch,
        search: impl Fn(&Key, &HandlerCounters) -> Option<Candidate>,
    ) -> usize {
        // The first handler counts for all of its batch.
        let counters = &self.nic.handler_counters[first];
        let hashes = self.nic.options.inline_hashes;
        let candidates = &mut scratch.receives[..self.messages];
        let befores = &mut scratch.before[..self.messages];
        for handler in first..self.messages {
            let entry = self.entry(handler);
            if entry.envelope.comm != comm {
                return handler;
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
                None => ReceiveId::NIL,
            };
        }
        self.messages
    }

    /// Each handler takes its candidate if that is still posted, and otherwise searches again.
    /// Returns how many handlers have a receive.
    #[inline(always)]
    fn take_all(
        self,
        handlers: Range<usize>,
        scratch: &mut Scratch,
        search: impl Fn(&Key, &HandlerCounters) -> Option<Candidate>,
    ) -> usize {
        // A compiler reads fields again after each store: copy what the loop needs.
        let receives = &self.nic.receives[..];
        let bins = &self.nic.bins[..];
        let hashes = self.nic.options.inline_hashes;
        let counters = &self.nic.handler_counters[handlers.start];
        let ahead = if self.block.count >= STREAMING_BLOCK {
            self.block.count
        } else {
            0
        };
        let candidates = &mut scratch.receives[..handlers.end];
        let befores = &mut scratch.before[..handlers.end];
        let mut without_candidate = 0;
        let mut searched_again = 0;
        let mut matched = 0;
        for handler in handlers.clone() {
            let mut receive = candidates[handler];
            if receive == ReceiveId::NIL {
                step!(Unmatched { handler });
                without_candidate += 1;
                continue;
            }
            step!(StateRead { receive: receive.0 });
            // SAFETY: a search found the receive.
            if !unsafe { unchecked(receives, receive) }.is_posted() && !fault!(InOrderKeepsTaken) {
                searched_again += 1;
                let found = search(&key(&self.entry(handler), hashes, counters), counters);
                let Some(candidate) = found else {
                    candidates[handler] = ReceiveId::NIL;
                    step!(Unmatched { handler });
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
            matched += 1;
            self.deliver(handler, &posted);
            self.entries.prefetch(handler + ahead);
        }
        let with_candidate = handlers.len() - without_candidate;
        add(&counters.no_candidate, without_candidate);
        add(&counters.in_order, with_candidate);
        add(&counters.searched_again, searched_again);
        add(&counters.unexpected, with_candidate - matched);
        matched
    }

    #[inline(always)]
    fn deliver(self, handler: usize, posted: &Posted) {
        let arrival = self.block.arrival + handler as u64;
        // SAFETY: this worker runs the handler, which has taken the receive, and the leader claimed
        // the result's position.
        unsafe {
            deliver(
                self.nic,
                self.block,
                arrival,
                self.entries,
                self.results,
                handler,
                posted,
            );
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
#[inline(always)]
fn add(counter: &Counter, count: usize) {
    if count > 0 {
        counter.add(count as u64);
    }
}
