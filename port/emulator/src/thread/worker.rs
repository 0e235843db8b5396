//! Workers: host threads that run DPA threads in turn.

use super::crash;
use super::patience::Patience;
use super::shared::Mailbox;
use super::unit::{Kind, Unit};
use crate::check::{Fault, device, race};
use crate::environment;
use crate::machine::machine;
use crate::process::ended;
use crate::status::Refusal;
use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Why a thread gives its worker back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Its poll finds nothing, or it waits for a lock.
    Vain,
    /// It goes on where it stopped, after others.
    Turn,
    /// It goes on where it stopped, at its next event.
    Waits,
    Rescheduled,
    /// The activation starts again.
    Again,
    Finished,
    /// The handler returned instead of rescheduling.
    Returned,
    Crashed,
}

/// Bytes of a coroutine's stack. Code of this machine needs more than the DPA's 8 KiB, and deep
/// stacks are reported. Pages cost memory when they are touched.
const STACK: usize = 512 << 10;
/// Rounds without work before a worker sleeps, and how long it does while threads spin.
const VAIN_ROUNDS: usize = 50;
const NAP_US: u64 = 50;
/// Turns of a thread between two looks at the clock, and the limit that programs have met.
const TURNS: u32 = 256;
const WATCHDOG_S: u64 = 12;
/// Most host threads.
const MOST_WORKERS: u64 = 256;
/// Longest sleep while all threads wait for events, and while one may never get any.
const SLEEP_MS: u64 = 100;
const SHORT_SLEEP_US: u64 = 20_000;
/// Looks at the NIC between two looks for handlers that sleep for good.
const LOOKS: u32 = 1024;

thread_local! {
    static CURRENT: Cell<*const Unit> = const { Cell::new(std::ptr::null()) };
    static WORKER: Cell<*const Worker> = const { Cell::new(std::ptr::null()) };
}

/// Whether workers have a seed: cheaper to ask than a thread's own variable.
static SEEDED: AtomicBool = AtomicBool::new(false);

pub(crate) fn current<'a>() -> Option<&'a Unit> {
    // SAFETY: set around each step to a unit that the worker holds; cleared afterwards.
    unsafe { CURRENT.get().as_ref() }
}

pub(crate) struct Scheduler {
    workers: OnceLock<Vec<Arc<Worker>>>,
    next: AtomicUsize,
    /// No two handlers share a worker; the first runs all else.
    apart: bool,
    /// Otherwise this many workers run all.
    wanted: usize,
    seed: u64,
    /// Seconds of the longest activation; 0 for any.
    limit: u64,
}

enum Message {
    Adopt(Arc<Unit>),
    Ready(Arc<Unit>),
    Retire(Arc<Unit>, mpsc::Sender<()>),
}

pub(crate) struct Worker {
    index: usize,
    mailbox: Mailbox<Message>,
    patience: Patience,
    seed: Cell<u64>,
    /// Seconds of the longest activation; 0 for any.
    limit: u64,
    /// Steps so far, for the watchdog.
    steps: AtomicU64,
    /// Activations of handlers, and calls, which it has begun.
    begun: [AtomicU64; 2],
    /// Its host thread, once it runs: for signals, and to wake it.
    thread: OnceLock<(libc::pthread_t, Thread)>,
    /// The thread and the place in device code that answer the watchdog's question.
    stuck: [AtomicUsize; 2],
    /// Threads to run, oldest first; `units` holds them.
    queue: RefCell<VecDeque<*const Unit>>,
    units: RefCell<HashMap<*const Unit, Arc<Unit>>>,
    /// Threads of calls that are over. They are dropped when nothing refers to them any more.
    over: RefCell<Vec<Arc<Unit>>>,
    /// Looks at the NIC.
    looks: Cell<u32>,
    /// Completions of the NIC when this worker last looked.
    completions: Cell<u64>,
}

// SAFETY: the cells belong to the worker's own host thread; others use mailbox, flags and event.
unsafe impl Send for Worker {}
// SAFETY: as above.
unsafe impl Sync for Worker {}

