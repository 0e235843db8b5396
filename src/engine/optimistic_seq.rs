//! The four indexes of optimistic matching (O5), sequential and on the host: what the emulated NIC searches,
//! without blocks, bookings and barriers.
//!
//! Each communicator has its own indexes (O24): hash tables for receives without wildcard (I0), with any source
//! (I1), with any tag (I2), and a list for both (I3). An arrival takes the lowest label of up to four candidates
//! (O8); an unexpected message stands in four chains, and a post searches the one of its class (O22). Unlike
//! those of the NIC, tables grow: one that has more entries than bins doubles, so that chains stay short unless
//! keys are equal. They keep their size until the communicator is freed.

use dpa_model::{CommId, Envelope, Selector, SourceSel, TagSel, WildcardClass};

use super::Load;
use super::chain::Chain;
use super::hash::{bin_of, key_hash};
use super::indexed::{Entries, Index, Indexed, Steps};

/// Bins of a table at first and at most.
const BINS_MIN: u32 = 8;
const BINS_MAX: u32 = 1 << 20;

/// The hash by which a selector's class is keyed (O5); a field that is wild does not count.
#[inline]
fn hash_of_selector(selector: Selector) -> u32 {
    let source = match selector.source {
        SourceSel::Any => 0,
        SourceSel::Rank(rank) => rank.get(),
    };
    let tag = match selector.tag {
        TagSel::Any => 0,
        TagSel::Tag(tag) => tag.get(),
    };
    key_hash(0, source, tag)
}

/// The same for a message in the index of a class.
#[inline]
fn hash_of_envelope(class: WildcardClass, envelope: &Envelope) -> u32 {
    let (source, tag) = (envelope.source.get(), envelope.tag.get());
    match class {
        WildcardClass::None => key_hash(0, source, tag),
        WildcardClass::Source => key_hash(0, 0, tag),
        WildcardClass::Tag => key_hash(0, source, 0),
        WildcardClass::Both => 0,
    }
}

/// One index: a table that grows, or a list, which is a table that always has one bin.
#[derive(Clone, Debug, Default)]
struct Table {
    bins: Vec<Chain>,
    entries: u32,
}

impl Table {
    /// The chain of a hash; none without entries.
    #[inline]
    fn chain(&self, hash: u32) -> Chain {
        if self.entries == 0 { Chain::EMPTY } else { self.bins[bin_of(hash, self.bins.len() as u32)] }
    }

    /// The same, to change it; the table has bins.
    #[inline]
    fn chain_mut(&mut self, hash: u32) -> &mut Chain {
        let bin = bin_of(hash, self.bins.len() as u32);
        &mut self.bins[bin]
    }

    fn bytes(&self) -> usize {
        self.bins.capacity() * size_of::<Chain>()
    }

    /// Most bytes of one table with so many entries.
    fn bytes_bound(entries: u64) -> u64 {
        let bins = if entries == 0 { 0 } else { (2 * entries).clamp(BINS_MIN.into(), BINS_MAX.into()) };
        bins * size_of::<Chain>() as u64
    }

    /// Whether one more entry calls for more bins.
    #[inline]
    fn is_full(&self, class: WildcardClass) -> bool {
        let most = if class == WildcardClass::Both { 1 } else { BINS_MAX };
        self.entries as usize >= self.bins.len() && self.bins.len() < most as usize
    }

    /// Twice as many empty bins; returns those that there were.
    #[cold]
    fn double(&mut self, class: WildcardClass) -> Vec<Chain> {
        let least = if class == WildcardClass::Both { 1 } else { BINS_MIN as usize };
        let bins = vec![Chain::EMPTY; (self.bins.len() * 2).max(least)];
        std::mem::replace(&mut self.bins, bins)
    }
}

/// The indexes of a communicator for each queue.
#[derive(Clone, Debug, Default)]
pub struct FourIndexes {
    posted: [Table; 4],
    unexpected: [Table; 4],
}

impl FourIndexes {
    fn bytes(&self) -> usize {
        self.posted.iter().chain(&self.unexpected).map(Table::bytes).sum()
    }
}

/// The index: four tables for each queue of each communicator.
#[derive(Clone, Debug)]
pub struct OptimisticSeq {
    /// Bytes of all tables.
    bytes: usize,
    /// Tables that grew.
    doublings: u64,
}

/// The sequential engine with the optimistic engine's indexes.
pub type OptimisticSeqEngine = Indexed<OptimisticSeq, 1, 4>;

