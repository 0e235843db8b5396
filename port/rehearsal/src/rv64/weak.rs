//! Weak memory: what other harts may see in which order, as RVWMO allows.
//!
//! **The machine.** Each hart has a store buffer. A store waits there and reaches memory later, at
//! a random moment; those to different doublewords in any order. Memory keeps the last versions of
//! each doubleword with the time at which they came. A load may return an old version, as if it had
//! been done earlier; or it is put off until its value is needed, so that stores behind it reach
//! memory first. Times are places in the global memory order.
//!
//! **What it never does.** V1: a hart never sees a doubleword go back in time, nor misses its own
//! store (coherence). V2: stores to one doubleword keep their order. V3: a store behind a fence
//! that orders writes waits until all stores before the fence are in memory. V4: a load behind a
//! fence or an acquire returns nothing older than the loads before it returned. V5: a load whose
//! address was computed from loaded values is not done before those loads: every register carries
//! the time of the youngest value it was computed from (syntactic dependency). V6: `lr`, `sc` and
//! read-modify-writes act on memory at once, after the hart's own stores to that doubleword, and
//! with `rl` after all its stores. V7: a version is seen by all other harts from the same time on
//! (multi-copy atomicity): there is one memory. V8: a load that was put off is done before its
//! value is used by anything but the data of a store, before that store reaches memory, before any
//! access of its hart to the same doubleword, and before a fence that orders loads or a release.
//!
//! So all that it shows is allowed by RVWMO. **What it does not show**, though RVWMO allows it: a
//! load that is put off beyond a branch on its value and a load behind that, versions older than
//! the last [`VERSIONS`], different ages within one doubleword.

use std::collections::HashMap;

use super::memory::{Memory, Place};

/// Versions that memory remembers of a doubleword.
const VERSIONS: usize = 8;
/// Stores that a hart's buffer holds.
const BUFFER: usize = 24;
/// Loads that a hart puts off at a time.
const LATE: usize = 8;

/// How far a run strays from the order of the program; all choices come from `seed`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WeakOptions {
    /// Where the random numbers begin.
    pub seed: u64,
    /// Of so many loads that could return an old version, one does.
    pub stale_one_in: u32,
    /// After so many instructions, on average, a hart's buffer gives one store to memory.
    pub drain_one_in: u32,
    /// Of so many loads one is put off until its value is needed; 0: none is.
    pub late_one_in: u32,
    /// A hart runs for up to so many instructions before another has its turn.
    pub turn: u32,
}

impl WeakOptions {
    /// Options that vary with the seed: from nearly in order to very late, from short turns to long
    /// ones.
    pub fn of_seed(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut pick = |choices: [u32; 4]| choices[random.below(4) as usize];
        Self {
            seed,
            stale_one_in: pick([1, 2, 4, 16]),
            drain_one_in: pick([2, 8, 64, 512]),
            turn: pick([1, 8, 64, 512]),
            late_one_in: pick([0, 2, 4, 16]),
        }
    }
}

/// Xorshift with a multiplied output: quick, and good enough to choose schedules.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // Seeds that follow each other must not begin alike.
        Self((seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xff51_afd7_ed55_8ccd) | 1)
    }

    pub(crate) fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        ((high * u64::from(end)) >> 32) as u32
    }
}

/// The last versions of one doubleword.
#[derive(Debug)]
struct History {
    /// Time and value, the oldest first.
    versions: Vec<(u64, u64)>,
    /// What each hart has seen of it: never older again (V1).
    seen: Vec<u64>,
}

/// A store that waits.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// Its place among the stores of its hart.
    number: u64,
    place: Place,
    value: u64,
    /// Fences that order writes passed before it (V3).
    epoch: u32,
    /// Age of what it was computed from.
    view: u64,
    /// The load that its value comes from, if that was put off.
    from: Option<u32>,
}

/// A load that was put off.
#[derive(Clone, Copy, Debug)]
struct Late {
    name: u32,
    place: Place,
    /// Age of the address.
    view: u64,
    /// How the register is filled.
    widen: fn(u64) -> u64,
    /// The register's value and its age, once it is done.
    done: Option<(u64, u64)>,
}

