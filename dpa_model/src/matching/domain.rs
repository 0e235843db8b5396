//! Conflict domains (`Options::domains`): a block falls into sets of messages that cannot meet, and
//! each set resolves its conflicts alone. `docs/domains.md` has the lemma and its proof.
//!
//! A receive can be taken only by a message that it matches. So two messages that no receive posted
//! now could match both never meet, and inside a block receives only disappear. Which messages can
//! meet follows from the classes posted in their communicator, by the page's table.
//!
//! **Keys.** A handler tells the domain by the fields of the message's header, never by the
//! sender's hashes: a sender could put two messages that one receive matches into two domains.
//! The handler writes a *key* for higher handlers: those fields, with the block's number. A key is
//! no more than a copy of what the entry says: where it is not there yet, the higher handler reads
//! the entry. So keys publish nothing, and their accesses are Relaxed. Fields too large for a key
//! are hashed in it; equal hashes are then verified by the entries. So a handler knows its exact
//! *rank*, the number of lower handlers of its domain.
//!
//! **Runs.** Where receives of one class are posted, all that a domain can take is in one chain,
//! and its members take it in order. So the handler with rank r waits for the candidate of rank 0
//! alone, and takes the receive r places further in its run
//! ([`RunPlace`](crate::number::RunPlace)). All members must search that chain, and a false hash
//! sends a message elsewhere. So the bin that a message searches is one of its fields there:
//! messages that search two bins of the only class can never meet either.
//!
//! **Progress.** A handler waits for lower slices only, as in a block without domains. A slice
//! waits for whole slices; domains consist of handlers.

use core::ops::Range;

use super::block_run::BlockRun;
use super::crew::{Chained, Crew, Part, Slice};
use super::detect::{NO_CONFLICT, first_conflict};
use super::fast_path::{Refusal, choose_in_domain, choose_in_run};
use super::resolve::count_refusals;
use super::scratch::Scratch;
use super::search::search_and_book;
use super::take::Taking;
use crate::block::{BlockInfo, Phase};
use crate::booking::Bookings;
use crate::descriptor::{Descriptor, Posted};
use crate::hash::reduce;
use crate::index::CommView;
use crate::message::Entry;
use crate::number::{ReceiveId, WorkerId};
use crate::shared::Shared;
use crate::{CommId, Envelope, FastPath, Hashes, InlineHashes, Path};

/// The fields of a message in one word: 8 bits for the block, 1 bit if the fields are hashed, and
/// 5, 14, 16 and 20 bits for communicator, bin, source and tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Key(pub(crate) u64);

impl Key {
    /// Differences of keys of two blocks are at least that.
    const BLOCK: u64 = 1 << 56;
    const HASHED: u64 = 1 << 55;
    const COMM_BITS: u32 = 5;
    const BIN_BITS: u32 = 14;
    const SOURCE_BITS: u32 = 16;
    const TAG_BITS: u32 = 20;
    /// Blocks until the numbers in keys come round; few in models, so that they do.
    const BLOCKS: u64 = if cfg!(dpamatch_loom) { 1 << 1 } else { 1 << 7 };

    #[inline(always)]
    fn new(block: u64, fields: Fields) -> Self {
        let Fields { comm, bin, source, tag } = fields;
        // Not 0, which is the key of no block.
        let number = (1 << 7 | block & (Self::BLOCKS - 1)) * Self::BLOCK;
        let too_large = comm >> Self::COMM_BITS
            | bin >> Self::BIN_BITS
            | source >> Self::SOURCE_BITS
            | tag >> Self::TAG_BITS;
        let value = if too_large == 0 {
            ((comm << Self::BIN_BITS | bin) << Self::SOURCE_BITS | source) << Self::TAG_BITS | tag
        } else {
            fields.hashed()
        };
        Self(number | value)
    }

    /// Whether block numbers in keys come round with this block: all keys must then be cleared.
    pub(crate) fn come_round(block: u64) -> bool {
        block.is_multiple_of(Self::BLOCKS) && !fault!(DomainKeysKept)
    }

