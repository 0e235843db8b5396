//! Phase 1: match as if alone, book the candidate, publish the claim (O11, O12 first half, S3).

use core::ops::Range;

use super::block_run::BlockRun;
use super::crew::{Crew, Part};
use super::detect::NO_CONFLICT;
use super::scratch::Scratch;
use crate::booking::HandlerSet;
use crate::descriptor::state;
use crate::index::{Candidate, CommView, Indexes, Key, Oldest, walked};
use crate::message::Entry;
use crate::number::{BinId, ReceiveId};
use crate::shared::Shared;
use crate::sync::Relaxed;
use crate::{CommId, HandlerCounters, Hashes, InlineHashes, WildcardClass};

/// Searches and books for all handlers of the slice. Each run of messages of one communicator takes
/// the loop compiled for the classes posted there. Returns the communicator if there is only one.
#[cfg_attr(not(target_arch = "riscv64"), inline(never))]
pub(super) fn search_and_book<C: Crew>(
    block: BlockRun<'_, C>,
    scratch: &mut Scratch,
) -> Option<CommId> {
    search_each_run(block, scratch)
}

/// [`search_and_book`], inlined into its caller.
#[inline(always)]
pub(super) fn search_each_run<C: Crew>(
    block: BlockRun<'_, C>,
    scratch: &mut Scratch,
) -> Option<CommId> {
    scratch.overtaken = HandlerSet::NONE;
    scratch.conflict = NO_CONFLICT;
    scratch.idle = 0;
    scratch.kinds = 0;
    let Range { start, end } = block.crew.handlers();
    let mut from = start;
    let mut comm = CommId::default();
    while from < end {
        comm = block.entry(from).envelope.comm;
        let next = search_run(block, comm, from..end, scratch);
        if from == start && next == end {
            return Some(comm);
        }
        from = next;
    }
    (start == end).then_some(comm)
}

/// Searches and books for the leading handlers with messages of `comm`; returns the next handler.
fn search_run<C: Crew>(
    block: BlockRun<'_, C>,
    comm: CommId,
    handlers: Range<usize>,
    scratch: &mut Scratch,
) -> usize {
    let nic = block.nic;
    // SAFETY: inside a block.
    let view = unsafe { *nic.view(comm) };
    let indexes = nic.indexes(view);
    scratch.kinds |= view.kinds;
    let early_check = nic.options.early_check;
    let trusted =
        nic.options.inline_hashes == InlineHashes::Trust && block.entry(handlers.start).has_hashes;
    if view.overtaking() || early_check || !trusted {
        return search_each(
            block,
            (comm, view),
            handlers,
            scratch,
            false,
            |handler, key, counters| {
                if view.overtaking() {
                    return Err(overtake(nic, &indexes, key, counters));
                }
                Ok(indexes.search(*key, if early_check { handler } else { 0 }, counters))
            },
        );
    }
    // Most communicators have receives of one class at a time: search only that table, inline.
    let run = (block, (comm, view), handlers, scratch);
    if view.classes().is_empty() {
        return search_with(run, |_, _| None);
    }
    match view.classes().only() {
        Some(WildcardClass::Exact) => search_class::<C, 0>(run, indexes),
        Some(WildcardClass::AnySource) => search_class::<C, 1>(run, indexes),
        Some(WildcardClass::AnyTag) => search_class::<C, 2>(run, indexes),
        Some(WildcardClass::Any) => search_class::<C, 3>(run, indexes),
        None => search_with(run, |key, counters| indexes.search(*key, 0, counters)),
    }
}

/// Further equal messages that are worth a loop of their own.
const ROW: usize = 4;

type Run<'b, 's, C> = (
    BlockRun<'b, C>,
    (CommId, CommView),
    Range<usize>,
    &'s mut Scratch,
);

