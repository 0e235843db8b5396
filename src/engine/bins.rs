//! The hash-bin engine (Flajslik et al., O3), extended so that wildcards cost no more than full keys.
//!
//! Receives are kept by wildcard class in four structures keyed as in O5, here with the communicator in every
//! key, so that one set of tables serves all communicators: thousands of them cost no table each. Every
//! receive carries a label (O8); an arrival looks for a candidate in each class that has receives at all, and
//! the smallest label wins (C1). An unexpected message stands in four chains at once (O22, S15), so a post or
//! probe searches the one of its own class.

use dpa_model::{CommId, Envelope, Selector, SourceSel, TagSel, WildcardClass};

use super::chain::{Chain, Slab};
use super::entry::{PostedReceive, UnexpectedMessage};
use super::hash::{bin_of, key_hash};
use super::id_table::IdTable;
use super::{Engine, Load, MsgId, RecvId, Stats};

/// Most bins of one table.
pub const BIN_COUNT_MAX: u32 = 65_536;

/// Number of bins of each hash table, `1..=BIN_COUNT_MAX`; need not be a power of two. One bin is traditional
/// matching (O34).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BinCount(u32);

/// A number of bins that no table can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0} bins: the number must be from 1 to {BIN_COUNT_MAX}")]
pub struct BadBinCount(pub u32);

impl BinCount {
    /// This many bins.
    ///
    /// # Errors
    /// [`BadBinCount`] for 0 and above [`BIN_COUNT_MAX`].
    pub const fn new(bins: u32) -> Result<Self, BadBinCount> {
        if bins == 0 || bins > BIN_COUNT_MAX { Err(BadBinCount(bins)) } else { Ok(Self(bins)) }
    }

    /// The number.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl Default for BinCount {
    /// 256 bins.
    fn default() -> Self {
        Self(256)
    }
}

impl std::fmt::Display for BinCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.0, f)
    }
}

impl std::str::FromStr for BinCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bins = text.parse().map_err(|_| format!("a number from 1 to {BIN_COUNT_MAX} is needed"))?;
        Self::new(bins).map_err(|error| error.to_string())
    }
}

#[derive(Clone, Copy, Debug)]
struct Labelled {
    receive: PostedReceive,
    /// Place in the posting order of all communicators.
    label: u64,
}

#[derive(Clone, Copy, Debug)]
struct Numbered {
    message: UnexpectedMessage,
    /// Place in the arrival order of all communicators.
    arrival: u64,
}

/// One chain per bin, for each wildcard class.
#[derive(Clone, Debug)]
struct Tables {
    bins: u32,
    chains: [Vec<Chain>; 4],
}

impl Tables {
    fn new(bins: BinCount) -> Self {
        Self { bins: bins.0, chains: [(); 4].map(|()| vec![Chain::EMPTY; bins.0 as usize]) }
    }

    fn bytes(&self) -> usize {
        self.chains.iter().map(|chains| chains.capacity() * size_of::<Chain>()).sum()
    }

    #[inline]
    fn chain(&mut self, class: WildcardClass, bin: usize) -> &mut Chain {
        &mut self.chains[class as usize][bin]
    }

    /// The bin where receives of this selector stand, and where messages that they accept are looked for.
    #[inline]
    fn bin_of_selector(&self, comm: CommId, selector: Selector) -> usize {
        let source = match selector.source {
            SourceSel::Any => 0,
            SourceSel::Rank(rank) => rank.get(),
        };
        let tag = match selector.tag {
            TagSel::Any => 0,
            TagSel::Tag(tag) => tag.get(),
        };
        bin_of(key_hash(comm.0, source, tag), self.bins)
    }

    /// The bin of a message in the tables of one class.
    #[inline]
    fn bin_of_envelope(&self, class: WildcardClass, envelope: &Envelope) -> usize {
        let (source, tag) = (envelope.source.get(), envelope.tag.get());
        let hash = match class {
            WildcardClass::None => key_hash(envelope.comm.0, source, tag),
            WildcardClass::Source => key_hash(envelope.comm.0, 0, tag),
            WildcardClass::Tag => key_hash(envelope.comm.0, source, 0),
            WildcardClass::Both => key_hash(envelope.comm.0, 0, 0),
        };
        bin_of(hash, self.bins)
    }
}