    /// 0: equal keys; below [`Key::BLOCK`]: others of this block.
    #[inline(always)]
    fn difference(self, other: Self) -> u64 {
        self.0 ^ other.0
    }

    fn is_hashed(self) -> bool {
        self.0 & Self::HASHED != 0
    }
}

/// The fields in which messages of one domain are equal; the others are 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fields {
    comm: u64,
    /// Of the only class posted.
    bin: u64,
    source: u64,
    tag: u64,
}

impl Fields {
    #[inline(always)]
    fn of(entry: &Entry, view: CommView, trusts: bool) -> Self {
        let Envelope { comm, source, tag } = entry.envelope;
        let comm = if fault!(DomainsOfAllCommunicators) { 0 } else { u64::from(comm.0) };
        if fault!(DomainsByHash) {
            return Self { comm, bin: 0, source: 0, tag: u64::from(entry.hashes.both) };
        }
        let bin = match view.classes().only() {
            Some(class) if trusts => {
                let hash = match entry.has_hashes {
                    true => entry.hashes.of_class(class),
                    false => Hashes::of_one(class, source, tag),
                };
                u64::from(reduce(hash, view.bins))
            }
            _ => 0,
        };
        let mask = mask(view);
        let (source, tag) = (u64::from(source.get()), u64::from(tag.get()));
        Self { comm, bin, source: source & mask >> 32, tag: tag & mask }
    }

    /// A hash that marks itself as one.
    #[cold]
    fn hashed(self) -> u64 {
        // 2^64 divided by the golden ratio, and another odd number with balanced bits.
        let comm = (self.bin << 32 ^ self.comm).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let mixed = (self.source << 32 ^ self.tag ^ comm).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Key::HASHED | mixed >> (u64::BITS - Key::HASHED.trailing_zeros())
    }
}

/// The bits of source (above) and tag in which messages that can meet are equal, by the table
/// of `docs/domains.md`.
#[inline(always)]
fn mask(view: CommView) -> u64 {
    const SOURCE: u64 = 0xFFFF_FFFF << 32;
    const TAG: u64 = !SOURCE;
    const BOTH: u64 = SOURCE | TAG;
    /// By the classes posted: bit 0 none wild, 1 any source, 2 any tag, 3 any of both.
    const MASKS: [u64; 16] = [BOTH, BOTH, TAG, TAG, SOURCE, SOURCE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let late = fault!(DomainsBeforePosts);
    let kinds = if late { view.early_kinds() } else { view.kinds };
    let mask = MASKS[kinds as usize % MASKS.len()];
    match mask {
        _ if fault!(DomainsAlwaysExact) => BOTH,
        SOURCE if fault!(DomainKeysSwapped) => TAG,
        TAG if fault!(DomainKeysSwapped) => SOURCE,
        mask => mask,
    }
}

/// One of several workers runs its slice of a block whose handlers wait within their domains.
#[derive(Clone, Copy, Debug)]
struct Keyed<'a> {
    slice: Slice<'a>,
    /// The handler on the slow path.
    waiting: usize,
}

