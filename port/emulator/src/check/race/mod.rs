//! Data races: two threads access a word of the heap or of a global, at least one writes it, and
//! nothing orders the two.
//!
//! Each thread has a vector clock, and each word of memory remembers its last accesses with their
//! times (`shadow`). An access that the thread's clock knows of came before. Clocks pass from
//! thread to thread in these ways:
//!
//! - atomic accesses, by their memory order;
//! - a fence of memory for writes, then a write; a read of what it wrote, then a fence for reads;
//! - doorbells, completions, wake-ups of handlers, and what a wire brings back;
//! - calls, tasks, and windows, by way of the host.
//!
//! Words that threads poll are written without atomics in many programs. So reads that are
//! volatile, and writes that come first after a fence, race only with other writes. A call may
//! access what activations before it have, and the other way round.

mod clock;
mod shadow;

use super::access::{Access, How};
use super::report::{self, Fault};
use crate::machine::lock;
use crate::process::Process;
use crate::thread::Unit;
use clock::{Clock, Object, Published};
use shadow::{HOST, Mark, Shadow, WORD};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, Weak};

/// Bytes of one access that are looked at: a copy's first.
const MOST: usize = 1 << 16;
/// Writes of others that a thread remembers to have read.
const READ: usize = 16;
/// Polled words that a fence looks at again.
const POLLED: usize = 8;
/// Bytes of a host's copy that may hold flags for which threads wait.
const FLAGS: usize = 1 << 12;

/// Whether device code announces its accesses.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// Changes of what the host knows.
static HOST_KNOWS: AtomicU64 = AtomicU64::new(0);

fn is_active() -> bool {
    // ordering: set once; a thread that sees it late announces nothing before.
    ACTIVE.load(Ordering::Relaxed)
}

/// The shadows of a process's heap and globals, once they are accessed.
#[derive(Default)]
pub(crate) struct Shadows {
    heap: OnceLock<Option<Arc<Shadow>>>,
    globals: OnceLock<Option<Arc<Shadow>>>,
}

static SHADOWS: Mutex<Vec<Weak<Shadow>>> = Mutex::new(Vec::new());

fn shadow_of(process: &Process, address: usize) -> Option<&Shadow> {
    let heap = &process.heap;
    let (place, memory) = if heap.has(address as u64) {
        (&process.shadows.heap, heap.range())
    } else if process.image.range.contains(&address) {
        (&process.shadows.globals, process.image.range.clone())
    } else {
        return None;
    };
    let make = || (!process.image.has_unseen_code()).then(|| shadow(memory))?;
    place.get_or_init(make).as_deref()
}

fn shadow(memory: Range<usize>) -> Option<Arc<Shadow>> {
    // ordering: as in `is_active`.
    ACTIVE.store(true, Ordering::Relaxed);
    let made = Shadow::new(memory).map(Arc::new);
    match &made {
        Ok(made) => {
            let mut shadows = lock(&SHADOWS);
            shadows.retain(|shadow| shadow.strong_count() > 0);
            shadows.push(Arc::downgrade(made));
        }
        Err(why) => super::note(format_args!("data races are not looked for: {why}")),
    }
    made.ok()
}

fn at_shadow(address: usize, work: impl FnOnce(&Shadow)) {
    if is_active() {
        let shadows = lock(&SHADOWS);
        let mut live = shadows.iter().filter_map(Weak::upgrade);
        if let Some(shadow) = live.find(|shadow| shadow.has(address)) {
            work(&shadow);
        }
    }
}

/// No room for more words or threads.
#[cold]
fn too_much() {
    static SAID: AtomicBool = AtomicBool::new(false);
    let text = format_args!(
        "data races are looked for in the first 32 MiB that threads use, and not in others"
    );
    super::note_once(&SAID, text);
}

/// A write of another thread that this thread has read.
#[derive(Clone, Copy)]
struct Observed {
    word: usize,
    slot: u16,
    time: u64,
    /// Whether a fence has come since.
    is_fenced: bool,
}

