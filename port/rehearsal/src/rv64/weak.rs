//! Weak memory: the reorderings that RVWMO allows.
//!
//! **The machine.** Each hart has a store buffer. A store waits there and reaches memory at a
//! random later moment; stores to different doublewords do so in any order. Memory keeps the last
//! versions of each doubleword with their times. A load may return an old version, as if done
//! earlier. It may also be deferred until its value is needed, so that later stores reach memory
//! first. Times are places in the global memory order.
//!
//! **Rules.** V1: a hart never sees a doubleword go back in time, nor misses its own store
//! (coherence). V2: stores to one doubleword keep their order. V3: a store after a fence that
//! orders writes waits until all stores before the fence are in memory. V4: a load after a fence or
//! an acquire returns nothing older than the loads before it. V5: a load whose address depends on
//! loaded values is not done before those loads: every register carries the time of the youngest
//! value behind it (syntactic dependency). V6: `lr`, `sc` and read-modify-writes act on memory at
//! once, after the hart's own stores to that doubleword, and with `rl` after all its stores. V7:
//! all other harts see a version from the same time on (multi-copy atomicity). V8: a deferred load
//! is done before its value is used by anything but the data of a store, before that store reaches
//! memory, before any access of its hart to the same doubleword, and before a fence that orders
//! loads or a release.
//!
//! RVWMO allows every behaviour shown here. **Not shown**, though allowed: a load deferred beyond a
//! branch on its value and a load after that, versions older than the last [`VERSIONS`], and
//! different ages within one doubleword.

use std::collections::HashMap;

use super::memory::{Memory, Place};

const VERSIONS: usize = 8;
const BUFFER: usize = 24;
const LATE: usize = 8;

/// Degree of reordering; all choices come from `seed`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WeakOptions {
    pub seed: u64,
    /// One in this many loads with an old version returns it.
    pub stale_one_in: u32,
    /// Mean instructions until a hart's buffer releases a store.
    pub drain_one_in: u32,
    /// One in this many loads is deferred; 0: none.
    pub late_one_in: u32,
    /// Most instructions in a turn of a hart.
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

/// Xorshift with a multiplied output: fast, and good enough for schedules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // Separates the sequences of consecutive seeds.
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

#[derive(Debug)]
struct History {
    /// Time and value, oldest first.
    versions: Vec<(u64, u64)>,
    /// Age that each hart has seen; it never sees an older one (V1).
    seen: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    /// Its number among the stores of its hart.
    number: u64,
    place: Place,
    value: u64,
    /// Write fences before it (V3).
    epoch: u32,
    /// Age of the values behind it.
    view: u64,
    /// The deferred load of its value, if any.
    from: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Late {
    name: u32,
    place: Place,
    /// Age of the address.
    view: u64,
    /// Extends the loaded value to a register.
    widen: fn(u64) -> u64,
    /// The register's value and its age, once done.
    done: Option<(u64, u64)>,
}

/// A hart's store buffer and its view of memory.
#[derive(Debug, Default)]
pub(crate) struct HartOrder {
    hart: usize,
    buffer: Vec<Pending>,
    epoch: u32,
    /// Loads return nothing that was replaced before this time (V4).
    floor: u64,
    /// The youngest version that a load returned.
    looked: u64,
    stored: u64,
    stores: u64,
    late: Vec<Late>,
    late_names: u32,
}

impl HartOrder {
    pub(crate) fn new(hart: usize) -> Self {
        Self {
            hart,
            ..Self::default()
        }
    }

    /// Forgets completed loads, except those for which one of `registers` still waits.
    fn forget(&mut self, registers: &[Option<u32>; 32]) {
        let Self { buffer, late, .. } = self;
        late.retain(|load| {
            load.done.is_none()
                || registers.contains(&Some(load.name))
                || buffer.iter().any(|pending| pending.from == Some(load.name))
        });
    }
}

/// Memory, and what each hart may still see of its past.
#[derive(Default)]
pub(crate) struct Weak {
    pub(crate) memory: Memory,
    /// Whether accesses are reordered.
    pub(crate) is_on: bool,
    options: WeakOptions,
    pub(crate) random: Random,
    harts: usize,
    now: u64,
    histories: HashMap<usize, History, std::hash::BuildHasherDefault<Spread>>,
    /// Stores that waited.
    pub(crate) delayed: u64,
    pub(crate) stale: u64,
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
        bytes
            .iter()
            .for_each(|&byte| self.write_usize(usize::from(byte)));
    }

    fn write_usize(&mut self, number: usize) {
        let mixed = (self.0 ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 29;
    }
}

impl Weak {
    pub(crate) fn new(memory: Memory, options: WeakOptions, harts: usize) -> Self {
        Self {
            memory,
            options,
            random: Random::new(options.seed),
            harts,
            ..Self::default()
        }
    }

