//! Send queues.

use super::asleep::Moment;
use super::completion::Completion;
use super::far::Asked;
use super::pair::ERROR;
use super::{Nic, format};
use crate::check::race::Cause;
use crate::check::{Fault, device};
use crate::process::Place;
use crate::thread::Unit;

/// Units of the longest entry: a count of segments has six bits.
const UNITS: usize = 16;
/// Bits of a data segment's count that say that data follow.
const INLINE: u32 = 1 << 31;

pub(crate) struct Sender {
    pub(crate) cqn: u32,
    pub(crate) user_index: u32,
    pub(crate) ring: Place,
    pub(crate) log_depth: u8,
    /// Units of 64 bytes that the NIC has read, and the last doorbell's.
    pub(crate) read: u16,
    pub(crate) rung: u16,
    /// Since when its next entry finds no buffer at its peer, and whether that was reported.
    pub(super) stalled: Option<Moment>,
    pub(super) is_reported: bool,
    /// Turns of the NIC for which its next entry, a READ, has waited.
    waited: u64,
    pub(crate) broken: bool,
    /// What its next entry has asked another program, how often it has asked, and the parts of an
    /// answer.
    pub(super) asked: Option<Asked>,
    pub(super) asks: u32,
    pub(super) parts: Vec<u8>,
}

/// An entry: all its units, of which it means `length` bytes.
struct Entry {
    bytes: Vec<u8>,
    length: usize,
    units: u16,
}

impl Sender {
    pub(crate) fn new(cqn: u32, user_index: u32, ring: Place, log_depth: u8) -> Self {
        Self {
            cqn,
            user_index,
            ring,
            log_depth,
            read: 0,
            rung: 0,
            stalled: None,
            is_reported: false,
            waited: 0,
            broken: false,
            asked: None,
            asks: 0,
            parts: Vec::new(),
        }
    }

    /// As it was made: nothing was rung or read, and no entry waits. The count of requests goes on,
    /// so that an answer to an earlier one is none.
    pub(super) fn reset(&mut self) {
        *self = Self {
            asks: self.asks,
            ..Self::new(self.cqn, self.user_index, self.ring.clone(), self.log_depth)
        };
    }

    /// The entry at `index`, in the memory of `bytes`.
    fn entry_at(&self, index: u16, mut bytes: Vec<u8>) -> Entry {
        let unit = |at: usize| {
            let place = (u64::from(index) + at as u64) & ((1 << self.log_depth) - 1);
            let unit = self.ring.at(place * format::WQEBB, format::WQEBB);
            // SAFETY: a unit of the ring, which the heap keeps mapped.
            unsafe { format::read_words::<{ format::WQEBB as usize / 8 }>(unit) }
        };
        bytes.clear();
        bytes.extend_from_slice(unit(0).as_flattened());
        let length = usize::from(bytes[7] & 0x3f) * format::SEGMENT;
        let units = length.div_ceil(format::WQEBB as usize).clamp(1, UNITS);
        (1..units).for_each(|at| bytes.extend_from_slice(unit(at).as_flattened()));
        Entry {
            length: length.min(bytes.len()),
            bytes,
            units: units as u16,
        }
    }
}

/// Why an entry is not done: a syndrome and a reason, or the peer has no buffer or answer yet.
pub(super) enum Undone {
    Bad(u8, String),
    NotReady,
}

impl From<String> for Undone {
    fn from(why: String) -> Self {
        Self::Bad(format::LOCAL_OPERATION, why)
    }
}

pub(super) fn local(why: String) -> Undone {
    Undone::Bad(format::LOCAL_PROTECTION, why)
}

impl Nic {
    /// A doorbell: the NIC reads entries up to `index`.
    pub(crate) fn ring(&mut self, by: Option<&Unit>, index: u16, number: u32) {
        crate::trace::doorbell(by, "ring", number, index.into());
        let process = self.wqs.get(number).map_or(0, |wq| wq.process);
        let Some(send) = self.wqs.get_mut(number).and_then(|wq| wq.send.as_mut()) else {
            let text = format_args!("no send queue {number:#x} to ring");
            return device(by, Fault::NoSuchQueue, text);
        };
        if let Some(owner) = super::strangers(by, process) {
            let text = format_args!("send queue {number:#x} belongs to process {owner}");
            return device(by, Fault::Foreign, text);
        }
        let (read, depth) = (send.read, 1_u32 << send.log_depth);
        if u32::from(index.wrapping_sub(read)) > depth {
            let text = format_args!(
                "send queue {number:#x}: doorbell {index} is more than its depth past {read}"
            );
            return device(by, Fault::BadEntry, text);
        }
        send.rung = index;
        self.work_on(by, number);
    }

