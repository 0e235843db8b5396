//! The vector engine: packed keys and masks in arrays, sixteen compared at a time, in the manner of
//! Open MPI's custom matching (the "fuzzy" and "vector" queues of its ob1 layer; Dosanjh et al.,
//! *Fuzzy Matching*, CCGRID 2019).
//!
//! It is a list in everything but its form: one PRQ and one UMQ for all communicators, searched
//! from the front. An entry has a key of 32 bits, packed from source, tag and communicator,
//! and in the PRQ a mask that is 0 where the receive is wild. A search compares whole blocks of
//! keys and then, in full, only the entries whose key answered; in the statistics those are the
//! attempts, and the blocks are the hops. Keys are folded, so unequal envelopes may share one: then
//! more entries are compared, never fewer.
//!
//! Where Open MPI links blocks, these are in one array, which the processor fetches ahead; entries
//! removed leave holes that are packed before they are more than the entries.

#[allow(unsafe_code)]
mod lanes;
mod packed;

use dpamatch_vocabulary::{CommId, Envelope, Selector};
use lanes::Comparer;
use packed::{Masks, PackedQueue, key, mask};

use super::QueueStats;
use super::entry::{Entry, Pattern, PostedReceive, UnexpectedMessage};
use super::linear::{Linear, Queue};

/// Two arrays of packed keys. A search costs a vector compare for each sixteen entries before the
/// one that it finds; insertion is O(1), removal O(1) on average (holes are packed when they
/// outnumber the entries).
pub type SimdEngine = Linear<PackedQueue<PostedReceive>, PackedQueue<UnexpectedMessage>>;

impl SimdEngine {
    /// An engine with empty queues that compares as fast as this processor can.
    pub fn new() -> Self {
        Self::with_comparer(Comparer::detect())
    }

    /// An engine that compares one key after the other, to be measured against.
    pub fn scalar() -> Self {
        Self::with_comparer(Comparer::scalar())
    }

    fn with_comparer(comparer: Comparer) -> Self {
        Self::with_queues(PackedQueue::new(comparer), PackedQueue::new(comparer), ())
    }
}

impl Default for SimdEngine {
    fn default() -> Self {
        Self::new()
    }
}

fn selector_key(comm: CommId, selector: Selector) -> (u32, u32) {
    let (source, tag) = (selector.source.number(), selector.tag.number());
    let key = key(comm.0, source.unwrap_or(0), tag.unwrap_or(0));
    (key, mask(source.is_none(), tag.is_none()))
}

fn envelope_key(envelope: &Envelope) -> u32 {
    key(envelope.comm.0, envelope.source.get(), envelope.tag.get())
}

/// An entry with a packed key.
pub trait Packed: Entry {
    /// Its key, and its mask if its queue stores masks.
    fn key(&self) -> (u32, Option<u32>);

    /// The key that a search compares with, and whose masks count.
    fn search(wanted: &Self::Wanted) -> (u32, Masks);
}

impl Packed for PostedReceive {
    fn key(&self) -> (u32, Option<u32>) {
        let (key, mask) = selector_key(self.comm, self.selector);
        (key, Some(mask))
    }

    fn search(envelope: &Envelope) -> (u32, Masks) {
        (envelope_key(envelope), Masks::Stored)
    }
}

impl Packed for UnexpectedMessage {
    fn key(&self) -> (u32, Option<u32>) {
        (envelope_key(&self.envelope), None)
    }

    fn search(wanted: &Pattern) -> (u32, Masks) {
        let (key, mask) = selector_key(wanted.comm, wanted.selector);
        (key, Masks::Given(mask))
    }
}

impl<E: Packed> Queue<E> for PackedQueue<E> {
    #[inline]
    fn search(&mut self, wanted: &E::Wanted, stats: &mut QueueStats) -> Option<u32> {
        let (key, masks) = E::search(wanted);
        let found = Self::search(self, masks, key, |entry| entry.fits(wanted));
        stats.hops += found.blocks;
        stats.searched(found.compares, found.slot.is_some());
        found.slot
    }

    fn push(&mut self, entry: E) -> u32 {
        let (key, mask) = entry.key();
        self.push(key, mask, entry)
    }

    fn remove(&mut self, slot: u32) -> (E, bool) {
        let mut moved = false;
        let entry = self.remove(slot, |_, _| moved = true);
        (entry, moved)
    }

    #[inline]
    fn find(&self, slot: u32) -> Option<&E> {
        self.find(slot)
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &E)> {
        self.live()
    }

    #[inline]
    fn len(&self) -> usize {
        self.len()
    }

    fn release(&mut self) {
        self.release();
    }

    fn bytes(&self) -> usize {
        self.bytes()
    }

    fn bytes_bound(entries: u64) -> u64 {
        Self::bytes_bound(entries)
    }
}

#[cfg(test)]
mod tests {
    use dpamatch_vocabulary::{RANK_MAX, SourceSel, TAG_MAX, TagSel};

    use super::*;
    use crate::engine::words::{rank, tag};
    use crate::engine::{Engine, MsgId, RecvId};

    /// The full compare distinguishes unequal envelopes with equal keys.
    #[test]
    fn folded_keys_do_not_match() {
        let mut engine = SimdEngine::new();
        let (low, high) = (tag(1), tag(1 ^ (1 << 16 | 1)));
        assert_eq!(
            key(0, 5, low.get()),
            key(0, 5, high.get()),
            "the case tested"
        );
        engine.post(RecvId(0), CommId(0), Selector::new(rank(5), low));
        assert_eq!(
            engine.arrive(
                MsgId(0),
                Envelope {
                    comm: CommId(0),
                    source: rank(5),
                    tag: high
                }
            ),
            None
        );
        assert_eq!(engine.stats().prq.attempts, 1);
        engine.post(
            RecvId(1),
            CommId(7),
            Selector::new(SourceSel::Any, TagSel::Any),
        );
        let other = Envelope {
            comm: CommId(8),
            source: rank(RANK_MAX),
            tag: tag(TAG_MAX),
        };
        assert_eq!(
            engine.arrive(MsgId(1), other),
            None,
            "all wild, but another communicator"
        );
        assert_eq!(
            engine.probe(CommId(0), Selector::new(rank(5), TagSel::Any)),
            Some(MsgId(0))
        );
    }
}