/// What a thread knows.
struct State {
    slot: u16,
    clock: Clock,
    /// What its reads have found published: a fence makes it known.
    pending: Clock,
    /// What its writes publish, since its last fence for writes.
    published: Arc<[u64]>,
    /// Whether its next write is the first after that fence.
    is_first: bool,
    /// Whether it knows more, or has written, since that fence.
    has_changed: bool,
    /// Activations that were over when this call began, or calls that had returned when this
    /// activation did.
    over: Clock,
    observed: Vec<Observed>,
    /// Words that it has read as volatile since its last fence for reads.
    polled: Vec<usize>,
    host_knew: u64,
}

/// What a thread knows of others. Its worker alone touches it.
#[derive(Default)]
pub(crate) struct Knowledge {
    state: RefCell<Option<State>>,
    is_off: Cell<bool>,
    /// What most accesses need of the state: its slot and time, which are 0 before it begins,
    now: Cell<Mark>,
    /// whether a write changes the time,
    is_first: Cell<bool>,
    /// and what it knows of the host.
    host_knew: Cell<u64>,
    /// Whether the thread has written since it last used the state.
    has_written: Cell<bool>,
}

impl Knowledge {
    fn events(&self) -> Object {
        Object::Events(std::ptr::from_ref(self).addr())
    }

    fn with<T>(&self, unit: &Unit, work: impl FnOnce(&mut State) -> T) -> Option<T> {
        if self.is_off.get() {
            return None;
        }
        let mut state = self.state.borrow_mut();
        if state.is_none() {
            self.begin(unit, &mut state);
        }
        let state = state.as_mut()?;
        state.has_changed |= self.has_written.take();
        let result = work(state);
        self.now.set(Mark::new(state.slot, state.time()));
        self.is_first.set(state.is_first);
        self.host_knew.set(state.host_knew);
        Some(result)
    }

    #[cold]
    fn begin(&self, unit: &Unit, state: &mut Option<State>) {
        *state = State::new(unit);
        if state.is_none() {
            self.is_off.set(true);
            too_much();
        }
    }
}

impl Drop for Knowledge {
    fn drop(&mut self) {
        if let Some(state) = self.state.get_mut() {
            clock::end(state.slot, state.time());
        }
        if is_active() {
            clock::forget(self.events());
        }
    }
}

impl State {
    fn new(unit: &Unit) -> Option<Self> {
        let (slot, time) = clock::begin(unit.id, &unit.name)?;
        let mut clock = Clock::default();
        clock.set(slot, time);
        Some(Self {
            slot,
            clock,
            pending: Clock::default(),
            published: Arc::new([]),
            is_first: false,
            has_changed: true,
            over: Clock::default(),
            observed: Vec::new(),
            polled: Vec::new(),
            host_knew: 0,
        })
    }

    fn time(&self) -> u64 {
        self.clock.at(self.slot)
    }

    /// A new time begins: what was before is known to those who acquire it. Its writes publish what
    /// those of the time before do.
    fn advance(&mut self) {
        let since = self.time() + 1;
        self.clock.set(self.slot, since);
        self.is_first = false;
    }

    fn release(&mut self, object: Object) {
        clock::release(object, &self.clock);
        if object == Object::Host {
            // ordering: the clocks have a lock; the number only says that they have changed.
            HOST_KNOWS.fetch_add(1, Ordering::AcqRel);
        }
        self.advance();
    }

    fn acquire(&mut self, object: Object) {
        clock::acquire(object, &mut self.clock);
        self.has_changed = true;
    }

    fn acquire_host(&mut self) {
        // ordering: as in `release`.
        let now = HOST_KNOWS.load(Ordering::Acquire);
        if self.host_knew != now {
            self.host_knew = now;
            self.acquire(Object::Host);
        }
    }

    /// What was polled was read after it was announced, so others may have written it meanwhile.
    fn look_again(&mut self, process: &Process) {
        let mut polled = std::mem::take(&mut self.polled);
        for word in polled.drain(..) {
            let Some(shadow) = shadow_of(process, word) else {
                continue;
            };
            shadow.marks(word, |other| {
                let is_other = ![HOST, self.slot].contains(&other.slot()) && other.writes();
                if is_other && self.clock.at(other.slot()) < other.time() {
                    self.observe(word, other);
                }
            });
        }
        self.polled = polled;
    }