/// Hash bins with labels. Insertion and removal are O(1); a search costs the entries that share the bin and
/// are older than the one it finds, in up to four bins for an arrival and in one for a post or probe.
#[derive(Clone, Debug)]
pub struct BinEngine {
    posted: Slab<Labelled, 1>,
    prq: Tables,
    /// Receives in the PRQ by class: a class without any is not searched.
    posted_by_class: [u32; 4],
    next_label: u64,
    unexpected: Slab<Numbered, 4>,
    umq: Tables,
    next_arrival: u64,
    /// Node of each posted receive, for cancels.
    places: IdTable,
    /// Entries of each communicator, in both queues.
    entries: IdTable,
    stats: Stats,
}

impl BinEngine {
    /// An engine with empty queues: eight tables (four for each queue) of `bins` bins of 8 bytes.
    pub fn new(bins: BinCount) -> Self {
        let mut engine = Self {
            posted: Slab::new(),
            prq: Tables::new(bins),
            posted_by_class: [0; 4],
            next_label: 0,
            unexpected: Slab::new(),
            umq: Tables::new(bins),
            next_arrival: 0,
            places: IdTable::new(),
            entries: IdTable::new(),
            stats: Stats::default(),
        };
        engine.note_memory();
        engine
    }

    /// Node of the oldest unexpected message that fits: the first in the chain of the selector's class.
    fn oldest(&mut self, comm: CommId, selector: Selector) -> Option<u32> {
        let class = selector.class();
        let chain = *self.umq.chain(class, self.umq.bin_of_selector(comm, selector));
        let mut depth = 0;
        let found = self.unexpected.walk(chain, class as usize).find(|(_, node)| {
            depth += 1;
            node.message.fits(comm, selector)
        });
        let found = found.map(|(at, _)| at);
        self.stats.umq.searched(depth, found.is_some());
        found
    }

    /// Node of the earliest posted receive that accepts the message: the smallest label of four candidates.
    fn earliest(&mut self, envelope: &Envelope) -> Option<u32> {
        let mut depth = 0;
        let mut best: Option<(u64, u32)> = None;
        for class in WildcardClass::ALL {
            if self.posted_by_class[class as usize] == 0 {
                continue;
            }
            let chain = *self.prq.chain(class, self.prq.bin_of_envelope(class, envelope));
            for (at, node) in self.posted.walk(chain, 0) {
                // Labels rise along a chain: nothing from here on can win against the candidate.
                if best.is_some_and(|(label, _)| label < node.label) {
                    break;
                }
                depth += 1;
                if node.receive.accepts(envelope) {
                    best = Some((node.label, at));
                    break;
                }
            }
        }
        self.stats.prq.searched(depth, best.is_some());
        best.map(|(_, at)| at)
    }

    fn insert_posted(&mut self, receive: PostedReceive) {
        let class = receive.selector.class();
        let bin = self.prq.bin_of_selector(receive.comm, receive.selector);
        let chain = self.prq.chain(class, bin);
        self.stats.prq.inserted(class != WildcardClass::Both && !chain.is_empty());
        let at = self.posted.insert(Labelled { receive, label: self.next_label });
        self.next_label += 1;
        self.posted.push_back(chain, 0, at);
        self.posted_by_class[class as usize] += 1;
        self.places.set(receive.recv.0, at);
        self.entries.increment(u64::from(receive.comm.0));
        self.note_memory();
    }

    fn remove_posted(&mut self, at: u32) -> RecvId {
        let receive = self.posted.get(at).receive;
        let class = receive.selector.class();
        let bin = self.prq.bin_of_selector(receive.comm, receive.selector);
        self.posted.unlink(self.prq.chain(class, bin), 0, at);
        self.posted.remove(at);
        self.posted_by_class[class as usize] -= 1;
        self.places.remove(receive.recv.0);
        self.entries.decrement(u64::from(receive.comm.0));
        self.stats.prq.removed();
        receive.recv
    }