impl Scheduler {
    pub(crate) fn new() -> Self {
        let apart = environment::text("DPA_WORKERS").is_some_and(|text| text == "units");
        let most = 1..=MOST_WORKERS;
        Self {
            workers: OnceLock::new(),
            next: AtomicUsize::new(0),
            apart,
            wanted: if apart {
                0
            } else {
                environment::number("DPA_WORKERS", 1, most) as usize
            },
            seed: environment::number("DPA_SEED", 0, 0..=u64::MAX),
            limit: environment::number("DPA_WATCHDOG_S", WATCHDOG_S, 0..=u64::MAX),
        }
    }

    pub(crate) fn start(&self) {
        self.workers();
    }

    fn workers(&self) -> &[Arc<Worker>] {
        self.workers.get_or_init(|| {
            crash::install();
            let cores = std::thread::available_parallelism().map_or(1, |count| count.get());
            let count = if self.apart { cores + 1 } else { self.wanted };
            let spawn = |index| Worker::spawn(index, self.seed, self.limit);
            let workers: Vec<_> = (0..count).map(spawn).collect();
            if self.limit > 0 {
                super::watchdog::start(workers.clone(), Duration::from_secs(self.limit));
            }
            workers
        })
    }

    /// Activations of handlers, and calls, so far.
    pub(crate) fn begun(&self) -> [u64; 2] {
        let all = self.workers.get().map_or(&[][..], Vec::as_slice);
        // ordering: statistics.
        [0, 1].map(|at| {
            all.iter()
                .map(|worker| worker.begun[at].load(Ordering::Relaxed))
                .sum()
        })
    }

    /// The worker for a new thread: the next in turn, or one that no other handler has.
    pub(crate) fn choose(&self, kind: &Kind) -> Result<usize, Refusal> {
        let count = self.workers().len();
        match kind {
            // ordering: only the numbers differ.
            _ if !self.apart => Ok(self.next.fetch_add(1, Ordering::Relaxed) % count),
            Kind::Handler => {
                let units = &machine().objects().units;
                let free = |worker: &usize| !units.iter().any(|(_, unit)| unit.worker == *worker);
                let why = "DPA_WORKERS=units: no core is left for another handler";
                Ok((1..count).find(free).ok_or(why)?)
            }
            _ => Ok(0),
        }
    }

    /// Gives a new thread to its worker.
    pub(crate) fn adopt(&self, unit: &Arc<Unit>) {
        self.workers()[unit.worker].post(Message::Adopt(Arc::clone(unit)));
    }

    /// An event for a thread: it is queued unless it runs or waits already.
    pub(crate) fn wake(&self, unit: &Arc<Unit>) {
        if !unit.state.event() {
            return;
        }
        let here = WORKER.get();
        // SAFETY: null, or this host thread's own worker, which lives as long as it.
        match unsafe { here.as_ref() } {
            Some(worker) if worker.index == unit.worker => {
                worker.queue.borrow_mut().push_back(Arc::as_ptr(unit));
            }
            _ => self.workers()[unit.worker].post(Message::Ready(Arc::clone(unit))),
        }
    }

    /// An event for each of these threads. A worker that sleeps is woken once for all.
    pub(crate) fn wake_all(&self, units: &[Arc<Unit>]) {
        let mut workers = Vec::new();
        // SAFETY: null, or this host thread's own worker, which lives as long as it.
        let here = unsafe { WORKER.get().as_ref() };
        for unit in units.iter().filter(|unit| unit.state.event()) {
            match here {
                Some(worker) if worker.index == unit.worker => {
                    worker.queue.borrow_mut().push_back(Arc::as_ptr(unit));
                    continue;
                }
                _ if !workers.contains(&unit.worker) => workers.push(unit.worker),
                _ => {}
            }
            let mailbox = &self.workers()[unit.worker].mailbox;
            mailbox.put(Message::Ready(Arc::clone(unit)));
        }
        for index in workers {
            self.workers()[index].nudge();
        }
    }

