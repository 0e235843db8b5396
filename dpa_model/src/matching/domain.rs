//! Conflict domains (`Options::domains`): a block falls into sets of messages that cannot meet, and
//! each set resolves its conflicts alone. `docs/domains.md` has the lemma and its proof.
//!
//! A receive can be taken only by a message that it matches. So two messages that no receive posted
//! now could match both never meet, and inside a block receives only disappear. Which messages can
//! meet follows from the classes posted in their communicator:
//!
//! | classes posted | messages of one domain are equal in |
//! |---|---|
//! | none, or without wildcards | source and tag |
//! | with any source | tag |
//! | with any tag | source |
//! | both, or any source and any tag at once | nothing more |
//!
//! **Keys.** A handler tells the domain by the fields of the message's header, never by the
//! sender's hashes: a sender could put two messages that one receive matches into two domains.
//! The handler writes a *key* for higher handlers, a hash of those fields, with the block's number.
//! A key is no more than a copy of what the entry says: where it is not there yet, the higher
//! handler reads the entry. So keys publish nothing, and their accesses are Relaxed. Equal keys of
//! different fields make a domain larger, which is slower and still right.
//!
//! **Progress.** A handler waits for lower slices only, as in a block without domains. A slice
//! waits for whole slices; domains consist of handlers.

use core::ops::Range;

use super::block_run::BlockRun;
use super::crew::{Chained, Crew, Part, Slice};
use super::detect::{NO_CONFLICT, first_conflict};
use super::fast_path::choose_in_domain;
use super::resolve::count_refusals;
use super::scratch::Scratch;
use super::search::search_and_book;
use super::take::Taking;
use crate::block::{BlockInfo, Phase};
use crate::booking::{Bookings, HandlerSet};
use crate::descriptor::{Descriptor, Posted};
use crate::index::CommView;
use crate::message::Entry;
use crate::number::{ReceiveId, WorkerId};
use crate::shared::Shared;
use crate::{CommId, Envelope, FastPath, Path, WildcardClass};

/// A key in one word: the block's number above, 16 bits of hash below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Key(pub(crate) u64);

impl Key {
    const HASH_BITS: u32 = 16;

    fn new(block: u64, fields: Fields) -> Self {
        // 2^64 divided by the golden ratio, and another odd number with balanced bits.
        let comm = u64::from(fields.comm.0).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let mixed = (fields.source_and_tag ^ comm).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self(block << Self::HASH_BITS | mixed >> (u64::BITS - Self::HASH_BITS))
    }

    /// Whether both are of one block.
    fn is_of_block_of(self, other: Self) -> bool {
        (self.0 ^ other.0) >> Self::HASH_BITS == 0
    }
}

/// The fields in which messages of one domain are equal; the others are 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fields {
    comm: CommId,
    source_and_tag: u64,
}

impl Fields {
    fn of(envelope: &Envelope, mask: u64) -> Self {
        let both = u64::from(envelope.source.get()) << 32 | u64::from(envelope.tag.get());
        let comm = if fault!(DomainsOfAllCommunicators) { CommId(0) } else { envelope.comm };
        Self { comm, source_and_tag: both & mask }
    }

    fn of_entry(entry: &Entry, mask: u64) -> Self {
        if fault!(DomainsByHash) {
            let source_and_tag = u64::from(entry.hashes.both);
            return Self { comm: entry.envelope.comm, source_and_tag };
        }
        Self::of(&entry.envelope, mask)
    }
}

