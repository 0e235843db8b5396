//! Coroutines in the order of their clocks.
//!
//! **State of a task.** Running (one), ready (in `ready`, by clock and number), or asleep on the
//! address of an atomic (in `asleep`). **Invariant.** Before an access to shared state the running
//! task is the least of all awake tasks. A switch goes through [`run`]: a task suspends, and the
//! loop resumes the least.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use corosensei::{Coroutine, CoroutineResult, Yielder};
use dpa_model_predict::virtual_time::{Hooks, set_hooks};

use super::{Machine, Picos};

struct Stage {
    machine: Machine,
    ready: BinaryHeap<Reverse<Turn>>,
    /// Sleepers by the remainder of their address, so that most stores need not look at any.
    asleep: Vec<Vec<(usize, usize)>>,
    yielders: Vec<*const Yielder<(), ()>>,
    /// Task 0 has returned: sleeping is over.
    ending: bool,
}

/// A task's clock, then its number, in one word: most accesses cost only this compare.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Turn(u128);

impl Turn {
    #[inline]
    fn new(clock: Picos, task: usize) -> Self {
        Self(u128::from(clock) << 64 | task as u128)
    }

    #[inline]
    fn task(self) -> usize {
        self.0 as u64 as usize
    }
}

/// Buckets of addresses, a power of two.
const REMAINDERS: usize = 256;

#[inline]
fn remainder(address: usize) -> usize {
    // Atomics are at least four bytes apart; those that tasks sleep on, a line.
    (address >> 2 ^ address >> 10) % REMAINDERS
}

thread_local! {
    /// A run is under way and on the clock.
    static ON: Cell<bool> = const { Cell::new(false) };
    static STAGE: RefCell<Option<Stage>> = const { RefCell::new(None) };
}

#[inline]
fn with_stage<R>(act: impl FnOnce(&mut Stage) -> R) -> Option<R> {
    if !ON.get() {
        return None;
    }
    STAGE.with_borrow_mut(|stage| stage.as_mut().map(act))
}

#[inline]
pub(crate) fn with_machine(act: impl FnOnce(&mut Machine)) {
    with_stage(|stage| act(&mut stage.machine));
}

/// The running task and its clock; `None` off the clock.
pub fn here() -> Option<(usize, Picos)> {
    with_stage(|stage| stage.machine.here())
}

/// Yields until the running task is the least.
#[inline]
fn give_way(note: impl FnOnce(&mut Machine)) {
    let yielder = with_stage(|stage| {
        note(&mut stage.machine);
        let running = stage.machine.current;
        let turn = Turn::new(stage.machine.tasks[running].clock, running);
        let least = stage
            .ready
            .peek()
            .is_some_and(|Reverse(least)| *least < turn);
        least.then(|| {
            stage.ready.push(Reverse(turn));
            stage.yielders[running]
        })
    });
    if let Some(Some(yielder)) = yielder {
        suspend(yielder);
    }
}

/// Called before the running task reads the atomic at `address`.
fn before_load(address: usize) {
    give_way(|machine| machine.task().looked_at = address);
}

fn before_store() {
    give_way(|_| ());
}

#[allow(unsafe_code)]
fn suspend(yielder: *const Yielder<(), ()>) {
    // SAFETY: the running coroutine stored the pointer to its own yielder when it began, and the
    // yielder lives until the coroutine returns; we are inside it.
    unsafe { (*yielder).suspend(()) };
}

/// Called by the card's atomics.
static HOOKS: Hooks = Hooks {
    before_load,
    before_store,
    stored,
    pause,
};

/// Called after the running task has stored to `address`: wakes its sleepers.
fn stored(address: usize) {
    with_stage(|stage| {
        if !stage.asleep[remainder(address)].is_empty() {
            wake(stage, remainder(address), |sleeps_on| sleeps_on == address);
        }
    });
}

/// Wakes the sleepers in this bucket whose address `concerns`, in any order.
fn wake(stage: &mut Stage, remainder: usize, concerns: impl Fn(usize) -> bool) {
    let Stage {
        machine,
        ready,
        asleep,
        ..
    } = stage;
    let sleepers = &mut asleep[remainder];
    let now = machine.tasks[machine.current].clock;
    let miss = machine.poll_miss();
    sleepers.retain(|&(address, task)| {
        let wakes = concerns(address);
        if wakes {
            let sleeper = &mut machine.tasks[task];
            sleeper.is_woken = true;
            // The polling loop sees the store at its next look.
            let slept = now.saturating_sub(sleeper.clock).next_multiple_of(miss);
            sleeper.clock += slept;
            ready.push(Reverse(Turn::new(sleeper.clock, task)));
            let running = std::mem::replace(&mut machine.current, task);
            machine.end_wait(slept);
            machine.current = running;
        }
        !wakes
    });
}

/// Sleeps until another task stores to the atomic that the running task read last.
///
/// # Panics
/// Outside of a run, or off the clock: no other task would ever store.
pub fn pause() {
    let yielder = with_stage(|stage| {
        if stage.ending {
            return None;
        }
        let running = stage.machine.current;
        let address = stage.machine.tasks[running].looked_at;
        stage.machine.begin_wait();
        stage.asleep[remainder(address)].push((address, running));
        Some(stage.yielders[running])
    });
    if let Some(yielder) = yielder.expect("only a handler on the clock waits") {
        suspend(yielder);
    }
}

/// Goes on the clock or off it, and returns the former state. Off the clock the card's atomics call
/// nothing.
fn set_clock(on: bool) -> bool {
    set_hooks(on.then_some(&HOOKS));
    ON.replace(on)
}