    /// An atomic read that acquires has seen what others wrote without atomics, after a fence.
    fn acquire_writes(&mut self, process: &Process, word: usize) {
        if let Some(shadow) = shadow_of(process, word) {
            shadow.marks(word, |other| {
                if other.writes() && self.clock.at(other.slot()) < other.time() {
                    let published = clock::published(other.slot(), other.time());
                    published
                        .iter()
                        .for_each(|what| self.clock.join(&what.clock));
                }
            });
        }
        let observed = self.observed.iter_mut().filter(|read| read.word == word);
        observed.for_each(|read| read.is_fenced = true);
        self.has_changed = true;
    }

    fn poll(&mut self, word: usize) {
        if !self.polled.contains(&word) {
            if self.polled.len() == POLLED {
                self.polled.remove(0);
            }
            self.polled.push(word);
        }
    }

    fn fence_reads(&mut self) {
        if !self.pending.is_empty() {
            self.clock.join(&self.pending);
            self.pending.clear();
            self.has_changed = true;
        }
    }

    /// The next write publishes all that is known now, and itself.
    fn fence_writes(&mut self) {
        if self.is_first && !self.has_changed {
            return;
        }
        let since = self.time() + 1;
        self.clock.set(self.slot, since);
        let clock = self.clock.shared();
        self.published = Arc::clone(&clock);
        (self.is_first, self.has_changed) = (true, false);
        clock::publish(
            self.slot,
            Published {
                since,
                clock,
                is_first: true,
            },
        );
    }

    /// The thread has read what another wrote. A fence makes known what that published.
    fn observe(&mut self, word: usize, other: Mark) {
        if let Some(published) = clock::published(other.slot(), other.time()) {
            self.pending.join(&published.clock);
        }
        if other.is_atomic() {
            let address = word + other.first();
            clock::acquire(Object::Word(address), &mut self.pending);
        }
        if self.observed.len() == READ {
            self.observed.remove(0);
        }
        self.observed.push(Observed {
            word,
            slot: other.slot(),
            time: other.time(),
            is_fenced: false,
        });
    }

    fn has_read_and_fenced(&self, word: usize, other: Mark) -> bool {
        self.observed.iter().any(|read| {
            read.is_fenced
                && (read.word, read.slot, read.time) == (word, other.slot(), other.time())
        })
    }

    /// Notes an access. The result is an earlier one that it races with, and the place of that.
    fn access(&mut self, unit: &Unit, shadow: &Shadow, access: Access) -> Option<(Mark, usize)> {
        let Access {
            address,
            bytes,
            writes,
            place,
            mut how,
            ..
        } = access;
        // Calls look at what handlers count, and take what they find.
        if how == How::Plain && !writes && unit.is_call() {
            how = How::Volatile;
        }
        let mut found = None;
        let any = Mark::new(self.slot, self.time()).with(how == How::Atomic, writes);
        let end = address.saturating_add(bytes.min(MOST)).min(shadow.end());
        let mut word = address / WORD * WORD;
        while word < end {
            let first = address.max(word) - word;
            let mark = any.of(first, end.min(word + WORD) - word - first);
            if how == How::Volatile && !writes {
                self.poll(word);
            }
            shadow.note(word, mark, place, |other, place| {
                if self.races(word, mark, how, other) {
                    found = Some((other, place));
                }
                true
            });
            word += WORD;
        }
        if writes {
            self.has_changed = true;
            if self.is_first {
                self.advance();
            }
        }
        found
    }

    /// Whether an access races with an earlier one of another thread.
    fn races(&mut self, word: usize, mine: Mark, how: How, other: Mark) -> bool {
        if other.slot() == HOST {
            self.acquire_host();
            return false;
        }
        let is_known = |clock: &Clock| clock.at(other.slot()) >= other.time();
        if !mine.writes() && !other.writes() || is_known(&self.clock) {
            return false;
        }
        if !mine.writes() {
            self.observe(word, other);
        }
        if is_known(&self.over) || mine.is_atomic() && other.is_atomic() {
            return false;
        }
        let has_atomic = mine.is_atomic() || other.is_atomic();
        match (mine.writes(), other.writes()) {
            (true, true) => !self.has_read_and_fenced(word, other),
            (true, false) => !has_atomic && !self.is_first,
            _ => {
                let published = clock::published(other.slot(), other.time());
                let is_flag =
                    published.is_some_and(|what| what.is_first && what.since == other.time());
                !has_atomic && !is_flag && how != How::Volatile
            }
        }
    }
}

