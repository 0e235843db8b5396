//! The cost of searches for a number of bins.

use super::OccupancyStats;
use dpamatch::engine::QueueStats;

/// The length of a queue and the cost of its searches.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct Searches {
    pub count: u64,
    pub hits: u64,
    /// Full compares (S28).
    pub steps: u64,
    /// Maximum compares of one search at any rank. (The papers' MASL is a maximum of means: see
    /// [`mean_max`](Self::mean_max).)
    pub steps_max: u64,
    pub length_sum: u64,
    /// Maximum queue length (MQL).
    pub length_max: u64,
    /// Maximum over the ranks of the average search length (MASL).
    pub mean_max: f64,
}

impl Searches {
    pub fn of(queue: &QueueStats) -> Self {
        let mut searches = Self {
            count: queue.searches(),
            hits: queue.hits,
            steps: queue.depth_sum,
            steps_max: queue.depth_max,
            length_sum: queue.length_sum,
            length_max: queue.length_max,
            mean_max: 0.0,
        };
        searches.mean_max = searches.mean();
        searches
    }

    pub(crate) fn searched(&mut self, steps: u64, hit: bool, length: u64) {
        self.count += 1;
        self.hits += u64::from(hit);
        self.steps += steps;
        self.steps_max = self.steps_max.max(steps);
        self.length_sum += length;
    }

    /// Records the maximum length after all searches of a rank's queue.
    pub(crate) fn end(&mut self, length_max: u64) {
        self.length_max = length_max;
        self.mean_max = self.mean();
    }

    /// Average search length (ASL).
    pub fn mean(&self) -> f64 {
        self.steps as f64 / self.count.max(1) as f64
    }

    /// Average queue length (AQL), as its searches see it.
    pub fn length_mean(&self) -> f64 {
        self.length_sum as f64 / self.count.max(1) as f64
    }

    pub fn add(&mut self, other: &Self) {
        add_fields! { self + other;
            sum count hits steps length_sum;
            max steps_max length_max mean_max;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct BinStats {
    pub bins: u32,
    /// Searches of the posted queue by the engine `bins`.
    pub prq: Searches,
    pub umq: Searches,
    pub tables: OccupancyStats,
    /// Unexpected messages inserted into a non-empty bin.
    pub umq_collisions: u64,
}

impl BinStats {
    pub fn add(&mut self, other: &Self) {
        add_fields! { self + other; sum umq_collisions; parts prq umq tables; }
        self.bins = other.bins;
    }
}
