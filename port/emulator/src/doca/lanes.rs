//! Queues whose data path is on the CPU: a lane of sends for each connection and one of receives,
//! in memory of their own and in the hardware's formats, as those of device code. Each task is an
//! entry of one unit. Tasks that find no room wait.

use super::{Answer, Error};
use crate::handle::Handle;
use crate::machine::machine;
use crate::process::{Heap, Place};
use crate::queue::{Completion, Cq, Pair, Receiver, Sender, Wq, detach, format};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// A segment with this key and no bytes names no memory.
const NO_KEY: u32 = 0x100;
/// Logarithm of the most entries of all queues of an object.
const LOG_DEPTH: u8 = 22;
/// Queues of the CPU belong to no process.
const NOBODY: u32 = 0;

/// An entry, as the NIC reads it but for its index and queue.
pub(super) type Entry = [u8; format::WQEBB as usize];

/// How a task has ended.
pub(super) struct Ended {
    pub(super) task: Handle,
    pub(super) is_right: bool,
    /// A receive's completion: its opcode, bytes, immediate and connection.
    pub(super) received: Option<Received>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Received {
    pub(super) opcode: u8,
    pub(super) bytes: u32,
    /// In the order of the wire.
    pub(super) immediate: u32,
    pub(super) connection: u32,
}

/// Tasks whose entries the NIC has, by the entries' places.
struct Slots(Vec<Option<Handle>>);

impl Slots {
    fn new(log_depth: u8) -> Self {
        Self(vec![None; 1 << log_depth])
    }

    fn at(&mut self, index: u16) -> &mut Option<Handle> {
        let mask = self.0.len() - 1;
        &mut self.0[usize::from(index) & mask]
    }

    /// Takes all tasks, oldest first. The next entry has this index.
    fn take(&mut self, next: u16) -> impl Iterator<Item = Handle> {
        let count = self.0.len();
        (0..count).filter_map(move |at| self.at(next.wrapping_add(at as u16)).take())
    }
}

/// The sends of a connection.
struct Lane {
    number: u32,
    ring: Place,
    posted: u16,
    slots: Slots,
    waiting: VecDeque<(Handle, Entry)>,
    is_broken: bool,
}

/// All lanes of an RDMA object, and the queue at which they complete.
pub(super) struct Lanes {
    pd: usize,
    cqn: u32,
    /// Completions read so far.
    read: u32,
    ring: Place,
    record: Place,
    log_depth: u8,
    receiver: u32,
    receive_ring: Place,
    receive_record: Place,
    received: u16,
    receives: Slots,
    /// Where the lanes' rings are, and the depth of each.
    rings: Place,
    log_sends: u8,
    lanes: Vec<Lane>,
    ended: VecDeque<Ended>,
    /// Tasks that have not ended.
    flying: usize,
}

// SAFETY: handles are numbers in the shape of pointers.
unsafe impl Send for Lanes {}

fn write(place: *mut u8, bytes: &[u8]) {
    // SAFETY: the caller's place has as many bytes, and the NIC reads them after a doorbell.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
}

fn set_record(record: &Place, count: u32) {
    // SAFETY: a record of this object, aligned to 64.
    let word = unsafe { &*record.at(0, 4).cast::<AtomicU32>() };
    // ordering: publishes the entries to the acquire of `Place::word`.
    word.store(count.to_be(), Ordering::Release);
}

impl Lanes {
    pub(super) fn new(pd: usize, receives: u32, sends: u32, connections: u32) -> Answer<Self> {
        let log = |count: u32| count.next_power_of_two().trailing_zeros() as u8;
        let (log_receives, log_sends) = (log(receives), log(sends));
        let entries = (1_u64 << log_receives) + (u64::from(connections) << log_sends);
        let log_depth = entries.next_power_of_two().trailing_zeros() as u8;
        if log_depth > LOG_DEPTH {
            let most = 1 << LOG_DEPTH;
            let why = format!("{entries} entries of all queues together: {most} at most");
            return Error::NoMemory.because(why);
        }
        let completions = format::CQE << log_depth;
        let receive_bytes = (format::SEGMENT as u64) << log_receives;
        let send_bytes = u64::from(connections) * (format::WQEBB << log_sends);
        let ends = [
            128,
            completions,
            receive_bytes.next_multiple_of(64),
            send_bytes,
        ];
        let heap: Arc<Heap> = Heap::new(ends.iter().sum::<u64>().next_multiple_of(1 << 12))?;
        let mut at = heap.range().start as u64;
        let mut place = |bytes: u64| {
            let found = heap.place(at, bytes)?;
            at += bytes.next_multiple_of(64);
            Ok::<_, crate::status::Refusal>(found)
        };
        let (record, receive_record) = (place(64)?, place(64)?);
        let (ring, receive_ring) = (place(completions)?, place(receive_bytes)?);
        let rings = place(send_bytes)?;
        for entry in 0..1 << log_depth {
            // SAFETY: the owner bit of an entry, of which no other knows.
            unsafe { ring.at(entry * format::CQE + format::CQE - 1, 1).write(1) };
        }
        let made = Cq {
            armed: false,
            ..Cq::new(NOBODY, ring.clone(), record.clone(), log_depth, None)
        };
        let cqn = machine().nic().cqs.insert(|number| Cq { number, ..made });
        let Some(cqn) = cqn else {
            return Error::NoMemory.because("too many completion queues");
        };
        let receiver = crate::queue::attach(Wq {
            process: NOBODY,
            pd,
            receive: Some(Receiver::new(
                cqn,
                0,
                receive_ring.clone(),
                receive_record.clone(),
                log_receives,
                format::SEGMENT.trailing_zeros() as u8,
            )),
            ..Wq::default()
        })?;
        Ok(Self {
            pd,
            cqn,
            read: 0,
            ring,
            record,
            log_depth,
            receiver,
            receive_ring,
            receive_record,
            received: 0,
            receives: Slots::new(log_receives),
            rings,
            log_sends,
            lanes: Vec::new(),
            ended: VecDeque::new(),
            flying: 0,
        })
    }