/// Device code accesses the heap or a global.
#[inline(always)]
pub(super) fn access(unit: &Unit, access: Access) {
    let Access {
        address,
        bytes,
        writes,
        place,
        how,
        ..
    } = access;
    let Some(shadow) = shadow_of(&unit.process, address) else {
        return;
    };
    let race = &unit.own.watch.race;
    let first = address % WORD;
    // Most accesses are of a word that no other thread has accessed.
    let is_simple = if writes {
        !race.is_first.get()
    } else {
        how != How::Volatile && !unit.is_call()
    };
    if is_simple && bytes <= WORD - first {
        let mark = race
            .now
            .get()
            .with(how == How::Atomic, writes)
            .of(first, bytes);
        // ordering: as in `release`.
        let knows_host = race.host_knew.get() == HOST_KNOWS.load(Ordering::Acquire);
        if mark.slot() != HOST && shadow.note_alone(address, mark, place, knows_host) {
            if writes {
                race.has_written.set(true);
            }
            return;
        }
    }
    access_among_others(unit, shadow, access);
}

fn access_among_others(unit: &Unit, shadow: &Shadow, access: Access) {
    let race = &unit.own.watch.race;
    let found = race.with(unit, |state| state.access(unit, shadow, access));
    if let Some((other, place)) = found.flatten() {
        tell(unit, access, other, place);
    }
}

/// Says where two accesses race, once for each pair of source lines.
#[cold]
fn tell(unit: &Unit, access: Access, other: Mark, other_place: usize) {
    static PLACES: LazyLock<Mutex<HashSet<[usize; 2]>>> = LazyLock::new(Mutex::default);
    static LINES: LazyLock<Mutex<HashSet<[String; 2]>>> = LazyLock::new(Mutex::default);
    let mut places = [access.place, other_place];
    places.sort_unstable();
    if !lock(&PLACES).insert(places) {
        return;
    }
    let line = |place: usize| unit.process.image.source_line(place.wrapping_sub(1));
    let (here, there) = (line(access.place), line(other_place));
    let mut lines = [here.clone(), there.clone()];
    lines.sort_unstable();
    if !lock(&LINES).insert(lines) {
        return;
    }
    let how = if access.writes { "writes" } else { "reads" };
    let did = if other.writes() { "wrote" } else { "read" };
    let who = clock::owner(other.slot(), other.time()).map_or_else(
        || "a thread that has ended".to_owned(),
        |owner| format!("thread {} ({})", owner.thread, owner.name),
    );
    let (bytes, address) = (access.bytes, access.address);
    let text = format_args!(
        "{how} {bytes} bytes at {address:#x} in a data race with {who}, which {did} them at \
         {there}, at {here}"
    );
    report::of(unit, Fault::Race, text);
}

/// What orders threads: the emulator reports these from where they happen.
fn with(unit: &Unit, work: impl FnOnce(&mut State)) {
    if is_active() {
        unit.own.watch.race.with(unit, work);
    }
}

/// An atomic access with a memory order as C numbers them. It reads, or writes, or does both.
pub(super) fn atomic(unit: &Unit, address: usize, order: i32, reads: bool, writes: bool) {
    const ACQUIRES: [i32; 4] = [1, 2, 4, 5];
    const RELEASES: [i32; 3] = [3, 4, 5];
    let word = Object::Word(address);
    with(unit, |state| {
        if reads && ACQUIRES.contains(&order) {
            state.acquire(word);
            state.acquire_writes(&unit.process, address / WORD * WORD);
        } else if reads {
            clock::acquire(word, &mut state.pending);
        }
        if writes && RELEASES.contains(&order) {
            state.release(word);
        } else if writes && !state.published.is_empty() {
            clock::release(word, &state.published);
        }
    });
}

/// A fence of memory, for reads and writes before it.
pub(crate) fn fence(unit: &Unit, reads: bool, writes: bool) {
    with(unit, |state| {
        state.look_again(&unit.process);
        let observed = state.observed.iter_mut();
        observed.for_each(|read| read.is_fenced = true);
        if reads {
            state.fence_reads();
        }
        if writes {
            state.fence_writes();
        }
    });
}

