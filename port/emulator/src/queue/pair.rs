//! Pairs of queues (QPs) with reliable connections. Both ends are pairs of this program's NIC.

use super::completion::Completion;
use super::send::{Undone, local};
use super::{Nic, Receiver, Wq, format};
use crate::status::Refusal;

/// Bytes of the longest message.
const MESSAGE: usize = 1 << 30;

/// States, as the API counts them.
const RESET: u32 = 0;
const INIT: u32 = 1;
const READY_TO_RECEIVE: u32 = 2;
const READY_TO_SEND: u32 = 3;
pub(super) const ERROR: u32 = 6;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) state: u32,
    /// The other end, from the state in which it receives.
    remote: u32,
    access: i32,
}

impl Pair {
    pub(crate) fn new(access: i32) -> Self {
        Self { state: RESET, remote: 0, access }
    }

    /// Goes to the next state, or back to the first or into error.
    pub(crate) fn step(&mut self, state: u32, remote: u32) -> Result<(), Refusal> {
        match (self.state, state) {
            (_, RESET | ERROR) | (RESET, INIT) | (READY_TO_RECEIVE, READY_TO_SEND) => {}
            (INIT, READY_TO_RECEIVE) => self.remote = remote,
            (from, to) => return Err(format!("from state {from} to {to}").into()),
        }
        self.state = state;
        Ok(())
    }
}

impl Wq {
    /// The pair's next state. The first one empties its queues.
    pub(super) fn step(&mut self, state: u32, remote: u32) -> Result<(), Refusal> {
        self.pair.as_mut().ok_or("no pair of queues")?.step(state, remote)?;
        if state == RESET {
            self.send.iter_mut().for_each(|own| (own.read, own.rung, own.broken) = (0, 0, false));
            self.receive.iter_mut().for_each(|own| (own.taken, own.broken) = (0, false));
        }
        Ok(())
    }

    /// Numbers of the completion queues.
    pub(crate) fn completes_at(&self) -> impl Iterator<Item = u32> + use<> {
        let receive = self.receive.as_ref().map(|queue| queue.cqn);
        let send = self.send.as_ref().map(|queue| queue.cqn);
        receive.into_iter().chain(send)
    }
}

fn remote(why: String) -> Undone {
    Undone::Bad(format::REMOTE_ACCESS, why)
}

impl Nic {
    /// Does one operation of a pair: its entry is `bytes`.
    pub(super) fn operate(
        &mut self,
        opcode: u8,
        bytes: &[u8],
        number: u32,
        pair: Pair,
    ) -> Result<(), Undone> {
        if pair.state != READY_TO_SEND {
            return Err(format!("QP {number:#x} is in state {}", pair.state).into());
        }
        let peer = self.wqs.get(pair.remote).and_then(|wq| wq.pair);
        let answers = |peer: &Pair| {
            (READY_TO_RECEIVE..=READY_TO_SEND).contains(&peer.state) && peer.remote == number
        };
        let Some(peer) = peer.filter(answers) else {
            let why = format!("QP {:#x} does not answer", pair.remote);
            return Err(Undone::Bad(format::NO_ANSWER, why));
        };
        let segments = |least: usize| {
            if bytes.len() >= least * format::SEGMENT {
                Ok(())
            } else {
                Err(format!("{} segments for opcode {opcode:#x}", bytes.len() / format::SEGMENT))
            }
        };
        let allowed = |right: i32| {
            if peer.access & right == 0 {
                return Err(remote(format!("QP {:#x} does not allow it", pair.remote)));
            }
            Ok(right)
        };
        let mut data = std::mem::take(&mut self.outgoing);
        data.clear();
        let result = match opcode {
            format::SEND | format::SEND_IMMEDIATE => self
                .gather(bytes, 0x10, &mut data, MESSAGE)
                .and_then(|()| self.receive_message(pair.remote, &data, bytes, opcode)),
            format::WRITE | format::WRITE_IMMEDIATE => (|| {
                segments(2)?;
                let right = allowed(format::REMOTE_WRITE)?;
                self.gather(bytes, 0x20, &mut data, MESSAGE)?;
                let place = (format::be32(bytes, 0x18), format::be64(bytes, 0x10));
                if opcode == format::WRITE_IMMEDIATE {
                    self.receiver(pair.remote)?;
                }
                if !data.is_empty() {
                    self.keys.write(place, right, &data).map_err(remote)?;
                }
                if opcode == format::WRITE_IMMEDIATE {
                    self.receive_message(pair.remote, &data, bytes, opcode)?;
                }
                Ok(())
            })(),
            format::READ => (|| {
                segments(3)?;
                let right = allowed(format::REMOTE_READ)?;
                let mut from = format::be64(bytes, 0x10);
                for at in (0x20..bytes.len()).step_by(format::SEGMENT) {
                    let length = u64::from(format::be32(bytes, at));
                    if length > MESSAGE as u64 {
                        return Err(format!("a read of {length} bytes").into());
                    }
                    data.clear();
                    let source = (format::be32(bytes, 0x18), from, length);
                    self.keys.read(source, right, &mut data).map_err(remote)?;
                    let place = (format::be32(bytes, at + 4), format::be64(bytes, at + 8));
                    self.keys.write(place, format::LOCAL_WRITE, &data).map_err(local)?;
                    from = from.wrapping_add(length);
                }
                Ok(())
            })(),
            format::COMPARE_SWAP | format::FETCH_ADD => (|| {
                segments(4)?;
                let right = allowed(format::REMOTE_ATOMIC)?;
                let key = format::be32(bytes, 0x18);
                let address = format::be64(bytes, 0x10);
                let (change, compare) = (format::be64(bytes, 0x20), format::be64(bytes, 0x28));
                let is_swap = opcode == format::COMPARE_SWAP;
                let change = |old| match is_swap {
                    true if old == compare => change,
                    true => old,
                    false => old.wrapping_add(change),
                };
                let old = self.keys.change(key, address, right, change).map_err(remote)?;
                let place = (format::be32(bytes, 0x34), format::be64(bytes, 0x38));
                let old = old.to_ne_bytes();
                self.keys.write(place, format::LOCAL_WRITE, &old).map_err(local)
            })(),
            other => Err(format!("opcode {other:#x} is not emulated").into()),
        };
        self.outgoing = data;
        result
    }

