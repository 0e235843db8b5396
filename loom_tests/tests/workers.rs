//! The emulator's scheduler: no event is lost, whatever its thread does, and no worker sleeps on
//! over its mail. The models run the emulator's own source.
#![cfg(dpamatch_loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use loom::thread;
use loom_tests::check;
use loom_tests::model::Extent;

#[expect(dead_code, reason = "the watchdog's look has no model")]
#[path = "../../port/emulator/src/thread/shared.rs"]
mod shared;

use shared::{Mailbox, State};

const TWO_EVENTS: Extent = Extent::bounded(3, 4);

/// A thread of the emulator with its worker, and what wakers write before their events.
struct Machine {
    state: State,
    mailbox: Mailbox<()>,
    written: [AtomicU32; 2],
    signalled: AtomicBool,
}

impl Machine {
    fn new() -> Arc<Self> {
        let state = State::new();
        assert!(state.begin());
        Arc::new(Self {
            state,
            mailbox: Mailbox::new(),
            written: [AtomicU32::new(0), AtomicU32::new(0)],
            signalled: AtomicBool::new(false),
        })
    }

    /// An event, as other host threads make it.
    fn wake(&self, which: usize) {
        self.written[which].store(1, Relaxed);
        if self.state.event() && self.mailbox.post(()) {
            self.signalled.store(true, Relaxed);
        }
    }

    fn activation(&self) -> [u32; 2] {
        [0, 1].map(|at: usize| self.written[at].load(Relaxed))
    }

    /// Runs the thread as often as it is queued, until its worker sleeps. Each activation has this
    /// many turns, and the first ones start again. Returns what the last activation has seen.
    fn work(&self, turns: usize, mut again: usize) -> [u32; 2] {
        let (mut queued, mut seen) = (0, [0; 2]);
        loop {
            queued += self.mailbox.take().map_or(0, |mail| mail.len());
            assert!(queued <= 1, "the thread is queued twice");
            if queued > 0 {
                queued = 0;
                for turn in 0..turns {
                    assert_eq!(self.state.runs(), turn == 0, "one activation");
                }
                seen = self.activation();
                queued += if again > 0 {
                    again -= 1;
                    self.state.again();
                    1
                } else {
                    usize::from(self.state.rests())
                };
            } else if self.mailbox.fall_asleep() {
                return seen;
            } else {
                self.mailbox.wake();
            }
        }
    }

    /// Checks what the worker has left behind when it went to sleep.
    fn is_sound(&self, seen: [u32; 2]) {
        if self.mailbox.take().is_some_and(|mail| !mail.is_empty()) {
            assert!(self.signalled.load(Relaxed), "the worker sleeps on");
        } else {
            assert_eq!(seen, self.activation(), "an event is lost");
            assert!(self.state.is_idle(), "the thread is in no queue");
        }
    }
}

#[test]
fn an_event_is_not_lost() {
    check("workers/one event", None, 10, || {
        let machine = Machine::new();
        let other = Arc::clone(&machine);
        let other = thread::spawn(move || other.wake(0));
        let seen = machine.work(1, 0);
        other.join().expect("the waker ended");
        machine.is_sound(seen);
    });
}

/// The second event comes before, in and after the activation for the first one.
#[test]
fn a_second_event_is_not_lost() {
    check("workers/two events", TWO_EVENTS.bound(), 100, || {
        let machine = Machine::new();
        let other = Arc::clone(&machine);
        let other = thread::spawn(move || {
            other.wake(0);
            other.wake(1);
        });
        let seen = machine.work(2, 0);
        other.join().expect("the waker ended");
        machine.is_sound(seen);
    });
}

#[test]
fn events_of_two_wakers_are_not_lost() {
    check("workers/two wakers", TWO_EVENTS.bound(), 1000, || {
        let machine = Machine::new();
        let wakers: Vec<_> = (0..2)
            .map(|which| {
                let machine = Arc::clone(&machine);
                thread::spawn(move || machine.wake(which))
            })
            .collect();
        let seen = machine.work(1, 0);
        for waker in wakers {
            waker.join().expect("the waker ended");
        }
        machine.is_sound(seen);
    });
}

/// The second event comes when the thread is ready, and is in no queue a second time.
#[test]
fn an_event_for_a_ready_thread_is_not_lost() {
    check("workers/ready", None, 3, || {
        let machine = Machine::new();
        assert!(machine.state.event(), "it was idle");
        let other = Arc::clone(&machine);
        let other = thread::spawn(move || other.wake(0));
        assert!(machine.state.runs());
        let mut seen = machine.activation();
        if machine.state.rests() {
            assert!(machine.state.runs());
            seen = machine.activation();
        }
        let idle = machine.state.is_idle();
        other.join().expect("the waker ended");
        // An event that came later is in the mailbox.
        assert!(
            seen == [1, 0] || machine.mailbox.take().is_some() || !idle,
            "an event is lost"
        );
    });
}

/// An activation that starts itself again keeps what came meanwhile.
#[test]
fn an_activation_that_starts_again_loses_no_event() {
    check("workers/again", TWO_EVENTS.bound(), 100, || {
        let machine = Machine::new();
        let other = Arc::clone(&machine);
        let other = thread::spawn(move || {
            other.wake(0);
            other.wake(1);
        });
        let seen = machine.work(1, 1);
        other.join().expect("the waker ended");
        machine.is_sound(seen);
    });
}

/// Who finds a thread idle sees what it has noted before it rested.
#[test]
fn an_idle_thread_has_noted_where_it_sleeps() {
    check("workers/idle", None, 3, || {
        let machine = Machine::new();
        assert!(machine.state.event() && machine.state.runs());
        let other = Arc::clone(&machine);
        let other = thread::spawn(move || {
            if other.state.is_idle() {
                assert_eq!(other.written[0].load(Relaxed), 1, "it sleeps elsewhere");
            }
        });
        machine.written[0].store(1, Relaxed);
        assert!(!machine.state.rests());
        other.join().expect("the observer ended");
    });
}

/// What was written before a thread begins, its first activation sees.
#[test]
fn a_thread_begins_with_its_argument() {
    check("workers/begin", None, 3, || {
        let machine = Arc::new(Machine {
            state: State::new(),
            mailbox: Mailbox::new(),
            written: [AtomicU32::new(0), AtomicU32::new(0)],
            signalled: AtomicBool::new(false),
        });
        let other = Arc::clone(&machine);
        let other = thread::spawn(move || {
            if other.state.event() {
                assert!(other.state.runs());
                assert_eq!(other.activation(), [1, 0], "another argument");
            }
        });
        machine.written[0].store(1, Relaxed);
        assert!(machine.state.is_new() && machine.state.begin() && !machine.state.is_new());
        other.join().expect("the waker ended");
    });
}
