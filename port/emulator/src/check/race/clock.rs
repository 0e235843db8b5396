//! Vector clocks: how far each thread knows each other.

use crate::machine::lock;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::collections::HashMap;
use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

/// Times of threads, by their slots. Slots beyond the end have time 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock(Vec<u64>);

impl Deref for Clock {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.0
    }
}

impl Clock {
    pub(super) fn at(&self, slot: u16) -> u64 {
        self.0.get(usize::from(slot)).copied().unwrap_or(0)
    }

    pub(super) fn set(&mut self, slot: u16, time: u64) {
        let slot = usize::from(slot);
        if self.0.len() <= slot {
            self.0.resize(slot + 1, 0);
        }
        self.0[slot] = time;
    }

    /// What the other knows is known here as well.
    pub(super) fn join(&mut self, other: &[u64]) {
        if self.0.len() < other.len() {
            self.0.resize(other.len(), 0);
        }
        for (mine, &theirs) in self.0.iter_mut().zip(other) {
            *mine = theirs.max(*mine);
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// A copy that does not change.
    pub(super) fn shared(&self) -> Arc<[u64]> {
        Arc::from(&*self.0)
    }
}

/// What a clock is of, other than a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Object {
    /// All threads of the host's program.
    Host,
    /// Activations of a process that are over.
    Ended(u32),
    /// Calls and tasks of a process that have returned.
    Returned(u32),
    /// Events that wait for a thread, by its address.
    Events(usize),
    CompletionQueue(u32),
    /// What the doorbells of a send queue have announced.
    SendQueue(u32),
    /// What went out and may cause what comes in.
    Wire,
    /// A word that threads change atomically.
    Word(usize),
    /// Words beyond those that are remembered apart.
    OtherWords,
}

/// Words with a clock each.
const WORDS: usize = 1 << 16;

type Clocks = FxHashMap<Object, Clock>;

static CLOCKS: Mutex<Clocks> = Mutex::new(HashMap::with_hasher(FxBuildHasher));

/// Adds what `clock` knows to an object's.
pub(super) fn release(object: Object, clock: &[u64]) {
    release_in(&mut lock(&CLOCKS), object, clock);
}

fn release_in(clocks: &mut Clocks, object: Object, clock: &[u64]) {
    let is_new_word = matches!(object, Object::Word(_)) && !clocks.contains_key(&object);
    let is_full = is_new_word && clocks.len() >= WORDS;
    let object = if is_full { Object::OtherWords } else { object };
    clocks.entry(object).or_default().join(clock);
}

/// Adds what an object knows to `clock`.
pub(super) fn acquire(object: Object, clock: &mut Clock) {
    let clocks = lock(&CLOCKS);
    let found = clocks.get(&object);
    let is_word = matches!(object, Object::Word(_));
    let other = found.or_else(|| clocks.get(&Object::OtherWords).filter(|_| is_word));
    if let Some(found) = other {
        clock.join(found);
    }
}

/// Adds what one object knows to another's.
pub(super) fn pass(from: Object, to: Object) {
    let mut clocks = lock(&CLOCKS);
    if let [Some(known), Some(clock)] = clocks.get_disjoint_mut([&from, &to]) {
        return clock.join(known);
    }
    // Taken out for a moment, since both are in one map. No object of `from` is a word.
    let Some(place) = clocks.get_mut(&from) else {
        return;
    };
    let clock = std::mem::take(place);
    if !clock.is_empty() {
        release_in(&mut clocks, to, &clock);
    }
    if let Some(place) = clocks.get_mut(&from) {
        *place = clock;
    }
}

pub(super) fn forget(object: Object) {
    lock(&CLOCKS).remove(&object);
}

/// Times of a slot that are remembered.
const TIMES: usize = 256;
/// Owners of a slot that are remembered.
const OWNERS: usize = 64;
/// Most slots. Threads that have ended leave theirs to others.
const SLOTS: usize = 1 << 12;

/// A thread's name, and the time of its slot from which on it is the owner's.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    since: u64,
    pub(super) thread: u32,
    pub(super) name: String,
}

/// What writes of a thread publish from a time on.
#[derive(Clone, Debug)]
pub(super) struct Published {
    pub(super) since: u64,
    pub(super) clock: Arc<[u64]>,
    /// Whether a fence came just before.
    pub(super) is_first: bool,
}

#[derive(Default)]
struct Slot {
    is_used: bool,
    /// The newest time.
    last: u64,
    owners: VecDeque<Owner>,
    /// What the owner's fences published, by the time from which on it was.
    published: VecDeque<Published>,
}

static SLOTS_IN_USE: Mutex<Vec<Slot>> = Mutex::new(Vec::new());

/// Gives a thread a slot, and the time at which it begins. Slot 0 belongs to nobody.
pub(super) fn begin(thread: u32, name: &str) -> Option<(u16, u64)> {
    let mut slots = lock(&SLOTS_IN_USE);
    let free = slots.iter().skip(1).position(|slot| !slot.is_used);
    let at = free.map_or(slots.len().max(1), |at| at + 1);
    if at >= SLOTS {
        return None;
    }
    if at >= slots.len() {
        slots.resize_with(at + 1, Slot::default);
    }
    let slot = &mut slots[at];
    slot.is_used = true;
    slot.last += 1;
    if slot.owners.len() == OWNERS {
        slot.owners.pop_front();
    }
    let name = name.to_owned();
    slot.owners.push_back(Owner {
        since: slot.last,
        thread,
        name,
    });
    Some((at as u16, slot.last))
}

/// A thread leaves its slot.
pub(super) fn end(slot: u16, time: u64) {
    let mut slots = lock(&SLOTS_IN_USE);
    let slot = &mut slots[usize::from(slot)];
    (slot.is_used, slot.last) = (false, time);
}

/// Who had the slot at that time.
pub(super) fn owner(slot: u16, time: u64) -> Option<Owner> {
    let slots = lock(&SLOTS_IN_USE);
    let owners = &slots.get(usize::from(slot))?.owners;
    let mut before = owners.iter().rev().filter(|owner| owner.since <= time);
    before.next().cloned()
}

/// From a time on, what the thread writes publishes a clock.
pub(super) fn publish(slot: u16, what: Published) {
    let mut slots = lock(&SLOTS_IN_USE);
    let published = &mut slots[usize::from(slot)].published;
    if published.len() == TIMES {
        published.pop_front();
    }
    published.push_back(what);
}

/// What a write of the slot's owner at that time has published. Of forgotten times, what the oldest
/// known one has.
pub(super) fn published(slot: u16, time: u64) -> Option<Published> {
    let slots = lock(&SLOTS_IN_USE);
    let published = &slots.get(usize::from(slot))?.published;
    let known = published.iter().rev().find(|what| what.since <= time);
    let is_forgotten = published.len() == TIMES;
    let oldest = published.front().filter(|_| is_forgotten);
    known.or(oldest).cloned()
}