/// A hart's part: its buffer, and how far it must have looked.
#[derive(Debug, Default)]
pub(crate) struct HartOrder {
    buffer: Vec<Pending>,
    epoch: u32,
    /// Loads return nothing that was replaced before this time (V4).
    floor: u64,
    /// The youngest that any load returned.
    looked: u64,
    /// When its last store reached memory.
    stored: u64,
    /// Stores so far.
    stores: u64,
    late: Vec<Late>,
    /// Loads put off so far.
    late_names: u32,
}

impl HartOrder {
    /// Forgets loads that are done; `registers`: those whose value a register still waits for.
    fn forget(&mut self, registers: &[Option<u32>; 32]) {
        let Self { buffer, late, .. } = self;
        late.retain(|load| {
            load.done.is_none()
                || registers.contains(&Some(load.name))
                || buffer.iter().any(|pending| pending.from == Some(load.name))
        });
    }
}

/// What all harts share.
pub(crate) struct Weak {
    options: WeakOptions,
    pub(crate) random: Random,
    harts: usize,
    now: u64,
    histories: HashMap<usize, History, std::hash::BuildHasherDefault<Spread>>,
    /// Stores that waited, and loads that returned an old version.
    pub(crate) delayed: u64,
    pub(crate) stale: u64,
    /// Loads that were put off.
    pub(crate) late: u64,
}

/// A hash of doubleword numbers: one multiplication.
#[derive(Default)]
pub(crate) struct Spread(u64);

impl std::hash::Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(usize::from(byte)));
    }

    fn write_usize(&mut self, number: usize) {
        let mixed = (self.0 ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 29;
    }
}

impl Weak {
    pub(crate) fn new(options: WeakOptions, harts: usize) -> Self {
        Self {
            options,
            random: Random::new(options.seed),
            harts,
            now: 0,
            histories: HashMap::default(),
            delayed: 0,
            stale: 0,
            late: 0,
        }
    }

    /// How many instructions the next hart runs.
    pub(crate) fn turn(&mut self) -> u32 {
        1 + self.random.below(self.options.turn)
    }

    /// Puts a value into memory: a new version of the doubleword.
    pub(crate) fn put(
        &mut self,
        memory: &mut Memory,
        hart: usize,
        place: Place,
        value: u64,
    ) -> u64 {
        let old = memory.get(place.doubleword);
        let new = memory.store(hart, place, value);
        self.now += 1;
        let (now, harts) = (self.now, self.harts);
        let history = self
            .histories
            .entry(place.doubleword)
            .or_insert_with(|| History { versions: vec![(0, old)], seen: vec![0; harts] });
        if history.versions.len() == VERSIONS {
            history.versions.remove(0);
        }
        history.versions.push((now, new));
        history.seen[hart] = now;
        now
    }

    /// A store of a hart: it waits.
    pub(crate) fn store(
        &mut self,
        memory: &mut Memory,
        hart: usize,
        order: &mut HartOrder,
        place: Place,
        (value, view, from): (u64, u64, Option<u32>),
    ) {
        self.do_late_at(memory, hart, order, place.doubleword);
        if order.buffer.len() == BUFFER {
            self.drain_some(memory, hart, order);
        }
        self.delayed += 1;
        // A load may have been done meanwhile.
        let done = from.and_then(|name| self.late_value(order, name));
        let (value, view) = done.map_or((value, view), |(value, age)| (value, view.max(age)));
        let from = from.filter(|_| done.is_none());
        order.stores += 1;
        let number = order.stores;
        order.buffer.push(Pending { number, place, value, epoch: order.epoch, view, from });
    }

    /// Puts a load off, perhaps: its name, if so.
    pub(crate) fn put_off(
        &mut self,
        memory: &mut Memory,
        hart: usize,
        order: &mut HartOrder,
        (place, view, widen): (Place, u64, fn(u64) -> u64),
    ) -> Option<u32> {
        if self.options.late_one_in == 0 || order.late.len() == LATE {
            return None;
        }
        if self.random.below(self.options.late_one_in) != 0 {
            return None;
        }
        self.do_late_at(memory, hart, order, place.doubleword);
        order.late_names = order.late_names.wrapping_add(1);
        let name = order.late_names;
        order.late.push(Late { name, place, view, widen, done: None });
        self.late += 1;
        Some(name)
    }

    /// Value and age of a load that was put off, if it is done.
    fn late_value(&self, order: &HartOrder, name: u32) -> Option<(u64, u64)> {
        order.late.iter().find(|load| load.name == name)?.done
    }