impl OptimisticSeqEngine {
    /// An engine with empty queues.
    pub fn new() -> Self {
        Self::with_index(OptimisticSeq { bytes: 0, doublings: 0 })
    }
}

impl Default for OptimisticSeqEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl OptimisticSeq {
    /// Makes room in a posted index. Bin b becomes bins 2b and 2b + 1, and a chain is taken apart from its front,
    /// so labels go on rising along each chain.
    #[cold]
    fn grow_posted(&mut self, entries: &mut Entries<1, 4>, table: &mut Table, class: WildcardClass) {
        self.bytes -= table.bytes();
        for mut old in table.double(class) {
            while let Some(at) = entries.posted.pop_front(&mut old, 0) {
                let hash = hash_of_selector(entries.posted.get(at).selector);
                entries.posted.push_back(table.chain_mut(hash), 0, at);
            }
        }
        self.bytes += table.bytes();
        self.doublings += 1;
    }

    /// The same in an unexpected index.
    #[cold]
    fn grow_unexpected(&mut self, entries: &mut Entries<1, 4>, table: &mut Table, class: WildcardClass) {
        let lane = class as usize;
        self.bytes -= table.bytes();
        for mut old in table.double(class) {
            while let Some(at) = entries.unexpected.pop_front(&mut old, lane) {
                let hash = hash_of_envelope(class, &entries.unexpected.get(at).envelope);
                entries.unexpected.push_back(table.chain_mut(hash), lane, at);
            }
        }
        self.bytes += table.bytes();
        self.doublings += 1;
    }
}

impl Index<1, 4> for OptimisticSeq {
    type Comm = FourIndexes;

    fn new_comm(&mut self, _size: Option<u32>) -> FourIndexes {
        FourIndexes::default()
    }

    fn end_comm(&mut self, indexes: FourIndexes) {
        self.bytes -= indexes.bytes();
    }

    fn ends_when_empty(&self) -> bool {
        false
    }

    #[inline]
    fn earliest(
        &mut self,
        entries: &Entries<1, 4>,
        comm: Option<&mut FourIndexes>,
        envelope: &Envelope,
        steps: &mut Steps,
    ) -> Option<u32> {
        let indexes = comm?;
        let mut best = None;
        let mut label = u64::MAX;
        for class in WildcardClass::ALL {
            let table = &indexes.posted[class as usize];
            if table.entries == 0 {
                continue;
            }
            let chain = table.chain(hash_of_envelope(class, envelope));
            if let Some(at) = entries.first_accepting(chain, 0, label, envelope, steps) {
                label = entries.posted.get(at).label;
                best = Some(at);
            }
        }
        best
    }

    #[inline]
    fn oldest(
        &mut self,
        entries: &Entries<1, 4>,
        comm: Option<&mut FourIndexes>,
        key: (CommId, Selector),
        steps: &mut Steps,
    ) -> Option<u32> {
        let class = key.1.class();
        let table = &comm?.unexpected[class as usize];
        if table.entries == 0 {
            return None;
        }
        entries.first_fitting(table.chain(hash_of_selector(key.1)), class as usize, u64::MAX, key, steps)
    }

    #[inline]
    fn link_posted(&mut self, entries: &mut Entries<1, 4>, indexes: &mut FourIndexes, at: u32) -> bool {
        let selector = entries.posted.get(at).selector;
        let class = selector.class();
        let table = &mut indexes.posted[class as usize];
        if table.is_full(class) {
            self.grow_posted(entries, table, class);
        }
        table.entries += 1;
        let chain = table.chain_mut(hash_of_selector(selector));
        let collided = class != WildcardClass::Both && !chain.is_empty();
        entries.posted.push_back(chain, 0, at);
        collided
    }

    #[inline]
    fn unlink_posted(&mut self, entries: &mut Entries<1, 4>, indexes: &mut FourIndexes, at: u32) {
        let selector = entries.posted.get(at).selector;
        let table = &mut indexes.posted[selector.class() as usize];
        table.entries -= 1;
        entries.posted.unlink(table.chain_mut(hash_of_selector(selector)), 0, at);
    }

    #[inline]
    fn link_unexpected(&mut self, entries: &mut Entries<1, 4>, indexes: &mut FourIndexes, at: u32) -> bool {
        let envelope = entries.unexpected.get(at).envelope;
        let mut collided = false;
        for class in WildcardClass::ALL {
            let table = &mut indexes.unexpected[class as usize];
            if table.is_full(class) {
                self.grow_unexpected(entries, table, class);
            }
            table.entries += 1;
            let chain = table.chain_mut(hash_of_envelope(class, &envelope));
            collided |= class == WildcardClass::None && !chain.is_empty();
            entries.unexpected.push_back(chain, class as usize, at);
        }
        collided
    }