    pub(super) fn connections(&self) -> u32 {
        self.lanes.len() as u32
    }

    /// A lane for a new connection. Answers the number of its pair.
    pub(super) fn connect(&mut self, access: i32) -> Answer<u32> {
        let id = self.lanes.len() as u32;
        let bytes = format::WQEBB << self.log_sends;
        let ring = self.rings.part(u64::from(id) * bytes, bytes);
        let send = Sender::new(self.cqn, id, ring.clone(), self.log_sends);
        let number = crate::queue::attach(Wq {
            process: NOBODY,
            pd: self.pd,
            send: Some(send),
            pair: Some(Pair::new(access)),
            shared: Some(self.receiver),
            ..Wq::default()
        })?;
        self.lanes.push(Lane {
            number,
            ring,
            posted: 0,
            slots: Slots::new(self.log_sends),
            waiting: VecDeque::new(),
            is_broken: false,
        });
        Ok(number)
    }

    /// Gives the NIC a buffer, or an empty one.
    pub(super) fn receive(&mut self, task: Handle, segment: Option<(u32, u32, u64)>) -> Answer {
        let slot = self.receives.at(self.received);
        if slot.is_some() {
            return Error::Again.because("the receive queue is full");
        }
        *slot = Some(task);
        let (bytes, key, address) = segment.unwrap_or((0, NO_KEY, 0));
        let at = usize::from(self.received) & (self.receives.0.len() - 1);
        let (at, size) = (at * format::SEGMENT, format::SEGMENT as u64);
        let mut entry = [0; format::SEGMENT];
        put_segment(&mut entry, bytes, key, address);
        write(self.receive_ring.at(at as u64, size), &entry);
        self.received = self.received.wrapping_add(1);
        self.flying += 1;
        set_record(&self.receive_record, self.received.into());
        Ok(())
    }

    /// Posts an entry. Answers the doorbell that is due: an index and a number.
    pub(super) fn send(&mut self, task: Handle, id: u32, entry: Entry) -> Option<(u16, u32)> {
        let lane = &mut self.lanes[id as usize];
        self.flying += 1;
        if lane.is_broken {
            self.ended.push_back(Ended::wrong(task));
            return None;
        }
        lane.waiting.push_back((task, entry));
        lane.post()
    }

    /// How the next task has ended, and a doorbell that is due.
    pub(super) fn next(&mut self) -> (Option<Ended>, Option<(u16, u32)>) {
        let bell = self.read_completion();
        let ended = self.ended.pop_front();
        self.flying -= usize::from(ended.is_some());
        (ended, bell)
    }

    pub(super) fn flies(&self) -> bool {
        self.flying > 0
    }

    pub(super) fn flying(&self) -> usize {
        self.flying
    }