    /// Whether a send queue's entries go out on the wire: others are for pairs of this program.
    pub(crate) fn goes_out(&self, number: u32) -> bool {
        let pair = self.wqs.get(number).and_then(|wq| wq.pair);
        pair.is_none_or(|pair| self.wires.is_far(pair.remote))
    }

    /// Memory that a doorbell up to `index` announces: entries, and the data that they name.
    pub(crate) fn announced(&self, index: u16, number: u32) -> Vec<(usize, usize, &'static str)> {
        let mut found = Vec::new();
        let Some(wq) = self.wqs.get(number) else {
            return found;
        };
        let Some(send) = &wq.send else { return found };
        let mut at = send.read;
        while at != index && found.len() < 1 << 10 {
            let entry = send.entry_at(at, Vec::new());
            for unit in 0..entry.units {
                let place = u64::from(at.wrapping_add(unit)) & ((1 << send.log_depth) - 1);
                let start = send.ring.at(place * format::WQEBB, format::WQEBB);
                let left = entry.length.saturating_sub(usize::from(unit) * 64);
                found.push((start.addr(), left.clamp(1, 64), "an entry"));
            }
            let data = match (entry.bytes[3], wq.pair.is_some()) {
                (format::SEND | format::SEND_IMMEDIATE, true) => 0x10,
                (format::SEND, false) | (format::WRITE | format::WRITE_IMMEDIATE, _) => 0x20,
                _ => entry.bytes.len(),
            };
            let bytes = &entry.bytes[..entry.length];
            for segment in (data..bytes.len()).step_by(format::SEGMENT) {
                let (count, key) = (
                    format::be32(bytes, segment),
                    format::be32(bytes, segment + 4),
                );
                let address = format::be64(bytes, segment + 8);
                let place = self.keys.reach(key, address, count.into(), 0);
                found.extend(place.ok().map(|at| (at.addr(), count as usize, "its data")));
            }
            at = at.wrapping_add(entry.units);
        }
        found
    }

    /// Does the entries that a doorbell has announced, until a peer has no buffer.
    fn work_on(&mut self, by: Option<&Unit>, number: u32) {
        let mut memory = std::mem::take(&mut self.entry);
        let _cause = Cause::queue(number);
        while let Some(send) = self.wqs.get(number).and_then(|wq| wq.send.as_ref()) {
            if send.broken || send.read == send.rung {
                break;
            }
            let entry = send.entry_at(send.read, std::mem::take(&mut memory));
            let (read, cqn) = (send.read, send.cqn);
            let mut completion = Completion {
                number,
                counter: read,
                operation: entry.bytes[3],
                user_index: send.user_index,
                ..Completion::default()
            };
            let result = self.execute(&entry, read, number);
            let wanted = entry.bytes[11] >> 2 & 3 >= 2;
            memory = entry.bytes;
            if let Err(Undone::NotReady) = result {
                if !self.stalled.contains(&number) {
                    self.stalled.push(number);
                }
                let now = self.now();
                if let Some(send) = self.sender(number) {
                    send.stalled.get_or_insert(now);
                }
                break;
            }
            let Some(wq) = self.wqs.get_mut(number) else {
                break;
            };
            let Some(send) = &mut wq.send else { break };
            (send.stalled, send.is_reported) = (None, false);
            let left = send.rung.wrapping_sub(read);
            send.read = if entry.units < left {
                read.wrapping_add(entry.units)
            } else {
                send.rung
            };
            if let Err(Undone::Bad(syndrome, why)) = &result {
                send.broken = true;
                wq.pair.iter_mut().for_each(|pair| pair.state = ERROR);
                device(
                    by,
                    Fault::BadEntry,
                    format_args!("send queue {number:#x}, entry {read}: {why}"),
                );
                completion.fail(format::REQUESTER_ERROR, *syndrome);
            }
            if wanted || result.is_err() {
                self.complete(cqn, &completion);
            }
        }
        self.entry = memory;
    }