    /// Wakes workers whose threads poll.
    pub(crate) fn rouse(&self, workers: impl Iterator<Item = usize>) {
        let all = self.workers.get().map_or(&[][..], Vec::as_slice);
        workers
            .filter_map(|index| all.get(index))
            .for_each(|worker| worker.nudge());
    }

    /// Takes a thread from its worker. Waits for a thread that does not yield, but not for ever.
    pub(crate) fn retire(&self, unit: &Arc<Unit>) {
        machine().objects().units.remove(unit.id);
        let (told, done) = mpsc::channel();
        self.workers()[unit.worker].post(Message::Retire(Arc::clone(unit), told));
        if done.recv_timeout(Duration::from_secs(2)).is_err() {
            let name = &unit.name;
            let text = format_args!("thread {} ({name}) does not yield", unit.id);
            crate::check::error(Fault::Watchdog, text);
        }
    }
}

impl Worker {
    fn spawn(index: usize, seed: u64, limit: u64) -> Arc<Self> {
        let worker = Arc::new(Self {
            index,
            mailbox: Mailbox::new(),
            patience: Patience::default(),
            seed: Cell::new(seed),
            limit,
            steps: AtomicU64::new(0),
            begun: Default::default(),
            thread: OnceLock::new(),
            stuck: Default::default(),
            queue: RefCell::default(),
            units: RefCell::default(),
            over: RefCell::default(),
            looks: Cell::new(0),
            completions: Cell::new(0),
        });
        // ordering: set before any thread runs.
        SEEDED.store(worker.seed.get() != 0, Ordering::Relaxed);
        let runs = Arc::clone(&worker);
        let builder = std::thread::Builder::new().name(format!("dpa-{index}"));
        builder
            .spawn(move || runs.run())
            .expect("a host thread for the DPA");
        worker
    }

    fn post(&self, message: Message) {
        if self.mailbox.post(message) {
            self.unpark();
        }
    }

    /// Wakes the worker if it sleeps.
    fn nudge(&self) {
        if self.mailbox.sleeps() {
            self.unpark();
        }
    }

    /// Wakes it; only a worker that runs sleeps.
    fn unpark(&self) {
        if let Some((_, thread)) = self.thread.get() {
            thread.unpark();
        }
    }

    fn run(self: Arc<Self>) {
        crash::give_stack();
        self.thread.get_or_init(|| {
            // SAFETY: the calling host thread's own name.
            (unsafe { libc::pthread_self() }, std::thread::current())
        });
        WORKER.set(Arc::as_ptr(&self));
        let (mut vain, mut turns) = (0, 0);
        loop {
            if let Some(mail) = self.mailbox.take() {
                self.read_mail(mail);
            }
            let (mut pause, mut worked) = (None, false);
            if let Some(unit) = self.next() {
                unit.own.worked.set(false);
                pause = Some(self.step(unit));
                worked = unit.own.worked.get();
            }
            self.over.borrow_mut().clear();
            turns += 1;
            let waiting = self.queue.borrow().len();
            let mut moved = 0;
            if pause.is_none() || turns >= waiting {
                turns = 0;
                moved = self.look_at_nic();
            }
            // A turn that ends without work may have worked before.
            let idle = moved == 0 && !worked && matches!(pause, None | Some(Pause::Vain));
            vain = if idle { vain + 1 } else { 0 };
            if idle && pause.is_none() {
                // A host that waits for each kernel launches the next one at once.
                if vain == 1 && self.patience.sees(|| self.mailbox.has_mail()) {
                    continue;
                }
                self.sleep(SLEEP_MS * 1000, false);
            } else if vain > VAIN_ROUNDS * (waiting + 1) {
                self.sleep(NAP_US, true);
            }
        }
    }

