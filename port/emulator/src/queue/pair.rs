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
            self.send
                .iter_mut()
                .for_each(|own| (own.read, own.rung, own.broken) = (0, 0, false));
            self.receive
                .iter_mut()
                .for_each(|own| (own.taken, own.broken) = (0, false));
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
        let pd = self.wqs.get(number).map_or(0, |wq| wq.pd);
        let peer_pd = self.wqs.get(pair.remote).map_or(0, |wq| wq.pd);
        let peer = self.wqs.get(pair.remote).and_then(|wq| wq.pair);
        let answers = |peer: &Pair| {
            (READY_TO_RECEIVE..=READY_TO_SEND).contains(&peer.state) && peer.remote == number
        };
        let Some(peer) = peer.filter(answers) else {
            let why = format!("QP {:#x} does not answer", pair.remote);
            return Err(Undone::Bad(format::NO_ANSWER, why));
        };
        let segments = |least: usize| match bytes.len() / format::SEGMENT {
            count if count < least => Err(format!("{count} segments for opcode {opcode:#x}")),
            _ => Ok(()),
        };
        let allowed = |right: i32| match peer.access & right {
            0 => Err(remote(format!("QP {:#x} does not allow it", pair.remote))),
            _ => Ok(right),
        };
        let mut data = std::mem::take(&mut self.outgoing);
        data.clear();
        let result = match opcode {
            format::SEND | format::SEND_IMMEDIATE => self
                .gather(pd, bytes, 0x10, &mut data, MESSAGE)
                .and_then(|()| self.receive_message(pair.remote, &data, bytes, opcode)),
            format::WRITE | format::WRITE_IMMEDIATE => (|| {
                segments(2)?;
                let right = allowed(format::REMOTE_WRITE)?;
                self.gather(pd, bytes, 0x20, &mut data, MESSAGE)?;
                let (key, address) = (format::be32(bytes, 0x18), format::be64(bytes, 0x10));
                if opcode == format::WRITE_IMMEDIATE {
                    self.receiver(pair.remote)?;
                }
                if !data.is_empty() {
                    self.keys.allows(key, peer_pd).map_err(remote)?;
                    self.keys
                        .write(key, address, right, &data)
                        .map_err(remote)?;
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
                    let source = format::be32(bytes, 0x18);
                    self.keys.allows(source, peer_pd).map_err(remote)?;
                    let read = self.keys.read(source, from, length, right, &mut data);
                    read.map_err(remote)?;
                    let (key, address) = (format::be32(bytes, at + 4), format::be64(bytes, at + 8));
                    self.keys.allows(key, pd).map_err(local)?;
                    self.keys
                        .write(key, address, format::LOCAL_WRITE, &data)
                        .map_err(local)?;
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
                self.keys.allows(key, peer_pd).map_err(remote)?;
                let old = self
                    .keys
                    .change(key, address, right, change)
                    .map_err(remote)?;
                let (key, address) = (format::be32(bytes, 0x34), format::be64(bytes, 0x38));
                let old = old.to_ne_bytes();
                self.keys.allows(key, pd).map_err(local)?;
                self.keys
                    .write(key, address, format::LOCAL_WRITE, &old)
                    .map_err(local)
            })(),
            other => Err(format!("opcode {other:#x} is not emulated").into()),
        };
        self.outgoing = data;
        result
    }

    /// The peer's receive queue, its own or a shared one, which has a buffer.
    fn receiver(&mut self, number: u32) -> Result<&mut Receiver, Undone> {
        let shared = self.wqs.get(number).and_then(|wq| wq.shared);
        match self
            .wqs
            .get_mut(shared.unwrap_or(number))
            .and_then(|wq| wq.receive.as_mut())
        {
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
        let receiver = self.receiver(number)?;
        if let Some(given) = receiver.excess() {
            let (cqn, depth) = (receiver.cqn, 1_u32 << receiver.log_depth);
            let unit = self.cqs.get(cqn).and_then(|cq| cq.unit.clone());
            super::too_many_buffers(unit.as_deref(), number, given, depth);
        }
        let receiver = self.receiver(number)?;
        let (cqn, user_index) = (receiver.cqn, own_index.unwrap_or(receiver.user_index));
        let Some(buffer) = receiver.take() else {
            return Err(Undone::NotReady);
        };
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