/// Searches and books in the only table with receives.
#[inline(always)]
fn search_class<C: Crew, const CLASS: usize>(
    (block, (comm, view), handlers, scratch): Run<'_, '_, C>,
    indexes: Indexes<'_>,
) -> usize {
    let search =
        |key: &Key, counters: &HandlerCounters| indexes.search_class::<CLASS>(key, 0, counters);
    if C::PART != Part::Block {
        return search_with((block, (comm, view), handlers, scratch), search);
    }
    let Range {
        start: mut handler,
        end,
    } = handlers;
    let row = InRow {
        block,
        indexes,
        comm,
        end,
    };
    let mut in_rows = true;
    while handler < end {
        let (next, again) = if scratch.conflict == NO_CONFLICT {
            book_oldest::<C, CLASS, false>(&row, handler, true, scratch)
        } else {
            book_oldest::<C, CLASS, true>(&row, handler, in_rows, scratch)
        };
        handler = next;
        if again {
            let last = handler - 1;
            scratch.conflict = scratch.conflict.min(last);
            if scratch.receives[last - 1] != scratch.receives[last] {
                continue;
            }
        }
        if handler == end {
            break;
        }
        if again {
            let next = book_alike::<C, CLASS>(&row, handler, scratch);
            in_rows = next - handler >= ROW;
            handler = next;
        } else {
            let one = search_with((block, (comm, view), handler..handler + 1, scratch), search);
            if one == handler {
                break;
            }
            handler = one;
        }
    }
    handler
}

/// Values that the loops over one communicator's messages copy: a compiler must otherwise reload
/// them after each booking.
#[derive(Clone, Copy)]
struct InRow<'a, C> {
    block: BlockRun<'a, C>,
    indexes: Indexes<'a>,
    comm: CommId,
    end: usize,
}

impl<C: Crew> InRow<'_, C> {
    /// The key of a handler's message, if the message is of this communicator and has hashes.
    #[inline(always)]
    fn key(&self, handler: usize) -> Option<Key> {
        // SAFETY: the leader saw the block's entries ready, and releases them after the block.
        let entry = unsafe { self.block.entries.peek(handler) };
        usual_key(&entry, self.comm)
    }

    #[inline(always)]
    fn count<const CLASS: usize>(&self, first: usize, visited: usize) {
        let counters = &self.block.nic.handler_counters[first];
        walked(counters, WildcardClass::ALL[CLASS]).add(visited as u64);
    }

    /// Not 0: a lower handler booked this receive, too.
    #[inline(always)]
    fn book(
        &self,
        places: &mut [ReceiveId],
        handler: usize,
        (bin, receive): (BinId, ReceiveId),
    ) -> u64 {
        self.tell(handler, bin);
        step!(Visited { receive: receive.0 });
        step!(Searched {
            handler,
            found: Some(receive.0)
        });
        let lower = self
            .block
            .crew
            .book(self.indexes.bookings, receive, handler);
        // The head stays in place until it is taken, so its predecessor is never read.
        places[handler] = receive;
        self.block.crew.publish(handler, receive);
        lower
    }

    /// Reports the steps of a search up to its bin.
    #[inline(always)]
    fn tell(&self, _handler: usize, _bin: BinId) {
        step!(EntryRead {
            position: self.block.entries.position(_handler)
        });
        step!(SearchBegins);
        step!(BinRead { bin: _bin.0 });
    }

    /// The only chain that could hold the receive is empty.
    #[inline(always)]
    fn find_nothing(&self, places: &mut [ReceiveId], handler: usize, bin: BinId) {
        self.tell(handler, bin);
        step!(Searched {
            handler,
            found: None
        });
        places[handler] = ReceiveId::NIL;
        self.block.crew.publish(handler, ReceiveId::NIL);
    }
}