    /// Takes what the wire brings. Answers how many things moved, by any worker.
    fn look_at_nic(&self) -> u64 {
        let mut nic = machine().nic();
        let moved = nic.pump() as u64;
        self.looks.set(self.looks.get().wrapping_add(1));
        if self.looks.get().is_multiple_of(LOOKS) {
            nic.look_for_sleepers();
        }
        let before = self.completions.replace(nic.completions);
        let moved = moved + (nic.completions - before);
        crate::queue::let_go(nic);
        moved
    }

    /// Sleeps until mail comes or the time is over. One whose threads poll also wakes when a
    /// completion comes, since nothing else announces those of queues that are not armed.
    fn sleep(&self, microseconds: u64, polls: bool) {
        if self.mailbox.fall_asleep() {
            let mut nic = machine().nic();
            if polls && !nic.naps(self.index, self.completions.get()) {
                self.mailbox.wake();
                return;
            }
            let one_may_sleep_for_good = nic.look_for_sleepers();
            let microseconds = if nic.waits() {
                NAP_US
            } else if one_may_sleep_for_good {
                microseconds.min(SHORT_SLEEP_US)
            } else {
                microseconds
            };
            drop(nic);
            std::thread::park_timeout(Duration::from_micros(microseconds));
        }
        self.mailbox.wake();
    }

    fn read_mail(&self, mail: VecDeque<Message>) {
        for message in mail {
            match message {
                Message::Adopt(unit) => {
                    self.units.borrow_mut().insert(Arc::as_ptr(&unit), unit);
                }
                Message::Ready(unit) => {
                    if self.units.borrow().contains_key(&Arc::as_ptr(&unit)) {
                        self.queue.borrow_mut().push_back(Arc::as_ptr(&unit));
                    }
                }
                Message::Retire(unit, told) => {
                    unit.state.end();
                    self.queue
                        .borrow_mut()
                        .retain(|&other| other != Arc::as_ptr(&unit));
                    self.abandon(&unit);
                    crate::model::tell(&unit);
                    self.units.borrow_mut().remove(&Arc::as_ptr(&unit));
                    let _ = told.send(());
                }
            }
        }
    }

    /// The next thread: the oldest, or one that the seed chooses.
    fn next<'a>(&self) -> Option<&'a Unit> {
        let mut queue = self.queue.borrow_mut();
        // No choice takes no number: how often a worker looks in vain depends on time.
        let at = if self.seed.get() == 0 || queue.len() < 2 {
            0
        } else {
            self.random() as usize % queue.len()
        };
        let unit = queue.remove(at)?;
        // SAFETY: `units` holds it until it leaves the queue; only this host thread does either.
        Some(unsafe { &*unit })
    }

    /// The next number of the seed's sequence (xorshift).
    fn random(&self) -> u64 {
        let mut seed = self.seed.get();
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        self.seed.set(seed);
        seed
    }

    fn step(&self, unit: &Unit) -> Pause {
        let own = &unit.own;
        if unit.process.state() != ended::NOT {
            return self.stop(unit);
        }
        // SAFETY: only this host thread touches the coroutine, and only here and in `abandon`;
        // device code that runs inside reaches it through `own.yielder` alone.
        let slot = unsafe { &mut *own.coroutine.get() };
        // Ready for an activation, or to go on with one that waited for an event.
        if unit.state.runs() {
            race::begins(unit, matches!(unit.kind, Kind::Handler));
        }
        if slot.is_none() {
            unit.count_activation();
            let count = &self.begun[usize::from(unit.is_call())];
            // ordering: a statistic that each worker counts for itself.
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            own.begun.set(None);
            unit.begins();
            own.time.activation();
            crate::trace::begins(unit);
            let Some(stack) = own.stack.take().or_else(|| DefaultStack::new(STACK).ok()) else {
                let text = format_args!("no memory for the stack of a thread");
                crate::check::error(Fault::Crash, text);
                unit.process.end(ended::CRASH);
                return self.stop(unit);
            };
            // SAFETY: the worker holds the unit as long as its coroutine.
            *slot = Some(unsafe { activation(unit, stack) });
        }
        let Some(coroutine) = slot else {
            return Pause::Vain;
        };
        CURRENT.set(unit);
        // Only this host thread counts.
        // ordering: the watchdog looks again and again.
        self.steps.store(self.steps() + 1, Ordering::Relaxed);
        let result = coroutine.resume(());
        CURRENT.set(std::ptr::null());
        let pause = match result {
            CoroutineResult::Yield(pause) | CoroutineResult::Return(pause) => pause,
        };
        self.paused(unit, pause);
        if matches!(pause, Pause::Vain | Pause::Turn) {
            self.look_at_clock(unit);
        }
        pause
    }