    fn insert_unexpected(&mut self, message: UnexpectedMessage) {
        let envelope = message.envelope;
        let at = self.unexpected.insert(Numbered { message, arrival: self.next_arrival });
        self.next_arrival += 1;
        for class in WildcardClass::ALL {
            let chain = self.umq.chain(class, self.umq.bin_of_envelope(class, &envelope));
            if class == WildcardClass::None {
                self.stats.umq.inserted(!chain.is_empty());
            }
            self.unexpected.push_back(chain, class as usize, at);
        }
        self.entries.increment(u64::from(envelope.comm.0));
        self.note_memory();
    }

    fn remove_unexpected(&mut self, at: u32) -> MsgId {
        let UnexpectedMessage { msg, envelope } = self.unexpected.get(at).message;
        for class in WildcardClass::ALL {
            let chain = self.umq.chain(class, self.umq.bin_of_envelope(class, &envelope));
            self.unexpected.unlink(chain, class as usize, at);
        }
        self.unexpected.remove(at);
        self.entries.decrement(u64::from(envelope.comm.0));
        self.stats.umq.removed();
        msg
    }

    fn note_memory(&mut self) {
        let tables = self.prq.bytes() + self.umq.bytes() + self.places.bytes() + self.entries.bytes();
        self.stats.set_memory_bytes(tables + self.posted.bytes() + self.unexpected.bytes());
    }
}

impl Engine for BinEngine {
    fn post(&mut self, recv: RecvId, comm: CommId, selector: Selector) -> Option<MsgId> {
        let message = self.mprobe(comm, selector);
        if message.is_none() {
            self.insert_posted(PostedReceive { recv, comm, selector });
        }
        message
    }

    fn arrive(&mut self, msg: MsgId, envelope: Envelope) -> Option<RecvId> {
        if let Some(at) = self.earliest(&envelope) {
            return Some(self.remove_posted(at));
        }
        self.insert_unexpected(UnexpectedMessage { msg, envelope });
        None
    }

    fn cancel(&mut self, recv: RecvId) -> bool {
        let place = self.places.get(recv.0);
        if let Some(at) = place {
            self.remove_posted(at);
        }
        self.stats.cancel_ended(place.is_some());
        place.is_some()
    }

    fn probe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        self.oldest(comm, selector).map(|at| self.unexpected.get(at).message.msg)
    }

    fn mprobe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        self.oldest(comm, selector).map(|at| self.remove_unexpected(at))
    }

    /// The tables belong to all communicators: only when they hold nothing at all the nodes are given back.
    fn free_comm(&mut self, comm: CommId) -> bool {
        if !self.is_empty(comm) {
            return false;
        }
        if self.posted.is_empty() && self.unexpected.is_empty() {
            self.posted.release();
            self.unexpected.release();
            self.places.release();
            self.entries.release();
            self.note_memory();
        }
        true
    }

    fn posted(&self) -> Vec<RecvId> {
        let chains = self.prq.chains.iter().flatten();
        let mut receives: Vec<_> = chains
            .flat_map(|&chain| self.posted.walk(chain, 0))
            .map(|(_, node)| (node.label, node.receive.recv))
            .collect();
        receives.sort_unstable();
        receives.into_iter().map(|(_, recv)| recv).collect()
    }

    fn unexpected(&self) -> Vec<MsgId> {
        let lane = WildcardClass::None as usize;
        let mut messages: Vec<_> = self.umq.chains[lane]
            .iter()
            .flat_map(|&chain| self.unexpected.walk(chain, lane))
            .map(|(_, node)| (node.arrival, node.message.msg))
            .collect();
        messages.sort_unstable();
        messages.into_iter().map(|(_, msg)| msg).collect()
    }

    fn is_empty(&self, comm: CommId) -> bool {
        self.entries.get(u64::from(comm.0)).is_none()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Eight tables of all communicators, entries and their places.
    fn memory_bound(&self, load: &Load) -> u64 {
        (self.prq.bytes() + self.umq.bytes()) as u64
            + Slab::<Labelled, 1>::bytes_bound(load.posted)
            + Slab::<Numbered, 4>::bytes_bound(load.unexpected)
            + IdTable::bytes_bound(load.posted)
            + IdTable::bytes_bound(load.comms.min(load.posted + load.unexpected))
    }
}