    /// Tries entries again whose peers had no buffer. Answers whether one of them went on.
    pub(super) fn try_again(&mut self) -> bool {
        if self.stalled.is_empty() {
            return false;
        }
        let stalled = std::mem::take(&mut self.stalled);
        let read = |nic: &Self, number: u32| {
            nic.wqs
                .get(number)
                .and_then(|wq| wq.send.as_ref())
                .map(|send| send.read)
        };
        let mut moved = false;
        for number in stalled {
            let before = read(self, number);
            let send = self.wqs.get_mut(number).and_then(|wq| wq.send.as_mut());
            send.into_iter().for_each(|send| send.waited += 1);
            self.work_on(None, number);
            moved |= before != read(self, number);
        }
        moved
    }

    fn execute(&mut self, entry: &Entry, read: u16, number: u32) -> Result<(), Undone> {
        let bytes = &entry.bytes[..entry.length];
        if bytes.len() < format::SEGMENT {
            return Err("it has no segment".to_owned().into());
        }
        let (index, named) = (format::be16(bytes, 1), format::be32(bytes, 4) >> 8);
        if named != number {
            return Err(format!("it names queue {named:#x}").into());
        }
        if index != read {
            // Hardware ignores the index of an Ethernet send; programs write the first pass's.
            let depth = self.wqs.get(number).and_then(|wq| wq.send.as_ref());
            let mask = depth.map_or(0, |send| (1_u32 << send.log_depth) - 1) as u16;
            if index & mask != read & mask {
                return Err(format!("its index is {index}").into());
            }
        }
        match (bytes[3], self.wqs.get(number).and_then(|wq| wq.pair)) {
            (format::NOP, _) => Ok(()),
            (opcode, Some(pair)) => {
                let send = self.wqs.get_mut(number).and_then(|wq| wq.send.as_mut());
                if opcode == format::READ
                    && let Some(send) = send
                {
                    if send.waited < self.read_turns {
                        return Err(Undone::NotReady);
                    }
                    send.waited = 0;
                }
                self.operate(opcode, bytes, number, pair)
            }
            (format::SEND, None) => self.send_ethernet(number, bytes),
            (other, None) => Err(format!("opcode {other:#x} is not emulated").into()),
        }
    }

    /// Adds the data of the segments from `at` on.
    pub(super) fn gather(
        &self,
        pd: usize,
        bytes: &[u8],
        mut at: usize,
        data: &mut Vec<u8>,
        most: usize,
    ) -> Result<(), Undone> {
        while at + format::SEGMENT <= bytes.len() {
            let count = format::be32(bytes, at);
            let length = (count & !INLINE) as usize;
            if data.len() + length > most {
                return Err(format!("more than {most} bytes").into());
            }
            if count & INLINE != 0 {
                let Some(inline) = bytes.get(at + 4..at + 4 + length) else {
                    return Err(format!("{length} bytes inline in its segments").into());
                };
                data.extend_from_slice(inline);
                at = (at + 4 + length).next_multiple_of(format::SEGMENT);
            } else {
                let (key, address) = (format::be32(bytes, at + 4), format::be64(bytes, at + 8));
                self.keys.allows(key, pd).map_err(local)?;
                self.keys
                    .read(key, address, length as u64, 0, data)
                    .map_err(local)?;
                at += format::SEGMENT;
            }
        }
        Ok(())
    }

    fn send_ethernet(&mut self, number: u32, bytes: &[u8]) -> Result<(), Undone> {
        if bytes.len() < 3 * format::SEGMENT {
            return Err(format!("{} segments for an Ethernet frame", bytes.len() / 16).into());
        }
        let header = usize::from(format::be16(bytes, 0x1c));
        let at = if header <= 2 {
            0x20
        } else {
            (0x1e + header).next_multiple_of(16)
        };
        let mut frame = std::mem::take(&mut self.outgoing);
        frame.clear();
        if let Some(inline) = bytes.get(0x1e..0x1e + header) {
            frame.extend_from_slice(inline);
        }
        let pd = self.wqs.get(number).map_or(0, |wq| wq.pd);
        let result = self.gather(pd, bytes, at, &mut frame, super::FRAME);
        if result.is_ok() {
            self.send_frame(&frame);
        }
        self.outgoing = frame;
        result
    }
}
