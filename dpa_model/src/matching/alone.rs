//! A whole block by one worker: the same phases without a barrier, a lock or a read-modify-write.
//!
//! One thread runs a phase for all handlers before the next phase, so a booking bit below one's own
//! is the conflict itself (O13), and from the first conflict on the handlers resolve in order with
//! nothing to wait for (S13). What follows a match happens in one go while the lines are near: the
//! receive leaves its chain, its data moves, its result is reported. Nobody else walks the chains,
//! so it need not stay in one until the block ends (S17); its `next` does stay, because the fast
//! path may still walk over it (B2).
//!
//! **Cost** of a message without conflict: the lines of entry, bin, descriptor, user buffer and
//! result, each once from memory.

use core::ops::Range;

use super::detect::{NO_CONFLICT, first_conflict};
use super::fast_path::Group;
use super::handler::{Scratch, Views, count_path, entry, fast, resolve_one};
use super::optimistic::{book_alone, find, key, overtake};
use super::protocol::move_data;
use crate::bin::Bin;
use crate::block::{BlockInfo, Claim};
use crate::booking::HandlerSet;
use crate::descriptor::{Descriptor, NIL};
use crate::index::{Candidate, CommView, Key, search as search_index, search_class};
use crate::message::{Completion, Entry, Message};
use crate::nic::Shared;
use crate::ring::Run;
use crate::{FastPath, HandlerCounters, InlineHashes, Path};

/// A block of at least so many messages is a sign that more come.
const STREAMING: usize = 8;

/// What the boundary may know of the block's messages without looking at each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Matched {
    /// All, in this communicator.
    AllOf(u32),
    /// Look.
    Mixed,
}

/// Runs all phases of the block. Which receive a handler consumed then stands in
/// `scratch.receives`.
#[inline(never)]
pub(crate) fn run_alone(nic: &Shared, block: &BlockInfo, scratch: &mut Scratch) -> Matched {
    let comm = entry(nic, block, 0).envelope.comm.0;
    let (plain, mut contested) = search_plain(nic, block, comm, scratch);
    if plain < block.count {
        contested |= search(nic, block, plain, scratch);
    }
    let conflict = if contested == 0 { NO_CONFLICT } else { contested.trailing_zeros() as usize };
    debug_assert_eq!(conflict, first_conflict(&scratch.receives[..block.count]));
    tell!({
        for handler in 0..block.count {
            tell!(PassedBarrier {
                handler,
                conflict: (conflict < block.count).then_some(conflict)
            });
        }
    });
    let one_comm = plain == block.count;
    let finish = Finish::new(nic, block);
    let matched = if contested == 0 && scratch.overtaken.is_empty() {
        finish.each(&scratch.receives, &scratch.before, 0..block.count, Path::Clean)
    } else {
        if contested != 0 {
            nic.boundary_counters.conflict_blocks.add(1);
        }
        if one_comm && all_fast(nic, block, conflict, comm, scratch) {
            finish.each(&scratch.receives, &scratch.before, 0..conflict, Path::Clean)
                + finish.each(&scratch.receives, &scratch.before, conflict..block.count, Path::Fast)
        } else {
            resolve(nic, block, conflict, scratch, finish)
        }
    };
    if one_comm && matched == block.count { Matched::AllOf(comm) } else { Matched::Mixed }
}

/// Phase 1 as far as it is plain: messages of communicator `comm` with hashes that are trusted.
/// Returns how many handlers that were, and a bit for each that found its candidate booked by a
/// lower one.
#[inline(never)]
fn search_plain(nic: &Shared, block: &BlockInfo, comm: u32, scratch: &mut Scratch) -> (usize, u64) {
    scratch.overtaken = HandlerSet::NONE;
    // SAFETY: inside a block.
    let view = unsafe { *nic.view(comm) };
    let trusted = nic.options.inline_hashes == InlineHashes::Trust;
    if view.overtaking || nic.options.early_check || !trusted {
        return (0, 0);
    }
    // Most communicators have receives of one class at a time: then one table is searched, by a
    // loop of its own.
    match view.classes {
        0b0000 => search_with(nic, block, comm, &view, scratch, |_, _, _, _, _, _| None),
        0b0001 => search_with(nic, block, comm, &view, scratch, search_class::<0>),
        0b0010 => search_with(nic, block, comm, &view, scratch, search_class::<1>),
        0b0100 => search_with(nic, block, comm, &view, scratch, search_class::<2>),
        0b1000 => search_with(nic, block, comm, &view, scratch, search_class::<3>),
        _ => search_with(nic, block, comm, &view, scratch, search_index),
    }
}