/// Searches and books for consecutive handlers that need only the head of a chain, the common case.
/// Returns the first handler that needs more, and whether the handler before it booked a receive
/// that a lower one had booked. `MET`: a handler has met a lower one, so only equal messages in a
/// row end the loop, and only if `in_rows`. A separate function, short enough to keep its values in
/// registers.
#[inline(never)]
fn book_oldest<C: Crew, const CLASS: usize, const MET: bool>(
    row: &InRow<'_, C>,
    start: usize,
    in_rows: bool,
    scratch: &mut Scratch,
) -> (usize, bool) {
    let row = *row;
    let places = &mut scratch.receives[..row.end];
    let (mut next, mut again, mut without) = (row.end, false, 0);
    let mut last = ReceiveId::NIL;
    // No receive equals it unless equal messages in a row matter.
    let masked = if in_rows { 0 } else { ReceiveId::NIL.0 };
    if MET && start > 0 {
        last = ReceiveId(places[start - 1].0 | masked);
    }
    for handler in start..row.end {
        let oldest = match row.key(handler) {
            Some(key) => row.indexes.oldest::<CLASS>(&key),
            None => Oldest::Other,
        };
        match oldest {
            Oldest::Fits { bin, receive } => {
                let lower = row.book(places, handler, (bin, receive));
                if if MET { last == receive } else { lower != 0 } {
                    (next, again) = (handler + 1, true);
                    break;
                }
                last = ReceiveId(receive.0 | masked);
            }
            Oldest::None { bin } => {
                row.find_nothing(places, handler, bin);
                without += 1;
                last = ReceiveId::NIL;
            }
            Oldest::Other => {
                next = handler;
                break;
            }
        }
    }
    row.count::<CLASS>(start, next - start - without);
    scratch.idle += without;
    (next, again)
}

/// After two equal messages in a row: gives the candidate of the last one to every further equal
/// message from `start` on. Returns the first that differs.
#[inline(never)]
fn book_alike<C: Crew, const CLASS: usize>(
    row: &InRow<'_, C>,
    start: usize,
    scratch: &mut Scratch,
) -> usize {
    let row = *row;
    let places = &mut scratch.receives[..row.end];
    let Some(first) = row.key(start - 1) else {
        return start;
    };
    let class = WildcardClass::ALL[CLASS];
    let hash = first.hashes.of_class(class);
    let found = (row.indexes.view.bin(class, hash), places[start - 1]);
    let is_alike = |key: Key| {
        (key.source, key.tag, key.hashes.of_class(class)) == (first.source, first.tag, hash)
    };
    let mut next = row.end;
    for handler in start..row.end {
        if !row.key(handler).is_some_and(is_alike) {
            next = handler;
            break;
        }
        row.book(places, handler, found);
    }
    row.count::<CLASS>(start, next - start);
    next
}

#[inline(always)]
fn search_with<C: Crew>(
    (block, (comm, view), handlers, scratch): Run<'_, '_, C>,
    search: impl Fn(&Key, &HandlerCounters) -> Option<Candidate>,
) -> usize {
    let search = |_: usize, key: &Key, counters: &HandlerCounters| Ok(search(key, counters));
    search_each(block, (comm, view), handlers, scratch, true, search)
}

