//! Send queues.

use super::completion::Completion;
use super::{Nic, Wq, format};
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
    /// Units of 64 bytes that the NIC has read.
    pub(crate) read: u16,
    pub(crate) broken: bool,
}

struct Entry {
    bytes: [u8; UNITS * format::WQEBB as usize],
    length: usize,
    units: u16,
}

impl Sender {
    fn entry(&self) -> Entry {
        let mut entry = Entry { bytes: [0; UNITS * format::WQEBB as usize], length: 0, units: 1 };
        let unit = format::WQEBB as usize;
        let copy = |entry: &mut Entry, at: usize| {
            let place = (u64::from(self.read) + at as u64) & ((1 << self.log_depth) - 1);
            let from = self.ring.at(place * format::WQEBB, format::WQEBB);
            let into = entry.bytes[at * unit..].as_mut_ptr();
            // SAFETY: a unit of the ring, which the heap keeps mapped, into a unit of the entry.
            unsafe { std::ptr::copy_nonoverlapping(from, into, unit) };
        };
        copy(&mut entry, 0);
        entry.length = usize::from(entry.bytes[7] & 0x3f) * format::SEGMENT;
        let units = entry.length.div_ceil(unit).clamp(1, UNITS);
        (1..units).for_each(|at| copy(&mut entry, at));
        entry.units = units as u16;
        entry
    }
}

impl Nic {
    /// A doorbell: the NIC reads entries up to `index`.
    pub(crate) fn ring(&mut self, by: Option<&Unit>, index: u16, number: u32) {
        let sender = |wq: &Wq| wq.send.as_ref().map(|send| 1_u16 << send.log_depth.min(15));
        let Some(depth) = self.wqs.get(number).and_then(sender) else {
            return device(
                by,
                Fault::NoSuchQueue,
                format_args!("no send queue {number:#x} to ring"),
            );
        };
        let mut left = depth;
        while let Some(send) = self.wqs.get(number).and_then(|wq| wq.send.as_ref()) {
            if send.broken || send.read == index {
                return;
            }
            if left == 0 {
                let read = send.read;
                let text = format_args!(
                    "send queue {number:#x}: doorbell {index} is more than its depth past {read}"
                );
                return device(by, Fault::BadEntry, text);
            }
            let (entry, read, cqn) = (send.entry(), send.read, send.cqn);
            let mut completion = Completion {
                number,
                counter: read,
                operation: entry.bytes[3],
                user_index: send.user_index,
                ..Completion::default()
            };
            let result = self.execute(&entry, read, number);
            let Some(send) = self.wqs.get_mut(number).and_then(|wq| wq.send.as_mut()) else {
                return;
            };
            send.read = read.wrapping_add(entry.units);
            left = left.saturating_sub(entry.units);
            let wanted = entry.bytes[11] >> 2 & 3 >= 2;
            if let Err((syndrome, why)) = &result {
                send.broken = true;
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
    }

    fn execute(&mut self, entry: &Entry, read: u16, number: u32) -> Result<(), (u8, String)> {
        let bytes = &entry.bytes[..entry.length.min(entry.bytes.len())];
        let bad = |why: String| (format::LOCAL_OPERATION, why);
        if bytes.len() < format::SEGMENT {
            return Err(bad("it has no segment".into()));
        }
        let (index, named) = (format::be16(bytes, 1), format::be32(bytes, 4) >> 8);
        if named != number {
            return Err(bad(format!("it names queue {named:#x}")));
        }
        if index != read {
            // Hardware ignores the index of an Ethernet send; programs write the first pass's.
            let depth = self.wqs.get(number).and_then(|wq| wq.send.as_ref());
            let mask = depth.map_or(0, |send| (1_u32 << send.log_depth) - 1) as u16;
            if index & mask != read & mask {
                return Err(bad(format!("its index is {index}")));
            }
        }
        match bytes[3] {
            format::NOP => Ok(()),
            format::SEND => self.send_ethernet(bytes),
            other => Err(bad(format!("opcode {other:#x} is not emulated"))),
        }
    }

    fn send_ethernet(&mut self, bytes: &[u8]) -> Result<(), (u8, String)> {
        let bad = |why: String| (format::LOCAL_OPERATION, why);
        if bytes.len() < 3 * format::SEGMENT {
            return Err(bad(format!("{} segments for an Ethernet frame", bytes.len() / 16)));
        }
        let header = usize::from(format::be16(bytes, 0x1c));
        let mut at = if header <= 2 { 0x20 } else { (0x1e + header).next_multiple_of(16) };
        let mut frame = std::mem::take(&mut self.outgoing);
        frame.clear();
        if let Some(inline) = bytes.get(0x1e..0x1e + header) {
            frame.extend_from_slice(inline);
        }
        let mut result = Ok(());
        while at + format::SEGMENT <= bytes.len() {
            let count = format::be32(bytes, at);
            let length = (count & !INLINE) as usize;
            if frame.len() + length > super::FRAME {
                result = Err(bad(format!("a frame of more than {} bytes", super::FRAME)));
                break;
            }
            if count & INLINE != 0 {
                match bytes.get(at + 4..at + 4 + length) {
                    Some(data) => frame.extend_from_slice(data),
                    None => result = Err(bad(format!("{length} bytes inline in its segments"))),
                }
                at = (at + 4 + length).next_multiple_of(format::SEGMENT);
            } else {
                let data =
                    (format::be32(bytes, at + 4), format::be64(bytes, at + 8), length as u64);
                let read = self.keys.read(data, 0, &mut frame);
                result = read.map_err(|why| (format::LOCAL_PROTECTION, why));
                at += format::SEGMENT;
            }
            if result.is_err() {
                break;
            }
        }
        if result.is_ok() {
            self.send_frame(&frame);
        }
        self.outgoing = frame;
        result
    }
}