/// What the loop needs stands in local variables: a compiler must otherwise read it again after
/// each booking.
#[inline(always)]
fn search_with(
    nic: &Shared,
    block: &BlockInfo,
    comm: u32,
    view: &CommView,
    scratch: &mut Scratch,
    search: impl Fn(
        &[Descriptor],
        &[Bin],
        &CommView,
        &Key,
        HandlerSet,
        &HandlerCounters,
    ) -> Option<Candidate>,
) -> (usize, u64) {
    let (receives, bins, entries) =
        (&*nic.receives, &*nic.bins, nic.arrivals.ring.run(block.first));
    let places = scratch.receives[..block.count]
        .iter_mut()
        .zip(&mut scratch.before)
        .zip(&nic.handler_counters);
    let mut contested = 0;
    for (handler, ((place, before), counters)) in places.enumerate() {
        // SAFETY: the leader saw the block's entries ready, and releases them only after the
        // block's end.
        let entry = unsafe { entries.peek(handler) };
        if entry.envelope.comm.0 != comm || !entry.has_hashes {
            return (handler, contested);
        }
        let (source, tag) = (entry.envelope.source.get(), entry.envelope.tag.get());
        let key = Key { source, tag, hashes: entry.hashes };
        let found = search(receives, bins, view, &key, HandlerSet::NONE, counters);
        tell!(Searched { handler, found: found.map(|found| nic.request(found.receive)) });
        *place = match found {
            Some(found) => {
                let conflict = book_alone(&receives[found.receive as usize], handler);
                tell!(Booked { handler, receive: nic.request(found.receive) });
                contested |= u64::from(conflict) << handler;
                *before = found.before;
                found.receive
            }
            None => {
                counters.no_candidate.add(1);
                NIL
            }
        };
    }
    (block.count, contested)
}

/// Phase 1 of any messages, from handler `from` up. Returns a bit for each in conflict with a lower
/// one.
#[inline(never)]
fn search(nic: &Shared, block: &BlockInfo, from: usize, scratch: &mut Scratch) -> u64 {
    let mut contested = 0;
    let mut views = Views::new(nic);
    for handler in from..block.count {
        let counters = &nic.handler_counters[handler];
        let entry = entry(nic, block, handler);
        let view = views.of(entry.envelope.comm.0);
        let key = key(&entry, nic.options.inline_hashes, counters);
        scratch.receives[handler] = if view.overtaking {
            scratch.overtaken.insert(handler);
            overtake(nic, view, &key, counters)
        } else {
            let skip_booked =
                if nic.options.early_check { HandlerSet::below(handler) } else { HandlerSet::NONE };
            let found = find(nic, view, &key, skip_booked, counters);
            tell!(Searched { handler, found: found.map(|found| nic.request(found.receive)) });
            match found {
                Some(found) => {
                    let conflict = book_alone(&nic.receives[found.receive as usize], handler);
                    tell!(Booked { handler, receive: nic.request(found.receive) });
                    contested |= u64::from(conflict) << handler;
                    scratch.before[handler] = found.before;
                    found.receive
                }
                None => {
                    counters.no_candidate.add(1);
                    NIL
                }
            }
        };
    }
    contested
}

/// Clean up to the first conflict and from there fast: what they take does not depend on what the
/// others have done (O16), so it is settled for all before anything is consumed. `false` and
/// nothing done: somebody has to go the slow path. All messages are of communicator `comm`.
#[inline(never)]
fn all_fast(
    nic: &Shared,
    block: &BlockInfo,
    conflict: usize,
    comm: u32,
    scratch: &mut Scratch,
) -> bool {
    if nic.options.fast_path == FastPath::Off || fault!(ForcingIgnored) {
        return false;
    }
    let Scratch { candidates, receives, .. } = scratch;
    let (candidates, receives) = (&mut receives[..block.count], &mut candidates[..block.count]);
    let mut group = Group::led_by(&claim(nic, comm, candidates[0]));
    for (handler, (candidate, place)) in candidates.iter().zip(receives.iter_mut()).enumerate() {
        let claim = claim(nic, comm, *candidate);
        group.add(&claim);
        *place = if handler < conflict || claim.receive == NIL {
            claim.receive
        } else {
            match fast(nic, block, &mut group, &claim) {
                Ok(receive) => receive,
                Err(_) => return false,
            }
        };
    }
    candidates.copy_from_slice(receives);
    true
}

