//! Conflict domains (`Options::domains`): a block falls into sets of messages that cannot meet, and
//! each set resolves its conflicts alone. `docs/domains.md` has the lemma and its proof.
//!
//! A receive can be taken only by a message that it matches. So two messages that no receive posted
//! now could match both never meet, and inside a block receives only disappear. Which messages can
//! meet follows from the classes posted in their communicator, by the page's table.
//!
//! **Keys.** A handler determines the domain by the fields of the message's header, never by the
//! sender's hashes: a sender could put two messages that one receive matches into two domains.
//! The handler writes a *key* for higher handlers: those fields, with the block's number. A key is
//! no more than a copy of the entry's fields: where it is not there yet, the higher handler reads
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
//! **Chain.** Without a fast path every handler with a candidate waits, unless it is the first of
//! its domain. So it waits for the nearest lower one with a candidate only: that one has waited in
//! turn, and all lower ones are done by induction. A handler without a candidate takes nothing and
//! has not waited, so it is passed over. Where a fast path exists, any lower handler may have
//! taken it without waiting, and the slow path waits for all.
//!
//! **Progress.** A handler waits for lower slices only, as in a block without domains. A slice
//! waits for whole slices; domains consist of handlers.

use super::detect::{NO_CONFLICT, first_conflict};
use super::fast_path::{choose_in_domain, choose_in_run};
use super::scratch::Scratch;
use super::slice::Slice;
use crate::block::Phase;
use crate::hash::reduce;
use crate::index::CommView;
use crate::message::Entry;
use crate::number::ReceiveId;
use crate::sync::{AtomicU64, Relaxed};
use crate::{ClassSet, CommId, Envelope, FastPath, Hashes, InlineHashes, Path};

/// The fields of a message in one word: 8 bits for the block, 1 bit if the fields are hashed, and
/// 5, 14, 16 and 20 bits for communicator, bin, source and tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DomainKey(pub(crate) u64);

impl DomainKey {
    /// The lowest bit of the block's number.
    const BLOCK: u64 = 1 << 56;
    const HASHED: u64 = 1 << 55;
    const COMM_BITS: u32 = 5;
    const BIN_BITS: u32 = 14;
    const SOURCE_BITS: u32 = 16;
    const TAG_BITS: u32 = 20;
    /// Blocks until the numbers in keys wrap around; few in models, so that they do.
    const BLOCKS: u64 = if cfg!(dpamatch_loom) { 1 << 1 } else { 1 << 7 };