impl Keyed<'_> {
    /// The view of a communicator.
    #[inline(always)]
    fn view(&self, comm: CommId) -> CommView {
        // SAFETY: inside a block. The boundary wrote the classes after its last post, before it
        // published the block.
        unsafe { *self.slice.nic.view(comm) }
    }

    /// The key of a message.
    #[inline(always)]
    fn key(&self, entry: &Entry, view: CommView) -> Key {
        let Slice { nic, block, .. } = self.slice;
        let trusts = nic.options.inline_hashes == InlineHashes::Trust;
        Key::new(block.number, Fields::of(entry, view, trusts))
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
    fn announce(self, handler: usize, entry: &Entry, view: CommView) {
        step!(KeyWritten { handler });
        self.slice.nic.block.set_key(handler, self.key(entry, view));
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
        if fault!(DomainSlowNoWait) {
            return 0;
        }
        let Slice { nic, block: info, .. } = self.slice;
        let entries = nic.arrivals.queue(info.queue).ring.stretch(info.first, info.count);
        let block = BlockRun { nic, info, crew: self, entries };
        members(block, self.waiting).map(|lower| wait_for(block, lower, Phase::Matched)).sum()
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
    let crew = Keyed { slice, waiting: 0 };
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
#[inline(always)]
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
        let lower = Lower::of(block, handler);
        if lower.rank == 0 {
            step!(DomainPassed { handler, lower: 0, conflict: false });
            continue;
        }
        let choice = choose(block, handler, lower, scratch);
        let conflict = !matches!(choice, Choice::Own);
        step!(DomainPassed { handler, lower: lower.rank, conflict });
        if !conflict {
            continue;
        }
        met = true;
        taking.take(scratch, from..handler, Path::Clean);
        match choice {
            Choice::Own => {}
            Choice::Further(receive) => {
                scratch.receives[handler] = receive;
                taking.take(scratch, one, Path::Fast);
            }
            Choice::Wait(refusal) => {
                count_refusals(block.nic, handler, refusal, 1);
                let block = BlockRun { crew: Keyed { waiting: handler, ..block.crew }, ..block };
                Taking::new(block).take_slowly(scratch, one, None, false);
            }
        }
        from = handler + 1;
    }
    taking.take(scratch, from..end, Path::Clean);
    met
}

/// What a handler with lower ones in its domain does.
enum Choice {
    /// It takes its candidate.
    Own,
    /// It takes this receive, without waiting for what the others take.
    Further(ReceiveId),
    /// It takes the slow path.
    Wait(Refusal),
}

/// The choice of a handler, once the lower ones that it depends on have booked.
#[inline(never)]
fn choose(
    block: BlockRun<'_, Keyed<'_>>,
    handler: usize,
    lower: Lower,
    scratch: &mut Scratch,
) -> Choice {
    let BlockRun { nic, crew, .. } = block;
    let options = &nic.options;
    if options.fast_path == FastPath::Off {
        return Choice::Wait(Refusal::Mixed);
    }
    let view = crew.view(block.entry(handler).envelope.comm);
    let one_class = view.classes().only().is_some() || fault!(DomainRunAmongClasses);
    let in_runs = options.fast_path == FastPath::Sequence && !options.early_check && one_class;
    let chosen = if in_runs {
        let polls = wait_for(block, lower.first, Phase::Booked);
        nic.handler_counters[handler].barrier_polls.add(polls);
        step!(CandidateRead { handler: lower.first });
        // SAFETY: phase 1 of the slice that runs it was just seen, or it is this worker's own.
        let first = unsafe { nic.block.candidate(lower.first) };
        let shift = if fault!(DomainRankInBlock) { handler } else { lower.rank };
        choose_in_run(nic, first, shift, scratch.receives[handler])
    } else {
        let candidates = gather(block, handler, scratch);
        if first_conflict(candidates) == NO_CONFLICT {
            return Choice::Own;
        }
        choose_in_domain(block, handler, candidates)
    };
    match chosen {
        Ok(receive) => Choice::Further(receive),
        Err(refusal) => Choice::Wait(refusal),
    }
}

/// Waits until all lower handlers of the domain have booked. Returns their candidates by rank, the
/// handler's own behind them.
#[inline(never)]
fn gather<'s>(
    block: BlockRun<'_, Keyed<'_>>,
    handler: usize,
    scratch: &'s mut Scratch,
) -> &'s [ReceiveId] {
    let (mut rank, mut polls) = (0, 0);
    for member in members(block, handler) {
        polls += wait_for(block, member, Phase::Booked);
        step!(CandidateRead { handler: member });
        // SAFETY: phase 1 of the slice that runs it was just seen, or it is this worker's own.
        scratch.members[rank] = unsafe { block.nic.block.candidate(member) };
        rank += 1;
    }
    block.nic.handler_counters[handler].barrier_polls.add(polls);
    scratch.members[rank] = scratch.receives[handler];
    &scratch.members[..=rank]
}

