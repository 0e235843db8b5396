//! Posts and arrivals of the offered patterns.

use dpamatch_vocabulary::{
    CommId, Envelope, MsgId, Operation, PaperWorkload, Rank, RecvId, Selector, SourceSel, Tag,
    TagSel,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// All receives differ: no conflict.
    Distinct,
    /// All receives are equal: every handler conflicts.
    Equal,
    /// `equal` of 100 messages share the common tag, the others have distinct ones; the seed
    /// chooses.
    Mixed {
        /// Percentage, at most 100.
        equal: u32,
        seed: u64,
    },
    /// Several senders and wildcards.
    Senders(Senders),
}

/// Messages of [`Senders::COUNT`] senders. Pairs of source and tag that are not hot are distinct
/// within a window; neighbours come from different senders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Senders {
    /// Per cent of the messages that have one of the hot pairs, at most 100.
    pub equal: u32,
    /// Hot pairs of source and tag, at least 1.
    pub hot: u32,
    /// Per cent of the receives from any source, evenly spaced.
    pub any_source: u32,
    /// Per cent of the receives with any tag, evenly spaced.
    pub any_tag: u32,
    /// Two more receives at the beginning of a window that no message matches: one from any source,
    /// one with any tag. They make the communicator one conflict domain for good.
    pub standing: bool,
    pub seed: u64,
}

impl Senders {
    pub const COUNT: u32 = 16;

    /// Sources and tags of the messages, and selectors of the receives, in order.
    fn draw(self, count: usize) -> Vec<(Rank, Tag, Selector)> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let mut happens = |percent: u32| random.random_range(0..100) < percent;
        let mut hot_ones = 0;
        let mut one = |index: u32| {
            let pair = if happens(self.equal) {
                hot_ones += 1;
                let key = hot_ones % self.hot;
                (key % Self::COUNT, COMMON + key)
            } else {
                (index % Self::COUNT, FIRST + index / Self::COUNT)
            };
            let (source, tag) = (rank(pair.0), tag(pair.1));
            // Evenly spaced, at different places: 1 % is one receive of a window of 128.
            let any = [(self.any_source, 50), (self.any_tag, 25)]
                .map(|(percent, offset)| is_due(index + offset, percent));
            let from = if any[0] {
                SourceSel::Any
            } else {
                source.into()
            };
            let with = if any[1] { TagSel::Any } else { tag.into() };
            (source, tag, Selector::new(from, with))
        };
        let count = u32::try_from(count).expect("fewer messages than memory has words");
        (0..count).map(&mut one).collect()
    }

    /// A source and a tag that no message has, each beside a wildcard.
    fn unmatched() -> [Selector; 2] {
        [
            Selector::new(SourceSel::Any, tag(COMMON - 1)),
            Selector::new(rank(Self::COUNT), TagSel::Any),
        ]
    }
}

/// Whether it is the turn of this index, with this percentage of turns.
fn is_due(index: u32, percent: u32) -> bool {
    let turns = |index: u32| u64::from(index) * u64::from(percent) / 100;
    turns(index + 1) > turns(index)
}

fn rank(number: u32) -> Rank {
    Rank::new(number).expect("a window's ranks are small")
}

fn tag(number: u32) -> Tag {
    Tag::new(number).expect("a window's tags are small")
}

impl From<PaperWorkload> for Pattern {
    fn from(workload: PaperWorkload) -> Self {
        if workload.has_conflicts() {
            Self::Equal
        } else {
            Self::Distinct
        }
    }
}

const COMMON: u32 = PaperWorkload::COMMON_TAG.get();
/// First tag of the others.
const FIRST: u32 = 1000;

/// Sources and tags of the messages, and selectors of their receives.
fn drawn(pattern: Pattern, count: usize) -> Vec<(Rank, Tag, Selector)> {
    let own = |index: usize| FIRST + index as u32;
    let tags: Vec<u32> = match pattern {
        Pattern::Senders(senders) => return senders.draw(count),
        Pattern::Distinct => (0..count).map(own).collect(),
        Pattern::Equal => vec![COMMON; count],
        Pattern::Mixed { equal, seed } => {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let pick = |index| {
                if random.random_range(0..100) < equal {
                    COMMON
                } else {
                    own(index)
                }
            };
            (0..count).map(pick).collect()
        }
    };
    let source = Rank::default();
    tags.into_iter()
        .map(tag)
        .map(|tag| (source, tag, Selector::new(source, tag)))
        .collect()
}

