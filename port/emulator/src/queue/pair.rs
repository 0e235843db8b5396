//! Pairs of queues (QPs) with reliable connections. Both ends are pairs of this program's NIC, or
//! one is in another program ([`super::far`]).

use super::completion::Completion;
use super::far::Asked;
use super::send::{Sender, Undone, local};
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
    pub(super) remote: u32,
    access: i32,
}

impl Pair {
    pub(crate) fn new(access: i32) -> Self {
        Self {
            state: RESET,
            remote: 0,
            access,
        }
    }

    /// Gives its peer a right, or takes it.
    pub(crate) fn allow(&mut self, right: i32, is_allowed: bool) {
        self.access &= !right;
        if is_allowed {
            self.access |= right;
        }
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
    pub(crate) fn step(&mut self, state: u32, remote: u32) -> Result<(), Refusal> {
        self.pair
            .as_mut()
            .ok_or("no pair of queues")?
            .step(state, remote)?;
        if state == RESET {
            self.send.iter_mut().for_each(Sender::reset);
            self.receive.iter_mut().for_each(Receiver::reset);
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

/// What the other end of a pair lets an operation do: the right that it takes, 0 for none, and the
/// end's domain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permit {
    right: i32,
    pd: usize,
}

/// Numbers of a pair's two queues: the one that operates, and the other end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) number: u32,
    pub(super) remote: u32,
}

/// A data segment's key, address and length.
fn place_of(bytes: &[u8], at: usize) -> (u32, u64, usize) {
    let length = format::be32(bytes, at) as usize;
    (
        format::be32(bytes, at + 4),
        format::be64(bytes, at + 8),
        length,
    )
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
        let pd = self.wqs.get(number).map_or(0, |wq| wq.pd);
        let mut data = std::mem::take(&mut self.outgoing);
        data.clear();
        let ends = Ends {
            number,
            remote: pair.remote,
        };
        let is_far = self.wires.is_far(pair.remote);
        let result = (|| {
            let permit = match is_far {
                true => None,
                false => Some(self.permit(ends, opcode)?),
            };
            let (least, sent) = match opcode {
                format::SEND | format::SEND_IMMEDIATE => (1, Some(0x10)),
                format::WRITE | format::WRITE_IMMEDIATE => (2, Some(0x20)),
                format::READ | format::SIGNAL => (3, None),
                format::COMPARE_SWAP | format::FETCH_ADD => (4, None),
                other => return Err(format!("opcode {other:#x} is not emulated").into()),
            };
            let segments = bytes.len() / format::SEGMENT;
            if segments < least {
                return Err(format!("{segments} segments for opcode {opcode:#x}").into());
            }
            // Where the answer goes: each place with its length.
            let places: Vec<(u32, u64, usize)> = match opcode {
                format::READ => (0x20..bytes.len())
                    .step_by(format::SEGMENT)
                    .map(|at| place_of(bytes, at))
                    .collect(),
                format::COMPARE_SWAP | format::FETCH_ADD => {
                    let (key, address, _) = place_of(bytes, 0x30);
                    vec![(key, address, 8)]
                }
                _ => Vec::new(),
            };
            let reads = places.iter().map(|(_, _, length)| length).sum();
            if reads > MESSAGE {
                return Err(format!("a read of {reads} bytes").into());
            }
            if let Some(at) = sent
                && !(is_far && (self.has_asked(number) || self.wires.is_full(pair.remote)))
            {
                self.gather(pd, bytes, at, &mut data, MESSAGE)?;
            }
            match permit {
                Some(permit) => self.serve(ends, permit, bytes, reads, &mut data)?,
                None => self.ask(ends, bytes, reads, &mut data)?,
            }
            let mut answer = data.as_slice();
            for (key, address, length) in places {
                let Some((now, rest)) = answer.split_at_checked(length) else {
                    return Err(format!("an answer of {} bytes", data.len()).into());
                };
                self.keys.allows(key, pd).map_err(local)?;
                self.keys
                    .write(key, address, format::LOCAL_WRITE, now)
                    .map_err(local)?;
                answer = rest;
            }
            Ok(())
        })();
        self.outgoing = data;
        result
    }

    /// Whether the pair's next entry waits for the other program already.
    fn has_asked(&self, number: u32) -> bool {
        let send = self.wqs.get(number).and_then(|wq| wq.send.as_ref());
        let asked = send.and_then(|send| send.asked.as_ref());
        asked.is_some_and(|asked| !matches!(asked, Asked::Later(_)))
    }

    /// The other end of a pair, if it answers, and its domain.
    fn peer(&self, ends: Ends) -> Result<(Pair, usize), Undone> {
        let Ends { number, remote } = ends;
        let wq = self.wqs.get(remote);
        let answers = |peer: &Pair| {
            (READY_TO_RECEIVE..=READY_TO_SEND).contains(&peer.state) && peer.remote == number
        };
        let Some(peer) = wq.and_then(|wq| wq.pair).filter(answers) else {
            let why = format!("QP {remote:#x} does not answer");
            return Err(Undone::Bad(format::NO_ANSWER, why));
        };
        Ok((peer, wq.map_or(0, |wq| wq.pd)))
    }

    /// What the other end of a pair, if it answers, lets an operation do.
    pub(super) fn permit(&self, ends: Ends, opcode: u8) -> Result<Permit, Undone> {
        let (peer, pd) = self.peer(ends)?;
        let right = match opcode {
            format::WRITE | format::WRITE_IMMEDIATE => format::REMOTE_WRITE,
            format::READ => format::REMOTE_READ,
            format::COMPARE_SWAP | format::FETCH_ADD => format::REMOTE_ATOMIC,
            _ => 0,
        };
        if right != 0 && peer.access & right == 0 {
            return Err(remote(format!("QP {:#x} does not allow it", ends.remote)));
        }
        Ok(Permit { right, pd })
    }

    /// Does an operation where it is for. `entry` has [`super::far::ENTRY`] bytes, or all that the
    /// opcode needs; `data` is what is sent, or takes what is answered.
    pub(super) fn serve(
        &mut self,
        ends: Ends,
        permit: Permit,
        entry: &[u8],
        reads: usize,
        data: &mut Vec<u8>,
    ) -> Result<(), Undone> {
        let (opcode, to) = (entry[3], ends.remote);
        let Permit { right, pd } = permit;
        if matches!(opcode, format::SEND | format::SEND_IMMEDIATE) {
            return self.receive_message(to, data, entry, opcode);
        }
        let (key, address) = (format::be32(entry, 0x18), format::be64(entry, 0x10));
        match opcode {
            format::WRITE | format::WRITE_IMMEDIATE => {
                if opcode == format::WRITE_IMMEDIATE {
                    self.receiver(self.receives_at(to))?;
                }
                if !data.is_empty() {
                    self.keys.allows(key, pd).map_err(remote)?;
                    self.keys.write(key, address, right, data).map_err(remote)?;
                }
                if opcode == format::WRITE_IMMEDIATE {
                    self.receive_message(to, data, entry, opcode)?;
                }
                Ok(())
            }
            format::READ => {
                self.keys.allows(key, pd).map_err(remote)?;
                self.keys
                    .read(key, address, reads as u64, right, data)
                    .map_err(remote)
            }
            format::COMPARE_SWAP | format::FETCH_ADD => {
                let (change, compare) = (format::be64(entry, 0x20), format::be64(entry, 0x28));
                let is_swap = opcode == format::COMPARE_SWAP;
                let change = |old| match is_swap {
                    true if old == compare => change,
                    true => old,
                    false => old.wrapping_add(change),
                };
                self.keys.allows(key, pd).map_err(remote)?;
                let old = self.keys.change(key, address, right, change);
                data.extend(old.map_err(remote)?.to_ne_bytes());
                Ok(())
            }
            format::SIGNAL => {
                let signal = crate::doca::Signal::new(address, key, format::be64(entry, 0x28));
                let Some(signal) = signal else {
                    return Err(remote(format!("no event {address:#x} to signal")));
                };
                crate::check::race::signalled();
                self.signals.push(signal);
                Ok(())
            }
            other => Err(format!("opcode {other:#x} is not emulated").into()),
        }
    }

    /// The number of a pair's receive queue, its own or a shared one.
    fn receives_at(&self, number: u32) -> u32 {
        let shared = self.wqs.get(number).and_then(|wq| wq.shared);
        shared.unwrap_or(number)
    }

    /// A receive queue, which has a buffer.
    fn receiver(&mut self, number: u32) -> Result<&mut Receiver, Undone> {
        match self.wqs.get_mut(number).and_then(|wq| wq.receive.as_mut()) {
            None => Err(Undone::Bad(
                format::REMOTE_OPERATION,
                "the peer receives nothing".into(),
            )),
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
        let wq = self.wqs.get(number);
        let pd = wq.map_or(0, |wq| wq.pd);
        // A pair at a shared queue tells which it is by its own index.
        let own = wq.filter(|wq| wq.shared.is_some());
        let own_index = own.and_then(|wq| Some(wq.send.as_ref()?.user_index));
        let receiver = self.receiver(self.receives_at(number))?;
        let (cqn, user_index) = (receiver.cqn, own_index.unwrap_or(receiver.user_index));
        let (excess, depth) = (receiver.excess(), 1_u32 << receiver.log_depth);
        let Some(buffer) = receiver.take() else {
            return Err(Undone::NotReady);
        };
        if let Some(given) = excess {
            let unit = self.cqs.get(cqn).and_then(|cq| cq.unit.clone());
            super::too_many_buffers(unit.as_deref(), number, given, depth);
        }
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
            _ => buffer.scatter(&self.keys, pd, data),
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
    use crate::process::Heap;

    /// A pair in the state of an error, as after work that has failed on both queues.
    fn failed() -> Wq {
        let heap = Heap::new(1 << 20).expect("a heap");
        let place = |bytes| {
            let at = heap.allocate(bytes).expect("room");
            heap.place(at, bytes).expect("in the heap")
        };
        let mut send = Sender::new(7, 8, place(512), 3);
        (send.read, send.rung, send.broken) = (3, 5, true);
        (send.stalled, send.is_reported) = (Some(Nic::new().now()), true);
        let mut receive = Receiver::new(9, 10, place(512), place(8), 4, 5);
        (receive.taken, receive.broken) = (2, true);
        let mut pair = Pair::new(0);
        pair.state = ERROR;
        Wq {
            send: Some(send),
            receive: Some(receive),
            pair: Some(pair),
            ..Wq::default()
        }
    }

    /// A reset forgets all work and keeps the rings; no other step does.
    #[test]
    fn a_reset_pair_is_as_it_was_made() {
        let mut wq = failed();
        assert!(wq.step(READY_TO_SEND, 0).is_err());
        wq.step(ERROR, 0).expect("from every state");
        for is_reset in [false, true] {
            if is_reset {
                wq.step(RESET, 0).expect("from every state");
            }
            let send = wq.send.as_ref().expect("a queue");
            let done = (send.read, send.rung, send.broken);
            assert_eq!(
                done,
                if is_reset {
                    (0, 0, false)
                } else {
                    (3, 5, true)
                }
            );
            assert_eq!(
                (send.stalled.is_none(), send.is_reported),
                (is_reset, !is_reset)
            );
            assert_eq!((send.cqn, send.user_index, send.log_depth), (7, 8, 3));
            let receive = wq.receive.as_ref().expect("a queue");
            let done = (receive.taken, receive.broken);
            assert_eq!(done, if is_reset { (0, false) } else { (2, true) });
            assert_eq!((receive.cqn, receive.user_index), (9, 10));
            assert_eq!((receive.log_depth, receive.log_stride), (4, 5));
        }
        let state = |wq: &Wq| wq.pair.map(|pair| pair.state);
        assert_eq!(state(&wq), Some(RESET));
    }
}
