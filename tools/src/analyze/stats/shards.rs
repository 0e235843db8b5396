//! Spreads a rank's messages over shards: several NICs, each with a part of the sources.
//!
//! Shards share nothing, so the busiest one limits their common speed, whatever a message costs.

use std::collections::HashMap;

use dpamatch::endpoint::SOURCES_DEALT;
use foldhash::fast::RandomState as Fast;

pub(crate) const SHARDS: [usize; 3] = [2, 4, 8];

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct ShardStats {
    pub shards: usize,
    pub messages: u64,
    /// Messages on a rank's busiest shard; for the application summed over its ranks.
    pub busiest: u64,
}

impl ShardStats {
    /// Speed-up over one NIC: all messages over the busiest shard's.
    pub fn speed_up(&self) -> f64 {
        self.messages as f64 / self.busiest.max(1) as f64
    }

    /// Speed-up over the number of shards: 1 if all shards have equal numbers of messages.
    pub fn efficiency(&self) -> f64 {
        self.speed_up() / self.shards.max(1) as f64
    }

    pub fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.busiest += other.busiest;
    }
}

/// Messages by communicator and source, in the order in which sources first appear.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    places: HashMap<(u32, i32), usize, Fast>,
    messages: Vec<(u32, i32, u64)>,
}

impl Sources {
    /// Counts messages of a source: 0 for a receive. A wildcard names no source.
    #[inline]
    pub(crate) fn named(&mut self, comm: u32, source: i32, messages: u64) {
        if source < 0 {
            return;
        }
        let place = *self
            .places
            .entry((comm, source))
            .or_insert(self.messages.len());
        if place == self.messages.len() {
            self.messages.push((comm, source, 0));
        }
        self.messages[place].2 += messages;
    }

    /// The sources of each communicator and their messages.
    pub(crate) fn by_comm(&self) -> HashMap<u32, Vec<(i32, u64)>, Fast> {
        let mut all = HashMap::<_, Vec<_>, _>::default();
        for &(comm, source, messages) in &self.messages {
            all.entry(comm).or_default().push((source, messages));
        }
        all
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct CommMessages {
    /// Messages of each source, by rank in the communicator, in order of first appearance.
    pub(crate) by_source: Vec<(i32, u64)>,
    /// Whether a receive or probe asked for any source, so that all messages stay together.
    pub(crate) any_source: bool,
}

/// Assigns the messages of these communicators to shards as `dpamatch::endpoint::Shards` does.
pub(crate) fn spread(comms: &[CommMessages]) -> Vec<ShardStats> {
    SHARDS
        .iter()
        .map(|&shards| spread_over(comms, shards))
        .collect()
}

fn spread_over(comms: &[CommMessages], shards: usize) -> ShardStats {
    let mut loads = vec![0; shards];
    let mut next_home = 0;
    for comm in comms {
        let home = comm.any_source.then_some(next_home);
        next_home = (next_home + usize::from(comm.any_source)) % shards;
        let mut dealt = 0;
        for &(source, messages) in &comm.by_source {
            let number = source.max(0) as usize;
            let shard = if number < SOURCES_DEALT {
                dealt
            } else {
                number
            };
            dealt += usize::from(number < SOURCES_DEALT);
            loads[home.unwrap_or(shard % shards)] += messages;
        }
    }
    let busiest = loads.iter().copied().max().unwrap_or(0);
    ShardStats {
        shards,
        messages: loads.iter().sum(),
        busiest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comm(any_source: bool, by_source: &[(i32, u64)]) -> CommMessages {
        CommMessages {
            by_source: by_source.to_vec(),
            any_source,
        }
    }

    fn busiest(comms: &[CommMessages]) -> [u64; 3] {
        let stats = spread(comms);
        assert!(
            stats
                .iter()
                .zip(SHARDS)
                .all(|(stats, shards)| stats.shards == shards)
        );
        [0, 1, 2].map(|at| stats[at].busiest)
    }

    #[test]
    fn sources_are_dealt_out_in_turn() {
        let even: Vec<(i32, u64)> = (0..16).map(|source| (source, 10)).collect();
        let stats = spread(&[comm(false, &even)]);
        for at in stats {
            assert_eq!((at.messages, at.efficiency()), (160, 1.0), "{at:?}");
        }
        assert_eq!(
            busiest(&[comm(false, &[(4, 5), (2, 7), (0, 1)])]),
            [7, 7, 7]
        );
        assert_eq!(
            busiest(&[comm(false, &[(4, 5), (0, 1), (2, 7)])]),
            [12, 7, 7]
        );
        let far = SOURCES_DEALT as i32;
        assert_eq!(
            busiest(&[comm(false, &[(far, 5), (far + 2, 6), (9, 2)])]),
            [13, 7, 7]
        );
        assert_eq!(
            busiest(&[comm(false, &[(1, 5)]), comm(false, &[(1, 6)])]),
            [11; 3]
        );
        assert_eq!(busiest(&[]), [0; 3]);
    }

    #[test]
    fn a_communicator_with_any_source_stays_together() {
        let sources = [(0, 4), (1, 4), (2, 4), (3, 4)];
        assert_eq!(busiest(&[comm(true, &sources)]), [16; 3]);
        // The next communicator with any source goes to the next shard.
        assert_eq!(
            busiest(&[comm(true, &sources), comm(true, &sources)]),
            [16; 3]
        );
        let three = [
            comm(true, &sources),
            comm(true, &sources),
            comm(true, &sources),
        ];
        assert_eq!(busiest(&three), [32, 16, 16]);
        // A spread communicator in between does not count.
        let mixed = [
            comm(true, &sources),
            comm(false, &[(7, 1)]),
            comm(true, &sources),
        ];
        assert_eq!(busiest(&mixed), [17, 17, 17]);
    }

    #[test]
    fn sources_come_in_the_order_in_which_they_are_named() {
        let mut sources = Sources::default();
        let named = [
            (0, 5, 0),
            (0, -1, 0),
            (0, 3, 1),
            (7, 3, 1),
            (0, 5, 1),
            (0, 5, 1),
        ];
        for (comm, source, messages) in named {
            sources.named(comm, source, messages);
        }
        let by_comm = sources.by_comm();
        assert_eq!(by_comm[&0], [(5, 2), (3, 1)]);
        assert_eq!(by_comm[&7], [(3, 1)]);
        assert_eq!(by_comm.len(), 2);
    }

    #[test]
    fn ranks_add_up() {
        let mut all = spread_over(&[comm(false, &[(0, 8), (1, 8)])], 2);
        all.add(&spread_over(&[comm(false, &[(0, 16)])], 2));
        assert_eq!((all.messages, all.busiest), (32, 24));
        assert_eq!(all.speed_up(), 32.0 / 24.0);
        assert_eq!(all.efficiency(), 32.0 / 48.0);
        assert_eq!(spread_over(&[], 4).efficiency(), 0.0);
    }
}