    #[inline(always)]
    fn new(block: u64, fields: Fields) -> Self {
        let Fields {
            comm,
            bin,
            source,
            tag,
        } = fields;
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

    /// Whether block numbers in keys wrap around with this block: all keys must then be cleared.
    pub(crate) fn wraps_at(block: u64) -> bool {
        block.is_multiple_of(Self::BLOCKS) && !fault!(DomainKeysKept)
    }

    /// [`compare`](Self::compare) of equal keys.
    const EQUAL: u64 = u64::MAX / Self::BLOCK * Self::BLOCK;

    /// Compares with a handler's own key: greater than [`EQUAL`](Self::EQUAL) if this key has other
    /// fields, and less if it is of another block.
    #[inline(always)]
    fn compare(self, own: Self) -> u64 {
        // The block's bits are inverted, so one comparison finds keys of other fields.
        own.0 ^ Self::EQUAL ^ self.0
    }

    /// Whether the fields may be equal to those of a handler's own key.
    #[inline(always)]
    fn is_near(self, own: Self) -> bool {
        self.compare(own) <= Self::EQUAL
    }

    #[inline(always)]
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
    fn new(entry: &Entry, view: CommView, trusts: bool) -> Self {
        let Envelope { comm, source, tag } = entry.envelope;
        let comm = if fault!(DomainsOfAllCommunicators) {
            0
        } else {
            u64::from(comm.0)
        };
        if fault!(DomainsByHash) {
            return Self {
                comm,
                bin: 0,
                source: 0,
                tag: u64::from(entry.hashes.both),
            };
        }
        let bin = match view.classes().only() {
            Some(class) if trusts => {
                let hash = match entry.has_hashes {
                    true => entry.hashes.of_class(class),
                    false => Hashes::for_class(class, source, tag),
                };
                u64::from(reduce(hash, view.bins))
            }
            _ => 0,
        };
        let mask = mask(view);
        let (source, tag) = (u64::from(source.get()), u64::from(tag.get()));
        Self {
            comm,
            bin,
            source: source & mask >> 32,
            tag: tag & mask,
        }
    }

    /// A hash that marks itself as one.
    #[cold]
    fn hashed(self) -> u64 {
        // 2^64 divided by the golden ratio, and another odd number with balanced bits.
        let comm = (self.bin << 32 ^ self.comm).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let mixed = (self.source << 32 ^ self.tag ^ comm).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        DomainKey::HASHED | mixed >> (u64::BITS - DomainKey::HASHED.trailing_zeros())
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
    const MASKS: [u64; 16] = [
        BOTH, BOTH, TAG, TAG, SOURCE, SOURCE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
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

#[inline(always)]
fn view_of(slice: &Slice<'_>, comm: CommId) -> CommView {
    // SAFETY: inside a block. The boundary wrote the classes after its last post, before it
    // published the block.
    unsafe { *slice.nic.view(comm) }
}

/// Writes the key of a handler's message, where higher handlers read it.
#[inline(always)]
pub(super) fn write_key(slice: &Slice<'_>, handler: usize, entry: &Entry, view: CommView) {
    step!(KeyWritten { handler });
    let Slice { nic, block, .. } = *slice;
    let trusts = nic.options.inline_hashes == InlineHashes::Trust;
    let key = DomainKey::new(block.number, Fields::new(entry, view, trusts));
    nic.block.set_key(handler, key);
}

/// Publishes that the slice has booked, and waits for nobody: each handler waits for its domain.
pub(super) fn pass_barrier(slice: &Slice<'_>) {
    step!(SliceBooked);
    let Slice {
        nic, block, worker, ..
    } = *slice;
    nic.block.reach(worker, block.number, Phase::Booked);
}

/// The path of a handler, once the lower ones that it depends on have booked. A handler on the fast
/// path has its receive in `scratch`.
#[inline(always)]
pub(super) fn choose_path(slice: &Slice<'_>, handler: usize, scratch: &mut Scratch) -> Path {
    // A handler without a candidate takes nothing, so its domain does not matter.
    if scratch.receives[handler] == ReceiveId::NIL {
        return Path::Clean;
    }
    step!(KeysRead { handler });
    let waits = slice.nic.options.fast_path == FastPath::Off;
    let lower = if waits {
        nearest(slice, handler, handler)
    } else {
        lowest(slice, handler)
    };
    let path = match lower {
        None => Path::Clean,
        Some(_) if waits => Path::Slow,
        Some(first) => {
            let rank = rank(slice, handler, first);
            choose_behind(slice, handler, first, rank, scratch)
        }
    };
    step!(DomainPassed {
        handler,
        is_first: lower.is_none(),
        conflict: path != Path::Clean
    });
    path
}

/// Waits for the lower handlers of the domain. Returns the failed polls.
pub(super) fn wait_for_lower(slice: &Slice<'_>, handler: usize) -> u64 {
    if fault!(DomainSlowNoWait) {
        return 0;
    }
    wait_for_members(slice, handler)
}

#[inline(never)]
fn choose_behind(
    slice: &Slice<'_>,
    handler: usize,
    lowest: usize,
    rank: usize,
    scratch: &mut Scratch,
) -> Path {
    let nic = slice.nic;
    let options = &nic.options;
    let has_one_class = || {
        // Mostly of all communicators.
        ClassSet::from_bits(scratch.kinds as u8).only().is_some()
            || view_of(slice, slice.entry(handler).envelope.comm)
                .classes()
                .only()
                .is_some()
            || fault!(DomainRunAmongClasses)
    };
    let in_runs = options.fast_path == FastPath::Sequence && !options.early_check;
    let chosen = if in_runs && has_one_class() {
        let polls = wait_for(slice, lowest, Phase::Booked);
        nic.handler_counters[handler].barrier_polls.add(polls);
        step!(CandidateRead { handler: lowest });
        // SAFETY: phase 1 of the slice that runs it was just seen, or it is this worker's own.
        let first = unsafe { nic.block.candidate(lowest) };
        let shift = if fault!(DomainRankInBlock) {
            handler
        } else {
            rank
        };
        choose_in_run(nic, handler, scratch.receives[handler], first, shift)
    } else {
        let candidates = gather(slice, handler, scratch);
        if first_conflict(candidates) == NO_CONFLICT {
            return Path::Clean;
        }
        choose_in_domain(slice, handler, candidates)
    };
    match chosen {
        Some(receive) => {
            scratch.receives[handler] = receive;
            Path::Fast
        }
        None => Path::Slow,
    }
}

/// Waits until all lower handlers of the domain have booked. Returns their candidates by rank, the
/// handler's own behind them.
#[inline(never)]
fn gather<'s>(slice: &Slice<'_>, handler: usize, scratch: &'s mut Scratch) -> &'s [ReceiveId] {
    let own = slice.nic.block.key(handler);
    let (mut rank, mut polls) = (0, 0);
    for member in (0..handler).filter(|&lower| meets(slice, own, handler, lower)) {
        polls += wait_for(slice, member, Phase::Booked);
        step!(CandidateRead { handler: member });
        // SAFETY: phase 1 of the slice that runs it was just seen, or it is this worker's own.
        scratch.members[rank] = unsafe { slice.nic.block.candidate(member) };
        rank += 1;
    }
    slice.nic.handler_counters[handler].barrier_polls.add(polls);
    scratch.members[rank] = scratch.receives[handler];
    &scratch.members[..=rank]
}

/// Waits until the lower handlers of the domain are done, the nearest first; returns the failed
/// polls.
fn wait_for_members(slice: &Slice<'_>, handler: usize) -> u64 {
    let all_wait = slice.nic.options.fast_path == FastPath::Off || fault!(DomainChainAlways);
    let (mut polls, mut below) = (0, handler);
    while let Some(member) = nearest(slice, handler, below) {
        polls += wait_for(slice, member, Phase::Matched);
        // SAFETY: the slice that runs it has passed phase 2, or it is this worker's own.
        let candidate = unsafe { slice.nic.block.candidate(member) };
        if all_wait && (candidate != ReceiveId::NIL || fault!(DomainChainBroken)) {
            break;
        }
        below = member;
    }
    polls
}

/// Waits until the slice with a lower handler has passed a phase; returns the failed polls.
#[inline(always)]
fn wait_for(slice: &Slice<'_>, lower: usize, phase: Phase) -> u64 {
    let worker = slice.block.worker_of(lower);
    let missing = phase == Phase::Booked && fault!(DomainBarrierMissing);
    if worker == slice.worker || missing {
        return 0;
    }
    slice.nic.block.wait_for(worker, slice.block.number, phase)
}

#[inline(always)]
fn nearest(slice: &Slice<'_>, handler: usize, below: usize) -> Option<usize> {
    let own = slice.nic.block.key(handler);
    let mut below = below;
    loop {
        let keys = slice.nic.block.keys(below);
        let is_near = |key: &AtomicU64| DomainKey(key.load(Relaxed)).is_near(own);
        below = keys.iter().rposition(is_near)?;
        if meets(slice, own, handler, below) {
            return Some(below);
        }
    }
}

/// The lowest handler of a handler's domain, found by the keys; `None` for that handler itself.
///
/// **Cost.** A load and three instructions for each lower handler, together with [`rank`].
#[inline(always)]
fn lowest(slice: &Slice<'_>, handler: usize) -> Option<usize> {
    let own = slice.nic.block.key(handler);
    let keys = slice.nic.block.keys(handler);
    let mut first = first_near(keys, 0, own)?;
    while !meets(slice, own, handler, first) {
        first = first_near(keys, first + 1, own)?;
    }
    Some(first)
}

/// The number of lower handlers of a handler's domain, of which `first` is the lowest.
#[inline(always)]
fn rank(slice: &Slice<'_>, handler: usize, first: usize) -> usize {
    let own = slice.nic.block.key(handler);
    let keys = slice.nic.block.keys(handler);
    match count_other(keys, first + 1, own) {
        Some(others) if !own.is_hashed() => handler - first - others,
        _ => 1 + count(slice, own, handler, first + 1),
    }
}

/// Keys between two tests for the end of a loop.
const KEYS_AT_ONCE: usize = 8;

/// The first handler from `from` on whose fields may be equal.
#[inline(never)]
fn first_near(keys: &[AtomicU64], from: usize, own: DomainKey) -> Option<usize> {
    let is_near = |key: &AtomicU64| DomainKey(key.load(Relaxed)).is_near(own);
    let groups = keys[from..].chunks_exact(KEYS_AT_ONCE);
    let others = groups.take_while(|group| !group.iter().any(is_near));
    let from = from + KEYS_AT_ONCE * others.count();
    let behind = keys[from..].iter().position(is_near)?;
    Some(from + behind)
}

/// The number of keys of other fields from `from` on, if all are there.
#[inline(never)]
fn count_other(keys: &[AtomicU64], from: usize, own: DomainKey) -> Option<usize> {
    let (mut others, mut all) = (0, u64::MAX);
    let mut count = |key: &AtomicU64| {
        let compared = DomainKey(key.load(Relaxed)).compare(own);
        all &= compared;
        others += usize::from(compared > DomainKey::EQUAL);
    };
    let groups = keys[from..].chunks_exact(KEYS_AT_ONCE);
    let rest = groups.remainder();
    groups.for_each(|group| group.iter().for_each(&mut count));
    rest.iter().for_each(count);
    (all >= DomainKey::EQUAL).then_some(others)
}

/// How many handlers from `from` on, below this one, are of its domain.
#[cold]
#[inline(never)]
fn count(slice: &Slice<'_>, own: DomainKey, handler: usize, from: usize) -> usize {
    (from..handler)
        .filter(|&lower| meets(slice, own, handler, lower))
        .count()
}

/// Whether a lower handler is of the domain of a handler with this key.
#[inline(always)]
fn meets(slice: &Slice<'_>, own: DomainKey, handler: usize, lower: usize) -> bool {
    let compared = slice.nic.block.key(lower).compare(own);
    if compared > DomainKey::EQUAL {
        return false;
    }
    compared == DomainKey::EQUAL && !own.is_hashed() || meets_by_entry(slice, handler, lower)
}

/// [`meets`], by the entries: the key of the lower handler is not there yet, or a hash.
#[cold]
#[inline(never)]
fn meets_by_entry(slice: &Slice<'_>, handler: usize, lower: usize) -> bool {
    step!(ClaimRead {
        message: Some(slice.entries.position(lower)),
        receive: None
    });
    let trusts = slice.nic.options.inline_hashes == InlineHashes::Trust;
    let fields = |handler: usize| {
        let entry = slice.entry(handler);
        Fields::new(&entry, view_of(slice, entry.envelope.comm), trusts)
    };
    fields(lower) == fields(handler)
}