/// A window shows what the host has written, or the host sees what the thread has.
pub(crate) fn host(unit: &Unit, reads: bool) {
    with(unit, |state| {
        if reads {
            state.acquire_host();
        } else {
            state.release(Object::Host);
        }
    });
}

/// The host lets a handler run.
pub(crate) fn runs(unit: &Unit) {
    if is_active() {
        clock::pass(Object::Host, unit.own.watch.race.events());
    }
}

/// A thread begins an activation, or goes on after an event. Calls and tasks come from the host.
pub(crate) fn begins(unit: &Unit, is_handler: bool) {
    with(unit, |state| {
        state.acquire(unit.own.watch.race.events());
        if is_handler {
            clock::acquire(Object::Returned(unit.process.id), &mut state.over);
        } else {
            state.acquire_host();
            clock::acquire(Object::Ended(unit.process.id), &mut state.over);
        }
    });
}

/// A call returns, or a task does: the host knows what it did.
pub(crate) fn returns(unit: &Unit) {
    with(unit, |state| {
        clock::release(Object::Returned(unit.process.id), &state.clock);
        state.release(Object::Host);
    });
}

/// An activation is over.
pub(crate) fn ended(unit: &Unit) {
    with(unit, |state| state.release(Object::Ended(unit.process.id)));
}

/// A thread wakes another.
pub(crate) fn wakes(unit: &Unit, other: &Unit) {
    with(unit, |state| state.release(other.own.watch.race.events()));
}

/// A thread writes a completion of zeros.
pub(crate) fn signals(unit: &Unit, cqn: u32) {
    with(unit, |state| state.release(Object::CompletionQueue(cqn)));
}

/// A thread rings the doorbell of a send queue. What goes out on the wire may come back.
pub(crate) fn rings(unit: &Unit, number: u32, goes_out: bool) {
    with(unit, |state| {
        if goes_out {
            clock::release(Object::Wire, &state.clock);
        }
        state.release(Object::SendQueue(number));
    });
}

/// A thread finds a new completion.
pub(crate) fn polls(unit: &Unit, owner: usize) {
    with(unit, |state| state.acquire(Object::Word(owner / 64 * 64)));
}

thread_local! {
    /// Why the NIC completes something now.
    static CAUSE: Cell<Option<Object>> = const { Cell::new(None) };
}

/// The NIC works on a send queue, or on what the wire brings, until the guard goes.
pub(crate) struct Cause;

impl Cause {
    pub(crate) fn queue(number: u32) -> Self {
        CAUSE.set(Some(Object::SendQueue(number)));
        Self
    }

    pub(crate) fn wire(answers: bool) -> Self {
        CAUSE.set(answers.then_some(Object::Wire));
        Self
    }
}

impl Drop for Cause {
    fn drop(&mut self) {
        CAUSE.set(None);
    }
}

/// The NIC completes something. Whoever polls the entry, or is woken, knows what caused it.
pub(crate) fn completes(cqn: u32, entry: usize) {
    if is_active() {
        let queue = Object::CompletionQueue(cqn);
        if let Some(cause) = CAUSE.get() {
            clock::pass(cause, queue);
        }
        clock::pass(queue, Object::Word(entry / 64 * 64));
        nic_writes(entry, 64);
    }
}

/// The NIC signals an event: who reads its value knows what caused that.
pub(crate) fn signalled() {
    if is_active()
        && let Some(cause) = CAUSE.get()
    {
        clock::pass(cause, Object::Host);
        // ordering: as in `State::release`.
        HOST_KNOWS.fetch_add(1, Ordering::AcqRel);
    }
}

/// A completion queue wakes its thread.
pub(crate) fn event(cqn: u32, unit: &Unit) {
    if is_active() {
        clock::pass(Object::CompletionQueue(cqn), unit.own.watch.race.events());
    }
}

/// The NIC writes memory: what threads did there before is over.
pub(crate) fn nic_writes(address: usize, bytes: usize) {
    at_shadow(address, |shadow| shadow.forget(&(address..address + bytes)));
}

/// The host writes memory of the device: who reads it knows what the host knows.
pub(crate) fn host_writes(address: usize, bytes: usize) {
    at_shadow(address, |shadow| {
        let range = address..address + bytes;
        if bytes <= FLAGS {
            shadow.host_wrote(&range);
        } else {
            shadow.forget(&range);
        }
    });
}