#[cfg(test)]
mod tests {
    use dpa_model::{Rank, Tag};

    use super::*;

    fn rank(number: u32) -> Rank {
        Rank::new(number).expect("a small rank")
    }

    fn tag(number: u32) -> Tag {
        Tag::new(number).expect("a small tag")
    }

    fn engine(bins: u32) -> BinEngine {
        BinEngine::new(BinCount::new(bins).expect("a possible number"))
    }

    #[test]
    fn bin_counts_outside_the_range_are_refused() {
        assert_eq!(BinCount::new(0), Err(BadBinCount(0)));
        assert_eq!(BinCount::new(65_537), Err(BadBinCount(65_537)));
        assert!(BinCount::new(1).is_ok() && BinCount::new(65_536).is_ok());
        assert!("0".parse::<BinCount>().is_err() && "many".parse::<BinCount>().is_err());
    }

    /// C1 across the four classes: whichever order they are posted in, labels decide.
    #[test]
    fn smallest_label_wins_across_classes() {
        let selectors = [
            Selector::new(rank(1), tag(2)),
            Selector::new(SourceSel::Any, tag(2)),
            Selector::new(rank(1), TagSel::Any),
            Selector::new(SourceSel::Any, TagSel::Any),
        ];
        for first in 0..4 {
            let mut engine = engine(64);
            for turn in 0..4 {
                engine.post(RecvId(turn as u64), CommId(0), selectors[(first + turn) % 4]);
            }
            let envelope = Envelope { comm: CommId(0), source: rank(1), tag: tag(2) };
            for expected in 0..4 {
                assert_eq!(engine.arrive(MsgId(expected), envelope), Some(RecvId(expected)));
            }
        }
    }

    #[test]
    fn collisions_are_insertions_in_a_bin_in_use() {
        let mut engine = engine(1);
        engine.post(RecvId(0), CommId(0), Selector::new(rank(1), tag(1)));
        engine.post(RecvId(1), CommId(0), Selector::new(rank(2), tag(1)));
        engine.post(RecvId(2), CommId(0), Selector::new(SourceSel::Any, tag(1)));
        engine.post(RecvId(3), CommId(0), Selector::new(SourceSel::Any, TagSel::Any));
        engine.post(RecvId(4), CommId(0), Selector::new(SourceSel::Any, TagSel::Any));
        assert_eq!(engine.stats().prq.collisions, 1);
        for number in 0..3 {
            engine.arrive(MsgId(number), Envelope { comm: CommId(1), source: rank(1), tag: tag(1) });
        }
        assert_eq!(engine.stats().umq.collisions, 2);
    }

    /// A thousand times as many communicators cost entries, not tables, and nothing once they are freed.
    #[test]
    fn memory_of_many_communicators_is_given_back() {
        let mut engine = engine(128);
        let empty = engine.stats().memory_bytes;
        let comms = 5_000;
        for comm in 0..comms {
            engine.post(RecvId(u64::from(comm)), CommId(comm), Selector::new(rank(0), tag(0)));
            assert!(!engine.free_comm(CommId(comm)));
        }
        let full = engine.stats().memory_bytes;
        assert!(full < empty + 1_500_000, "{full} bytes for {comms} receives");
        for comm in 0..comms {
            assert!(engine.cancel(RecvId(u64::from(comm))));
            assert!(engine.free_comm(CommId(comm)));
        }
        assert_eq!(engine.stats().memory_bytes, empty);
        assert_eq!(engine.stats().memory_bytes_max, full);
    }
}