    pub(crate) fn turn(&mut self) -> u32 {
        1 + self.random.below(self.options.turn)
    }

    pub(crate) fn put(&mut self, hart: usize, place: Place, value: u64) -> u64 {
        let old = self.memory.get(place.doubleword);
        let new = self.memory.store(hart, place, value);
        self.now += 1;
        let (now, harts) = (self.now, self.harts);
        let history = self
            .histories
            .entry(place.doubleword)
            .or_insert_with(|| History {
                versions: vec![(0, old)],
                seen: vec![0; harts],
            });
        if history.versions.len() == VERSIONS {
            history.versions.remove(0);
        }
        history.versions.push((now, new));
        history.seen[hart] = now;
        now
    }

    pub(crate) fn store(
        &mut self,
        order: &mut HartOrder,
        place: Place,
        value: u64,
        view: u64,
        from: Option<u32>,
    ) {
        self.do_late_at(order, place.doubleword);
        if order.buffer.len() == BUFFER {
            self.drain_some(order);
        }
        self.delayed += 1;
        // The load may be done by now.
        let done = from.and_then(|name| self.late_value(order, name));
        let (value, view) = done.map_or((value, view), |(value, age)| (value, view.max(age)));
        let from = from.filter(|_| done.is_none());
        order.stores += 1;
        let number = order.stores;
        order.buffer.push(Pending {
            number,
            place,
            value,
            epoch: order.epoch,
            view,
            from,
        });
    }

    /// Defers a load at random; returns its name if so.
    pub(crate) fn put_off(
        &mut self,
        order: &mut HartOrder,
        place: Place,
        view: u64,
        widen: fn(u64) -> u64,
    ) -> Option<u32> {
        if self.options.late_one_in == 0 || order.late.len() == LATE {
            return None;
        }
        if self.random.below(self.options.late_one_in) != 0 {
            return None;
        }
        self.do_late_at(order, place.doubleword);
        order.late_names = order.late_names.wrapping_add(1);
        let name = order.late_names;
        order.late.push(Late {
            name,
            place,
            view,
            widen,
            done: None,
        });
        self.late += 1;
        Some(name)
    }

    /// Value and age of a deferred load, if done.
    fn late_value(&self, order: &HartOrder, name: u32) -> Option<(u64, u64)> {
        order.late.iter().find(|load| load.name == name)?.done
    }

    /// Completes a deferred load; returns its value and age.
    pub(crate) fn do_late(&mut self, order: &mut HartOrder, name: u32) -> (u64, u64) {
        let Some(index) = order.late.iter().position(|load| load.name == name) else {
            unreachable!("a load that was put off is kept while its value is waited for")
        };
        let load = order.late[index];
        if let Some(done) = load.done {
            return done;
        }
        let (value, view) = self.load_now(order, load.place, load.view);
        let value = (load.widen)(value);
        order.late[index].done = Some((value, view));
        for pending in order
            .buffer
            .iter_mut()
            .filter(|pending| pending.from == Some(name))
        {
            pending.value = value;
            pending.view = pending.view.max(view);
            pending.from = None;
        }
        (value, view)
    }

    fn do_late_at(&mut self, order: &mut HartOrder, doubleword: usize) {
        while let Some(load) = order
            .late
            .iter()
            .find(|load| load.done.is_none() && load.place.doubleword == doubleword)
        {
            let name = load.name;
            self.do_late(order, name);
        }
    }

    fn do_all_late(&mut self, order: &mut HartOrder) {
        while let Some(load) = order.late.iter().find(|load| load.done.is_none()) {
            let name = load.name;
            self.do_late(order, name);
        }
    }

    /// Loads from an address of age `view`; returns the value and its age.
    pub(crate) fn load(&mut self, order: &mut HartOrder, place: Place, view: u64) -> (u64, u64) {
        self.do_late_at(order, place.doubleword);
        self.load_now(order, place, view)
    }

    fn load_now(&mut self, order: &mut HartOrder, place: Place, view: u64) -> (u64, u64) {
        let newest = |order: &HartOrder| {
            let mut pendings = order.buffer.iter().rev();
            pendings
                .find(|pending| pending.place.doubleword == place.doubleword)
                .copied()
        };
        if let Some(name) = newest(order).and_then(|pending| pending.from) {
            self.do_late(order, name);
        }
        if let Some(pending) = newest(order) {
            if pending.place.covers(place) {
                let value = pending.value >> (place.shift - pending.place.shift) & place.mask;
                order.looked = order.looked.max(pending.view);
                return (value, pending.view);
            }
            self.drain_through(order, pending.number);
        }
        let floor = order.floor.max(view);
        let Some(history) = self.histories.get_mut(&place.doubleword) else {
            order.looked = order.looked.max(floor);
            return (place.of(self.memory.get(place.doubleword)), floor);
        };
        let bound = floor.max(history.seen[order.hart]);
        let last = history.versions.len() - 1;
        // The oldest version still current at `bound`.
        let oldest = history
            .versions
            .iter()
            .rposition(|&(time, _)| time <= bound)
            .unwrap_or(0);
        let mut chosen = last;
        if oldest < last && self.random.below(self.options.stale_one_in) == 0 {
            chosen = oldest + self.random.below((last - oldest + 1) as u32) as usize;
            self.stale += u64::from(chosen != last);
        }
        let (time, value) = history.versions[chosen];
        history.seen[order.hart] = time.max(history.seen[order.hart]);
        let view = floor.max(time);
        order.looked = order.looked.max(view);
        (place.of(value), view)
    }

