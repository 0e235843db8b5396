//! Completion queues.

use super::format;
use crate::check::{Fault, device};
use crate::process::Place;
use crate::thread::Unit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// Indexes of completion queues have 24 bits.
const INDEX: u32 = 0xff_ffff;

#[derive(Clone, Debug, Default)]
pub(crate) struct Completion {
    pub(crate) opcode: u8,
    /// The send's opcode, for a requester.
    pub(crate) operation: u8,
    pub(crate) number: u32,
    pub(crate) counter: u16,
    pub(crate) bytes: u32,
    /// In the order of the wire.
    pub(crate) immediate: u32,
    pub(crate) syndrome: u8,
    pub(crate) user_index: u32,
}

impl Completion {
    pub(crate) fn fail(&mut self, opcode: u8, syndrome: u8) {
        (self.opcode, self.syndrome, self.bytes) = (opcode, syndrome, 0);
    }

    /// What an entry says.
    pub(crate) fn parse(entry: &[u8]) -> Self {
        let number = format::be32(entry, 0x38);
        Self {
            opcode: entry[0x3f] >> 4,
            operation: (number >> 24) as u8,
            number: number & INDEX,
            counter: format::be16(entry, 0x3c),
            bytes: format::be32(entry, 0x2c),
            immediate: format::be32(entry, 0x24).to_be(),
            syndrome: entry[0x37],
            user_index: format::be32(entry, 0x20) & INDEX,
        }
    }

    fn bytes(&self, owner: u8) -> [u8; format::CQE as usize] {
        let mut entry = [0; format::CQE as usize];
        entry[0x20..0x24].copy_from_slice(&(self.user_index & INDEX).to_be_bytes());
        entry[0x24..0x28].copy_from_slice(&self.immediate.to_ne_bytes());
        entry[0x2c..0x30].copy_from_slice(&self.bytes.to_be_bytes());
        entry[0x37] = self.syndrome;
        let number = u32::from(self.operation) << 24 | self.number & INDEX;
        entry[0x38..0x3c].copy_from_slice(&number.to_be_bytes());
        entry[0x3c..0x3e].copy_from_slice(&self.counter.to_be_bytes());
        entry[0x3f] = self.opcode << 4 | owner;
        entry
    }
}

pub(crate) struct Cq {
    pub(crate) number: u32,
    pub(crate) process: u32,
    pub(crate) ring: Place,
    pub(crate) record: Place,
    pub(crate) log_depth: u8,
    /// Completions written so far, 24 bits.
    pub(crate) producer: u32,
    pub(crate) armed: bool,
    /// The thread, its activation, and the index that armed last.
    pub(crate) armed_by: Option<(u32, u64, u32)>,
    pub(crate) always_armed: bool,
    pub(crate) overrun_ignore: bool,
    /// Only the newest completion is of interest: it is always the ring's first entry.
    pub(crate) collapsed: bool,
    /// Completions have a time stamp in nanoseconds.
    pub(crate) stamps: bool,
    pub(crate) unit: Option<Arc<Unit>>,
    /// Work queues that complete here.
    pub(crate) users: u32,
    pub(crate) broken: bool,
    /// When a frame first found the queue full.
    pub(crate) full: Option<Instant>,
    pub(crate) asleep: Option<super::asleep::Asleep>,
    /// The receive queue that completes here, the last one made.
    pub(crate) receiver: Option<u32>,
    /// Whether an entry had its owner bit before the NIC wrote it.
    pub(crate) was_owned: bool,
    /// The index at which an arming has woken the thread last, and how often before.
    pub(crate) woken: (u32, u32),
}

/// Armings at one index, each of which wakes the thread, that count as an endless loop.
const VAIN_WAKES: u32 = 256;

/// How long a frame waits for a full queue. Programs give a buffer back before they publish that
/// its completion is consumed, and a card needs longer to see the buffer than they need to go on.
const FULL: Duration = Duration::from_millis(500);

impl Cq {
    /// An armed queue with a place for its ring and one for its record, which wakes the thread.
    pub(crate) fn new(
        process: u32,
        ring: Place,
        record: Place,
        log_depth: u8,
        unit: Option<Arc<Unit>>,
    ) -> Self {
        Self {
            number: 0,
            process,
            ring,
            record,
            log_depth,
            producer: 0,
            armed: true,
            armed_by: None,
            always_armed: false,
            overrun_ignore: false,
            collapsed: false,
            stamps: false,
            unit,
            users: 0,
            broken: false,
            full: None,
            asleep: None,
            receiver: None,
            was_owned: false,
            woken: (u32::MAX, 0),
        }
    }