/// Runs `act` off the clock, for host and wire, whose work costs a DPA nothing. Gives it the
/// machine.
pub fn off_clock<R>(act: impl FnOnce(&mut dyn FnMut(&mut dyn FnMut(&mut Machine))) -> R) -> R {
    let before = set_clock(false);
    let result = act(&mut |look| {
        STAGE.with_borrow_mut(|stage| {
            look(&mut stage.as_mut().expect("a run is under way").machine)
        });
    });
    set_clock(before);
    result
}

/// Signals the other tasks that task 0 has ended.
#[derive(Clone, Debug, Default)]
pub struct Stop(Rc<Cell<bool>>);

impl Stop {
    pub fn asked(&self) -> bool {
        self.0.get()
    }
}

/// Runs `first` as task 0 and `others` as tasks 1.. until `first` returns. Then `stop` is set,
/// every sleeper wakes once, and the others must return, too. Returns the machine and the results.
///
/// # Panics
/// When the tasks wait for each other, when there are more tasks than EUs, or inside another run.
pub fn run<A: 'static, B: 'static>(
    machine: Machine,
    stop: &Stop,
    first: impl FnOnce() -> A + 'static,
    others: Vec<Box<dyn FnOnce() -> B>>,
) -> (Machine, A, Vec<B>) {
    let count = others.len() + 1;
    assert!(count <= machine.tasks.len(), "more tasks than EUs");
    let stage = Stage {
        machine,
        ready: (0..count).map(|task| Reverse(Turn::new(0, task))).collect(),
        asleep: vec![Vec::new(); REMAINDERS],
        yielders: vec![std::ptr::null(); count],
        ending: false,
    };
    STAGE.with_borrow_mut(|place| {
        assert!(place.is_none(), "a run is under way already");
        *place = Some(stage);
    });
    let first_result = Rc::new(Cell::new(None));
    let other_results = Rc::new(RefCell::new(
        (1..count).map(|_| None).collect::<Vec<Option<B>>>(),
    ));
    let note_first = first_result.clone();
    let mut coroutines = vec![coroutine(0, move || note_first.set(Some(first())))];
    for (index, other) in others.into_iter().enumerate() {
        let note = other_results.clone();
        coroutines.push(coroutine(index + 1, move || {
            let result = other();
            note.borrow_mut()[index] = Some(result);
        }));
    }
    let mut left = count;
    while left > 0 {
        let next = STAGE.with_borrow_mut(|stage| {
            let stage = stage.as_mut()?;
            let task = stage.ready.pop()?.0.task();
            stage.machine.current = task;
            Some(task)
        });
        let task = next.expect("the handlers wait for each other");
        set_clock(true);
        let result = coroutines[task].resume(());
        set_clock(false);
        if let CoroutineResult::Return(()) = result {
            left -= 1;
            if task == 0 {
                stop.0.set(true);
                STAGE.with_borrow_mut(|stage| {
                    if let Some(stage) = stage {
                        stage.ending = true;
                        (0..REMAINDERS).for_each(|remainder| wake(stage, remainder, |_| true));
                    }
                });
            }
        }
    }
    let stage = STAGE.take().expect("set above");
    let first = first_result.take().expect("task 0 has returned");
    let others = other_results
        .borrow_mut()
        .iter_mut()
        .map(|result| result.take().expect("has returned"))
        .collect();
    (stage.machine, first, others)
}

fn coroutine(task: usize, body: impl FnOnce() + 'static) -> Coroutine<(), (), ()> {
    // A coroutine's stack may be too small to take the body over by value.
    let body = Box::new(body);
    Coroutine::new(move |yielder: &Yielder<(), ()>, ()| {
        with_stage(|stage| stage.yielders[task] = yielder);
        body();
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use dpa_model_predict::virtual_time::AtomicU64;

    use super::super::{Costs, Layout, Rules, Work};
    use super::*;

    /// A machine on which only hashing costs: 7 ns.
    fn machine() -> Machine {
        let costs = Costs {
            cycle: 500,
            level: [0; 4],
            lines: [16, 64, 64],
            poll_miss: 1,
            landing_bytes: 1 << 20,
            work: Work {
                hash: 7000,
                ..Work::default()
            },
            ..Costs::default()
        };
        let layout = Layout {
            handlers: 1,
            bins: 1,
            receives: 1,
            entries: 1,
            bounce_buffers: 1,
            bounce_bytes: 64,
            eager_bytes: 64,
            unexpected: 1,
            cores: 16,
            eus_per_core: 16,
        };
        Machine::new(costs, Rules::default(), &layout)
    }

    fn hash() {
        with_machine(|machine| machine.work(machine.costs().work.hash));
    }

    #[test]
    fn nothing_is_charged_off_the_clock() {
        let first = || {
            with_machine(|machine| machine.begin_slice(0));
            hash();
            off_clock(|_| (0..100).for_each(|_| hash()));
            with_machine(Machine::end_slice);
        };
        let (machine, (), _) = run(
            machine(),
            &Stop::default(),
            first,
            Vec::<Box<dyn FnOnce()>>::new(),
        );
        assert_eq!(machine.end(), 7000);
    }

    #[test]
    #[should_panic(expected = "the handlers wait for each other")]
    fn a_deadlock_is_told() {
        let word = AtomicU64::new(0);
        let first = move || {
            while word.load(Relaxed) == 0 {
                pause();
            }
        };
        run(
            machine(),
            &Stop::default(),
            first,
            Vec::<Box<dyn FnOnce()>>::new(),
        );
    }
}
