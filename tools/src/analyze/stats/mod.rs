//! What one rank's matching looks like in an order: all in one walk, whatever the number of bins
//! and handlers.

mod blocks;
mod fit;
mod hints;
mod keys;
mod left;
mod occupancy;
mod searches;
mod shards;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::BTreeMap;

use dpa_model::NicConfig;

use super::replay::Agreement;
use crate::trace::Class;
use dpamatch::engine::BinCount;

pub use blocks::BlockStats;
pub use fit::{Fallback, Needs, Shortage};
pub use hints::{Hint, Hints, Violation};
pub use keys::KeyStats;
pub use left::Unmatched;
pub(crate) use occupancy::{Occupancy as Tables, hash_of};
pub use occupancy::{OccupancyStats, TableStats};
pub use searches::{BinStats, Searches};
pub use shards::ShardStats;
pub(crate) use walk::walk;

/// Columns of depth over time.
pub const COLUMNS: usize = 100;

/// What is to be found out.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Numbers of bins.
    pub bins: Vec<BinCount>,
    /// Numbers of handlers for which the paths are worked out.
    pub handlers: Vec<u32>,
    /// The NIC that the queues are to fit.
    pub nic: NicConfig,
}

/// Calls by class (Figure 6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Shares {
    /// Point-to-point.
    pub p2p: u64,
    /// Collective.
    pub collective: u64,
    /// One-sided.
    pub one_sided: u64,
    /// Waits, tests, probes.
    pub progress: u64,
    /// All others.
    pub other: u64,
}

impl Shares {
    fn of(calls: &crate::trace::Counts) -> Self {
        let mut shares = Self::default();
        for (function, times) in calls.iter() {
            *match function.class() {
                Class::P2p => &mut shares.p2p,
                Class::Collective => &mut shares.collective,
                Class::OneSided => &mut shares.one_sided,
                Class::Progress => &mut shares.progress,
                Class::Other => &mut shares.other,
            } += times;
        }
        shares
    }

    /// Point-to-point, collective and one-sided calls in percent of the three, as in Figure 6.
    pub fn percent(&self) -> [f64; 3] {
        let all = (self.p2p + self.collective + self.one_sided).max(1) as f64;
        [self.p2p, self.collective, self.one_sided].map(|part| part as f64 * 100.0 / all)
    }

    /// Adds another rank's.
    pub fn add(&mut self, other: &Self) {
        self.p2p += other.p2p;
        self.collective += other.collective;
        self.one_sided += other.one_sided;
        self.progress += other.progress;
        self.other += other.other;
    }
}

/// Sends, receives and messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Traffic {
    /// Sends, `MPI_PROC_NULL` left out.
    pub sends: u64,
    /// Bytes sent, as far as known.
    pub bytes_sent: u64,
    /// Receives posted, by wildcard class: none, any source, any tag, both.
    pub receives: [u64; 4],
    /// Probes that found a message.
    pub probes: u64,
    /// To or from `MPI_PROC_NULL`.
    pub to_null: u64,
    /// Receives cancelled.
    pub cancelled: u64,
    /// Messages that found a posted receive.
    pub expected: u64,
    /// Messages that had to wait for one.
    pub unexpected: u64,
    /// Receives left without a message.
    pub receives_left: u64,
    /// Messages left without a receive.
    pub messages_left: u64,
}

impl Traffic {
    /// All receives.
    pub fn all_receives(&self) -> u64 {
        self.receives.iter().sum()
    }

    /// Receives with a wildcard.
    pub fn wildcards(&self) -> u64 {
        self.receives[1..].iter().sum()
    }

    /// Messages, expected or not.
    pub fn messages(&self) -> u64 {
        self.expected + self.unexpected
    }

    /// Adds another rank's or communicator's.
    pub fn add(&mut self, other: &Self) {
        self.sends += other.sends;
        self.bytes_sent += other.bytes_sent;
        self.receives.iter_mut().zip(other.receives).for_each(|(mine, theirs)| *mine += theirs);
        self.probes += other.probes;
        self.to_null += other.to_null;
        self.cancelled += other.cancelled;
        self.expected += other.expected;
        self.unexpected += other.unexpected;
        self.receives_left += other.receives_left;
        self.messages_left += other.messages_left;
    }
}

/// Runs of receives with the same source and tag, one posted after the other on a communicator
/// (O9).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Sequences {
    /// Runs.
    pub count: u64,
    /// Receives in them: all.
    pub receives: u64,
    /// Longest run.
    pub longest: u64,
    /// Receives in runs of two and more: those that the fast path can serve.
    pub in_runs: u64,
}

impl Sequences {
    /// Mean length.
    pub fn mean(&self) -> f64 {
        self.receives as f64 / self.count.max(1) as f64
    }