/// The general loop. `search` returns a candidate, or the receive that an overtaking handler has
/// taken. `trusted`: uses the entries' hashes as they are; a message without hashes ends the run.
#[inline(always)]
fn search_each<C: Crew>(
    block: BlockRun<'_, C>,
    (comm, view): (CommId, CommView),
    handlers: Range<usize>,
    scratch: &mut Scratch,
    trusted: bool,
    search: impl Fn(usize, &Key, &HandlerCounters) -> Result<Option<Candidate>, ReceiveId>,
) -> usize {
    let BlockRun {
        nic, crew, entries, ..
    } = block;
    // Local copies: a compiler must otherwise reload them after each booking.
    let bookings = nic.bookings();
    let Range { start, end } = handlers;
    let (places, befores) = (&mut scratch.receives[..end], &mut scratch.before[..end]);
    // The first handler counts the searches of the whole run: one line.
    let first = &nic.handler_counters[start];
    for handler in start..end {
        let (place, before) = (&mut places[handler], &mut befores[handler]);
        // SAFETY: the leader saw the block's entries ready, and releases them after the block.
        let entry = unsafe { entries.peek(handler) };
        if entry.envelope.comm != comm || trusted && !entry.has_hashes {
            return handler;
        }
        step!(EntryRead {
            position: entries.position(handler)
        });
        let key = if trusted {
            let (source, tag) = (entry.envelope.source.get(), entry.envelope.tag.get());
            Key {
                source,
                tag,
                hashes: entry.hashes,
            }
        } else {
            key(&entry, nic.options.inline_hashes, first)
        };
        crew.announce(handler, &entry, view);
        step!(SearchBegins);
        let found = match search(handler, &key, first) {
            Ok(found) => found,
            Err(taken) => {
                scratch.overtaken.insert(handler);
                *place = taken;
                crew.publish(handler, ReceiveId::NIL);
                continue;
            }
        };
        step!(Searched {
            handler,
            found: found.map(|found| found.receive.0)
        });
        *place = match found {
            Some(Candidate {
                receive,
                before: neighbour,
                ..
            }) => {
                if crew.book(bookings, receive, handler) != 0 {
                    scratch.conflict = scratch.conflict.min(handler);
                }
                // The head stays in place until it is taken, so its predecessor is never read.
                if neighbour != ReceiveId::NIL {
                    *before = neighbour;
                }
                receive
            }
            None => {
                scratch.idle += 1;
                ReceiveId::NIL
            }
        };
        crew.publish(handler, *place);
    }
    end
}

/// The oldest live receive that fits the message and that no handler below `skip_below` has booked,
/// or none.
pub(crate) fn find(
    nic: &Shared,
    entry: &Entry,
    view: CommView,
    skip_below: usize,
    counters: &HandlerCounters,
) -> ReceiveId {
    let key = key(entry, nic.options.inline_hashes, counters);
    let found = nic.indexes(view).search(key, skip_below, counters);
    found.map_or(ReceiveId::NIL, |found| found.receive)
}

/// The key of a message, if it is of this communicator and has hashes.
#[inline(always)]
fn usual_key(entry: &Entry, comm: CommId) -> Option<Key> {
    let (source, tag) = (entry.envelope.source.get(), entry.envelope.tag.get());
    let usual = entry.envelope.comm == comm && entry.has_hashes;
    usual.then_some(Key {
        source,
        tag,
        hashes: entry.hashes,
    })
}

/// The key of a message, with the hashes that the options select (S29).
#[inline(always)]
pub(super) fn key(entry: &Entry, hashes: InlineHashes, counters: &HandlerCounters) -> Key {
    let (source, tag) = (entry.envelope.source, entry.envelope.tag);
    let hashes = if hashes == InlineHashes::Trust && entry.has_hashes {
        entry.hashes
    } else {
        computed(entry, hashes == InlineHashes::Verify, counters)
    };
    Key {
        source: source.get(),
        tag: tag.get(),
        hashes,
    }
}

#[cold]
fn computed(entry: &Entry, verify: bool, counters: &HandlerCounters) -> Hashes {
    step!(HashesComputed);
    let right = Hashes::of(entry.envelope.source, entry.envelope.tag);
    if verify && entry.has_hashes && entry.hashes != right {
        counters.hash_mismatch.add(1);
    }
    right
}

/// Under `mpi_assert_allow_overtaking`: takes the first live receive at once (S24). After a claim
/// lost to another handler it searches on.
fn overtake(
    nic: &Shared,
    indexes: &Indexes<'_>,
    key: &Key,
    counters: &HandlerCounters,
) -> ReceiveId {
    loop {
        let Some(found) = indexes.search(*key, 0, counters) else {
            return ReceiveId::NIL;
        };
        let state = &nic.receives[found.receive].state;
        if fault!(OvertakeTorn) {
            state.store(state::CONSUMED, Relaxed);
            return found.receive;
        }
        if state
            .compare_exchange(state::POSTED, state::CONSUMED, Relaxed, Relaxed)
            .is_ok()
        {
            return found.receive;
        }
        step!(SearchBegins);
    }
}
