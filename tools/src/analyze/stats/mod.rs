//! Statistics of one rank's matching in an order, gathered in one walk for all numbers of bins and
//! handlers.

mod blocks;
mod fit;
mod hints;
mod keys;
mod left;
mod occupancy;
mod searches;
mod shards;
mod sizes;
#[cfg(test)]
mod tests;
mod walk;

use dpa_model::NicConfig;

use super::replay::Agreement;
use dpamatch::engine::BinCount;
use dpamatch_traces::{Class, Function};

pub use blocks::BlockStats;
pub use fit::{Fallback, Needs, Shortage};
pub use hints::{Hint, Hints, Violation};
pub use keys::KeyStats;
pub use left::Unmatched;
pub(crate) use occupancy::Occupancy as Tables;
pub use occupancy::{OccupancyStats, TableStats};
pub use searches::{BinStats, Searches};
pub use shards::ShardStats;
pub use sizes::SizeClass;
pub(crate) use walk::walk;

/// Columns of depth over time.
pub const COLUMNS: usize = 100;

#[derive(Clone, Debug)]
pub struct Plan {
    pub bins: Vec<BinCount>,
    pub handlers: Vec<u32>,
    pub nic: NicConfig,
}

/// Calls by class (Figure 6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Shares {
    pub p2p: u64,
    pub collective: u64,
    pub one_sided: u64,
    pub progress: u64,
    pub other: u64,
}

impl Shares {
    /// The sums of these numbers of each function.
    fn of(numbers: impl Iterator<Item = (Function, u64)>) -> Self {
        let mut shares = Self::default();
        for (function, number) in numbers {
            *match function.class() {
                Class::P2p => &mut shares.p2p,
                Class::Collective => &mut shares.collective,
                Class::OneSided => &mut shares.one_sided,
                Class::Progress => &mut shares.progress,
                Class::Other => &mut shares.other,
            } += number;
        }
        shares
    }

    /// Point-to-point, collective and one-sided calls as percentages of their sum, as in Figure 6.
    pub fn percent(&self) -> [f64; 3] {
        let all = (self.p2p + self.collective + self.one_sided).max(1) as f64;
        [self.p2p, self.collective, self.one_sided].map(|part| part as f64 * 100.0 / all)
    }

    pub fn add(&mut self, other: &Self) {
        add_fields! { self + other; sum p2p collective one_sided progress other; }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Traffic {
    /// Sends, except those to `MPI_PROC_NULL`.
    pub sends: u64,
    /// Bytes sent, as far as known.
    pub bytes_sent: u64,
    /// Receives posted, by wildcard class: none, any source, any tag, both.
    pub receives: [u64; 4],
    /// Probes that found a message.
    pub probes: u64,
    /// Transfers with `MPI_PROC_NULL`.
    pub to_null: u64,
    pub cancelled: u64,
    /// Messages that found a posted receive.
    pub expected: u64,
    /// Messages that had to wait for a receive.
    pub unexpected: u64,
    pub receives_left: u64,
    pub messages_left: u64,
}

impl Traffic {
    pub fn all_receives(&self) -> u64 {
        self.receives.iter().sum()
    }

    pub fn wildcards(&self) -> u64 {
        self.receives[1..].iter().sum()
    }

    pub fn messages(&self) -> u64 {
        self.expected + self.unexpected
    }

    pub fn add(&mut self, other: &Self) {
        add_fields! { self + other;
            sum sends bytes_sent probes to_null cancelled expected unexpected receives_left
                messages_left;
        }
        self.receives
            .iter_mut()
            .zip(other.receives)
            .for_each(|(mine, theirs)| *mine += theirs);
    }
}

/// Runs of consecutive receives with equal source and tag on a communicator (O9).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Sequences {
    pub count: u64,
    pub receives: u64,
    pub longest: u64,
    /// Receives in runs of at least two, which the fast path can serve.
    pub in_runs: u64,
}

impl Sequences {
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