    /// Does a load that was put off: its value and age.
    pub(crate) fn do_late(
        &mut self,
        memory: &mut Memory,
        hart: usize,
        order: &mut HartOrder,
        name: u32,
    ) -> (u64, u64) {
        let Some(index) = order.late.iter().position(|load| load.name == name) else {
            unreachable!("a load that was put off is kept while its value is waited for")
        };
        let load = order.late[index];
        if let Some(done) = load.done {
            return done;
        }
        let (value, view) = self.load_now(memory, hart, order, load.place, load.view);
        let value = (load.widen)(value);
        order.late[index].done = Some((value, view));
        for pending in order.buffer.iter_mut().filter(|pending| pending.from == Some(name)) {
            pending.value = value;
            pending.view = pending.view.max(view);
            pending.from = None;
        }
        (value, view)
    }

    /// Does the loads of a doubleword that were put off.
    fn do_late_at(
        &mut self,
        memory: &mut Memory,
        hart: usize,
        order: &mut HartOrder,
        doubleword: usize,
    ) {
        while let Some(load) = order
            .late
            .iter()
            .find(|load| load.done.is_none() && load.place.doubleword == doubleword)
        {
            let name = load.name;
            self.do_late(memory, hart, order, name);
        }
    }

    /// Does all loads that were put off.
    fn do_all_late(&mut self, memory: &mut Memory, hart: usize, order: &mut HartOrder) {
        while let Some(load) = order.late.iter().find(|load| load.done.is_none()) {
            let name = load.name;
            self.do_late(memory, hart, order, name);
        }
    }

    /// A load of a hart whose address is `view` old: what it returns, and how young that is.
    pub(crate) fn load(
        &mut self,
        memory: &mut Memory,
        hart: usize,
        order: &mut HartOrder,
        place: Place,
        view: u64,
    ) -> (u64, u64) {
        self.do_late_at(memory, hart, order, place.doubleword);
        self.load_now(memory, hart, order, place, view)
    }

    fn load_now(
        &mut self,
        memory: &mut Memory,
        hart: usize,
        order: &mut HartOrder,
        place: Place,
        view: u64,
    ) -> (u64, u64) {
        let newest = |order: &HartOrder| {
            let mut pendings = order.buffer.iter().rev();
            pendings.find(|pending| pending.place.doubleword == place.doubleword).copied()
        };
        if let Some(name) = newest(order).and_then(|pending| pending.from) {
            self.do_late(memory, hart, order, name);
        }
        if let Some(pending) = newest(order) {
            if pending.place.covers(place) {
                let value = pending.value >> (place.shift - pending.place.shift) & place.mask;
                order.looked = order.looked.max(pending.view);
                return (value, pending.view);
            }
            self.drain_through(memory, hart, order, pending.number);
        }
        let floor = order.floor.max(view);
        let Some(history) = self.histories.get_mut(&place.doubleword) else {
            order.looked = order.looked.max(floor);
            return (place.of(memory.get(place.doubleword)), floor);
        };
        let bound = floor.max(history.seen[hart]);
        let last = history.versions.len() - 1;
        // The oldest version that was still current at `bound`.
        let oldest = history.versions.iter().rposition(|&(time, _)| time <= bound).unwrap_or(0);
        let mut chosen = last;
        if oldest < last && self.random.below(self.options.stale_one_in) == 0 {
            chosen = oldest + self.random.below((last - oldest + 1) as u32) as usize;
            self.stale += u64::from(chosen != last);
        }
        let (time, value) = history.versions[chosen];
        history.seen[hart] = time.max(history.seen[hart]);
        let view = floor.max(time);
        order.looked = order.looked.max(view);
        (place.of(value), view)
    }

    /// Before an instruction that acts on memory at once (V6).
    pub(crate) fn before_atomic(
        &mut self,
        memory: &mut Memory,
        hart: usize,
        order: &mut HartOrder,
        doubleword: usize,
        release: bool,
    ) {
        self.do_late_at(memory, hart, order, doubleword);
        if release {
            self.do_all_late(memory, hart, order);
        }
        let waits = |pending: &Pending| {
            release || pending.epoch < order.epoch || pending.place.doubleword == doubleword
        };
        if let Some(last) = order.buffer.iter().rev().find(|pending| waits(pending)) {
            let number = last.number;
            self.drain_through(memory, hart, order, number);
        }
    }