    fn end(&mut self, length: u64) {
        if length > 0 {
            self.count += 1;
            self.receives += length;
            self.longest = self.longest.max(length);
            self.in_runs += if length > 1 { length } else { 0 };
        }
    }

    /// Adds another rank's.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.receives += other.receives;
        self.longest = self.longest.max(other.longest);
        self.in_runs += other.in_runs;
    }
}

/// What belongs to one communicator at one rank.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct CommStats {
    /// Its sends, receives and messages.
    pub traffic: Traffic,
    /// Searches for its messages among its posted receives, in the first number of bins.
    pub prq: Searches,
    /// Searches for its receives and probes among its unexpected messages.
    pub umq: Searches,
    /// Most receives posted at once.
    pub posted_max: u64,
    /// Most unexpected messages at once.
    pub unexpected_max: u64,
    /// Runs of compatible receives.
    pub sequences: Sequences,
    /// Hints.
    pub hints: Hints,
    #[serde(skip)]
    posted: u64,
    #[serde(skip)]
    waiting: u64,
    #[serde(skip)]
    run: (Option<(i32, i32)>, u64),
}

impl CommStats {
    /// Adds another rank's.
    pub fn add(&mut self, other: &Self) {
        self.traffic.add(&other.traffic);
        self.prq.add(&other.prq);
        self.umq.add(&other.umq);
        self.posted_max = self.posted_max.max(other.posted_max);
        self.unexpected_max = self.unexpected_max.max(other.unexpected_max);
        self.sequences.add(&other.sequences);
        self.hints.add(&other.hints);
    }
}

/// Most entries of both queues in each of [`COLUMNS`] parts of the time (or of the order, if it has
/// no times).
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Depths {
    /// Posted receives.
    pub posted: Vec<u32>,
    /// Unexpected messages.
    pub unexpected: Vec<u32>,
}

/// What is told of a rank and, added up, of the application.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Totals {
    /// Calls by class.
    pub shares: Shares,
    /// Sends, receives and messages.
    pub traffic: Traffic,
    /// By number of bins.
    pub bins: Vec<BinStats>,
    /// Patterns of receives.
    pub receive_keys: KeyStats,
    /// Envelopes of messages; chains are those of the unexpected queue.
    pub message_keys: KeyStats,
    /// Different tags of messages; of the application the most of a rank.
    pub tags: u64,
    /// Highest tag of a message; -1 without messages.
    pub tag_max: i32,
    /// Runs of compatible receives.
    pub sequences: Sequences,
    /// Paths of optimistic matching, by number of handlers.
    pub blocks: Vec<BlockStats>,
    /// Its messages on several NICs, by their number.
    pub shards: Vec<ShardStats>,
    /// What the NIC would need.
    pub needs: Needs,
    /// Hints, over all communicators.
    pub hints: Hints,
    /// Queue lengths over time; of the application the longest of a rank.
    pub depths: Depths,
    /// The pairs beside those of the trace.
    pub agreement: Agreement,
}

impl Totals {
    /// Adds another rank's.
    pub fn add(&mut self, other: &Self) {
        fn each<T: Copy>(mine: &mut Vec<T>, theirs: &[T], add: impl Fn(&mut T, &T)) {
            if mine.is_empty() {
                mine.extend_from_slice(theirs);
            } else {
                mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| add(mine, theirs));
            }
        }
        self.shares.add(&other.shares);
        self.traffic.add(&other.traffic);
        each(&mut self.bins, &other.bins, BinStats::add);
        self.receive_keys.add(&other.receive_keys);
        self.message_keys.add(&other.message_keys);
        self.tags = self.tags.max(other.tags);
        self.tag_max = self.tag_max.max(other.tag_max);
        self.sequences.add(&other.sequences);
        each(&mut self.blocks, &other.blocks, BlockStats::add);
        each(&mut self.shards, &other.shards, ShardStats::add);
        self.needs.add(&other.needs);
        self.hints.add(&other.hints);
        let higher = |mine: &mut u32, theirs: &u32| *mine = (*mine).max(*theirs);
        each(&mut self.depths.posted, &other.depths.posted, higher);
        each(&mut self.depths.unexpected, &other.depths.unexpected, higher);
        self.agreement.add(&other.agreement);
    }
}

/// One rank in one order.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct RankStats {
    /// Its rank in the world.
    pub rank: u32,
    /// What is told of the application, too.
    #[serde(flatten)]
    pub totals: Totals,
    /// By communicator's number in the run.
    #[serde(skip)]
    pub comms: BTreeMap<u32, CommStats>,
    /// Some of what is left at the end.
    #[serde(skip)]
    pub unmatched: Vec<Unmatched>,
    /// When the rank's last event happened, if the order has times.
    pub end_ns: u64,
}