    /// Prepares an instruction that acts on memory at once (V6).
    pub(crate) fn before_atomic(
        &mut self,
        order: &mut HartOrder,
        doubleword: usize,
        release: bool,
    ) {
        self.do_late_at(order, doubleword);
        if release {
            self.do_all_late(order);
        }
        let waits = |pending: &Pending| {
            release || pending.epoch < order.epoch || pending.place.doubleword == doubleword
        };
        if let Some(last) = order.buffer.iter().rev().find(|pending| waits(pending)) {
            let number = last.number;
            self.drain_through(order, number);
        }
    }

    pub(crate) fn current(&mut self, hart: usize, doubleword: usize) -> u64 {
        let Some(history) = self.histories.get_mut(&doubleword) else {
            return 0;
        };
        let time = history.versions.last().map_or(0, |&(time, _)| time);
        history.seen[hart] = time;
        time
    }

    /// Records an instruction that acted on memory at `time`.
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

    /// A fence. Bits of predecessors and successors as in the instruction: 1 writes, 2 reads.
    pub(crate) fn fence(&mut self, order: &mut HartOrder, before: u32, after: u32, total: bool) {
        if before & 2 != 0 {
            self.do_all_late(order);
        }
        if before & 1 != 0 && after & 2 != 0 && total {
            self.drain_all(order);
            order.floor = order.floor.max(order.stored);
        }
        if before & 1 != 0 && after & 1 != 0 {
            order.epoch += 1;
        }
        if before & 2 != 0 && after & 2 != 0 {
            order.floor = order.floor.max(order.looked);
        }
    }

    /// After each instruction: releases at random a store, or completes a deferred load.
    #[inline]
    pub(crate) fn pass(&mut self, order: &mut HartOrder, registers: &[Option<u32>; 32]) {
        if !order.late.is_empty() {
            order.forget(registers);
            if self.random.below(self.options.drain_one_in) == 0
                && let Some(load) = order.late.first()
            {
                let name = load.name;
                self.do_late(order, name);
            }
        }
        if !order.buffer.is_empty() && self.random.below(self.options.drain_one_in) == 0 {
            self.drain_some(order);
        }
    }

    /// Releases a random store among those that may go.
    fn drain_some(&mut self, order: &mut HartOrder) {
        let first = order.buffer[0].epoch;
        let same = order
            .buffer
            .iter()
            .take_while(|pending| pending.epoch == first)
            .count();
        let chosen = self.random.below(same as u32) as usize;
        // The oldest one to that doubleword (V2).
        let doubleword = order.buffer[chosen].place.doubleword;
        let first = order
            .buffer
            .iter()
            .find(|pending| pending.place.doubleword == doubleword);
        let number = first.map_or(0, |pending| pending.number);
        self.drain(order, number);
    }

    /// Releases all stores up to this one, in order.
    fn drain_through(&mut self, order: &mut HartOrder, number: u64) {
        while let Some(first) = order.buffer.first().filter(|first| first.number <= number) {
            let first = first.number;
            self.drain(order, first);
        }
    }

    pub(crate) fn drain_all(&mut self, order: &mut HartOrder) {
        self.drain_through(order, u64::MAX);
    }

    fn drain(&mut self, order: &mut HartOrder, number: u64) {
        let index = |order: &HartOrder| {
            order
                .buffer
                .iter()
                .position(|pending| pending.number == number)
        };
        // Its value first (V8), which may release stores before it.
        if let Some(name) = index(order).and_then(|index| order.buffer[index].from) {
            self.do_late(order, name);
        }
        if let Some(index) = index(order) {
            let pending = order.buffer.remove(index);
            order.stored = self.put(order.hart, pending.place, pending.value);
        }
    }

    /// From now on, accesses keep their order. All harts have completed theirs.
    pub(crate) fn end(&mut self) {
        self.is_on = false;
        self.histories.clear();
    }

    /// Completes all accesses of the hart before a host call.
    pub(crate) fn synchronize(&mut self, order: &mut HartOrder) {
        self.do_all_late(order);
        self.drain_all(order);
        order.floor = self.now;
    }
}
