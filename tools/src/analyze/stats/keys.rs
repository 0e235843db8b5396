//! Counts tags, and the reuse of (source, tag) pairs (O37).

use std::collections::HashMap;

use foldhash::fast::RandomState as Fast;

use crate::analyze::communicators::GlobalComm;

/// A receive's pattern (-1: wildcard) or a message's envelope: communicator, source, tag.
pub(crate) type Key = (u32, i32, i32);

#[derive(Clone, Copy, Debug, Default)]
struct Use {
    count: u32,
    live: u32,
    live_max: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    uses: HashMap<Key, Use, Fast>,
    live_max: u32,
}

impl Keys {
    #[inline]
    pub(crate) fn used(&mut self, key: Key) {
        self.uses.entry(key).or_default().count += 1;
    }

    #[inline]
    pub(crate) fn waits(&mut self, key: Key) {
        let uses = self.uses.entry(key).or_default();
        uses.live += 1;
        uses.live_max = uses.live_max.max(uses.live);
        self.live_max = self.live_max.max(uses.live);
    }

    /// Removes a waiting entry; returns whether others with this key wait.
    #[inline]
    pub(crate) fn leaves(&mut self, key: Key) -> bool {
        let Some(uses) = self.uses.get_mut(&key) else {
            return false;
        };
        uses.live = uses.live.saturating_sub(1);
        uses.live > 0
    }

    pub(crate) fn stats(&self, comms: &[GlobalComm]) -> (KeyStats, Vec<i32>) {
        let with_tag = self.uses.keys().filter(|(_, _, tag)| *tag >= 0);
        let mut tags: Vec<i32> = with_tag
            .map(|&(comm, _, tag)| comms[comm as usize].tag(tag))
            .collect();
        tags.sort_unstable();
        tags.dedup();
        let used = self.uses.values().filter(|uses| uses.count > 0);
        let stats = KeyStats {
            uses: used.clone().map(|uses| u64::from(uses.count)).sum(),
            unique: used.clone().count() as u64,
            most_used: used.map(|uses| u64::from(uses.count)).max().unwrap_or(0),
            chain_max: self.live_max,
            chain_max_sum: self
                .uses
                .values()
                .map(|uses| u64::from(uses.live_max))
                .sum(),
        };
        (stats, tags)
    }
}

/// How keys are used. A small number of distinct keys does not imply well-spread receives. If many
/// receives of one key wait at once, they form one long chain whatever the number of bins. So both
/// numbers are reported (O37).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct KeyStats {
    pub uses: u64,
    pub unique: u64,
    pub most_used: u64,
    /// Maximum receives of one key waiting at a time: a chain that no number of bins shortens.
    pub chain_max: u32,
    /// Sum over the keys of their maximum chains; divided by `unique`, the mean chain.
    pub chain_max_sum: u64,
}

impl KeyStats {
    /// Distinct keys per receive.
    pub fn unique_share(&self) -> f64 {
        self.unique as f64 / self.uses.max(1) as f64
    }

    /// Mean over the keys of the maximum receives that waited at a time.
    pub fn chain_mean(&self) -> f64 {
        self.chain_max_sum as f64 / self.unique.max(1) as f64
    }

    pub fn add(&mut self, other: &Self) {
        add_fields! { self + other; sum uses unique chain_max_sum; max most_used chain_max; }
    }
}
