//! Who moves next.
//!
//! shuttle asks before every access to shared state. The task of the schedule's own thread is the
//! leader, worker 0; the threads that it starts for each run of messages are workers 1, 2, ... A
//! choice among several is noted, so that every schedule is known as the [`Turns`] that led to it.

mod every;
mod seeded;
mod turns;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

pub(crate) use every::Every;
pub(crate) use seeded::Seeded;
pub(crate) use turns::Guided;
pub use turns::{BadTurns, Turns};

use crate::told;

/// A point at which somebody must be chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point<'a> {
    /// The workers that can move, ascending.
    pub(crate) able: &'a [usize],
    /// The one that moved last, if it still can.
    pub(crate) current: Option<usize>,
    /// It has looked for something that is not there yet, and would wait.
    pub(crate) yielding: bool,
}

impl Point<'_> {
    /// Who moves when nobody has a reason to choose: who moved last goes on until it must wait,
    /// then the next worker in turn.
    pub(crate) fn usual(self, last: usize) -> usize {
        match self.current {
            Some(current) if !self.yielding => current,
            _ => {
                let later = self.able.iter().find(|&&worker| worker > last);
                *later.unwrap_or(&self.able[0])
            }
        }
    }
}

/// Chooses for one execution after the other.
pub(crate) trait Policy: Send {
    /// Begins the next execution; `false`: there is none.
    fn begin(&mut self) -> bool;

    /// Chooses one of the able workers, of which there are at least two.
    fn choose(&mut self, point: Point<'_>) -> usize;
}

/// What is told of an execution that has ended: the policy as it was, and the turns. `false`: no
/// further one.
pub(crate) type After<P> = Box<dyn FnMut(&P, Turns) -> bool + Send>;

/// A policy and what it has chosen in the execution under way.
pub(crate) struct Chosen<P> {
    policy: P,
    turns: Turns,
    after: After<P>,
}

impl<P> Chosen<P> {
    pub(crate) fn new(policy: P, after: After<P>) -> Self {
        Self { policy, turns: Turns::default(), after }
    }
}

/// shuttle's view of a policy.
pub(crate) struct Chooser<P> {
    shared: Arc<Mutex<Chosen<P>>>,
    workers: usize,
    able: Vec<usize>,
}

impl<P> Chooser<P> {
    pub(crate) fn new(shared: Arc<Mutex<Chosen<P>>>, workers: usize) -> Self {
        Self { shared, workers, able: Vec::new() }
    }
}

/// The worker that a task is, of so many with the leader.
pub(crate) fn worker_of(task: TaskId, workers: usize) -> usize {
    match usize::from(task) {
        0 => 0,
        task => (task - 1) % workers.saturating_sub(1).max(1) + 1,
    }
}

/// A lock that a failed execution may have left while it was held; what it guards is whole.
pub(crate) fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Policy> Scheduler for Chooser<P> {
    fn new_execution(&mut self) -> Option<Schedule> {
        let mut chosen = locked(&self.shared);
        let Chosen { policy, turns, after } = &mut *chosen;
        let goes_on = after(policy, std::mem::take(turns));
        (goes_on && policy.begin()).then(|| Schedule::new(0))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        yielding: bool,
    ) -> Option<TaskId> {
        if told::has_failed() {
            return None;
        }
        if let [only] = runnable {
            return Some(only.id());
        }
        let mut able = std::mem::take(&mut self.able);
        able.clear();
        able.extend(runnable.iter().map(|task| worker_of(task.id(), self.workers)));
        let current = current
            .filter(|&id| runnable.iter().any(|task| task.id() == id))
            .map(|id| worker_of(id, self.workers));
        let worker = {
            let mut chosen = locked(&self.shared);
            let worker = chosen.policy.choose(Point { able: &able, current, yielding });
            chosen.turns.push(worker);
            worker
        };
        let place = able.iter().position(|&other| other == worker);
        self.able = able;
        place.map(|place| runnable[place].id())
    }

    fn next_u64(&mut self) -> u64 {
        // Nothing here asks for random numbers.
        0
    }
}