    /// Whether the next completion wakes the queue's thread.
    pub(super) fn wakes(&self) -> bool {
        self.armed || self.always_armed
    }

    /// Completions that are consumed, by the queue's record.
    pub(crate) fn consumed(&self) -> u32 {
        self.record.word(0) & INDEX
    }

    /// Completions that wait, by the queue's record.
    pub(crate) fn waiting(&self) -> u32 {
        self.producer.wrapping_sub(self.record.word(0)) & INDEX
    }

    /// Whether a frame waits for this queue, which is full but for a moment.
    pub(crate) fn delays(&mut self) -> bool {
        let ignores = self.overrun_ignore || self.collapsed || self.broken;
        let is_full = !ignores && self.waiting() >= 1 << self.log_depth;
        self.full = is_full.then(|| self.full.unwrap_or_else(Instant::now));
        self.full.is_some_and(|full| full.elapsed() < FULL)
    }

    /// Adds a completion. True if the queue's thread has an event.
    pub(crate) fn push(&mut self, completion: &Completion) -> bool {
        if self.broken {
            return false;
        }
        let depth = 1_u32 << self.log_depth;
        let waiting = self.waiting();
        if self.is_ahead(self.consumed()) && !self.overrun_ignore && !self.collapsed {
            self.broken = true;
            let (number, consumed) = (self.number, self.consumed());
            let (written, why) = (self.producer, self.why_ahead());
            let text = format_args!(
                "completion queue {number:#x}: its doorbell record says that {consumed} completions \
                 are consumed, and {written} were written{why}"
            );
            device(self.unit.as_deref(), Fault::Ahead, text);
            return false;
        }
        if waiting >= depth && !self.overrun_ignore && !self.collapsed {
            self.broken = true;
            let number = self.number;
            let text = format_args!(
                "completion queue {number:#x} overruns: {waiting} of {depth} entries wait, \
                 by its doorbell record"
            );
            device(self.unit.as_deref(), Fault::Overrun, text);
            return false;
        }
        let at = if self.collapsed {
            0
        } else {
            self.producer & (depth - 1)
        };
        let mut entry = completion.bytes((self.producer >> self.log_depth) as u8 & 1);
        if self.stamps && completion.syndrome == 0 {
            entry[0x30..0x38].copy_from_slice(&crate::thread::nanoseconds().to_be_bytes());
        }
        let last = format::CQE as usize - 1;
        let place = self.ring.at(u64::from(at) * format::CQE, format::CQE);
        crate::check::race::completes(self.number, place.addr());
        // SAFETY: an entry of the ring, which the heap keeps mapped. The byte with the owner bit
        // comes last and publishes the others.
        // ordering: the owner byte publishes the entry to the acquire of `dpa_emulator_poll`.
        let before = unsafe {
            let owner = &*place.add(last).cast::<AtomicU8>();
            let before = owner.load(Ordering::Relaxed);
            std::ptr::copy_nonoverlapping(entry.as_ptr(), place, last);
            owner.store(entry[last], Ordering::Release);
            before
        };
        self.was_owned |= (before ^ entry[last]) & 1 == 0 && !self.collapsed;
        self.producer = (self.producer + 1) & INDEX;
        let event = self.wakes();
        self.armed = false;
        event
    }

    /// Whether its record says that all completions are consumed.
    pub(crate) fn is_consumed(&self) -> bool {
        self.record.word(0) & INDEX == self.producer
    }

    /// Whether an index is beyond all completions that were written.
    pub(crate) fn is_ahead(&self, index: u32) -> bool {
        let ahead = index.wrapping_sub(self.producer) & INDEX;
        (1..=INDEX / 2).contains(&ahead)
    }