    /// When the current version of a doubleword came.
    pub(crate) fn current(&mut self, hart: usize, doubleword: usize) -> u64 {
        let Some(history) = self.histories.get_mut(&doubleword) else { return 0 };
        let time = history.versions.last().map_or(0, |&(time, _)| time);
        history.seen[hart] = time;
        time
    }

    /// After an instruction that acted on memory at `time`.
    pub(crate) fn after_atomic(
        &self,
        order: &mut HartOrder,
        time: u64,
        acquire: bool,
        stored: bool,
    ) {
        order.looked = order.looked.max(time);
        if stored {
            order.stored = time;
        }
        if acquire {
            order.floor = order.floor.max(time);
        }
    }

    /// A fence. The bits of predecessors and successors are the instruction's: 1 writes, 2 reads.
    pub(crate) fn fence(
        &mut self,
        memory: &mut Memory,
        hart: usize,
        order: &mut HartOrder,
        (before, after, total): (u32, u32, bool),
    ) {
        if before & 2 != 0 {
            self.do_all_late(memory, hart, order);
        }
        if before & 1 != 0 && after & 2 != 0 && total {
            self.drain_all(memory, hart, order);
            order.floor = order.floor.max(order.stored);
        }
        if before & 1 != 0 && after & 1 != 0 {
            order.epoch += 1;
        }
        if before & 2 != 0 && after & 2 != 0 {
            order.floor = order.floor.max(order.looked);
        }
    }

    /// After each instruction: perhaps one store goes to memory, perhaps a load is put off no
    /// longer.
    #[inline]
    pub(crate) fn pass(
        &mut self,
        memory: &mut Memory,
        hart: usize,
        order: &mut HartOrder,
        registers: &[Option<u32>; 32],
    ) {
        if !order.late.is_empty() {
            order.forget(registers);
            if self.random.below(self.options.drain_one_in) == 0
                && let Some(load) = order.late.first()
            {
                let name = load.name;
                self.do_late(memory, hart, order, name);
            }
        }
        if !order.buffer.is_empty() && self.random.below(self.options.drain_one_in) == 0 {
            self.drain_some(memory, hart, order);
        }
    }

    /// One of the stores that may go now, whichever.
    fn drain_some(&mut self, memory: &mut Memory, hart: usize, order: &mut HartOrder) {
        let first = order.buffer[0].epoch;
        let same = order.buffer.iter().take_while(|pending| pending.epoch == first).count();
        let chosen = self.random.below(same as u32) as usize;
        // The first one to that doubleword (V2).
        let doubleword = order.buffer[chosen].place.doubleword;
        let first = order.buffer.iter().find(|pending| pending.place.doubleword == doubleword);
        let number = first.map_or(0, |pending| pending.number);
        self.drain(memory, hart, order, number);
    }

    /// All stores up to this one, in their order.
    fn drain_through(
        &mut self,
        memory: &mut Memory,
        hart: usize,
        order: &mut HartOrder,
        number: u64,
    ) {
        while let Some(first) = order.buffer.first().filter(|first| first.number <= number) {
            let first = first.number;
            self.drain(memory, hart, order, first);
        }
    }

    /// All stores of a hart.
    pub(crate) fn drain_all(&mut self, memory: &mut Memory, hart: usize, order: &mut HartOrder) {
        self.drain_through(memory, hart, order, u64::MAX);
    }

    fn drain(&mut self, memory: &mut Memory, hart: usize, order: &mut HartOrder, number: u64) {
        let index =
            |order: &HartOrder| order.buffer.iter().position(|pending| pending.number == number);
        // Its value first (V8); to have that, stores before it may have to go.
        if let Some(name) = index(order).and_then(|index| order.buffer[index].from) {
            self.do_late(memory, hart, order, name);
        }
        if let Some(index) = index(order) {
            let pending = order.buffer.remove(index);
            order.stored = self.put(memory, hart, pending.place, pending.value);
        }
    }

    /// The host looks, or is told something: all that the hart did is done.
    pub(crate) fn synchronize(&mut self, memory: &mut Memory, hart: usize, order: &mut HartOrder) {
        self.do_all_late(memory, hart, order);
        self.drain_all(memory, hart, order);
        order.floor = self.now;
    }
}
