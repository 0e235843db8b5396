//! Every schedule within a bound of preemptions, one after another.
//!
//! The choices of an execution form a path in a tree. The next execution changes the last choice
//! that has an alternative left (depth first). Only choices inside a block count: wherever handlers
//! of a block can move, each of them is tried. Between blocks, and for a worker that has finished
//! its slice, only the usual choice is taken.
//!
//! A switch away from a runnable worker is a preemption (Musuvathi and Qadeer, "Iterative Context
//! Bounding", PLDI 2007). A switch at a wait is free, so two workers that wait for a third would
//! alternate for ever. A worker that waits therefore yields to all that it could be waiting for, by
//! the authors' fair scheduler ("Fair Stateless Model Checking", PLDI 2008): it comes after those
//! that have not moved since its last wait, until they have.

use super::{Point, Policy};

const WORKERS: usize = 64;

#[derive(Debug)]
pub(crate) struct Every {
    bound: usize,
    /// Bitmap of the workers with work in the block.
    busy: fn() -> u64,
    /// The path: the alternative taken at each choice, and the number of alternatives.
    path: Vec<(u32, u32)>,
    /// Depth of the current execution on the path.
    depth: usize,
    begun: bool,
    preemptions: usize,
    last: usize,
    /// Bit u of `after[t]`: t moves only when u cannot.
    after: [u64; WORKERS],
    /// Workers that have moved since t last waited.
    moved: [u64; WORKERS],
}

impl Every {
    pub(crate) fn new(bound: usize, busy: fn() -> u64) -> Self {
        Self {
            bound,
            busy,
            path: Vec::new(),
            depth: 0,
            begun: false,
            preemptions: 0,
            last: 0,
            after: [0; WORKERS],
            moved: [u64::MAX; WORKERS],
        }
    }

    fn branch(&mut self, choices: &[usize]) -> usize {
        if self.depth == self.path.len() {
            self.path.push((0, choices.len() as u32));
        }
        let (chosen, _) = self.path[self.depth];
        self.depth += 1;
        choices[chosen as usize]
    }

    /// A worker waits: it yields to all of `able` that have not moved since it last waited.
    fn waits(&mut self, worker: usize, able: u64) {
        self.after[worker] |= able & !self.moved[worker] & !bit(worker);
        self.moved[worker] = 0;
    }

    /// A worker moves: the others need not yield to it any more.
    fn moves(&mut self, worker: usize) {
        for (after, moved) in self.after.iter_mut().zip(&mut self.moved) {
            *after &= !bit(worker);
            *moved |= bit(worker);
        }
        self.last = worker;
    }
}

fn bit(worker: usize) -> u64 {
    1 << (worker % WORKERS)
}

impl Policy for Every {
    fn begin(&mut self) -> bool {
        if self.begun {
            while self.path.last().is_some_and(|&(taken, of)| taken + 1 == of) {
                self.path.pop();
            }
            let Some((taken, _)) = self.path.last_mut() else {
                return false;
            };
            *taken += 1;
        }
        self.begun = true;
        (self.depth, self.preemptions, self.last) = (0, 0, 0);
        self.after = [0; WORKERS];
        self.moved = [u64::MAX; WORKERS];
        true
    }

    fn choose(&mut self, point: Point<'_>) -> usize {
        let busy = (self.busy)();
        let mut choices: Vec<usize> = point
            .able
            .iter()
            .copied()
            .filter(|&worker| busy & bit(worker) != 0)
            .collect();
        let able = choices.iter().fold(0, |set, &worker| set | bit(worker));
        let waiting = point.current.filter(|_| point.yielding);
        if let Some(waiting) = waiting {
            self.waits(waiting, able);
        }
        choices.retain(|&worker| self.after[worker] & able == 0 && Some(worker) != waiting);
        let current = point.current.filter(|current| choices.contains(current));
        if let Some(current) = current {
            // Going on is the first choice, and free.
            choices.retain(|&worker| worker != current);
            choices.insert(0, current);
            if self.preemptions == self.bound {
                choices.truncate(1);
            }
        }
        let worker = if choices.is_empty() {
            point.usual(self.last)
        } else {
            self.branch(&choices)
        };
        self.preemptions += usize::from(current.is_some_and(|current| current != worker));
        self.moves(worker);
        worker
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The schedules of workers with these numbers of moves; `waiters` wait for all moves of worker
    /// 0. The schedules must all differ.
    fn schedules(moves: &[usize], waiters: &[usize], bound: usize) -> BTreeSet<Vec<usize>> {
        let mut every = Every::new(bound, || u64::MAX);
        let mut all = BTreeSet::new();
        while every.begin() {
            let mut left = moves.to_vec();
            let mut schedule = Vec::new();
            let (mut current, mut yielding) = (None, false);
            loop {
                let able: Vec<usize> = (0..left.len()).filter(|&worker| left[worker] > 0).collect();
                let worker = match able[..] {
                    [] => break,
                    [only] => only,
                    _ => {
                        let current = current.filter(|worker| able.contains(worker));
                        every.choose(Point {
                            able: &able,
                            current,
                            yielding,
                        })
                    }
                };
                assert!(schedule.len() < 100, "a wait without end: {schedule:?}");
                yielding = waiters.contains(&worker) && left[0] > 0;
                left[worker] -= usize::from(!yielding);
                schedule.push(worker);
                current = Some(worker);
            }
            assert!(all.insert(schedule), "a schedule was run twice");
        }
        all
    }

    #[test]
    fn no_schedule_is_left_out() {
        // Two workers of n moves interleave in (2n)! / n! n! ways, three of two in 6! / 2! 2! 2!.
        assert_eq!(schedules(&[4, 4], &[], 100).len(), 70);
        assert_eq!(schedules(&[2, 2, 2], &[], 100).len(), 90);
        // No preemption; then one of two workers is preempted after one to three of its four moves.
        assert_eq!(schedules(&[4, 4], &[], 0).len(), 2);
        assert_eq!(schedules(&[4, 4], &[], 1).len(), 2 + 2 * 3);
        assert_eq!(schedules(&[4, 4, 4], &[], 0).len(), 6);
    }

    #[test]
    fn who_waits_lets_the_others_go_first() {
        // Both waiters look without success, in either order, and then worker 0 must move.
        let all = schedules(&[3, 1, 1], &[1, 2], 0);
        assert!(all.contains(&vec![0, 0, 0, 1, 2]) && all.contains(&vec![2, 1, 0, 0, 0, 2, 1]));
        // Worker 0 preempted after each of its moves.
        let more = schedules(&[3, 1, 1], &[1, 2], 1);
        assert!(more.is_superset(&all));
        assert!(more.contains(&vec![0, 1, 0, 0, 1, 2]) && more.contains(&vec![0, 0, 1, 0, 1, 2]));
    }
}
