//! Whether two executions have come to the same state.
//!
//! A handler's state follows from what it has read: every shared word is behind
//! `dpa_model::sync`. It is the values of atomic words, and the last change of cells of plain
//! memory, which follows from the history of its writer. So the state of an execution is the
//! history of each worker, the value of each word and the last change of each cell, as hashes of
//! 128 bits. Executions with the same state have the same futures.
//!
//! A poll that failed changes nothing, as under loom (`Wait::pause`). So a worker that polls twice
//! in vain and reads the same has the history that it had before.

use std::cell::RefCell;

use dpa_model_explore::accesses::{self, Access};

use crate::meetings::Meetings;
use crate::run::leave;
use crate::schedule::current;
use crate::told;

/// The flag that ends the workers, which is no word of the NIC.
const STOP: u32 = u32::MAX;

#[derive(Clone, Debug, Default)]
struct Worker {
    history: u128,
    /// The history at the last pause.
    at_pause: u128,
    /// The reads since then, and between the two pauses before.
    reads: u128,
    reads_before: u128,
    has_written: bool,
    /// The atomic word to which the worker has come, and whether it may write it.
    next: Option<(u32, bool)>,
    /// The atomic word that began its present step.
    lead: Option<u32>,
}

#[derive(Clone, Debug, Default)]
struct Word {
    /// Its value, or its last change.
    content: u128,
    /// The hash of the word with its content; 0 if nobody has written it.
    hash: u128,
    /// Bitmap of the workers that have read it since their last failed poll.
    looked_at: u64,
}

#[derive(Debug, Default)]
struct State {
    workers: Vec<Worker>,
    /// Each word, after the flag.
    words: Vec<Word>,
    /// The sum of the hashes of all words, which changes with each write.
    memory: u128,
    /// Bitmap of the workers whose last poll failed, and no word that they read has changed.
    blocked: u64,
    /// Bitmap of the workers that were preempted, and no other worker has met their next step.
    asleep: u64,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
    /// Of all executions on this thread of the system.
    static MEETINGS: RefCell<Meetings> = RefCell::default();
}

/// A hash of 128 bits: each half is mixed as in SplitMix64, with the other in it.
pub(crate) fn mix(before: u128, more: u128) -> u128 {
    let half = |value: u128, factor: u64| {
        let value = (value as u64) ^ ((value >> 64) as u64).rotate_left(29);
        let value = (value ^ (value >> 30)).wrapping_mul(factor);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        value ^ (value >> 31)
    };
    let sum = before.wrapping_mul(ODD).wrapping_add(more ^ (ODD >> 3));
    let low = half(sum, 0xBF58_476D_1CE4_E5B9);
    let high = half(sum.rotate_left(41) ^ more, 0xD6E8_FEB8_6659_FD93);
    u128::from(high) << 64 | u128::from(low)
}

const ODD: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;

/// The hash of a sequence with one more hash.
fn follow(before: u128, hash: u128) -> u128 {
    before.wrapping_mul(ODD).wrapping_add(hash)
}

impl State {
    fn word(&mut self, word: u32) -> &mut Word {
        let place = word.wrapping_add(1) as usize;
        if place >= self.words.len() {
            self.words.resize(place + 1, Word::default());
        }
        &mut self.words[place]
    }

    fn writes(&mut self, worker: usize, word: u32, content: u128) {
        self.workers[worker].has_written = true;
        let place = self.word(word);
        if place.content == content {
            return;
        }
        let hash = mix(u128::from(word), content);
        let before = std::mem::replace(&mut place.hash, hash);
        place.content = content;
        let looked_at = place.looked_at;
        self.blocked &= !looked_at;
        self.memory = self.memory.wrapping_sub(before).wrapping_add(hash);
    }

    fn reads(&mut self, worker: usize, word: u32, content: u128) {
        let place = self.word(word);
        place.looked_at |= 1 << worker;
        let seen = if place.content == content && place.hash != 0 {
            place.hash
        } else {
            mix(u128::from(word), content)
        };
        let worker = &mut self.workers[worker];
        worker.history = follow(worker.history, seen);
        worker.reads = follow(worker.reads, seen);
    }

