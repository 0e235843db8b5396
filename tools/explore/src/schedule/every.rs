//! Every schedule within a bound of preemptions, one after another.
//!
//! The choices of an execution form a path in a tree. The next execution changes the last choice
//! that has an alternative left (depth first). Only choices inside a block count: wherever handlers
//! of a block can move, each of them is tried. Between blocks, and for a worker that has finished
//! its slice, only the usual choice is taken.
//!
//! A switch away from a runnable worker is a preemption (Musuvathi and Qadeer, "Iterative Context
//! Bounding", PLDI 2007). A switch at a wait is free, so two workers that wait for a third would
//! alternate for ever. A failed poll changes nothing, so it is repeated only after a word that it
//! read has changed.
//!
//! Equivalent schedules differ in the order of steps that do not meet ([`Meets`]). A worker is
//! preempted only where its next step may meet another one. It then sleeps until a step meets it.
//! Otherwise the step may as well come before the preemption: a switch fewer, or one later. So of
//! all schedules with at most so many preemptions, at least one of each kind is run.
//!
//! Many choices lead to the same state (`state`), since most steps of two handlers commute. The
//! schedules behind a state are explored once for each number of preemptions that are left. Where
//! another execution comes to it, their counts are known, and the execution ends. The caching
//! keeps the bound exact, where sleep sets would not: a sleeping schedule may have had too many
//! preemptions (Musuvathi and Qadeer, "Partial-order reduction for context-bounded state
//! exploration", 2007; Coons, Musuvathi and McKinley, "Bounded partial-order reduction", 2013).

use std::sync::Arc;

use super::{Known, Point, Policy, Sums};
use crate::meetings::Meets;
use crate::state::mix;

const WORKERS: usize = 64;

/// A choice on the path.
#[derive(Debug)]
struct Node {
    /// The alternative taken, and the number of alternatives.
    taken: u32,
    of: u32,
    /// The state before the choice, with what is left of the bound.
    state: u128,
    /// The schedules behind the alternatives that are done.
    sums: Sums,
}

/// What the schedules are made from.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) bound: usize,
    /// Bitmap of the workers with work in the block.
    pub(crate) busy: fn() -> u64,
    /// Hash of the execution's state.
    pub(crate) state: fn() -> u128,
    /// The atomic word to which a worker has come.
    pub(crate) next: fn(usize) -> Option<u32>,
    /// Bitmap of the workers whose poll would fail again.
    pub(crate) blocked: fn() -> u64,
    /// Bitmap of the workers that sleep.
    pub(crate) asleep: fn() -> u64,
    /// A worker sleeps until an access meets its next one.
    pub(crate) sleep: fn(usize),
    /// The words at which handlers meet. `None`: equivalent schedules are run, too.
    pub(crate) meets: Option<Arc<Meets>>,
    /// `None`: every schedule is run.
    pub(crate) known: Option<Arc<Known>>,
}

#[derive(Debug)]
pub(crate) struct Every {
    tree: Tree,
    /// The first choices of all executions.
    root: Vec<u32>,
    path: Vec<Node>,
    /// Depth of the current execution on the path.
    depth: usize,
    begun: bool,
    preemptions: usize,
    last: usize,
    /// All schedules so far.
    total: Sums,
    /// Most schedules: no known state may lead beyond.
    most: u64,
    /// Executions that ended at a known state.
    pub(crate) cut: u64,
    /// Executions end at this depth, and their choices are noted.
    horizon: Option<usize>,
    pub(crate) seen: Vec<Vec<u32>>,
}

impl Every {
    /// All schedules that begin with the choices `root`.
    pub(crate) fn new(tree: Tree, root: Vec<u32>, most: u64) -> Self {
        Self {
            tree,
            root,
            path: Vec::new(),
            depth: 0,
            begun: false,
            preemptions: 0,
            last: 0,
            total: Sums::default(),
            most,
            cut: 0,
            horizon: None,
            seen: Vec::new(),
        }
    }

    /// The beginnings of all schedules, of at most `depth` choices.
    pub(crate) fn beginnings(tree: Tree, depth: usize) -> Self {
        let tree = Tree {
            known: None,
            ..tree
        };
        Self {
            horizon: Some(depth),
            ..Self::new(tree, Vec::new(), u64::MAX)
        }
    }

    /// An execution ran to its end.
    pub(crate) fn ended(&mut self, sums: &Sums) {
        if self.horizon.is_some() {
            self.see();
        }
        self.add(sums);
    }

    /// All schedules so far, with those that are known.
    pub(crate) fn total(&self) -> Sums {
        let mut total = self.total.clone();
        self.path.iter().for_each(|node| total.add(&node.sums));
        total
    }

    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    fn see(&mut self) {
        self.seen
            .push(self.path.iter().map(|node| node.taken).collect());
    }

    fn add(&mut self, sums: &Sums) {
        match self.path.last_mut() {
            Some(node) => node.sums.add(sums),
            None => self.total.add(sums),
        }
    }

    /// Chooses one of several workers, a bitmap: first the current one, then the others ascending.
    fn branch(&mut self, choices: u64, current: Option<usize>, state: u128) -> Option<usize> {
        if self.horizon == Some(self.depth) {
            self.see();
            return None;
        }
        if self.depth == self.path.len() {
            let known = self.tree.known.as_ref();
            // What is known of a beginning counts the schedules of other beginnings, too.
            let known = known.filter(|_| self.depth >= self.root.len());
            let known = known.and_then(|known| known.of(state));
            if let Some(known) = known
                && self.total().schedules.saturating_add(known.schedules) <= self.most
            {
                self.cut += 1;
                self.add(&known);
                return None;
            }
            self.path.push(Node {
                taken: self.root.get(self.depth).copied().unwrap_or(0),
                of: choices.count_ones(),
                state,
                sums: Sums::default(),
            });
        }
        let mut chosen = self.path[self.depth].taken;
        self.depth += 1;
        let mut others = choices;
        if let Some(current) = current {
            if chosen == 0 {
                return Some(current);
            }
            chosen -= 1;
            others &= !bit(current);
        }
        for _ in 0..chosen {
            others &= others - 1;
        }
        Some(others.trailing_zeros() as usize)
    }