/// `count` receives posted in arrival order, then `count` messages of `bytes` bytes. Receives that
/// no message matches are posted before them.
pub(crate) fn operations(pattern: Pattern, count: usize, bytes: u32) -> Vec<Operation> {
    let comm = CommId(0);
    let drawn = drawn(pattern, count);
    let standing = match pattern {
        Pattern::Senders(senders) if senders.standing => &Senders::unmatched()[..],
        _ => &[],
    };
    let selectors = drawn.iter().map(|&(_, _, selector)| selector);
    // The receives of messages have the messages' numbers.
    let numbers = (count..count + standing.len()).chain(0..count);
    let selectors = standing.iter().copied().chain(selectors);
    let post = |(number, selector): (usize, Selector)| Operation::Post {
        recv: RecvId(number as u64),
        comm,
        selector,
        bytes,
    };
    let arrive = |(index, &(source, tag, _)): (usize, &(Rank, Tag, Selector))| Operation::Arrive {
        msg: MsgId(index as u64),
        envelope: Envelope { comm, source, tag },
        bytes,
    };
    numbers
        .zip(selectors)
        .map(post)
        .chain(drawn.iter().enumerate().map(arrive))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Senders = Senders {
        equal: 0,
        hot: 1,
        any_source: 0,
        any_tag: 0,
        standing: false,
        seed: 1,
    };

    #[test]
    fn pairs_are_distinct_and_neighbours_come_from_different_senders() {
        let drawn = NONE.draw(128);
        let pairs: std::collections::BTreeSet<_> = drawn
            .iter()
            .map(|&(source, tag, _)| (source.get(), tag.get()))
            .collect();
        assert_eq!(pairs.len(), 128);
        assert!(drawn.windows(2).all(|two| two[0].0 != two[1].0));
        assert_eq!((drawn[17].0.get(), drawn[17].1.get()), (1, 1001));
    }

    #[test]
    fn standing_receives_come_first_and_match_no_message() {
        let senders = Senders {
            standing: true,
            ..NONE
        };
        let posts: Vec<_> = operations(Pattern::Senders(senders), 2, 8)
            .into_iter()
            .filter_map(|operation| match operation {
                Operation::Post { recv, selector, .. } => Some((recv.0, selector)),
                _ => None,
            })
            .collect();
        let own = |index: u32| Selector::new(rank(index), tag(1000));
        assert_eq!(
            posts,
            [
                (2, Selector::new(SourceSel::Any, tag(6))),
                (3, Selector::new(rank(16), TagSel::Any)),
                (0, own(0)),
                (1, own(1)),
            ]
        );
    }

    #[test]
    fn hot_pairs_and_wildcards_have_their_shares() {
        let all = Senders {
            equal: 100,
            hot: 3,
            any_source: 100,
            ..NONE
        };
        let drawn = all.draw(4);
        let pair = |index: usize| (drawn[index].0.get(), drawn[index].1.get());
        assert_eq!([0, 1, 2, 3].map(pair), [(1, 8), (2, 9), (0, 7), (1, 8)]);
        assert_eq!(drawn[0].2, Selector::new(SourceSel::Any, tag(8)));
        let some = Senders {
            any_source: 1,
            any_tag: 1,
            ..NONE
        };
        let wild = some.draw(128);
        let at = |is_wild: fn(&Selector) -> bool| -> Vec<usize> {
            (0..128).filter(|&at| is_wild(&wild[at].2)).collect()
        };
        assert_eq!(at(|selector| selector.source == SourceSel::Any), [49]);
        assert_eq!(at(|selector| selector.tag == TagSel::Any), [74]);
        let often = |percent| (0..1000).filter(|&at| is_due(at, percent)).count();
        assert_eq!([0, 1, 33, 100].map(often), [0, 10, 330, 1000]);
    }
}
