//! The shared-memory channel: a FIFO and a counter for each process of the node.
//!
//! The counter is the number of messages ever pushed. An empty poll only reads it, which makes this
//! channel cheap to poll; a poll takes the FIFO's lock only for a message.
//!
//! One pair of orderings: the sender's `Release` increment after unlocking the FIFO, and the
//! receiver's `Acquire` load. A receiver that sees the count sees the message. The lock alone would
//! order the message, but a receiver with an early count would find the FIFO empty.

use std::collections::VecDeque;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Release},
};
use std::sync::{Arc, Mutex, PoisonError};

use super::packet::Packet;

#[derive(Debug, Default)]
struct Fifo {
    counter: AtomicU64,
    queue: Mutex<VecDeque<Packet>>,
    capacity: usize,
}

#[derive(Debug)]
pub struct FifoSender(Arc<Fifo>);

/// The FIFO is full; the message comes back.
#[derive(Debug)]
pub struct FifoFull(pub Packet);

impl FifoSender {
    /// Pushes a message.
    ///
    /// # Errors
    /// [`FifoFull`].
    pub fn try_send(&self, packet: Packet) -> Result<(), FifoFull> {
        // Push and pop do not panic half-way, so a poisoned queue is whole.
        let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() == self.0.capacity {
            return Err(FifoFull(packet));
        }
        queue.push_back(packet);
        drop(queue);
        self.0.counter.fetch_add(1, Release);
        Ok(())
    }
}

/// The receiver's ends of all FIFOs.
#[derive(Debug, Default)]
pub struct SharedMemory {
    fifos: Vec<(Arc<Fifo>, u64)>,
    /// The counter to read first, for fairness.
    first: usize,
}

impl SharedMemory {
    /// Opens a FIFO for a process of the node, with room for `capacity` messages, at least 1.
    pub fn connect(&mut self, capacity: usize) -> FifoSender {
        let fifo = Arc::new(Fifo { capacity: capacity.max(1), ..Fifo::default() });
        self.fifos.push((fifo.clone(), 0));
        FifoSender(fifo)
    }

    /// Reads the counters, and takes a message of the first sender that has one.
    ///
    /// # Complexity
    /// O(processes).
    pub fn poll(&mut self) -> Option<Packet> {
        let count = self.fifos.len();
        for step in 0..count {
            let place = (self.first + step) % count;
            let (fifo, taken) = &mut self.fifos[place];
            if fifo.counter.load(Acquire) == *taken {
                continue;
            }
            let packet = fifo.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            *taken += u64::from(packet.is_some());
            self.first = (place + 1) % count;
            return packet;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use dpamatch_vocabulary::Envelope;

    use super::*;

    fn packet(sequence: u64) -> Packet {
        let envelope = Envelope {
            comm: Default::default(),
            source: Default::default(),
            tag: Default::default(),
        };
        Packet { sequence, envelope, payload: Vec::new() }
    }

    #[test]
    fn everybody_gets_a_turn() {
        let mut memory = SharedMemory::default();
        let senders: Vec<FifoSender> = (0..3).map(|_| memory.connect(2)).collect();
        let send = |sender: usize, number| senders[sender].try_send(packet(number));
        let mut poll = || memory.poll().map(|packet| packet.sequence);
        assert_eq!(poll(), None);
        for (sender, number) in [(0, 1), (0, 2), (1, 10), (2, 20), (2, 21)] {
            assert!(send(sender, number).is_ok());
        }
        let full = send(0, 3).expect_err("two messages are all it holds");
        assert_eq!(full.0.sequence, 3);
        assert_eq!([poll(), poll(), poll()], [1, 10, 20].map(Some));
        // The second has no more messages; its turn passes on.
        assert_eq!([poll(), poll(), poll()], [Some(2), Some(21), None]);
        // Each sender alone, in any order of turns.
        for sender in [1, 0, 2, 0, 0, 2, 1, 1] {
            assert!(send(sender, 30).is_ok());
            assert_eq!([poll(), poll()], [Some(30), None], "{sender}");
        }
    }
}
