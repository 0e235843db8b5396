//! Counts the paths through the algorithm over all executions of a model.
//!
//! A model must take the path that it is named after: a missing expected path is a failure.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use dpa_model::Counts;

/// Most executions of each exploration, and no demand on paths: `DPAMATCH_LOOM_CUT=<n>`, for
/// `cargo xtask unmodelled`, which asks only what runs.
pub(crate) fn cut() -> Option<usize> {
    let asked = std::env::var("DPAMATCH_LOOM_CUT").ok()?;
    Some(asked.parse().expect("DPAMATCH_LOOM_CUT: a number"))
}

/// Sums of the NIC's counters by name. Uses `std` locks, because it lives outside the model and no
/// thread switches while holding one.
#[derive(Debug, Default)]
pub struct Paths {
    sums: Mutex<BTreeMap<&'static str, u64>>,
}

impl Paths {
    /// Adds the counters of one execution.
    pub fn add(&self, counts: &Counts) {
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        let queues = [
            ("send_queue_full", counts.send_queue_full),
            ("send_no_bounce_buffer", counts.send_no_bounce_buffer),
            ("regions_added", counts.regions_added),
        ];
        for (name, count) in counts
            .handlers
            .rows()
            .chain(counts.boundary.rows())
            .chain(queues)
        {
            *sums.entry(name).or_default() += count;
        }
    }

    /// Adds a path that the NIC has no counter for.
    pub fn note(&self, name: &'static str) {
        *self
            .sums
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(name)
            .or_default() += 1;
    }

    /// How often executions took a path.
    ///
    /// # Panics
    /// When no path has that name: a misspelt expectation must not pass.
    pub fn taken(&self, name: &str) -> u64 {
        let sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.get(name)
            .copied()
            .unwrap_or_else(|| panic!("no path is called `{name}`: {sums:?}"))
    }

    /// Checks that executions took each path of `expected` and none of `never`. An exploration that
    /// was cut short is not asked for paths.
    ///
    /// # Panics
    /// Naming the first path that breaks this.
    pub fn require(&self, model: &str, expected: &[&str], never: &[&str]) {
        for path in expected.iter().filter(|_| cut().is_none()) {
            assert!(
                self.taken(path) > 0,
                "{model}: the path `{path}` was never taken"
            );
        }
        for path in never {
            assert_eq!(self.taken(path), 0, "{model}: the path `{path}` was taken");
        }
    }
}
