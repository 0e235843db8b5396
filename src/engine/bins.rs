//! The hash-bin engine (Flajslik et al., O3), extended so that wildcards cost no more than full
//! keys: the [`FourIndexes`] of optimistic matching (O5), with the communicator in every key, so
//! that one set of tables serves all communicators: thousands of them cost no table each.
//!
//! The number of bins is either fixed or grows: then a table doubles when it holds half as many
//! entries as bins.

use dpamatch_vocabulary::Envelope;

use super::Load;
use super::entry::Pattern;
use super::four_indexes::{FourIndexes, Growth};
use super::indexed::{Entries, Index, Indexed, Steps};

/// Maximum number of bins of one table with a fixed number of bins.
pub const BIN_COUNT_MAX: u32 = 65_536;

/// Number of bins of each hash table, `1..=BIN_COUNT_MAX`; need not be a power of two. One bin is
/// traditional matching.
///
/// Source: O34.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BinCount(u32);

/// A number of bins that no table can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0} bins: the number must be from 1 to {max}", max = BIN_COUNT_MAX)]
pub struct BadBinCount(pub u32);

impl BinCount {
    /// This many bins.
    ///
    /// # Errors
    /// [`BadBinCount`] for 0 and above [`BIN_COUNT_MAX`].
    pub const fn new(bins: u32) -> Result<Self, BadBinCount> {
        if bins == 0 || bins > BIN_COUNT_MAX {
            Err(BadBinCount(bins))
        } else {
            Ok(Self(bins))
        }
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
        let bins = text
            .parse()
            .map_err(|_| format!("a number from 1 to {BIN_COUNT_MAX} is needed"))?;
        Self::new(bins).map_err(|error| error.to_string())
    }
}

/// The index: tables of all communicators. Insertion and removal are O(1); a search costs the
/// entries that share the bin and are older than the one it finds, in up to four bins for an
/// arrival and in one for a post or probe.
#[derive(Clone, Debug)]
pub struct Bins {
    indexes: FourIndexes,
    growth: Growth,
}

/// The hash-bin engine.
pub type BinEngine = Indexed<Bins, 1, 4>;

impl BinEngine {
    /// An engine with empty queues whose tables have `bins` bins of 8 bytes. It makes up to eight
    /// tables, four for each queue, each on first use.
    pub fn new(bins: BinCount) -> Self {
        Self::with_index(Bins {
            indexes: FourIndexes::default(),
            growth: Growth::fixed(bins),
        })
    }

    /// An engine with empty queues whose tables start with the default number of bins. A table
    /// doubles when it holds half as many entries as bins, however many these are.
    pub fn growing() -> Self {
        let least = BinCount::default().get();
        let growth = Growth::doubling(least, least);
        Self::with_index(Bins {
            indexes: FourIndexes::default(),
            growth,
        })
    }
}

impl Index<1, 4> for Bins {
    /// All communicators share the tables.
    type Comm = ();

    fn new_comm(&mut self, _size: Option<u32>) {}

    #[inline]
    fn earliest(
        &mut self,
        entries: &Entries<1, 4>,
        _comm: Option<&mut ()>,
        envelope: &Envelope,
        steps: &mut Steps,
    ) -> Option<u32> {
        self.indexes.earliest(entries, envelope, steps)
    }

    #[inline]
    fn oldest(
        &mut self,
        entries: &mut Entries<1, 4>,
        _comm: Option<&mut ()>,
        wanted: Pattern,
        steps: &mut Steps,
    ) -> Option<u32> {
        self.indexes
            .oldest(&mut self.growth, entries, wanted, steps)
    }

    #[inline]
    fn link_posted(&mut self, entries: &mut Entries<1, 4>, _: &mut (), at: u32) -> bool {
        self.indexes.link_posted(&mut self.growth, entries, at)
    }

    #[inline]
    fn unlink_posted(&mut self, entries: &mut Entries<1, 4>, _: &mut (), at: u32) {
        self.indexes.unlink_posted(entries, at);
    }

    #[inline]
    fn link_unexpected(&mut self, entries: &mut Entries<1, 4>, _: &mut (), at: u32) -> bool {
        self.indexes.link_unexpected(&mut self.growth, entries, at)
    }

    #[inline]
    fn unlink_unexpected(&mut self, entries: &mut Entries<1, 4>, _: &mut (), at: u32) {
        self.indexes.unlink_unexpected(entries, at);
    }

    fn release(&mut self) {
        self.growth.bytes -= self.indexes.bytes();
        self.indexes = FourIndexes::default();
    }

    fn bytes(&self) -> usize {
        self.growth.bytes
    }

    /// All communicators share the tables.
    fn bytes_bound(&self, load: &Load) -> u64 {
        self.growth.bytes_bound(load.posted, load.unexpected)
    }

    fn conversions(&self) -> u64 {
        self.growth.doublings
    }
}

#[cfg(test)]
mod tests {
    use dpamatch_vocabulary::{CommId, Selector, SourceSel, TagSel};

    use super::*;
    use crate::engine::words::{rank, tag};
    use crate::engine::{Engine, MsgId, RecvId};

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

    #[test]
    fn collisions_are_insertions_in_a_bin_in_use() {
        let mut engine = engine(1);
        engine.post(RecvId(0), CommId(0), Selector::new(rank(1), tag(1)));
        engine.post(RecvId(1), CommId(0), Selector::new(rank(2), tag(1)));
        engine.post(RecvId(2), CommId(0), Selector::new(SourceSel::Any, tag(1)));
        engine.post(
            RecvId(3),
            CommId(0),
            Selector::new(SourceSel::Any, TagSel::Any),
        );
        engine.post(
            RecvId(4),
            CommId(0),
            Selector::new(SourceSel::Any, TagSel::Any),
        );
        assert_eq!(engine.stats().prq.collisions, 1);
        for number in 0..3 {
            engine.arrive(
                MsgId(number),
                Envelope {
                    comm: CommId(1),
                    source: rank(1),
                    tag: tag(1),
                },
            );
        }
        assert_eq!(engine.stats().umq.collisions, 2);
    }
}