    fn note(&mut self, worker: usize, access: Access) {
        // No content of a word is that of one that nobody has written.
        let content = |value: u64| 1 << 64 | u128::from(value);
        match access {
            Access::Next(word, may_write) => self.workers[worker].next = Some((word, may_write)),
            Access::Load(word, value) => self.reads(worker, word, content(value)),
            Access::Store(word, value) => {
                // The same reads behind it are others.
                let history = &mut self.workers[worker].history;
                *history = mix(*history, u128::from(word) << 1 | 1);
                self.writes(worker, word, content(value));
            }
            Access::Update(word, [before, after]) => {
                self.reads(worker, word, content(before));
                self.writes(worker, word, content(after));
            }
            Access::Look(word) => {
                let seen = self.word(word).content;
                self.reads(worker, word, seen);
            }
            Access::Change(word) => {
                let seen = self.word(word).content;
                self.reads(worker, word, seen);
                let history = self.workers[worker].history;
                self.writes(worker, word, history);
            }
            Access::Resume => {
                // Otherwise a worker that may go on would be one that has.
                let history = &mut self.workers[worker].history;
                *history = mix(*history, 2);
                self.blocked &= !(1 << worker);
                for word in &mut self.words {
                    word.looked_at &= !(1 << worker);
                }
            }
            Access::Pause => {
                self.blocked |= 1 << worker;
                let worker = &mut self.workers[worker];
                if !worker.has_written && worker.reads == worker.reads_before {
                    worker.history = worker.at_pause;
                }
                worker.at_pause = worker.history;
                worker.reads_before = std::mem::take(&mut worker.reads);
                if std::mem::take(&mut worker.has_written) {
                    worker.reads_before = 0;
                }
            }
        }
    }

    /// The atomic word that began the worker's present step. A step that begins with a wait has
    /// none.
    fn lead(&mut self, worker: usize, access: Access) -> Option<u32> {
        let worker = &mut self.workers[worker];
        match access {
            Access::Load(word, _) | Access::Store(word, _) | Access::Update(word, _) => {
                (worker.next, worker.lead) = (None, Some(word));
            }
            Access::Pause | Access::Resume => (worker.next, worker.lead) = (None, None),
            Access::Next(..) | Access::Look(_) | Access::Change(_) => {}
        }
        worker.lead
    }

    /// An access wakes the workers whose next step it meets.
    fn wakes(&mut self, actor: usize, place: u32, writes: bool) {
        self.asleep &= !(1 << actor);
        let meets = |(word, may_write): (u32, bool)| word == place && (writes || may_write);
        let mut left = self.asleep;
        while left != 0 {
            let worker = left.trailing_zeros();
            left &= left - 1;
            let next = self.workers[worker as usize].next;
            self.asleep &= !(u64::from(next.is_some_and(meets)) << worker);
        }
    }

    fn hash(&self) -> u128 {
        let histories = self.workers.iter().map(|worker| worker.history);
        histories.fold(self.memory, mix)
    }
}

fn note(access: Access) {
    // A thread that ends has no part in the execution any more.
    if std::thread::panicking() {
        return;
    }
    leave_if_over();
    STATE.with_borrow_mut(|state| {
        let worker = current();
        state.note(worker, access);
        let lead = state.lead(worker, access);
        if told::busy() != 0
            && let Some((place, writes)) = place(access)
        {
            state.wakes(worker, place, writes);
            MEETINGS.with_borrow_mut(|all| all.note(place, worker, writes, lead));
        }
    });
}

/// Ends this thread if its execution is over.
fn leave_if_over() {
    if told::is_over() {
        leave();
    }
}

/// What an access reads or writes, and whether it writes.
fn place(access: Access) -> Option<(u32, bool)> {
    match access {
        Access::Next(..) | Access::Pause | Access::Resume => None,
        Access::Load(word, _) | Access::Look(word) => Some((word, false)),
        Access::Store(word, _) | Access::Update(word, _) | Access::Change(word) => {
            Some((word, true))
        }
    }
    .filter(|&(word, _)| word != STOP)
}

