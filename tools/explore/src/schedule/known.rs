//! What is known of the schedules behind a state.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::locked;

/// Counts of schedules.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) schedules: u64,
    pub(crate) violations: u64,
    pub(crate) stopped: u64,
    pub(crate) steps_max: usize,
    /// Number of schedules by combination of paths, ascending.
    pub(crate) paths: Vec<(u32, u64)>,
}

impl Sums {
    pub(crate) fn add(&mut self, other: &Self) {
        self.schedules = self.schedules.saturating_add(other.schedules);
        self.violations = self.violations.saturating_add(other.violations);
        self.stopped = self.stopped.saturating_add(other.stopped);
        self.steps_max = self.steps_max.max(other.steps_max);
        for &(path, count) in &other.paths {
            match self.paths.binary_search_by_key(&path, |&(path, _)| path) {
                Ok(at) => self.paths[at].1 = self.paths[at].1.saturating_add(count),
                Err(at) => self.paths.insert(at, (path, count)),
            }
        }
    }
}

/// The sums of all schedules behind each state that was explored, by the hash of the state. Several
/// threads share it.
#[derive(Debug, Default)]
pub(crate) struct Known {
    parts: [Mutex<HashMap<u128, Sums>>; 16],
    names: Mutex<HashMap<String, u32>>,
    bytes: AtomicUsize,
}

/// Most memory of what is known. States beyond it are explored each time.
const BYTES_MAX: usize = 1 << 30;

impl Known {
    fn part(&self, state: u128) -> &Mutex<HashMap<u128, Sums>> {
        &self.parts[(state >> 124) as usize % self.parts.len()]
    }

    pub(crate) fn of(&self, state: u128) -> Option<Sums> {
        locked(self.part(state)).get(&state).cloned()
    }

    pub(crate) fn learn(&self, state: u128, sums: Sums) {
        let bytes = 2 * size_of::<(u128, Sums)>() + sums.paths.len() * size_of::<(u32, u64)>();
        // ordering: a limit that guards no memory.
        if self.bytes.fetch_add(bytes, Ordering::Relaxed) < BYTES_MAX {
            locked(self.part(state)).insert(state, sums);
        }
    }

    /// The number of a combination of paths.
    pub(crate) fn number(&self, paths: String) -> u32 {
        let mut names = locked(&self.names);
        let next = names.len() as u32;
        *names.entry(paths).or_insert(next)
    }

    /// All combinations by number.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = locked(&self.names).clone().into_iter().collect();
        names.sort_by_key(|&(_, number)| number);
        names.into_iter().map(|(name, _)| name).collect()
    }
}
