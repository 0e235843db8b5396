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
//! Where Open MPI links blocks, these lie in one array, which the processor fetches ahead; entries
//! removed leave holes that are packed before they are more than the entries.

#[allow(unsafe_code)]
mod lanes;
mod packed;

use dpamatch_vocabulary::{CommId, Envelope, Selector, SourceSel, TagSel};
use lanes::Comparer;
use packed::{Masks, PackedQueue, key, mask};

use super::comms::Comms;
use super::entry::{PostedReceive, UnexpectedMessage};
use super::places::{Places, Receives};
use super::{Engine, Load, MsgId, RecvId, Stats};

/// Two arrays of packed keys. A search costs a vector compare for each sixteen entries before the
/// one that it finds; insertion is O(1), removal O(1) on average (holes are packed when they
/// outnumber the entries).
#[derive(Clone, Debug)]
pub struct SimdEngine {
    prq: PackedQueue<PostedReceive>,
    umq: PackedQueue<UnexpectedMessage>,
    /// Slot of each posted receive, for cancels.
    places: Places,
    /// Entries of each communicator, in both queues.
    entries: Comms<()>,
    stats: Stats,
}

impl Default for SimdEngine {
    fn default() -> Self {
        Self::new()
    }
}

fn selector_key(comm: CommId, selector: Selector) -> (u32, u32) {
    let (source, any_source) = match selector.source {
        SourceSel::Any => (0, true),
        SourceSel::Rank(rank) => (rank.get(), false),
    };
    let (tag, any_tag) = match selector.tag {
        TagSel::Any => (0, true),
        TagSel::Tag(tag) => (tag.get(), false),
    };
    (key(comm.0, source, tag), mask(any_source, any_tag))
}

fn envelope_key(envelope: &Envelope) -> u32 {
    key(envelope.comm.0, envelope.source.get(), envelope.tag.get())
}

impl Receives for PackedQueue<PostedReceive> {
    fn recv_at(&self, slot: u32) -> Option<RecvId> {
        self.find(slot).map(|receive| receive.recv)
    }

    fn all(&self) -> impl Iterator<Item = (u32, RecvId)> {
        self.live().map(|(slot, receive)| (slot, receive.recv))
    }

    #[inline]
    fn count(&self) -> usize {
        self.len()
    }
}

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
        Self {
            prq: PackedQueue::new(comparer),
            umq: PackedQueue::new(comparer),
            places: Places::new(),
            entries: Comms::new(),
            stats: Stats::default(),
        }
    }

    /// Slot of the oldest unexpected message that fits.
    fn oldest(&mut self, comm: CommId, selector: Selector) -> Option<u32> {
        let (key, mask) = selector_key(comm, selector);
        let found =
            self.umq.search(Masks::Given(mask), key, |message| message.fits(comm, selector));
        self.stats.umq.hops += found.blocks;
        self.stats.umq.searched(found.compares, found.slot.is_some());
        found.slot
    }

    /// Slot of the earliest posted receive that accepts the message.
    fn earliest(&mut self, envelope: &Envelope) -> Option<u32> {
        let key = envelope_key(envelope);
        let found = self.prq.search(Masks::Stored, key, |receive| receive.accepts(envelope));
        self.stats.prq.hops += found.blocks;
        self.stats.prq.searched(found.compares, found.slot.is_some());
        found.slot
    }

    fn insert_posted(&mut self, receive: PostedReceive) {
        let (key, mask) = selector_key(receive.comm, receive.selector);
        self.stats.prq.inserted(!self.prq.is_empty());
        let slot = self.prq.push(key, Some(mask), receive);
        self.places.set(&self.prq, receive.recv, slot);
        self.entries.enter(receive.comm, || ());
        self.note_memory();
    }

    fn remove_posted(&mut self, slot: u32) -> RecvId {
        let mut packed = false;
        let receive = self.prq.remove(slot, |_, _| packed = true);
        if packed {
            self.places.renew(&self.prq);
        }
        self.entries.leave(receive.comm);
        self.stats.prq.removed();
        receive.recv
    }

    fn insert_unexpected(&mut self, message: UnexpectedMessage) {
        self.stats.umq.inserted(!self.umq.is_empty());
        self.umq.push(envelope_key(&message.envelope), None, message);
        self.entries.enter(message.envelope.comm, || ());
        self.note_memory();
    }

    fn remove_unexpected(&mut self, slot: u32) -> MsgId {
        let message = self.umq.remove(slot, |_, _| ());
        self.entries.leave(message.envelope.comm);
        self.stats.umq.removed();
        message.msg
    }

    fn note_memory(&mut self) {
        let queues = self.prq.bytes() + self.umq.bytes();
        self.stats.set_memory_bytes(queues + self.places.bytes() + self.entries.bytes());
    }
}

