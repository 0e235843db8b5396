//! What is known of the schedules behind a state.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

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
#[derive(Debug)]
pub(crate) struct Known {
    parts: [Mutex<HashMap<u128, Sums>>; 16],
    names: Mutex<HashMap<String, u32>>,
    /// Memory of the parts, and the most that they may have.
    bytes: AtomicUsize,
    most: usize,
    /// States for which there was no memory.
    forgotten: AtomicU64,
}

/// Memory of a table with room for `room` states, in bytes. hashbrown fills 7 of 8 places, and has
/// a control byte for each place.
fn table(room: usize) -> usize {
    match room {
        0 => 0,
        _ => (room * 8 / 7).next_power_of_two() * (size_of::<(u128, Sums)>() + 1),
    }
}

/// Memory of the allocator for each block.
const HEADER: usize = 16;

impl Known {
    /// Most memory by default.
    pub(crate) const BYTES_MAX: usize = 1 << 30;

    pub(crate) fn new(most: usize) -> Self {
        Self {
            parts: Default::default(),
            names: Mutex::default(),
            bytes: AtomicUsize::new(0),
            most,
            forgotten: AtomicU64::new(0),
        }
    }

    fn part(&self, state: u128) -> &Mutex<HashMap<u128, Sums>> {
        &self.parts[(state >> 124) as usize % self.parts.len()]
    }

    pub(crate) fn of(&self, state: u128) -> Option<Sums> {
        locked(self.part(state)).get(&state).cloned()
    }

    /// Keeps what is known of a state, if there is memory.
    pub(crate) fn learn(&self, state: u128, mut sums: Sums) {
        sums.paths.shrink_to_fit();
        let paths = |sums: &Sums| sums.paths.capacity() * size_of::<(u32, u64)>() + HEADER;
        let mut part = locked(self.part(state));
        let before = part.capacity();
        let after = if part.len() == before {
            (2 * before).max(4)
        } else {
            before
        };
        // A table that grows is there twice for a moment.
        let grown = if after == before { 0 } else { table(after) };
        if !self.takes(grown + paths(&sums)) {
            // ordering: a count that guards no memory.
            self.forgotten.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let old = part.insert(state, sums);
        let freed = if grown > 0 { table(before) } else { 0 };
        self.gives(freed + old.as_ref().map_or(0, paths));
    }

    fn takes(&self, more: usize) -> bool {
        // ordering: a limit that guards no memory.
        let taken = self
            .bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |bytes| {
                Some(bytes + more).filter(|&bytes| bytes <= self.most)
            });
        taken.is_ok()
    }

    fn gives(&self, bytes: usize) {
        // ordering: as above.
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The number of states without memory since the last call.
    pub(crate) fn forgotten(&self) -> u64 {
        // ordering: as above.
        self.forgotten.swap(0, Ordering::Relaxed)
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