/// The atomic word to which the worker has come, if its next step accesses one.
pub(crate) fn next(worker: usize) -> Option<u32> {
    STATE.with_borrow(|state| Some(state.workers.get(worker)?.next?.0))
}

/// Bitmap of the workers whose poll would fail again.
pub(crate) fn blocked() -> u64 {
    STATE.with_borrow(|state| state.blocked)
}

/// Bitmap of the workers that sleep.
pub(crate) fn asleep() -> u64 {
    STATE.with_borrow(|state| state.asleep)
}

/// The worker sleeps until an access of another worker meets its next one.
pub(crate) fn sleep(worker: usize) {
    STATE.with_borrow_mut(|state| state.asleep |= 1 << worker);
}

/// What this thread of the system has noted since the last call.
pub(crate) fn meetings() -> Meetings {
    MEETINGS.take()
}

/// Begins an execution, before its NIC is made.
pub(crate) fn begin(workers: usize) {
    STATE.set(State {
        // Workers differ from the start.
        workers: (0..workers)
            .map(|worker| Worker {
                history: mix(0, worker as u128),
                ..Worker::default()
            })
            .collect(),
        ..State::default()
    });
    accesses::begin();
    accesses::listen(Some(note));
}

/// The workers are done.
pub(crate) fn end() {
    accesses::listen(Some(|_| {
        if !std::thread::panicking() {
            leave_if_over();
        }
    }));
}

pub(crate) fn stop_is_read() {
    accesses::report(Access::Load(STOP, 0));
}

pub(crate) fn stop_is_set() {
    accesses::report(Access::Store(STOP, 1));
}

pub(crate) fn pause() {
    accesses::report(Access::Pause);
}

pub(crate) fn resume() {
    accesses::report(Access::Resume);
}

/// The state of the current execution.
pub(crate) fn hash() -> u128 {
    STATE.with_borrow(State::hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(accesses: &[(usize, Access)]) -> u128 {
        let mut state = State {
            workers: vec![Worker::default(); 3],
            ..State::default()
        };
        for (at, worker) in state.workers.iter_mut().enumerate() {
            worker.history = mix(0, at as u128);
        }
        for &(worker, access) in accesses {
            state.note(worker, access);
        }
        state.hash()
    }

    #[test]
    fn accesses_that_do_not_meet_commute_and_others_do_not() {
        use Access::{Change, Load, Look, Pause, Store, Update};
        let pair = |one: [Access; 2], other: [Access; 2]| {
            after(&[(0, one[0]), (1, other[0])]) == after(&[(1, other[1]), (0, one[1])])
        };
        let same = |one, other| pair([one; 2], [other; 2]);
        assert!(same(Load(1, 5), Load(1, 5)) && same(Store(1, 5), Load(2, 7)));
        assert!(same(Store(1, 5), Store(1, 5)) && !same(Store(1, 5), Store(1, 6)));
        // The load sees the store, or what was there before; so does the update.
        assert!(!pair([Store(1, 5); 2], [Load(1, 5), Load(1, 0)]));
        assert!(!pair(
            [Update(1, [0, 1]), Update(1, [2, 3])],
            [Update(1, [1, 3]), Update(1, [0, 2])]
        ));
        assert!(same(Look(1), Look(1)) && same(Change(1), Change(2)));
        assert!(!same(Change(1), Look(1)) && !same(Change(1), Change(1)));
        // Failed polls.
        let poll = |value| [(0, Load(1, value)), (0, Pause)];
        let twice = after(&[poll(3), poll(3)].concat());
        assert_eq!(twice, after(&[poll(3), poll(3), poll(3)].concat()));
        assert_ne!(twice, after(&[poll(3), poll(4)].concat()));
        assert_ne!(
            twice,
            after(&[&poll(3)[..], &[(0, Store(2, 0))], &poll(3)].concat())
        );
    }
}