/// Waits until the slice with a lower handler has passed a phase; returns the failed polls.
fn wait_for(block: BlockRun<'_, Keyed<'_>>, lower: usize, phase: Phase) -> u64 {
    let worker = block.info.worker_of(lower);
    let missing = phase == Phase::Booked && fault!(DomainBarrierMissing);
    if worker == block.crew.worker() || missing {
        return 0;
    }
    block.nic.block.wait_for(worker, block.info.number, phase)
}

/// The lower handlers of a handler's domain.
#[derive(Clone, Copy)]
struct Lower {
    /// How many there are.
    rank: usize,
    /// The lowest, if there is one.
    first: usize,
}

impl Lower {
    /// Finds them by their keys. Cost: a load and four instructions for each lower handler.
    #[inline(always)]
    fn of(block: BlockRun<'_, Keyed<'_>>, handler: usize) -> Self {
        let table = &block.nic.block;
        let own = table.key(handler);
        step!(KeysRead { handler });
        let keys = table.keys(handler);
        // Equal, or of another block.
        let is_near = |key: Key| key.difference(own).wrapping_sub(1) >= Key::BLOCK - 1;
        let mut first = keys.find(0, is_near);
        while first < handler && !meets(block, own, handler, first) {
            first = keys.find(first + 1, is_near);
        }
        if first == handler {
            return Self { rank: 0, first };
        }
        let rank = if own.is_hashed() {
            1 + count(block, own, handler, first + 1)
        } else {
            let (mut equal, mut all) = (1, 0);
            for key in keys.from(first + 1) {
                let difference = key.difference(own);
                all |= difference;
                equal += usize::from(difference == 0);
            }
            if all < Key::BLOCK { equal } else { 1 + count(block, own, handler, first + 1) }
        };
        Self { rank, first }
    }
}

/// How many handlers from `from` on, below this one, are of its domain.
#[cold]
#[inline(never)]
fn count(block: BlockRun<'_, Keyed<'_>>, own: Key, handler: usize, from: usize) -> usize {
    (from..handler).filter(|&lower| meets(block, own, handler, lower)).count()
}

/// The lower handlers of a handler's domain, in order.
fn members<'a>(
    block: BlockRun<'a, Keyed<'a>>,
    handler: usize,
) -> impl Iterator<Item = usize> + use<'a> {
    let own = block.nic.block.key(handler);
    (0..handler).filter(move |&lower| meets(block, own, handler, lower))
}

/// Whether a lower handler is of the domain of a handler with this key.
#[inline(always)]
fn meets(block: BlockRun<'_, Keyed<'_>>, own: Key, handler: usize, lower: usize) -> bool {
    match block.nic.block.key(lower).difference(own) {
        0 if !own.is_hashed() => true,
        1..Key::BLOCK => false,
        _ => meets_by_entry(block, own, handler, lower),
    }
}

/// [`meets`], by the entries: the key of the lower handler is not there yet, or a hash.
#[cold]
#[inline(never)]
fn meets_by_entry(block: BlockRun<'_, Keyed<'_>>, own: Key, handler: usize, lower: usize) -> bool {
    let crew = block.crew;
    let key_of = |entry: &Entry| crew.key(entry, crew.view(entry.envelope.comm));
    step!(ClaimRead { message: Some(block.entries.position(lower)), receive: None });
    let there = block.entry(lower);
    if key_of(&there) != own {
        return false;
    }
    if !own.is_hashed() {
        return true;
    }
    let trusts = block.nic.options.inline_hashes == InlineHashes::Trust;
    let fields = |entry: &Entry| Fields::of(entry, crew.view(entry.envelope.comm), trusts);
    fields(&there) == fields(&block.entry(handler))
}
