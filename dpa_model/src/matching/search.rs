//! Phase 1: match as if alone, book the candidate, publish the claim (O11, O12 first half, S3).

use core::ops::Range;

use super::domain;
use super::scratch::Scratch;
use super::slice::Slice;
use crate::descriptor::state;
use crate::index::{Candidate, CommView, Indexes, Key, by_class};
use crate::message::Entry;
use crate::number::ReceiveId;
use crate::shared::Shared;
use crate::sync::Relaxed;
use crate::{CommId, Domains, HandlerCounters, Hashes, InlineHashes};

/// Searches and books for all handlers of the slice. Each run of messages of one communicator takes
/// the loop compiled for the classes posted there.
#[cfg_attr(not(target_arch = "riscv64"), inline(never))]
pub(super) fn search_and_book(slice: &Slice<'_>, scratch: &mut Scratch) {
    let Range { start, end } = slice.handlers();
    let mut from = start;
    while from < end {
        let comm = slice.entry(from).envelope.comm;
        from = search_run(slice, comm, from..end, scratch);
    }
}

/// Searches and books for the leading handlers with messages of `comm`; returns the next handler.
fn search_run(
    slice: &Slice<'_>,
    comm: CommId,
    handlers: Range<usize>,
    scratch: &mut Scratch,
) -> usize {
    let nic = slice.nic;
    // SAFETY: inside a block.
    let view = unsafe { *nic.view(comm) };
    let indexes = nic.indexes(view);
    scratch.kinds |= view.kinds;
    let early_check = nic.options.early_check;
    let trusted =
        nic.options.inline_hashes == InlineHashes::Trust && slice.entry(handlers.start).has_hashes;
    if view.overtaking() || early_check || !trusted {
        return search_each(
            slice,
            comm,
            view,
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
    match view.classes().only() {
        Some(class) => by_class!(class, CLASS => {
            search_each(slice, comm, view, handlers, scratch, true, |_, key, counters| {
                Ok(indexes.search_class(CLASS, key, 0, counters))
            })
        }),
        None => search_each(
            slice,
            comm,
            view,
            handlers,
            scratch,
            true,
            |_, key, counters| Ok(indexes.search(*key, 0, counters)),
        ),
    }
}

/// The general loop. `search` returns a candidate, or the receive that an overtaking handler has
/// taken. `trusted`: uses the entries' hashes as they are; a message without hashes ends the run.
#[inline]
fn search_each(
    slice: &Slice<'_>,
    comm: CommId,
    view: CommView,
    handlers: Range<usize>,
    scratch: &mut Scratch,
    trusted: bool,
    search: impl Fn(usize, &Key, &HandlerCounters) -> Result<Option<Candidate>, ReceiveId>,
) -> usize {
    let Slice { nic, entries, .. } = *slice;
    let keyed = nic.options.domains == Domains::Keyed;
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
            Key::new(entry.envelope.source, entry.envelope.tag, entry.hashes)
        } else {
            key(&entry, nic.options.inline_hashes, first)
        };
        if keyed {
            domain::write_key(slice, handler, &entry, view);
        }
        step!(SearchBegins);
        let found = match search(handler, &key, first) {
            Ok(found) => found,
            Err(taken) => {
                scratch.overtaken.insert(handler);
                *place = taken;
                slice.publish(handler, ReceiveId::NIL);
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
                slice.book(bookings, receive, handler);
                // The head stays in place until it is taken, so its predecessor is never read.
                if neighbour != ReceiveId::NIL {
                    *before = neighbour;
                }
                receive
            }
            None => ReceiveId::NIL,
        };
        slice.publish(handler, *place);
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

/// The key of a message, with the hashes that the options select (S29).
#[inline]
pub(super) fn key(entry: &Entry, hashes: InlineHashes, counters: &HandlerCounters) -> Key {
    let (source, tag) = (entry.envelope.source, entry.envelope.tag);
    let hashes = if hashes == InlineHashes::Trust && entry.has_hashes {
        entry.hashes
    } else {
        computed(entry, hashes == InlineHashes::Verify, counters)
    };
    Key::new(source, tag, hashes)
}

#[cold]
fn computed(entry: &Entry, verify: bool, counters: &HandlerCounters) -> Hashes {
    step!(HashesComputed);
    let right = Hashes::new(entry.envelope.source, entry.envelope.tag);
    if verify && entry.has_hashes && entry.hashes != right {
        counters.hash_mismatch.add(1);
    }
    right
}

/// Under `mpi_assert_allow_overtaking`: takes the first live receive immediately (S24). After a
/// claim lost to another handler it searches on.
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