    fn read_completion(&mut self) -> Option<(u16, u32)> {
        let depth = 1_u32 << self.log_depth;
        let at = u64::from(self.read & (depth - 1)) * format::CQE;
        let entry = self.ring.at(at, format::CQE);
        let owner = entry.wrapping_add(format::CQE as usize - 1);
        // SAFETY: in the ring, which this object keeps mapped.
        // ordering: the acquire of the release with which the NIC publishes the entry.
        let owner = unsafe { &*owner.cast::<AtomicU8>() }.load(Ordering::Acquire);
        if u32::from(owner & 1) != self.read >> self.log_depth & 1 {
            return None;
        }
        // SAFETY: an entry of the ring, which the NIC has published.
        let entry = unsafe { format::read_words::<{ format::CQE as usize / 8 }>(entry) };
        let completion = Completion::parse(entry.as_flattened());
        self.read = self.read.wrapping_add(1);
        set_record(&self.record, self.read & 0xff_ffff);
        let id = completion.user_index;
        let opcode = completion.opcode;
        let is_receive = !matches!(opcode, 0 | format::REQUESTER_ERROR);
        if is_receive {
            let task = self.receives.at(completion.counter).take();
            let is_right = opcode != format::RESPONDER_ERROR;
            let received = Some(Received {
                opcode,
                bytes: completion.bytes,
                immediate: completion.immediate,
                connection: id,
            });
            self.ended.extend(task.map(|task| Ended {
                task,
                is_right,
                received,
            }));
            return None;
        }
        let lane = self.lanes.get_mut(id as usize)?;
        let task = lane.slots.at(completion.counter).take();
        let is_right = opcode == 0;
        self.ended.extend(task.map(|task| Ended {
            task,
            is_right,
            received: None,
        }));
        match is_right {
            true => lane.post(),
            false => {
                self.break_off(id);
                None
            }
        }
    }

    /// The connection is gone: all its sends end with an error, and all receives if no other is
    /// left.
    pub(super) fn break_off(&mut self, id: u32) {
        let Some(lane) = self.lanes.get_mut(id as usize) else {
            return;
        };
        lane.is_broken = true;
        let waiting = lane.waiting.drain(..).map(|(task, _)| task);
        let all = lane.slots.take(lane.posted).chain(waiting);
        self.ended.extend(all.map(Ended::wrong));
        if self.lanes.iter().all(|lane| lane.is_broken) {
            self.break_receives();
        }
    }

    fn break_receives(&mut self) {
        let receives = self.receives.take(self.received);
        self.ended.extend(receives.map(Ended::wrong));
    }

    /// All completions are read, and all other tasks end with an error.
    pub(super) fn flush(&mut self) {
        while self.ended.len() < self.flying {
            let before = self.read;
            self.read_completion();
            if self.read == before {
                break;
            }
        }
        (0..self.lanes.len() as u32).for_each(|id| self.break_off(id));
        self.break_receives();
    }

    /// Takes all queues from the NIC.
    pub(super) fn close(&self) -> Answer {
        let pairs = self.lanes.iter().map(|lane| lane.number);
        for number in pairs.chain([self.receiver]) {
            detach(number)?;
        }
        machine().nic().cqs.remove(self.cqn);
        Ok(())
    }
}

impl Ended {
    fn wrong(task: Handle) -> Self {
        Self {
            task,
            is_right: false,
            received: None,
        }
    }
}

impl Lane {
    /// Moves tasks that wait into the ring while there is room.
    fn post(&mut self) -> Option<(u16, u32)> {
        let before = self.posted;
        while self.slots.at(self.posted).is_none()
            && let Some((task, mut entry)) = self.waiting.pop_front()
        {
            *self.slots.at(self.posted) = Some(task);
            entry[1..3].copy_from_slice(&self.posted.to_be_bytes());
            entry[4..7].copy_from_slice(&self.number.to_be_bytes()[1..]);
            let at = usize::from(self.posted) & (self.slots.0.len() - 1);
            let at = at as u64 * format::WQEBB;
            write(self.ring.at(at, format::WQEBB), &entry);
            self.posted = self.posted.wrapping_add(1);
        }
        (self.posted != before).then_some((self.posted, self.number))
    }
}

/// Writes a data segment.
pub(super) fn put_segment(to: &mut [u8], bytes: u32, key: u32, address: u64) {
    to[..4].copy_from_slice(&bytes.to_be_bytes());
    to[4..8].copy_from_slice(&key.to_be_bytes());
    to[8..16].copy_from_slice(&address.to_be_bytes());
}