    /// What may have led a program beyond.
    pub(crate) fn why_ahead(&self) -> &'static str {
        let at = u64::from(self.producer & ((1 << self.log_depth) - 1));
        let last = self.ring.at(at * format::CQE + format::CQE - 1, 1);
        // SAFETY: in the ring, which the heap keeps mapped.
        // ordering: for a message only.
        let next = unsafe { &*last.cast::<AtomicU8>() }.load(Ordering::Acquire) & 1;
        let comes = (self.producer >> self.log_depth) as u8 & 1;
        if self.was_owned || next == comes {
            "; an entry had the owner bit of a completion before there was one"
        } else {
            ""
        }
    }

    /// Whether the thread is woken at this index over and over.
    pub(crate) fn wakes_in_vain(&mut self, index: u32) -> bool {
        let (at, count) = self.woken;
        self.woken = (
            index,
            if at == index {
                count.saturating_add(1)
            } else {
                0
            },
        );
        self.woken.1 >= VAIN_WAKES
    }

    /// The consumed completions by the record, if an index is older than they.
    pub(crate) fn is_behind(&self, index: u32) -> Option<u32> {
        let consumed = self.record.word(0) & INDEX;
        let behind = consumed.wrapping_sub(index) & INDEX;
        (1..=1 << self.log_depth)
            .contains(&behind)
            .then_some(consumed)
    }

    /// Arms the queue at `index`. True if a later completion is there already.
    pub(crate) fn arm(&mut self, index: u32) -> bool {
        let ahead = self.producer.wrapping_sub(index) & INDEX;
        self.armed = ahead == 0 || ahead > INDEX / 2;
        !self.armed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Heap;

    const LOG_DEPTH: u8 = 3;
    const DEPTH: u32 = 8;

    /// A queue of eight entries with these counts.
    fn queue(producer: u32, consumed: u32) -> Cq {
        let heap = Heap::new(1 << 20).expect("a heap");
        let bytes = u64::from(DEPTH) * format::CQE;
        let ring = heap.allocate(bytes).expect("room");
        let record = heap.allocate(8).expect("room");
        let places = [(ring, bytes), (record, 8)].map(|(at, bytes)| heap.place(at, bytes));
        let [ring, record] = places.map(|place| place.expect("in the heap"));
        // SAFETY: four bytes of the record, which nobody else has.
        unsafe { record.at(0, 4).cast::<u32>().write(consumed.to_be()) };
        let mut queue = Cq::new(1, ring, record, LOG_DEPTH, None);
        queue.producer = producer;
        queue
    }

    const STARTS: [u32; 5] = [0, 3, 100, INDEX - 2, INDEX];

    /// The index of an earlier round is told up to the depth, and further back it is another one.
    #[test]
    fn an_old_index_is_at_most_the_depth_behind() {
        for consumed in STARTS {
            let queue = queue(consumed, consumed);
            for behind in [0, 1, 2, DEPTH - 1, DEPTH, DEPTH + 1, INDEX] {
                let index = consumed.wrapping_sub(behind) & INDEX;
                let told = (1..=8).contains(&behind).then_some(consumed);
                assert_eq!(queue.is_behind(index), told, "{behind} behind {consumed}");
            }
        }
    }

    #[test]
    fn half_of_all_indices_are_ahead() {
        for producer in STARTS {
            let queue = queue(producer, producer);
            for (ahead, is_ahead) in [
                (0, false),
                (1, true),
                (INDEX / 2, true),
                (INDEX / 2 + 1, false),
                (INDEX, false),
            ] {
                let index = (producer + ahead) & INDEX;
                assert_eq!(
                    queue.is_ahead(index),
                    is_ahead,
                    "{ahead} ahead of {producer}"
                );
            }
        }
    }

    /// A queue holds as many completions as it has entries. The next one breaks it, unless it may.
    #[test]
    fn a_queue_is_full_at_its_depth() {
        for producer in STARTS {
            for (waiting, ignores, goes_on) in [
                (DEPTH - 1, false, true),
                (DEPTH, false, false),
                (DEPTH, true, true),
                (DEPTH + 1, true, true),
            ] {
                let consumed = producer.wrapping_sub(waiting) & INDEX;
                let mut queue = queue(producer, consumed);
                queue.overrun_ignore = ignores;
                assert_eq!((queue.waiting(), queue.armed), (waiting, true));
                let event = queue.push(&Completion::default());
                let next = (producer + 1) & INDEX;
                let after = if goes_on { next } else { producer };
                assert_eq!((event, queue.broken), (goes_on, !goes_on), "{waiting}");
                assert_eq!((queue.producer, queue.armed), (after, !goes_on));
            }
        }
    }
}