    /// The peer's receive queue, which has a buffer.
    fn receiver(&mut self, number: u32) -> Result<&mut Receiver, Undone> {
        match self.wqs.get_mut(number).and_then(|wq| wq.receive.as_mut()) {
            None => Err(Undone::Bad(format::REMOTE_OPERATION, "the peer receives nothing".into())),
            Some(receiver) if receiver.has_buffer() => Ok(receiver),
            Some(_) => Err(Undone::NotReady),
        }
    }

    /// A message, or the immediate word of a write, takes a buffer of the peer.
    fn receive_message(
        &mut self,
        number: u32,
        data: &[u8],
        entry: &[u8],
        opcode: u8,
    ) -> Result<(), Undone> {
        let receiver = self.receiver(number)?;
        let (cqn, user_index) = (receiver.cqn, receiver.user_index);
        let Some(buffer) = receiver.take() else { return Err(Undone::NotReady) };
        let immediate = u32::from_ne_bytes([entry[12], entry[13], entry[14], entry[15]]);
        let kind = match opcode {
            format::SEND => format::RECEIVED,
            format::SEND_IMMEDIATE => format::RECEIVED_IMMEDIATE,
            _ => format::WRITTEN_IMMEDIATE,
        };
        let mut completion = Completion {
            opcode: kind,
            bytes: data.len() as u32,
            immediate: if opcode == format::SEND { 0 } else { immediate },
            user_index,
            ..buffer.completion(number)
        };
        let landed = match kind {
            format::WRITTEN_IMMEDIATE => Ok(()),
            _ => buffer.scatter(&self.keys, data),
        };
        if landed.is_err() {
            completion.fail(format::RESPONDER_ERROR, format::LOCAL_PROTECTION);
        }
        self.complete(cqn, &completion);
        landed.map_err(|why| Undone::Bad(format::REMOTE_OPERATION, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Heap, Place};
    use crate::queue::{Cq, Mkey, Sender};

    const ALL: [u32; 4] = [RESET, INIT, READY_TO_RECEIVE, READY_TO_SEND];

    /// Two connected pairs, each with a completion queue of its own, and their rings.
    struct Bench {
        nic: Nic,
        numbers: [u32; 2],
        rings: [[Place; 4]; 2],
        key: u32,
    }

    fn bench(memory: &mut [u8; 64], access: i32) -> Bench {
        let heap = Heap::new(1 << 20).expect("a heap");
        let place =
            |bytes| heap.place(heap.allocate(bytes).expect("a block"), bytes).expect("a place");
        let mut nic = Nic::new();
        let rings = [(); 2].map(|()| [place(256), place(8), place(64), place(256)]);
        let numbers = rings.clone().map(|[completions, record, receives, sends]| {
            let cqn = nic.cqs.insert(|number| Cq::new(number, 1, completions, place(8), 2));
            let cqn = cqn.expect("a queue");
            let receive = Some(Receiver::new(cqn, 0, receives, record, 2, 4));
            let (send, pair) = (Some(Sender::new(cqn, 0, sends, 2)), Some(Pair::new(access)));
            nic.wqs.insert(|_| Wq { process: 1, receive, send, pair, rules: 0 }).expect("a pair")
        });
        for (own, other) in [(0, 1), (1, 0)] {
            let wq = nic.wqs.get_mut(numbers[own]).expect("a pair");
            ALL.into_iter().for_each(|state| wq.step(state, numbers[other]).expect("a state"));
        }
        let rights = format::LOCAL_WRITE | format::REMOTE_WRITE | format::REMOTE_READ;
        let key = Mkey::of_host(memory.as_mut_ptr(), 0, 64, rights | format::REMOTE_ATOMIC);
        let key = nic.keys.add(key).expect("a key");
        Bench { nic, numbers, rings, key }
    }

    impl Bench {
        /// Writes entry `index` of the first pair's send queue, and rings.
        fn ring(&mut self, index: u16, opcode: u8, segments: &[[u64; 2]]) {
            let mut entry = [0_u8; 64];
            let word = u32::from(index) << 8 | u32::from(opcode);
            entry[..4].copy_from_slice(&word.to_be_bytes());
            let word = self.numbers[0] << 8 | (1 + segments.len() as u32);
            entry[4..8].copy_from_slice(&word.to_be_bytes());
            entry[11] = 2 << 2;
            for (at, word) in segments.as_flattened().iter().enumerate() {
                entry[16 + 8 * at..24 + 8 * at].copy_from_slice(&word.to_be_bytes());
            }
            let place = self.rings[0][3].at(u64::from(index) * 64, 64);
            // SAFETY: an entry of the ring.
            unsafe { std::ptr::copy_nonoverlapping(entry.as_ptr(), place, 64) };
            self.nic.ring(None, index + 1, self.numbers[0]);
        }

        /// Gives the second pair a buffer.
        fn give(&mut self, count: u32, data: [u64; 2]) {
            let [_, record, ring, _] = &self.rings[1];
            let words = data.map(u64::to_be);
            // SAFETY: an entry of the ring, and the record's word.
            unsafe {
                ring.at(u64::from(count - 1) * 16, 16).cast::<[u64; 2]>().write(words);
                record.at(0, 4).cast::<u32>().write(count.to_be());
            }
        }

        /// Opcode, syndrome and bytes of a pair's completion.
        fn completion(&self, of: usize, at: u64) -> (u8, u8, u32) {
            // SAFETY: an entry of the ring.
            let entry =
                unsafe { std::slice::from_raw_parts(self.rings[of][0].at(at * 64, 64), 64) };
            (entry[63] >> 4, entry[0x37], format::be32(entry, 0x2c))
        }

        fn completions(&self, of: usize) -> u32 {
            let cqn = self.nic.wqs.get(self.numbers[of]).and_then(|wq| wq.completes_at().next());
            cqn.and_then(|cqn| self.nic.cqs.get(cqn)).map_or(0, |cq| cq.producer)
        }

        fn state(&self) -> Option<u32> {
            self.nic.wqs.get(self.numbers[0])?.pair.map(|pair| pair.state)
        }

        fn data(&self, bytes: u64, address: u64) -> [u64; 2] {
            [bytes << 32 | u64::from(self.key), address]
        }
    }

    #[test]
    fn a_message_waits_for_a_buffer_and_operations_move_bytes() {
        let mut memory: [u8; 64] = std::array::from_fn(|at| at as u8);
        let mut bench = bench(&mut memory, format::REMOTE_WRITE | format::REMOTE_ATOMIC);
        let remote = |bench: &Bench, address| [address, u64::from(bench.key) << 32];
        bench.ring(0, format::SEND, &[bench.data(5, 1)]);
        assert!(bench.nic.waits() && bench.completions(0) == 0, "no buffer yet");
        bench.give(1, bench.data(8, 40));
        assert!(bench.nic.try_again() && !bench.nic.waits());
        assert_eq!(bench.completion(1, 0), (format::RECEIVED, 0, 5));
        assert_eq!(bench.completion(0, 0), (0, 0, 0));
        bench.ring(1, format::WRITE, &[remote(&bench, 50), bench.data(3, 9)]);
        let swap =
            [remote(&bench, 16), [7, u64::from_ne_bytes(std::array::from_fn(|at| 16 + at as u8))]];
        bench.ring(2, format::COMPARE_SWAP, &[swap[0], swap[1], bench.data(8, 56)]);
        assert_eq!((bench.completions(0), bench.completions(1)), (3, 1));
        bench.ring(3, format::READ, &[remote(&bench, 0), bench.data(4, 24)]);
        assert_eq!(bench.completion(0, 3), (format::REQUESTER_ERROR, format::REMOTE_ACCESS, 0));
        assert_eq!(bench.state(), Some(ERROR), "the peer allows no reads");
        drop(bench);
        assert_eq!(memory[40..46], [1, 2, 3, 4, 5, 45]);
        assert_eq!(memory[49..54], [49, 9, 10, 11, 53]);
        assert_eq!(memory[16..24], 7_u64.to_ne_bytes());
        assert_eq!(memory[56..], [16, 17, 18, 19, 20, 21, 22, 23], "what the word was");
        assert_eq!(memory[24..28], [24, 25, 26, 27]);
    }

    #[test]
    fn a_pair_that_is_gone_does_not_answer() {
        let mut memory = [0; 64];
        let mut bench = bench(&mut memory, 0);
        bench.nic.wqs.remove(bench.numbers[1]);
        bench.ring(0, format::SEND, &[bench.data(5, 1)]);
        assert_eq!(bench.completion(0, 0), (format::REQUESTER_ERROR, format::NO_ANSWER, 0));
        assert_eq!(bench.state(), Some(ERROR));
    }

    #[test]
    fn a_broken_pair_begins_anew_and_a_peer_may_receive_nothing() {
        let mut memory = [0; 64];
        let mut bench = bench(&mut memory, format::REMOTE_WRITE);
        let [number, peer] = bench.numbers;
        bench.nic.ring(None, 1, number);
        assert_eq!(bench.completion(0, 0), (format::REQUESTER_ERROR, format::LOCAL_OPERATION, 0));
        assert_eq!(bench.state(), Some(ERROR), "an entry of zeros");
        bench.nic.wqs.get_mut(peer).expect("the peer").receive = None;
        let wq = bench.nic.wqs.get_mut(number).expect("the pair");
        ALL.into_iter().for_each(|state| wq.step(state, peer).expect("a state"));
        bench.ring(0, format::WRITE_IMMEDIATE, &[[0, u64::from(bench.key) << 32]]);
        assert_eq!(bench.completion(0, 1), (format::REQUESTER_ERROR, format::REMOTE_OPERATION, 0));
    }

    #[test]
    fn a_long_entry_is_announced_around_the_ring_s_end() {
        let mut memory = [0; 64];
        let mut bench = bench(&mut memory, 0);
        let send = bench.nic.wqs.get_mut(bench.numbers[0]).and_then(|wq| wq.send.as_mut());
        send.expect("a queue").read = 3;
        let [last, first] = [3 * 64, 0].map(|offset| bench.rings[0][3].at(offset, 64));
        // SAFETY: the last entry of the ring. It has five segments.
        unsafe { last.add(7).write(5) };
        let announced = bench.nic.announced(5, bench.numbers[0]);
        assert_eq!(announced, [(last.addr(), 64, "an entry"), (first.addr(), 16, "an entry")]);
    }

    #[test]
    fn a_pair_goes_from_state_to_state() {
        let mut pair = Pair::new(0);
        assert!(pair.step(READY_TO_RECEIVE, 7).is_err());
        assert!(pair.step(READY_TO_SEND, 7).is_err());
        for state in [INIT, READY_TO_RECEIVE, READY_TO_SEND] {
            pair.step(state, 7).expect("the next state");
            assert!(pair.step(state, 8).is_err(), "{state} twice");
        }
        assert_eq!(pair.remote, 7);
        pair.step(ERROR, 0).expect("an end");
        assert!(pair.step(INIT, 0).is_err());
        pair.step(RESET, 0).expect("a beginning");
        assert_eq!(pair.state, RESET);
    }
}
