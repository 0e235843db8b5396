//! What a worker shares with other host threads: the state of its threads, and its mailbox.
//!
//! **Events.** An activation sees what host threads wrote before the events that led to it: Release
//! by the event -> Acquire by the activation's begin. Each change of a state but the last one reads
//! the state before, so that it stays in the release sequence, and an event for a thread that is
//! ready anyway writes the same state again. A load alone would order nothing, and that event would
//! be lost.
//!
//! **Sleep.** A post says that there is mail and looks for a sleeper; the worker says that it
//! sleeps and looks for mail. Each has a SeqCst fence between, so that one of them sees the other.
//! The messages are ordered by their lock. The models of `loom_tests/tests/workers.rs` run this
//! file.

use dpamatch_door::{AtomicBool, AtomicU8, Mutex, Ordering, fault, fence, weak};
use std::collections::VecDeque;
use std::sync::PoisonError;

/// Events before `IDLE` are lost; an event while it runs is kept.
const NEW: u8 = 0;
const IDLE: u8 = 1;
const READY: u8 = 2;
const RUNNING: u8 = 3;
const RUNNING_AND_EVENT: u8 = 4;
const GONE: u8 = 5;

/// The state of a thread.
pub(crate) struct State(AtomicU8);

impl State {
    pub(crate) fn new() -> Self {
        Self(AtomicU8::new(NEW))
    }

    /// From new to idle. False if it was not new.
    pub(crate) fn begin(&self) -> bool {
        self.0
            .compare_exchange(NEW, IDLE, weak!(Release), Ordering::Relaxed)
            .is_ok()
    }

    /// An event. True if the thread has to be queued now.
    pub(crate) fn event(&self) -> bool {
        let next = |now| match now {
            IDLE => Some(READY),
            RUNNING if fault!(EventWhileRunningLost) => None,
            RUNNING => Some(RUNNING_AND_EVENT),
            READY | RUNNING_AND_EVENT if !fault!(EventNotPassedOn) => Some(now),
            _ => None,
        };
        let before = self.0.fetch_update(weak!(Release), Ordering::Relaxed, next);
        before == Ok(IDLE)
    }

    /// The worker gives the thread a turn. True if an activation begins or goes on after an event.
    pub(crate) fn runs(&self) -> bool {
        // Nobody else changes a thread that runs to one that is ready.
        self.0.load(Ordering::Relaxed) == READY && {
            self.0.swap(RUNNING, weak!(Acquire));
            true
        }
    }

    /// The activation is over. True if an event has come meanwhile: the thread is ready.
    pub(crate) fn rests(&self) -> bool {
        let idle = self
            .0
            .compare_exchange(RUNNING, IDLE, weak!(Release), Ordering::Relaxed);
        let has_event = idle == Err(RUNNING_AND_EVENT);
        if has_event {
            self.again();
        }
        has_event
    }

    /// It is ready, whatever has come meanwhile.
    pub(crate) fn again(&self) {
        self.0.swap(READY, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        // ordering: nobody waits for what an ended thread has written.
        self.0.store(GONE, Ordering::Relaxed);
    }

    /// Whether it runs and has an event for its next activation.
    pub(crate) fn has_event(&self) -> bool {
        // ordering: for a diagnosis; the event orders what it brings itself.
        self.0.load(Ordering::Relaxed) == RUNNING_AND_EVENT
    }

    /// Whether it waits for an event.
    pub(crate) fn is_idle(&self) -> bool {
        self.0.load(weak!(Acquire)) == IDLE
    }

    /// Whether events are lost because it does not run yet.
    pub(crate) fn is_new(&self) -> bool {
        self.0.load(Ordering::Relaxed) == NEW
    }
}

/// What others tell a worker.
pub(crate) struct Mailbox<T> {
    messages: Mutex<VecDeque<T>>,
    mail: AtomicBool,
    sleeps: AtomicBool,
}

impl<T> Mailbox<T> {
    pub(crate) fn new() -> Self {
        Self {
            messages: Mutex::new(VecDeque::new()),
            mail: AtomicBool::new(false),
            sleeps: AtomicBool::new(false),
        }
    }

    /// True if the worker must be woken.
    pub(crate) fn post(&self, message: T) -> bool {
        self.put(message);
        self.sleeps()
    }

    /// Leaves the message; [`sleeps`](Self::sleeps) says afterwards whether to wake the worker.
    pub(crate) fn put(&self, message: T) {
        let messages = self.messages.lock();
        messages
            .unwrap_or_else(PoisonError::into_inner)
            .push_back(message);
        self.mail.store(true, Ordering::Relaxed);
    }

    /// Whether the worker sleeps, after all that the caller did.
    pub(crate) fn sleeps(&self) -> bool {
        fence(weak!(SeqCst));
        self.sleeps.load(Ordering::Relaxed)
    }

    /// Whether there is mail, for a worker that is about to sleep.
    pub(crate) fn has_mail(&self) -> bool {
        // ordering: a guess; `take` finds the messages.
        self.mail.load(Ordering::Relaxed)
    }

    /// The messages, oldest first; `None` without mail.
    pub(crate) fn take(&self) -> Option<VecDeque<T>> {
        if !self.mail.load(Ordering::Relaxed) {
            return None;
        }
        // Before the look, which finds all messages whose mail this takes back.
        if !fault!(MailTakenAfterLook) {
            self.mail.store(false, Ordering::Relaxed);
        }
        let messages = self.messages.lock();
        let taken = std::mem::take(&mut *messages.unwrap_or_else(PoisonError::into_inner));
        if fault!(MailTakenAfterLook) {
            self.mail.store(false, Ordering::Relaxed);
        }
        Some(taken)
    }

    /// The worker says that it will sleep. False if there is mail.
    pub(crate) fn fall_asleep(&self) -> bool {
        let look = || !self.mail.load(Ordering::Relaxed);
        let before = fault!(WorkerLooksFirst).then(look);
        self.sleeps.store(true, Ordering::Relaxed);
        fence(weak!(SeqCst));
        before.unwrap_or_else(look)
    }

    pub(crate) fn wake(&self) {
        self.sleeps.store(false, Ordering::Relaxed);
    }

    /// Whether it sleeps, for the watchdog.
    pub(crate) fn seems_asleep(&self) -> bool {
        // ordering: the watchdog looks again and again.
        self.sleeps.load(Ordering::Relaxed)
    }
}
