//! Orders with random access, without stored lists.

use dpamatch_vocabulary::choices;

choices! {
    /// Arrival order of messages relative to the posting order of their receives.
    #[derive(Hash)]
    pub enum Order, by default Shuffled {
        /// Posting order: each search wants a queue's first entry.
        Forward = "forward",
        /// Reverse posting order: each search wants a queue's last entry.
        Reverse = "reverse",
        /// Random.
        Shuffled = "shuffled",
        /// Random within neighbourhoods of 16, as of processes in step with one another.
        Near = "near",
    }
}

pub const NEAR: u64 = 16;

impl Order {
    /// The element at `place` of `count`; each seed gives a permutation.
    pub(super) fn at(self, place: u64, count: u64, seed: u64) -> u64 {
        debug_assert!(place < count);
        match self {
            Self::Forward => place,
            Self::Reverse => count - 1 - place,
            Self::Shuffled => permuted(place, count, seed),
            Self::Near => {
                let start = place - place % NEAR;
                start + permuted(place - start, NEAR.min(count - start), mix(seed ^ start))
            }
        }
    }
}

/// The distance of SplitMix64's states.
pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number that SplitMix64 gives in a state: a hash of the state, equal on every machine.
pub(crate) fn mix(state: u64) -> u64 {
    let value = state.wrapping_add(STEP);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Image of `place` under a random permutation of `0..count`. A Feistel network over the next power
/// of four repeats until the result is in range, at most four times on average.
fn permuted(place: u64, count: u64, seed: u64) -> u64 {
    let half = count
        .max(2)
        .next_power_of_two()
        .trailing_zeros()
        .div_ceil(2);
    let mask = (1 << half) - 1;
    let mut value = place;
    loop {
        let (mut left, mut right) = (value >> half, value & mask);
        for round in 0..4 {
            (left, right) = (right, left ^ (mix(seed ^ (right << 3) ^ round) & mask));
        }
        value = left << half | right;
        if value < count {
            return value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_a_permutation() {
        for &order in Order::ALL {
            for count in [1, 2, 3, 16, 17, 63, 64, 1000] {
                let mut seen: Vec<u64> =
                    (0..count).map(|place| order.at(place, count, 5)).collect();
                if order == Order::Near {
                    assert!(
                        seen.iter()
                            .zip(0..)
                            .all(|(&at, place)| at / NEAR == place / NEAR)
                    );
                }
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..count), "{order} of {count}");
            }
        }
    }

    #[test]
    fn shuffling_shuffles() {
        let order = |seed| {
            (0..1000)
                .map(|place| Order::Shuffled.at(place, 1000, seed))
                .collect::<Vec<_>>()
        };
        assert_ne!(order(1), order(2));
        // In a random permutation about half of the neighbours rise.
        let rising = order(1).windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((420..580).contains(&rising), "{rising}");
        assert_eq!(
            (Order::Reverse.at(0, 9, 0), Order::Forward.at(3, 9, 0)),
            (8, 3)
        );
    }
}