    /// The state before a choice: of the NIC, and of this scheduler.
    fn state(&self, point: Point<'_>, able: u64) -> u128 {
        let left = (self.tree.bound - self.preemptions) as u128;
        let current = point.current.map_or(0, |current| 1 + current as u128);
        let mut state = mix((self.tree.state)(), left << 64 | u128::from(able));
        state = mix(state, current << 64 | u128::from(point.yielding));
        state = mix(
            state,
            (self.last as u128) << 64 | u128::from((self.tree.busy)()),
        );
        let (blocked, asleep) = ((self.tree.blocked)(), (self.tree.asleep)());
        mix(state, u128::from(blocked) << 64 | u128::from(asleep))
    }

    /// Whether the worker's next step meets no step of another worker.
    fn is_alone(&self, worker: usize) -> bool {
        let next = (self.tree.next)(worker);
        let words = self.tree.meets.as_ref().zip(next);
        words.is_some_and(|(meets, next)| !meets.has(next))
    }

    /// A worker is preempted. It need not go on before another worker meets its next step.
    fn preempts(&mut self, worker: usize) {
        self.preemptions += 1;
        let words = self.tree.meets.as_ref().zip((self.tree.next)(worker));
        if words.is_some_and(|(meets, next)| meets.only_at(next)) {
            (self.tree.sleep)(worker);
        }
    }
}

fn bit(worker: usize) -> u64 {
    1 << (worker % WORKERS)
}

impl Policy for Every {
    fn begin(&mut self) -> bool {
        if self.begun {
            while self.path.len() > self.root.len()
                && self
                    .path
                    .last()
                    .is_some_and(|node| node.taken + 1 == node.of)
            {
                if let Some(Node { state, sums, .. }) = self.path.pop() {
                    self.add(&sums);
                    if let Some(known) = &self.tree.known {
                        known.learn(state, sums);
                    }
                }
            }
            if self.path.len() <= self.root.len() {
                return false;
            }
            if let Some(node) = self.path.last_mut() {
                node.taken += 1;
            }
        }
        self.begun = true;
        (self.depth, self.preemptions, self.last) = (0, 0, 0);
        true
    }

    fn choose(&mut self, point: Point<'_>) -> Option<usize> {
        let able = point.able.iter().fold(0, |set, &worker| set | bit(worker));
        let able = able & (self.tree.busy)();
        let waiting = point.current.filter(|_| point.yielding);
        let mut choices = able & !(self.tree.blocked)() & !waiting.map_or(0, bit);
        if choices != 0 {
            choices &= !(self.tree.asleep)();
            if choices == 0 {
                // Each schedule from here on is equivalent to one with a later preemption.
                return None;
            }
        }
        let current = point.current.filter(|&it| choices & bit(it) != 0);
        if let Some(current) = current
            && (self.preemptions == self.tree.bound || self.is_alone(current))
        {
            // Going on is the first choice, and free.
            choices = bit(current);
        }
        let worker = match choices.count_ones() {
            0 => point.usual(self.last),
            1 => choices.trailing_zeros() as usize,
            _ => {
                let is_new = self.depth == self.path.len();
                let state = if is_new && self.tree.known.is_some() {
                    self.state(point, able)
                } else {
                    0
                };
                self.branch(choices, current, state)?
            }
        };
        if let Some(current) = current.filter(|&current| current != worker) {
            self.preempts(current);
        }
        self.last = worker;
        Some(worker)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;

    use super::*;

    thread_local! {
        static BLOCKED: Cell<u64> = const { Cell::new(0) };
    }

    /// The schedules of workers with these numbers of moves; `waiters` wait for all moves of worker
    /// 0. The schedules must all differ.
    fn schedules(moves: &[usize], waiters: &[usize], bound: usize) -> BTreeSet<Vec<usize>> {
        let tree = Tree {
            bound,
            busy: || u64::MAX,
            state: || 0,
            next: |_| None,
            blocked: || BLOCKED.get(),
            asleep: || 0,
            sleep: |_| (),
            meets: None,
            known: None,
        };
        let mut every = Every::new(tree, Vec::new(), u64::MAX);
        let mut all = BTreeSet::new();
        while every.begin() {
            let mut left = moves.to_vec();
            let mut schedule = Vec::new();
            let (mut current, mut yielding) = (None, false);
            BLOCKED.set(0);
            loop {
                let able: Vec<usize> = (0..left.len()).filter(|&worker| left[worker] > 0).collect();
                let worker = match able[..] {
                    [] => break,
                    [only] => only,
                    _ => {
                        let current = current.filter(|worker| able.contains(worker));
                        let point = Point {
                            able: &able,
                            current,
                            yielding,
                        };
                        every.choose(point).expect("nothing is known")
                    }
                };
                assert!(schedule.len() < 100, "a wait without end: {schedule:?}");
                yielding = waiters.contains(&worker) && left[0] > 0;
                left[worker] -= usize::from(!yielding);
                // A move of worker 0 changes what the others wait for.
                let others = if worker == 0 { 0 } else { BLOCKED.get() };
                BLOCKED.set(others | u64::from(yielding) << worker);
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