    pub fn add(&mut self, other: &Self) {
        add_fields! { self + other; sum count receives in_runs; max longest; }
    }
}

#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct CommStats {
    pub traffic: Traffic,
    /// Searches for its messages among its posted receives, with the first number of bins.
    pub prq: Searches,
    /// Searches for its receives and probes among its unexpected messages.
    pub umq: Searches,
    pub posted_max: u64,
    pub unexpected_max: u64,
    pub sequences: Sequences,
    pub hints: Hints,
    #[serde(skip)]
    posted: u64,
    #[serde(skip)]
    waiting: u64,
    #[serde(skip)]
    run: (Option<(i32, i32)>, u64),
}

impl CommStats {
    pub fn add(&mut self, other: &Self) {
        add_fields! { self + other;
            max posted_max unexpected_max;
            parts traffic prq umq sequences hints;
        }
    }
}

/// Maximum length of both queues in each of [`COLUMNS`] intervals of the time, or of the order if
/// it has no times.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Depths {
    pub posted: Vec<u32>,
    pub unexpected: Vec<u32>,
}

/// Statistics of a rank or, summed, of the application.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Totals {
    pub shares: Shares,
    pub traffic: Traffic,
    /// Wall time in calls by class, in nanoseconds.
    pub time_ns: Shares,
    /// Wall time from the first call to the last; 0 if unknown.
    pub run_ns: u64,
    /// Messages that arrive, by size.
    pub sizes: Vec<SizeClass>,
    /// Searches and tables, by number of bins.
    pub bins: Vec<BinStats>,
    pub receive_keys: KeyStats,
    /// Use of the messages' envelopes; chains refer to the unexpected queue.
    pub message_keys: KeyStats,
    /// Distinct tags of messages; for the application the maximum over the ranks.
    pub tags: u64,
    /// Highest tag of a message; -1 without messages.
    pub tag_max: i32,
    pub sequences: Sequences,
    /// Paths of optimistic matching, by number of handlers.
    pub blocks: Vec<BlockStats>,
    /// Its messages spread over several NICs, by number of NICs.
    pub shards: Vec<ShardStats>,
    pub needs: Needs,
    pub hints: Hints,
    /// Queue lengths over time; for the application the maximum over the ranks.
    pub depths: Depths,
    /// Pairs compared with the trace's.
    pub agreement: Agreement,
}

impl Totals {
    /// Wall time in communication calls.
    pub fn communicating_ns(&self) -> u64 {
        let Shares {
            p2p,
            collective,
            one_sided,
            progress,
            ..
        } = self.time_ns;
        p2p + collective + one_sided + progress
    }

    pub fn add(&mut self, other: &Self) {
        fn each<T: Copy>(mine: &mut Vec<T>, theirs: &[T], add: impl Fn(&mut T, &T)) {
            if mine.is_empty() {
                mine.extend_from_slice(theirs);
            } else {
                mine.iter_mut()
                    .zip(theirs)
                    .for_each(|(mine, theirs)| add(mine, theirs));
            }
        }
        self.shares.add(&other.shares);
        self.traffic.add(&other.traffic);
        self.time_ns.add(&other.time_ns);
        self.run_ns += other.run_ns;
        other
            .sizes
            .iter()
            .for_each(|class| sizes::add(&mut self.sizes, class));
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
        each(
            &mut self.depths.unexpected,
            &other.depths.unexpected,
            higher,
        );
        self.agreement.add(&other.agreement);
    }
}

#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct RankStats {
    pub rank: u32,
    /// Statistics that the application has as well.
    #[serde(flatten)]
    pub totals: Totals,
    /// The communicators' numbers in the run, ascending, with their statistics.
    #[serde(skip)]
    pub comms: Vec<(u32, CommStats)>,
    /// A sample of the unmatched entries at the end.
    #[serde(skip)]
    pub unmatched: Vec<Unmatched>,
    /// Time of the rank's last event, if the order has times.
    pub end_ns: u64,
}