    /// Steps so far. As long as a thread runs without a pause, it is one step.
    pub(super) fn steps(&self) -> u64 {
        // ordering: as in `step`.
        self.steps.load(Ordering::Relaxed)
    }

    pub(super) fn is_asleep(&self) -> bool {
        self.mailbox.seems_asleep()
    }

    /// Asks for the thread that runs, and for the place where it is in device code.
    pub(super) fn ask(&self) -> Option<(u32, usize)> {
        // ordering: one release, one acquire: the place, which is stored last, publishes the
        // thread.
        self.stuck[1].store(0, Ordering::Release);
        crash::ask(self.thread.get()?.0);
        // ordering: as above.
        for _ in 0..50 {
            std::thread::sleep(Duration::from_millis(2));
            let place = self.stuck[1].load(Ordering::Acquire);
            if place != 0 {
                return Some((self.stuck[0].load(Ordering::Acquire) as u32, place));
            }
        }
        None
    }

    /// Reports an activation that is longer than a DPA lets it be.
    fn look_at_clock(&self, unit: &Unit) {
        let turns = unit.own.turns.get().wrapping_add(1);
        unit.own.turns.set(turns);
        if !turns.is_multiple_of(TURNS) || self.limit == 0 {
            return;
        }
        let begun = unit.own.begun.get().unwrap_or_else(Instant::now);
        unit.own.begun.set(Some(begun));
        // The threads that wait here would run at the same time on a DPA.
        let share = self.queue.borrow().len().max(1) as u64;
        if begun.elapsed().as_secs() / share >= self.limit {
            let limit = self.limit;
            let text = format_args!("the activation takes more than {limit} s (DPA_WATCHDOG_S)");
            device(Some(unit), Fault::Watchdog, text);
        }
    }

    fn paused(&self, unit: &Unit, pause: Pause) {
        let this: *const Unit = unit;
        match pause {
            Pause::Vain | Pause::Turn => self.queue.borrow_mut().push_back(this),
            Pause::Waits => self.rest(unit),
            Pause::Rescheduled => {
                self.abandon(unit);
                self.rest(unit);
            }
            Pause::Again => {
                self.abandon(unit);
                unit.state.again();
                self.queue.borrow_mut().push_back(this);
            }
            Pause::Finished | Pause::Returned | Pause::Crashed => {
                if pause == Pause::Returned {
                    let text = format_args!("the handler returned without a reschedule; it ends");
                    device(Some(unit), Fault::Returned, text);
                }
                self.abandon(unit);
                unit.state.end();
                if pause == Pause::Crashed {
                    crash::tell(unit);
                }
                self.forget(unit);
            }
        }
    }

    /// The activation is over: the thread waits for an event, or has one already.
    fn rest(&self, unit: &Unit) {
        if unit.state.rests() {
            self.queue.borrow_mut().push_back(unit);
        }
    }

    fn stop(&self, unit: &Unit) -> Pause {
        self.abandon(unit);
        unit.state.end();
        self.forget(unit);
        Pause::Finished
    }

    /// Threads of calls are held by nobody else once they end.
    fn forget(&self, unit: &Unit) {
        if let Kind::Call(call) = &unit.kind {
            call.end();
            machine().objects().units.remove(unit.id);
            let this: *const Unit = unit;
            self.over
                .borrow_mut()
                .extend(self.units.borrow_mut().remove(&this));
        }
    }