/// The bits of source (above) and tag in which messages that can meet are equal, by the table
/// above.
fn mask(view: CommView) -> u64 {
    const SOURCE: u64 = u64::MAX << 32;
    const TAG: u64 = !SOURCE;
    let late = fault!(DomainsBeforePosts);
    let classes = if late { view.early_classes() } else { view.classes() };
    let posted = |class| classes.contains(class);
    let any = posted(WildcardClass::Any);
    let any_source = any || posted(WildcardClass::AnySource);
    let any_tag = any || posted(WildcardClass::AnyTag);
    match (any_source, any_tag) {
        _ if fault!(DomainsAlwaysExact) => SOURCE | TAG,
        (false, false) => SOURCE | TAG,
        (true, false) if fault!(DomainKeysSwapped) => SOURCE,
        (false, true) if fault!(DomainKeysSwapped) => TAG,
        (true, false) => TAG,
        (false, true) => SOURCE,
        (true, true) => 0,
    }
}

/// One of several workers runs its slice of a block whose handlers wait within their domains.
#[derive(Clone, Copy, Debug)]
struct Keyed<'a> {
    slice: Slice<'a>,
    /// The workers whose slices have lower handlers of the domain that is being resolved.
    lower: HandlerSet,
}

impl Keyed<'_> {
    /// What the key of a message of this communicator counts.
    fn mask(&self, comm: CommId) -> u64 {
        // SAFETY: inside a block. The boundary wrote the classes after its last post, before it
        // published the block.
        mask(unsafe { *self.slice.nic.view(comm) })
    }
}

impl Crew for Keyed<'_> {
    const PART: Part = Part::Slice;

    fn worker(self) -> WorkerId {
        self.slice.worker
    }

    fn handlers(self) -> Range<usize> {
        self.slice.handlers()
    }

    #[inline(always)]
    fn announce(self, handler: usize, entry: &Entry) {
        let Slice { nic, block, .. } = self.slice;
        let fields = Fields::of_entry(entry, self.mask(entry.envelope.comm));
        step!(KeyWritten { handler });
        nic.block.set_key(handler, Key::new(block.number, fields));
    }

    /// Only the early check and form (a) read bookings.
    #[inline(always)]
    fn book(self, bookings: Bookings<'_>, receive: ReceiveId, handler: usize) -> u64 {
        let options = &self.slice.nic.options;
        if options.early_check || options.fast_path == FastPath::Literal {
            return self.slice.book(bookings, receive, handler);
        }
        0
    }

    #[inline(always)]
    fn publish(self, handler: usize, candidate: ReceiveId) {
        self.slice.publish(handler, candidate);
    }

    /// Says that the slice has booked, and waits for nobody: each handler waits by itself.
    fn pass_barrier(self, _: &mut Scratch) {
        step!(SliceBooked);
        let Slice { nic, block, worker } = self.slice;
        nic.block.reach(worker, block.number, Phase::Booked);
    }

    fn wait_for_lower(self) -> u64 {
        let Slice { nic, block, worker } = self.slice;
        if fault!(DomainSlowNoWait) {
            return 0;
        }
        let lower = (0..worker.0).filter(|&other| self.lower.contains(other));
        lower.map(|other| nic.block.wait_for(WorkerId(other), block.number, Phase::Matched)).sum()
    }

    #[inline(always)]
    fn mark(self, descriptor: &Descriptor, receive: ReceiveId, path: Path) {
        self.slice.mark(descriptor, receive, path);
    }

    #[inline(always)]
    fn matched(self) {
        self.slice.matched();
    }

    fn unlink<const OLDEST: bool>(self, chained: Chained<'_>, posted: &Posted) -> bool {
        self.slice.unlink::<OLDEST>(chained, posted)
    }

    #[inline(always)]
    fn note_taken(self, handler: usize, receive: ReceiveId) {
        self.slice.note_taken(handler, receive);
    }

    fn finished(self) {
        self.slice.finished();
    }
}

