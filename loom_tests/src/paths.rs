//! Which ways through the algorithm a model has taken, added up over all its executions.
//!
//! A model that never takes the path it is named after proves nothing about it, so an expected path
//! that is missing is a failure.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use dpa_model::Counts;

/// Sums of the NIC's counters by their names. Plain `std` locking: it lives outside the model and
/// is held for no switch.
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
        // Both have a row `unexpected`; a boundary's row gets a prefix.
        let boundary = counts.boundary.rows().map(|(name, count)| (boundary_name(name), count));
        for (name, count) in counts.handlers.rows().chain(boundary).chain(queues) {
            *sums.entry(name).or_default() += count;
        }
    }

    /// Adds a path that the NIC has no counter for.
    pub fn note(&self, name: &'static str) {
        *self.sums.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
    }

    /// How often a path was taken.
    ///
    /// # Panics
    /// When nothing has that name: a misspelt expectation must not pass.
    pub fn taken(&self, name: &str) -> u64 {
        let sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.get(name).copied().unwrap_or_else(|| panic!("no path is called `{name}`: {sums:?}"))
    }

    /// Checks that each path of `expected` was taken and none of `never`.
    ///
    /// # Panics
    /// Naming the first path that breaks this.
    pub fn require(&self, model: &str, expected: &[&str], never: &[&str]) {
        for path in expected {
            assert!(self.taken(path) > 0, "{model}: the path `{path}` was never taken");
        }
        for path in never {
            assert_eq!(self.taken(path), 0, "{model}: the path `{path}` was taken");
        }
    }
}

fn boundary_name(name: &'static str) -> &'static str {
    if name == "unexpected" { "stored" } else { name }
}
