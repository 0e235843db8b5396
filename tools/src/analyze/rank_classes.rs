//! The ranks of a report by how much they have, and those that its documents and tables list.

use std::cmp::Reverse;

use serde::{Serialize, Serializer};

use super::stats::RankStats;

/// Most ranks that a document or a table lists one by one.
pub const RANKS_TOLD: usize = 1024;

/// How many ranks have a number below a power of two, and not below half of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct RankClass {
    /// The power of two; 1 for the ranks with a number of 0.
    pub below: u64,
    /// Ranks with so many unexpected messages.
    pub unexpected: u64,
    /// Ranks with so many posted receives at a time.
    pub posted_max: u64,
    /// Ranks with so many unexpected messages at a time.
    pub unexpected_max: u64,
}

/// The classes up to the last that has a rank.
pub(super) fn rank_classes(ranks: &[RankStats]) -> Vec<RankClass> {
    let mut classes: Vec<RankClass> = Vec::new();
    let mut class = |number: u64| {
        let at = (u64::BITS - number.leading_zeros()) as usize;
        while classes.len() <= at {
            let below = 1_u64.checked_shl(classes.len() as u32).unwrap_or(u64::MAX);
            classes.push(RankClass {
                below,
                ..RankClass::default()
            });
        }
        at
    };
    let places: Vec<[usize; 3]> = ranks
        .iter()
        .map(|rank| {
            let needs = &rank.totals.needs;
            [
                rank.totals.traffic.unexpected,
                needs.descriptors,
                needs.unexpected,
            ]
            .map(&mut class)
        })
        .collect();
    for [unexpected, posted_max, unexpected_max] in places {
        classes[unexpected].unexpected += 1;
        classes[posted_max].posted_max += 1;
        classes[unexpected_max].unexpected_max += 1;
    }
    classes
}

/// The ranks that documents and tables list, ascending: all, or [`RANKS_TOLD`] of those with the
/// most unexpected messages, the lower one of equal ranks.
pub(super) fn told(ranks: &[RankStats]) -> Vec<&RankStats> {
    let mut told: Vec<&RankStats> = ranks.iter().collect();
    if told.len() > RANKS_TOLD {
        told.sort_by_key(|rank| Reverse(rank.totals.traffic.unexpected));
        told.truncate(RANKS_TOLD);
        told.sort_by_key(|rank| rank.rank);
    }
    told
}

pub(super) fn write_told<S: Serializer>(
    ranks: &[RankStats],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(told(ranks))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks of which every second one has unexpected messages, the later the more.
    fn ranks(count: u32) -> Vec<RankStats> {
        let rank = |rank: u32| {
            let mut stats = RankStats {
                rank,
                ..RankStats::default()
            };
            stats.totals.traffic.unexpected = u64::from(rank * (rank % 2));
            stats.totals.needs.descriptors = 4;
            stats
        };
        (0..count).map(rank).collect()
    }

    #[test]
    fn more_ranks_than_a_document_lists_leave_those_with_the_fewest_unexpected_messages() {
        let numbers = |count| {
            let ranks = ranks(count);
            let told = told(&ranks);
            told.iter().map(|rank| rank.rank).collect::<Vec<_>>()
        };
        for count in [1023, 1024] {
            assert_eq!(numbers(count), (0..count).collect::<Vec<_>>());
        }
        // Of the ranks with none the last one.
        assert_eq!(numbers(1025), (0..1024).collect::<Vec<_>>());
        let odd: Vec<u32> = (0..1024).map(|at| 2 * at + 1).collect();
        assert_eq!(numbers(2048), odd);
        // 1,025 ranks with unexpected messages: the first of them has the fewest.
        let odd: Vec<u32> = (1..1025).map(|at| 2 * at + 1).collect();
        assert_eq!(numbers(2050), odd);
    }

    #[test]
    fn classes_end_at_powers_of_two() {
        let classes = rank_classes(&ranks(8));
        let rows = classes
            .iter()
            .map(|it| [it.below, it.unexpected, it.posted_max, it.unexpected_max]);
        assert_eq!(
            rows.collect::<Vec<_>>(),
            [[1, 4, 0, 8], [2, 1, 0, 0], [4, 1, 0, 0], [8, 2, 8, 0]]
        );
        assert_eq!(rank_classes(&[]), []);
    }
}
