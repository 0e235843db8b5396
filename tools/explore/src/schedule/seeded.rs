//! Random schedules, each fixed by its seed.

use super::{Point, Policy};

/// Lets a random worker move at every point; the schedule of execution i follows from the first
/// seed plus i alone.
#[derive(Debug)]
pub(crate) struct Seeded {
    next: u64,
    end: u64,
    state: u64,
}

impl Seeded {
    pub(crate) fn new(first: u64, count: u64) -> Self {
        Self { next: first, end: first.saturating_add(count), state: 0 }
    }

    /// The seed of the execution under way.
    pub(crate) fn seed(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    /// SplitMix64: good enough to choose among a handful of workers, and the same on every machine.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

impl Policy for Seeded {
    fn begin(&mut self) -> bool {
        if self.next == self.end {
            return false;
        }
        self.state = self.next;
        self.next += 1;
        true
    }

    fn choose(&mut self, Point { able, current, yielding }: Point<'_>) -> usize {
        // Who waits for another has nothing to do until that one has moved.
        let waiting = current.filter(|_| yielding);
        let choices = able.len() - usize::from(waiting.is_some());
        let chosen = (self.random() % choices as u64) as usize;
        let mut others = able.iter().copied().filter(|&worker| Some(worker) != waiting);
        others.nth(chosen).unwrap_or(able[0])
    }
}