    #[inline]
    fn unlink_unexpected(&mut self, entries: &mut Entries<1, 4>, indexes: &mut FourIndexes, at: u32) {
        let envelope = entries.unexpected.get(at).envelope;
        for class in WildcardClass::ALL {
            let table = &mut indexes.unexpected[class as usize];
            table.entries -= 1;
            entries.unexpected.unlink(
                table.chain_mut(hash_of_envelope(class, &envelope)),
                class as usize,
                at,
            );
        }
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    /// Each table of each communicator has at most twice as many bins as it ever had entries, or the least
    /// number.
    fn bytes_bound(&self, load: &Load) -> u64 {
        load.comms * 4 * (Table::bytes_bound(load.posted) + Table::bytes_bound(load.unexpected))
    }

    fn conversions(&self) -> u64 {
        self.doublings
    }
}

#[cfg(test)]
mod tests {
    use dpa_model::{Rank, Tag};

    use super::*;
    use crate::engine::{Engine, MsgId, RecvId};

    fn rank(number: u32) -> Rank {
        Rank::new(number).expect("a small rank")
    }

    fn tag(number: u32) -> Tag {
        Tag::new(number).expect("a small tag")
    }

    /// Tables grow with their entries: thousands of keys in either order cost little more than one compare each.
    #[test]
    fn chains_stay_short_however_many_keys() {
        for reverse in [false, true] {
            let n = 10_000;
            let mut engine = OptimisticSeqEngine::new();
            for number in 0..n {
                engine.post(RecvId(number.into()), CommId(0), Selector::new(rank(number % 100), tag(number)));
            }
            assert!(engine.stats().conversions >= 10);
            for number in 0..n {
                let wanted = if reverse { n - 1 - number } else { number };
                let envelope = Envelope { comm: CommId(0), source: rank(wanted % 100), tag: tag(wanted) };
                assert_eq!(engine.arrive(MsgId(number.into()), envelope), Some(RecvId(wanted.into())));
            }
            let attempts = engine.stats().prq.attempts;
            assert!(attempts < 15_000, "{attempts} compares for {n} messages");
        }
    }

    /// Equal keys keep their order through all growth (C1), in each index.
    #[test]
    fn growth_keeps_the_order_of_equal_keys() {
        let any = (SourceSel::Any, TagSel::Any);
        for (source, tag_sel) in
            [(rank(1).into(), tag(1).into()), (any.0, tag(1).into()), (rank(1).into(), any.1), any]
        {
            let mut engine = OptimisticSeqEngine::new();
            for number in 0..300_u32 {
                // Others in between make the table grow.
                let other = Selector { source: rank(number + 2).into(), tag: tag(number + 2).into() };
                engine.post(RecvId(u64::from(number)), CommId(0), Selector { source, tag: tag_sel });
                engine.post(RecvId(1000 + u64::from(number)), CommId(0), other);
                engine.arrive(
                    MsgId(u64::from(number)),
                    Envelope { comm: CommId(1), source: rank(1), tag: tag(number % 3) },
                );
            }
            for expected in 0..300 {
                let envelope = Envelope { comm: CommId(0), source: rank(1), tag: tag(1) };
                assert_eq!(engine.arrive(MsgId(1000 + expected), envelope), Some(RecvId(expected)));
            }
            for expected in 0..100 {
                let selector = Selector { source, tag: tag(1).into() };
                assert_eq!(
                    engine.post(RecvId(5000), CommId(1), selector),
                    Some(MsgId(3 * expected + 1)),
                    "{selector:?}"
                );
            }
        }
    }

    /// A communicator costs tables of the size that its entries need, and nothing once it is freed.
    #[test]
    fn freed_communicators_give_their_tables_back() {
        let mut engine = OptimisticSeqEngine::new();
        for comm in 0..100 {
            engine.arrive(MsgId(comm.into()), Envelope { comm: CommId(comm), ..Envelope::default() });
        }
        assert_eq!(engine.index().bytes(), 100 * (3 * BINS_MIN as usize + 1) * size_of::<Chain>());
        for comm in 0..100 {
            let any = Selector::new(SourceSel::Any, TagSel::Any);
            assert!(!engine.free_comm(CommId(comm)));
            assert_eq!(engine.mprobe(CommId(comm), any), Some(MsgId(comm.into())));
            assert!(engine.free_comm(CommId(comm)));
        }
        assert_eq!(engine.stats().memory_bytes, 0);
    }
}
