//! Command queues: tasks that a fixed number of threads runs in the background.

use super::unit::{Entry, Kind, Unit};
use crate::handle::{self, Handle};
use crate::machine::{lock, machine};
use crate::process::Process;
use crate::status::{Given, Refusal, attributes, calls, put};
use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Most threads and most waiting tasks of a queue.
const WORKERS: i32 = 256;
const TASKS: usize = 1 << 16;

pub(crate) struct TaskQueue {
    process: Arc<Process>,
    tasks: Mutex<VecDeque<(usize, u64)>>,
    running: AtomicBool,
    busy: AtomicUsize,
    units: Mutex<Vec<Arc<Unit>>>,
}

impl TaskQueue {
    /// Runs tasks until none waits. Called on a coroutine.
    pub(crate) fn run(&self) {
        loop {
            let task = {
                let mut tasks = lock(&self.tasks);
                let task = tasks.pop_front();
                // ordering: with the lock of the tasks, so that none is neither waiting nor busy.
                self.busy
                    .fetch_add(usize::from(task.is_some()), Ordering::AcqRel);
                task
            };
            let Some((entry, argument)) = task else {
                return;
            };
            // SAFETY: an entry point of the image, as `task_add` checked.
            let function: extern "C" fn(u64) -> u64 = unsafe { std::mem::transmute(entry) };
            function(argument);
            super::current()
                .into_iter()
                .for_each(crate::check::race::returns);
            // ordering: who then finds the queue empty sees what the task has written.
            self.busy.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn wake(&self) {
        // ordering: a task that is added while the queue starts is behind the lock that the woken
        // threads take.
        if self.running.load(Ordering::Acquire) {
            for unit in &*lock(&self.units) {
                machine().scheduler.wake(unit);
            }
        }
    }
}

fn find(queue: Handle) -> Result<Arc<TaskQueue>, Refusal> {
    let number = handle::Kind::Tasks.number(queue)?;
    machine()
        .objects()
        .tasks
        .get(number)
        .cloned()
        .ok_or_else(|| handle::Kind::Tasks.gone())
}

#[repr(C)]
struct Attributes {
    workers: c_int,
    batch: c_int,
    state: u32,
}

calls! {
    fn flexio_cmdq_create(process: Handle, attr: Given<Attributes>, queue: Given<Handle>) {
        let attr = attributes(attr)?;
        let process = machine().process(process)?;
        if !(1..=WORKERS).contains(&attr.workers) || attr.batch < 1 {
            return Err(format!("{} workers, batches of {}", attr.workers, attr.batch).into());
        }
        let made = Arc::new(TaskQueue {
            process: Arc::clone(&process),
            tasks: Mutex::default(),
            running: AtomicBool::new(attr.state == 1),
            busy: AtomicUsize::new(0),
            units: Mutex::default(),
        });
        for _ in 0..attr.workers {
            let (entry, kind) = (Entry::named("command queue", 0), Kind::Tasks(Arc::clone(&made)));
            let unit = super::spawn(&process, entry, kind, 0)?;
            unit.state.begin();
            lock(&made.units).push(unit);
        }
        let number = machine().objects().tasks.insert(|_| made).ok_or("too many queues")?;
        put(queue, handle::Kind::Tasks.handle(number))
    }

    fn flexio_cmdq_task_add(queue: Handle, stub: *const c_void, argument: u64) {
        let queue = find(queue)?;
        let entry = super::entry(&queue.process, stub)?.address;
        let mut tasks = lock(&queue.tasks);
        if tasks.len() == TASKS {
            return Err(format!("{TASKS} tasks wait").into());
        }
        tasks.push_back((entry, argument));
        drop(tasks);
        queue.wake();
        Ok(())
    }

    fn flexio_cmdq_state_running(queue: Handle) {
        let queue = find(queue)?;
        // ordering: as in `wake`.
        queue.running.store(true, Ordering::Release);
        queue.wake();
        Ok(())
    }

    fn flexio_cmdq_is_empty(queue: Handle) -> c_int = 1 => {
        let queue = find(queue)?;
        let tasks = lock(&queue.tasks);
        // A process that has ended runs no task.
        let ended = queue.process.state() != crate::process::ended::NOT;
        // ordering: as in `run`.
        Ok((ended || tasks.is_empty() && queue.busy.load(Ordering::Acquire) == 0).into())
    }
}

fn destroy(number: u32) -> Result<(), Refusal> {
    let gone = find(handle::Kind::Tasks.handle(number))?;
    let units = std::mem::take(&mut *lock(&gone.units));
    units
        .iter()
        .for_each(|unit| machine().scheduler.retire(unit));
    machine().objects().tasks.remove(number);
    Ok(())
}
handle::destroyers! { flexio_cmdq_destroy: Tasks => destroy; }
