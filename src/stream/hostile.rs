//! Keys chosen against hash tables, for random streams: the choice uses the hash function.

use std::sync::LazyLock;

use crate::engine::key_hash;

/// Indices of sources and tags are below these.
pub(super) const SOURCES: u32 = 4;
pub(super) const TAGS: u32 = 12;

/// The hashes of these keys begin with this many zero bits, so they share a bin in tables of up to
/// 2^`BINS_BITS` bins.
const BINS_BITS: u32 = 10;

/// The keys of communicator 0, found by trying tags.
static ONE_BIN: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let of_source = |source| {
        (0..)
            .filter(move |&tag| key_hash(0, source, tag).leading_zeros() >= BINS_BITS)
            .take(TAGS as usize)
    };
    (0..SOURCES).flat_map(of_source).collect()
});

/// Number of the communicator, source and tag with these indices. Communicator 0: all keys share a
/// bin of the multiplying hash. 1: all keys of a source share one of 1,021 buckets. Others: keys
/// differ in high bits only.
pub(super) fn key(comm: u32, source: u32, tag: u32) -> (u32, u32, u32) {
    match comm {
        0 => (0, source, ONE_BIN[(source * TAGS + tag) as usize]),
        // Sources are spread so far that their bits and the tags' do not meet in the folded sum.
        1 => (1, source << 4, tag * 1021),
        _ => (comm << 30, source << 29, tag << 27),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use dpamatch_vocabulary::{CommId, RANK_MAX, Rank, Selector, TAG_MAX, Tag};

    use super::*;
    use crate::engine::{BinCount, BinEngine, Engine, RecvId, UcxEngine};

    fn keys(comm: u32) -> impl Iterator<Item = (u32, u32, u32)> {
        (0..SOURCES).flat_map(move |source| (0..TAGS).map(move |tag| key(comm, source, tag)))
    }

    fn collisions(engine: &mut dyn Engine, comm: u32) -> u64 {
        for (number, (comm, source, tag)) in keys(comm).enumerate() {
            let source = Rank::new(source).expect("a possible rank");
            let tag = Tag::new(tag).expect("a possible tag");
            engine.post(
                RecvId(number as u64),
                CommId(comm),
                Selector::new(source, tag),
            );
        }
        engine.stats().prq.collisions
    }

    #[test]
    fn keys_differ_and_are_possible() {
        for comm in 0..3 {
            let all: BTreeSet<_> = keys(comm).collect();
            assert_eq!(all.len(), (SOURCES * TAGS) as usize);
            assert!(
                all.iter()
                    .all(|&(_, source, tag)| source <= RANK_MAX && tag <= TAG_MAX)
            );
        }
    }

    #[test]
    fn chosen_keys_meet_where_they_should() {
        let all = u64::from(SOURCES * TAGS);
        for bins in [7, 100, 1024] {
            let bins = BinCount::new(bins).expect("a possible number");
            assert_eq!(collisions(&mut BinEngine::new(bins), 0), all - 1);
        }
        assert_eq!(
            collisions(&mut UcxEngine::new(), 1),
            all - u64::from(SOURCES)
        );
    }
}
