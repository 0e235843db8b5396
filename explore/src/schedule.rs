//! The seeded scheduler.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

/// Lets a random task move at every point; the schedule of execution i follows from the first seed
/// plus i alone.
#[derive(Debug)]
pub(crate) struct Seeded {
    next: u64,
    end: u64,
    state: u64,
    /// The seed of the execution under way.
    current: Arc<AtomicU64>,
}

impl Seeded {
    pub(crate) fn new(first: u64, count: u64, current: Arc<AtomicU64>) -> Self {
        Self { next: first, end: first.saturating_add(count), state: 0, current }
    }

    /// SplitMix64: good enough to choose among a handful of tasks, and the same on every machine.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

impl Scheduler for Seeded {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.next == self.end {
            return None;
        }
        self.state = self.next;
        self.current.store(self.next, Relaxed);
        self.next += 1;
        Some(Schedule::new(self.state))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        // A task that waits for another has nothing to do until that one has moved.
        let others = runnable.iter().filter(|task| Some(task.id()) != current).count();
        let choices = if is_yielding && others > 0 { others } else { runnable.len() };
        let chosen = (self.random() % choices as u64) as usize;
        let mut able = runnable
            .iter()
            .map(|task| task.id())
            .filter(|&id| choices == runnable.len() || Some(id) != current);
        able.nth(chosen)
    }

    fn next_u64(&mut self) -> u64 {
        self.random()
    }
}