/// Runs all phases of a worker's slice of a block, with domains in place of the block wherever one
/// handler waits for another.
#[inline(never)]
pub(crate) fn run_keyed(nic: &Shared, info: &BlockInfo, worker: WorkerId, scratch: &mut Scratch) {
    let slice = Slice { nic, block: info, worker };
    let crew = Keyed { slice, lower: HandlerSet::NONE };
    step!(SliceBegins { worker: worker.0, block: info.number });
    let entries = nic.arrivals.queue(info.queue).ring.stretch(info.first, info.count);
    let block = BlockRun { nic, info, crew, entries };
    search_and_book(block, scratch);
    crew.pass_barrier(scratch);
    let met = if scratch.kinds == 0 {
        Taking::new(block).leave(crew.handlers());
        false
    } else {
        resolve(block, scratch)
    };
    if met {
        nic.block.note_conflict(info.number);
    }
    step!(DeliveryBegins { conflict: met });
    Taking::new(block).deliver_all(scratch);
    crew.finished();
}

/// Every handler of the slice gets its receive, in handler order; says whether one had a conflict.
fn resolve(block: BlockRun<'_, Keyed<'_>>, scratch: &mut Scratch) -> bool {
    let taking = Taking::new(block);
    let Range { start, end } = block.crew.handlers();
    let mut met = false;
    // Handlers from here on take their candidates.
    let mut from = start;
    for handler in start..end {
        let one = handler..handler + 1;
        if scratch.overtaken.contains(handler) {
            taking.take(scratch, from..handler, Path::Clean);
            taking.take(scratch, one, Path::Overtaking);
            from = handler + 1;
            continue;
        }
        if scratch.receives[handler] == ReceiveId::NIL {
            // It takes nothing, whoever is in its domain.
            continue;
        }
        let (rank, lower) = gather(block, handler, scratch);
        let conflict = rank > 0 && first_conflict(&scratch.members[..=rank]) != NO_CONFLICT;
        step!(DomainPassed { handler, lower: rank, conflict });
        if !conflict {
            continue;
        }
        met = true;
        taking.take(scratch, from..handler, Path::Clean);
        let block = BlockRun { crew: Keyed { lower, ..block.crew }, ..block };
        let taking = Taking::new(block);
        match choose_in_domain(block, handler, &scratch.members[..=rank]) {
            Ok(receive) => {
                scratch.receives[handler] = receive;
                taking.take(scratch, one, Path::Fast);
            }
            Err(refusal) => {
                count_refusals(block.nic, handler, refusal, 1);
                taking.take_slowly(scratch, one, None, false);
            }
        }
        from = handler + 1;
    }
    taking.take(scratch, from..end, Path::Clean);
    met
}

/// Waits until all lower handlers of this handler's domain have booked, and lists their candidates
/// by rank in `scratch`, its own behind them. Returns its rank, and the workers of lower slices
/// that run them.
fn gather(
    block: BlockRun<'_, Keyed<'_>>,
    handler: usize,
    scratch: &mut Scratch,
) -> (usize, HandlerSet) {
    let BlockRun { nic, info, crew, .. } = block;
    let table = &nic.block;
    let entry = block.entry(handler);
    let mask = crew.mask(entry.envelope.comm);
    let fields = Fields::of_entry(&entry, mask);
    let own = Key::new(info.number, fields);
    let (mut rank, mut polls, mut workers) = (0, 0, HandlerSet::NONE);
    step!(KeysRead { handler });
    for lower in 0..handler {
        let key = table.key(lower);
        let meets = if key.is_of_block_of(own) {
            key == own
        } else {
            step!(ClaimRead { message: Some(block.entries.position(lower)), receive: None });
            Fields::of_entry(&block.entry(lower), mask) == fields
        };
        if !meets {
            continue;
        }
        let worker = info.worker_of(lower);
        if worker != crew.worker() {
            if !fault!(DomainBarrierMissing) {
                polls += table.wait_for(worker, info.number, Phase::Booked);
            }
            workers.insert(worker.0);
        }
        step!(CandidateRead { handler: lower });
        // SAFETY: phase 1 of the slice that runs it was just seen, or it is this worker's own.
        scratch.members[rank] = unsafe { table.candidate(lower) };
        rank += 1;
    }
    nic.handler_counters[handler].barrier_polls.add(polls);
    scratch.members[rank] = scratch.receives[handler];
    (rank, workers)
}
