//! Random schedules from seeds.

use super::{Point, Policy};

/// Runs a random worker at every point. The first seed plus i alone determines execution i; the
/// seed after the last number is 0.
#[derive(Debug)]
pub(crate) struct Seeded {
    next: u64,
    left: u64,
    state: u64,
}

impl Seeded {
    pub(crate) fn new(first: u64, count: u64) -> Self {
        Self {
            next: first,
            left: count,
            state: 0,
        }
    }

    pub(crate) fn seed(&self) -> u64 {
        self.next.wrapping_sub(1)
    }

    /// SplitMix64: good enough for a choice among few workers, and equal on every machine.
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
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.state = self.next;
        self.next = self.next.wrapping_add(1);
        true
    }

    fn choose(
        &mut self,
        Point {
            able,
            current,
            yielding,
        }: Point<'_>,
    ) -> Option<usize> {
        // A waiting worker has nothing to do until another has moved.
        let waiting = current.filter(|_| yielding);
        let choices = able.len() - usize::from(waiting.is_some());
        let chosen = (self.random() % choices as u64) as usize;
        let mut others = able
            .iter()
            .copied()
            .filter(|&worker| Some(worker) != waiting);
        Some(others.nth(chosen).unwrap_or(able[0]))
    }
}
