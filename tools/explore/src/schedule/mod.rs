//! Scheduling: the choice of the next worker.
//!
//! shuttle asks before every access to shared state. The schedule's own thread is the leader,
//! worker 0; the threads that it starts for each run of messages are workers 1, 2, ... Recorded
//! choices make up the [`Turns`] of a schedule.

mod every;
mod known;
mod seeded;
mod turns;

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

pub(crate) use every::{Every, Tree};
pub(crate) use known::{Known, Sums};
pub(crate) use seeded::Seeded;
pub(crate) use turns::Guided;
pub use turns::{BadTurns, Turns};

use crate::run::Stuck;
use crate::told;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Point<'a> {
    /// Runnable workers, ascending.
    pub(crate) able: &'a [usize],
    /// The last worker, if still runnable.
    pub(crate) current: Option<usize>,
    /// Whether the last worker waits for a value that is not there yet.
    pub(crate) yielding: bool,
}

impl Point<'_> {
    /// The default choice: the last worker goes on until it must wait, then the next one in turn.
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

pub(crate) trait Policy: Send {
    /// Begins the next execution; `false` if there is none.
    fn begin(&mut self) -> bool;

    /// Chooses one of at least two runnable workers. `None` cuts the execution, which is then no
    /// schedule of the report.
    fn choose(&mut self, point: Point<'_>) -> Option<usize>;
}

/// Receives the policy and the turns of a finished execution; `false` stops the exploration.
pub(crate) type After<P> = Box<dyn FnMut(&mut P, Turns) -> bool + Send>;

/// A policy and its choices in the current execution.
pub(crate) struct Chosen<P> {
    policy: P,
    turns: Turns,
    after: After<P>,
}

impl<P> Chosen<P> {
    pub(crate) fn new(policy: P, after: After<P>) -> Self {
        Self {
            policy,
            turns: Turns::default(),
            after,
        }
    }
}

pub(crate) struct Chooser<P> {
    shared: Arc<Mutex<Chosen<P>>>,
    workers: usize,
    able: Vec<usize>,
    /// Steps of the current execution, and the most before it is stopped.
    steps: usize,
    most_steps: usize,
}

impl<P> Chooser<P> {
    pub(crate) fn new(shared: Arc<Mutex<Chosen<P>>>, workers: usize, most_steps: usize) -> Self {
        Self {
            shared,
            workers,
            able: Vec::new(),
            steps: 0,
            most_steps,
        }
    }
}

/// Who goes on in an execution that is over: the leader last, so that no worker loses its thread.
/// Only a thread that waits lets another one end first.
fn last(runnable: &[&Task], waiting: Option<TaskId>) -> Option<TaskId> {
    let mut all = runnable.iter().rev().map(|task| task.id());
    all.clone()
        .find(|&task| Some(task) != waiting)
        .or(all.next())
}

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// The worker that runs on this thread of the system.
pub(crate) fn current() -> usize {
    CURRENT.get()
}

fn worker_of(task: TaskId, workers: usize) -> usize {
    match usize::from(task) {
        0 => 0,
        task => (task - 1) % workers.saturating_sub(1).max(1) + 1,
    }
}

/// Locks despite poisoning: a failed execution leaves the guarded value whole.
pub(crate) fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Policy> Scheduler for Chooser<P> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.steps = 0;
        let mut chosen = locked(&self.shared);
        let Chosen {
            policy,
            turns,
            after,
        } = &mut *chosen;
        let goes_on = after(policy, std::mem::take(turns));
        (goes_on && policy.begin()).then(|| Schedule::new(0))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        yielding: bool,
    ) -> Option<TaskId> {
        if self.steps == self.most_steps {
            told::finish(Err(Stuck::Stopped(self.most_steps)));
        }
        self.steps += 1;
        let waiting = current.filter(|_| yielding);
        if told::is_over() {
            return last(runnable, waiting);
        }
        if let [only] = runnable {
            CURRENT.set(worker_of(only.id(), self.workers));
            return Some(only.id());
        }
        let mut able = std::mem::take(&mut self.able);
        able.clear();
        able.extend(
            runnable
                .iter()
                .map(|task| worker_of(task.id(), self.workers)),
        );
        let current = current
            .filter(|&id| runnable.iter().any(|task| task.id() == id))
            .map(|id| worker_of(id, self.workers));
        let worker = {
            let mut chosen = locked(&self.shared);
            let worker = chosen.policy.choose(Point {
                able: &able,
                current,
                yielding,
            });
            let Some(worker) = worker else {
                told::cut();
                return last(runnable, waiting);
            };
            chosen.turns.push(worker);
            worker
        };
        CURRENT.set(worker);
        let place = able.iter().position(|&other| other == worker);
        self.able = able;
        place.map(|place| runnable[place].id())
    }

    fn next_u64(&mut self) -> u64 {
        // The model needs no random numbers.
        0
    }
}
