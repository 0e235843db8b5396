//! One DPA thread.

use super::call::Call;
use super::shared::State;
use super::tasks::TaskQueue;
use super::worker::Pause;
use crate::check::Watch;
use crate::model::Time;
use crate::process::Process;
use corosensei::stack::DefaultStack;
use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, Yielder};
use std::cell::{Cell, UnsafeCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

pub(crate) enum Kind {
    Handler,
    Call(Call),
    Tasks(Arc<TaskQueue>),
    Kernel(Arc<crate::doca::Seat>),
}

/// Entries of the table of polls: more than queues of a busy thread.
pub(crate) const POLLS: usize = 32;

/// What only the thread's worker touches.
#[derive(Default)]
pub(crate) struct Own {
    pub(crate) coroutine: UnsafeCell<Option<Coroutine<(), Pause, Pause>>>,
    pub(crate) stack: Cell<Option<DefaultStack>>,
    pub(crate) trap: Cell<Option<CoroutineTrapHandler<Pause>>>,
    /// Where the coroutine suspends. None while no coroutine runs: then handlers are called.
    pub(crate) yielder: Cell<Option<*const Yielder<(), Pause>>>,
    /// Key of each window entity.
    pub(crate) windows: [Cell<Option<u32>>; 2],
    /// Owner bytes that this thread has read last, by address.
    pub(crate) polls: [Cell<(usize, u8)>; POLLS],
    /// Fences, looks at the clock: such calls since the last work.
    pub(crate) spins: Cell<u32>,
    /// Whether it consumed a completion or rang a doorbell in this turn.
    pub(crate) worked: Cell<bool>,
    /// Accesses since it has last given others a turn for them.
    pub(crate) accesses: Cell<u32>,
    /// The device part's call that is under way, if one may be at fault; else 0.
    pub(crate) place: Cell<usize>,
    pub(crate) watch: Watch,
    pub(crate) time: Time,
    /// When the clock was first looked at in this activation, and the thread's turns.
    pub(crate) begun: Cell<Option<Instant>>,
    pub(crate) turns: Cell<u32>,
    pub(crate) doca: crate::doca::Own,
}

pub(crate) struct Unit {
    pub(crate) id: u32,
    pub(crate) process: Arc<Process>,
    pub(crate) name: String,
    pub(crate) entry: usize,
    pub(crate) kind: Kind,
    pub(crate) argument: AtomicU64,
    pub(crate) local: u64,
    pub(crate) worker: usize,
    pub(crate) state: State,
    /// Its worker counts them.
    pub(crate) activations: AtomicU64,
    /// Frames that came to its queues.
    pub(crate) frames: AtomicU64,
    /// Where it went to sleep last, the entry of a completion queue where it last found none,
    /// how often it has done so since its activation began, and whether another thread woke it.
    slept_at: AtomicUsize,
    polled: AtomicUsize,
    vain_polls: AtomicU32,
    activated: AtomicBool,
    /// Faults that were reported. The NIC reports some from other workers.
    reported: AtomicU64,
    pub(crate) own: Own,
}

// SAFETY: `own` is touched by the thread's one worker only; all else is atomic or never changes.
unsafe impl Send for Unit {}
// SAFETY: as above.
unsafe impl Sync for Unit {}

/// Where a thread of the DPA begins.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The function, or what the emulator calls the thread.
    pub(crate) name: String,
    /// The function's address; 0 for a thread that is given its functions later.
    pub(crate) address: usize,
}

impl Entry {
    /// A thread with a name of the emulator's.
    pub(crate) fn named(name: &str, address: usize) -> Self {
        Self {
            name: name.to_owned(),
            address,
        }
    }
}

impl Unit {
    pub(crate) fn new(
        id: u32,
        process: Arc<Process>,
        entry: Entry,
        kind: Kind,
        local: u64,
        worker: usize,
    ) -> Self {
        Self {
            id,
            process,
            name: entry.name,
            entry: entry.address,
            kind,
            argument: 0.into(),
            local,
            worker,
            state: State::new(),
            activations: 0.into(),
            frames: 0.into(),
            slept_at: 0.into(),
            polled: 0.into(),
            vain_polls: 0.into(),
            activated: false.into(),
            reported: 0.into(),
            own: Own::default(),
        }
    }

    pub(crate) fn is_call(&self) -> bool {
        matches!(self.kind, Kind::Call(_))
    }

    /// Bytes of arguments on the stack, above the return address.
    pub(crate) fn argument_bytes(&self) -> usize {
        match &self.kind {
            Kind::Call(call) => call.argument_bytes(),
            Kind::Kernel(seat) => seat.argument_bytes(),
            _ => 0,
        }
    }

    /// What the coroutine runs: an activation from the top.
    pub(crate) fn body(&self) -> Pause {
        match &self.kind {
            Kind::Handler => {
                // SAFETY: an entry point of the image, which the process keeps loaded.
                let entry: extern "C" fn(u64) = unsafe { std::mem::transmute(self.entry) };
                // ordering: the event that started this activation orders its argument.
                entry(self.argument.load(Ordering::Acquire));
                crate::check::race::ended(self);
                Pause::Returned
            }
            Kind::Call(call) => {
                call.run(self.entry);
                crate::check::ends(self);
                crate::check::race::returns(self);
                Pause::Finished
            }
            Kind::Kernel(seat) => {
                seat.run(self);
                Pause::Rescheduled
            }
            Kind::Tasks(queue) => {
                queue.run();
                Pause::Rescheduled
            }
        }
    }
}

// ordering: for diagnoses, which read what a thread has noted before it rested.
impl Unit {
    pub(crate) fn activations(&self) -> u64 {
        self.activations.load(Ordering::Relaxed)
    }

    /// Its worker counts.
    pub(crate) fn count_activation(&self) {
        self.activations
            .store(self.activations() + 1, Ordering::Relaxed);
    }

    /// An activation begins.
    pub(crate) fn begins(&self) {
        self.vain_polls.store(0, Ordering::Relaxed);
    }

    /// It found no completion at this address, though it had looked there before.
    pub(crate) fn polls_in_vain(&self, address: usize) {
        self.polled.store(address, Ordering::Relaxed);
        self.vain_polls.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether it has waited for completions before it went to sleep.
    pub(crate) fn has_polled_in_vain(&self) -> bool {
        self.vain_polls.load(Ordering::Relaxed) > 1
    }

    pub(crate) fn polled(&self) -> usize {
        self.polled.load(Ordering::Relaxed)
    }

    pub(crate) fn sleeps_at(&self, place: usize) {
        self.slept_at.store(place, Ordering::Relaxed);
    }

    pub(crate) fn slept_at(&self) -> usize {
        self.slept_at.load(Ordering::Relaxed)
    }

    /// Another thread wakes it, and may again.
    pub(crate) fn is_activated(&self) {
        self.activated.store(true, Ordering::Relaxed);
    }

    pub(crate) fn was_activated(&self) -> bool {
        self.activated.load(Ordering::Relaxed)
    }

    pub(crate) fn is_first(&self, fault: u8) -> bool {
        self.reported.load(Ordering::Relaxed) & 1_u64 << fault == 0
    }

    pub(crate) fn first(&self, fault: u8) -> bool {
        self.reported.fetch_or(1_u64 << fault, Ordering::Relaxed) & 1_u64 << fault == 0
    }
}