impl Engine for SimdEngine {
    fn post(&mut self, recv: RecvId, comm: CommId, selector: Selector) -> Option<MsgId> {
        let message = self.mprobe(comm, selector);
        if message.is_none() {
            self.insert_posted(PostedReceive { recv, comm, selector });
        }
        message
    }

    fn arrive(&mut self, msg: MsgId, envelope: Envelope) -> Option<RecvId> {
        if let Some(slot) = self.earliest(&envelope) {
            return Some(self.remove_posted(slot));
        }
        self.insert_unexpected(UnexpectedMessage { msg, envelope });
        None
    }

    fn cancel(&mut self, recv: RecvId) -> bool {
        let place = self.places.find(&self.prq, recv);
        if let Some(slot) = place {
            self.remove_posted(slot);
        }
        self.stats.cancel_ended(place.is_some());
        place.is_some()
    }

    fn probe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        self.oldest(comm, selector).map(|slot| self.umq.get(slot).msg)
    }

    fn mprobe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        self.oldest(comm, selector).map(|slot| self.remove_unexpected(slot))
    }

    /// The arrays belong to all communicators: only when they hold nothing at all they are given
    /// back.
    fn free_comm(&mut self, comm: CommId) -> bool {
        if !self.is_empty(comm) {
            return false;
        }
        self.entries.remove(comm);
        if self.prq.is_empty() && self.umq.is_empty() {
            self.prq.release();
            self.umq.release();
            self.places.release();
            self.entries.release();
        }
        self.note_memory();
        true
    }

    fn posted(&self) -> Vec<RecvId> {
        self.prq.iter().map(|receive| receive.recv).collect()
    }

    fn unexpected(&self) -> Vec<MsgId> {
        self.umq.iter().map(|message| message.msg).collect()
    }

    fn is_empty(&self, comm: CommId) -> bool {
        self.entries.entries(comm) == 0
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Entries with their keys and holes, and the places of receives.
    fn memory_bound(&self, load: &Load) -> u64 {
        PackedQueue::<PostedReceive>::bytes_bound(load.posted)
            + PackedQueue::<UnexpectedMessage>::bytes_bound(load.unexpected)
            + Places::bytes_bound(load.posted)
            + Comms::<()>::bytes_bound(load.comms)
    }
}

#[cfg(test)]
mod tests {
    use dpamatch_vocabulary::{RANK_MAX, TAG_MAX};

    use super::*;
    use crate::engine::words::{envelope, exact, rank, tag};

    /// In reverse order each search of n receives costs one block for each sixteen before the hit,
    /// and one full compare.
    #[test]
    fn a_reverse_search_costs_blocks() {
        let mut engine = SimdEngine::new();
        let n = 256_u32;
        for number in 0..n {
            engine.post(RecvId(u64::from(number)), CommId(0), exact(1, number));
        }
        for number in (0..n).rev() {
            let found = engine.arrive(MsgId(number.into()), envelope(CommId(0), 1, number));
            assert_eq!(found, Some(RecvId(number.into())));
        }
        let stats = &engine.stats().prq;
        let blocks = u64::from(n / 16);
        assert_eq!((stats.attempts, stats.hops), (u64::from(n), 16 * blocks * (blocks + 1) / 2));
    }

    /// The full compare distinguishes unequal envelopes with equal keys.
    #[test]
    fn folded_keys_do_not_match() {
        let mut engine = SimdEngine::new();
        let (low, high) = (tag(1), tag(1 ^ (1 << 16 | 1)));
        assert_eq!(key(0, 5, low.get()), key(0, 5, high.get()), "the case tested");
        engine.post(RecvId(0), CommId(0), Selector::new(rank(5), low));
        assert_eq!(
            engine.arrive(MsgId(0), Envelope { comm: CommId(0), source: rank(5), tag: high }),
            None
        );
        assert_eq!(engine.stats().prq.attempts, 1);
        engine.post(RecvId(1), CommId(7), Selector::new(SourceSel::Any, TagSel::Any));
        let other = Envelope { comm: CommId(8), source: rank(RANK_MAX), tag: tag(TAG_MAX) };
        assert_eq!(engine.arrive(MsgId(1), other), None, "all wild, but another communicator");
        assert_eq!(engine.probe(CommId(0), Selector::new(rank(5), TagSel::Any)), Some(MsgId(0)));
    }
}