    /// Drops an activation and keeps its stack.
    fn abandon(&self, unit: &Unit) {
        let own = &unit.own;
        own.yielder.set(None);
        // SAFETY: as in `step`; no coroutine runs now.
        if let Some(mut coroutine) = unsafe { (*own.coroutine.get()).take() } {
            crate::trace::ends(unit);
            if !coroutine.done() {
                // SAFETY: the frames on the stack are those of C functions and of `body`, which
                // owns nothing: nothing is leaked but the activation.
                unsafe { coroutine.force_reset() };
            }
            own.stack.set(Some(coroutine.into_stack()));
        }
    }
}

/// An activation of the thread, from the top.
///
/// # Safety
///
/// The unit outlives the coroutine.
unsafe fn activation(unit: &Unit, stack: DefaultStack) -> Coroutine<(), Pause, Pause> {
    let this: *const Unit = unit;
    unit.own
        .watch
        .begin(stack.limit().get()..stack.base().get());
    let made = Coroutine::with_stack(stack, move |yielder, ()| {
        // SAFETY: the caller's promise.
        let unit = unsafe { &*this };
        unit.own.yielder.set(Some(yielder));
        unit.body()
    });
    unit.own.trap.set(Some(made.trap_handler()));
    made
}

/// Gives the worker back, and comes back when the thread runs again. Handlers that are called
/// without a coroutine go on immediately.
pub(crate) fn pause(unit: &Unit, pause: Pause) {
    if let Some(yielder) = unit.own.yielder.get() {
        // SAFETY: the yielder of this running coroutine, which lives on its stack.
        unsafe { &*yielder }.suspend(pause);
    }
}

/// Device code waits for another thread.
pub(crate) fn wait_in_vain(unit: &Unit) {
    pause(unit, Pause::Vain);
}

/// Answers the watchdog on this host thread, in a signal's handler.
pub(crate) fn answer(thread: u32, place: usize) {
    // SAFETY: null, or this host thread's own worker.
    // ordering: as in `ask`.
    if let Some(worker) = unsafe { WORKER.get().as_ref() } {
        worker.stuck[0].store(thread as usize, Ordering::Release);
        worker.stuck[1].store(place.max(1), Ordering::Release);
    }
}

/// A thread has nearly filled its coroutine's stack: its process ends, and it never comes back.
pub(crate) fn overflow(unit: &Unit, text: std::fmt::Arguments<'_>) {
    let (process, activation) = (unit.process.id, unit.activations());
    let text = format_args!(
        "process {process}, thread {} ({}), activation {activation}: {text}; the process is in \
         error state 1",
        unit.id, unit.name
    );
    crate::check::error(Fault::Stack, text);
    end_process(unit);
}

/// The thread's process ends in an error state, and the thread never comes back.
pub(crate) fn end_process(unit: &Unit) {
    unit.process.end(ended::CRASH);
    pause(unit, Pause::Finished);
}

/// Whether the seed wants another thread to run now.
pub(crate) fn wants_turn() -> bool {
    // ordering: as in `spawn`.
    if !SEEDED.load(Ordering::Relaxed) {
        return false;
    }
    // SAFETY: null, or this host thread's own worker.
    let worker = unsafe { WORKER.get().as_ref() };
    worker.is_some_and(|worker| worker.random() % 4 == 0)
}

/// Runs a thread to its end, apart from all workers: the error handler of a process.
pub(crate) fn alone(unit: &Unit) {
    let Ok(stack) = DefaultStack::new(STACK) else {
        return;
    };
    // SAFETY: the caller holds the unit during this call.
    let mut coroutine = unsafe { activation(unit, stack) };
    let outer = CURRENT.replace(unit);
    for _ in 0..VAIN_ROUNDS {
        match coroutine.resume(()) {
            CoroutineResult::Yield(Pause::Vain | Pause::Turn) => {}
            _ => break,
        }
    }
    CURRENT.set(outer);
    if !coroutine.done() {
        // SAFETY: as in `abandon`.
        unsafe { coroutine.force_reset() };
    }
}