/// Clean up to the first conflict, from there fast or slow, in order. Returns how many messages
/// have a receive.
#[inline(never)]
fn resolve(
    nic: &Shared,
    block: &BlockInfo,
    conflict: usize,
    scratch: &mut Scratch,
    finish: Finish,
) -> usize {
    let Scratch { candidates, receives, before, groups, overtaken, .. } = scratch;
    *candidates = *receives;
    groups.clear();
    let mut matched = 0;
    for handler in 0..block.count {
        let candidate = candidates[handler];
        let (receive, path) = if !overtaken.contains(handler) {
            let comm = entry(nic, block, handler).envelope.comm.0;
            let claim = claim(nic, comm, candidate);
            let group = groups.add(&claim);
            resolve_one(nic, block, handler, conflict, &claim, group, &candidates[..handler], || ())
        } else {
            (candidate, Path::Overtaking)
        };
        receives[handler] = receive;
        matched += finish.each(receives, before, handler..handler + 1, path);
    }
    matched
}

/// What a handler would publish for others.
#[inline(always)]
fn claim(nic: &Shared, comm: u32, receive: u32) -> Claim {
    if receive == NIL {
        return Claim { comm, ..Claim::NONE };
    }
    // SAFETY: inside a block (D1).
    let posted = unsafe { nic.receives[receive as usize].posted.peek() };
    Claim { receive, sequence: posted.sequence, comm, label: posted.label }
}

/// The end of handlers: the receive leaves its chain, the data moves, the result is reported.
#[derive(Clone, Copy)]
struct Finish<'a> {
    nic: &'a Shared,
    entries: Run<'a, Entry>,
    results: Run<'a, Completion>,
    /// How far ahead entries are asked for: past the block, if more of them are likely to be there.
    ahead: usize,
}

impl<'a> Finish<'a> {
    #[inline(always)]
    fn new(nic: &'a Shared, block: &BlockInfo) -> Self {
        let entries = nic.arrivals.ring.run(block.first);
        let results = nic.completions.run(block.results);
        Self {
            nic,
            entries,
            results,
            ahead: if block.count >= STREAMING { block.count } else { 0 },
        }
    }

    /// Some handlers that went the same path, if they found a receive. `before`: what stood before
    /// their candidates. Returns how many did.
    #[inline(always)]
    fn each(self, taken: &[u32], before: &[u32], handlers: Range<usize>, path: Path) -> usize {
        let Self { nic, entries, results, ahead } = self;
        let (receives, bins) = (&*nic.receives, &*nic.bins);
        let mut matched = 0;
        let counters = &nic.handler_counters[handlers.clone()];
        let taken = taken[handlers.clone()].iter().zip(&before[handlers.clone()]);
        for (((&receive, &before), counters), handler) in taken.zip(counters).zip(handlers) {
            if receive == NIL {
                unmatched(nic, handler, path);
                continue;
            }
            count_path(counters, receive, path);
            tell!({ super::handler::tell_result(nic, handler, receive, path) });
            let descriptor = &receives[receive as usize];
            debug_assert!(
                path == Path::Overtaking || descriptor.is_posted(),
                "consumed twice (S18)"
            );
            // SAFETY: inside a block (D1).
            let posted = unsafe { descriptor.posted.peek() };
            bins[posted.bin as usize].take_out(receives, receive, before);
            // SAFETY: the leader saw the block's entries ready, and releases them after the block's
            // end.
            let entry = unsafe { entries.peek(handler) };
            let arrival = entries.position(handler);
            move_data(nic, &entry, arrival, &posted);
            // SAFETY: the leader claimed one position of the ring for each handler.
            unsafe {
                results.fill(handler, |slot| {
                    let (envelope, length) = (entry.envelope, entry.length);
                    let message = Message { arrival, envelope, length };
                    *slot = Completion::Received { request: posted.request, message, late: false };
                });
            }
            matched += 1;
            if ahead != 0 {
                entries.prefetch(handler + ahead);
            }
        }
        matched
    }
}

#[cold]
#[inline(never)]
fn unmatched(nic: &Shared, handler: usize, path: Path) {
    // Nothing found is no path, unless somebody waited for it.
    let path = if path == Path::Fast { Path::Clean } else { path };
    count_path(&nic.handler_counters[handler], NIL, path);
    tell!({ super::handler::tell_result(nic, handler, NIL, path) });
}
