//! Receive queues.

use super::completion::Completion;
use super::format;
use super::key::Keys;
use crate::process::Place;

/// A segment with this key ends an entry.
const NO_KEY: u32 = 0x100;

pub(crate) struct Receiver {
    pub(crate) cqn: u32,
    pub(crate) user_index: u32,
    pub(crate) ring: Place,
    pub(crate) record: Place,
    pub(crate) log_depth: u8,
    pub(crate) log_stride: u8,
    pub(crate) taken: u16,
    pub(crate) broken: bool,
}

/// An entry that was taken, in a ring that the heap keeps mapped.
pub(crate) struct Buffer {
    entry: *const u8,
    segments: usize,
    counter: u16,
}

impl Receiver {
    pub(crate) fn new(
        cqn: u32,
        user_index: u32,
        ring: Place,
        record: Place,
        log_depth: u8,
        log_stride: u8,
    ) -> Self {
        Self {
            cqn,
            user_index,
            ring,
            record,
            log_depth,
            log_stride,
            taken: 0,
            broken: false,
        }
    }

    /// As it was made: no buffer was taken.
    pub(super) fn reset(&mut self) {
        (self.taken, self.broken) = (0, false);
    }

    pub(crate) fn has_buffer(&self) -> bool {
        !self.broken && self.record.word(0) as u16 != self.taken
    }

    /// The buffers that its record gives, if they are more than it has.
    pub(crate) fn excess(&self) -> Option<u16> {
        let given = (self.record.word(0) as u16).wrapping_sub(self.taken);
        Some(given).filter(|&given| u32::from(given) > 1 << self.log_depth)
    }

    pub(crate) fn take(&mut self) -> Option<Buffer> {
        if !self.has_buffer() {
            return None;
        }
        let bytes = 1_usize << self.log_stride;
        let at = u64::from(self.taken) & ((1 << self.log_depth) - 1);
        let entry = self
            .ring
            .at(at << self.log_stride, bytes as u64)
            .cast_const();
        let buffer = Buffer {
            entry,
            segments: bytes / format::SEGMENT,
            counter: self.taken,
        };
        self.taken = self.taken.wrapping_add(1);
        Some(buffer)
    }
}

impl Buffer {
    pub(crate) fn completion(&self, number: u32) -> Completion {
        Completion {
            number,
            counter: self.counter,
            ..Completion::default()
        }
    }

    pub(crate) fn scatter(&self, keys: &Keys, pd: usize, mut message: &[u8]) -> Result<(), String> {
        let all = message.len();
        for segment in 0..self.segments {
            // SAFETY: a segment of the entry, which stays mapped while the NIC holds its ring.
            let raw = unsafe {
                format::read_words::<{ format::SEGMENT / 8 }>(
                    self.entry.add(segment * format::SEGMENT),
                )
            };
            let raw = raw.as_flattened();
            let (length, key) = (format::be32(raw, 0), format::be32(raw, 4));
            if message.is_empty() || key == NO_KEY && length == 0 {
                break;
            }
            let (now, rest) = message.split_at(message.len().min(length as usize));
            keys.allows(key, pd)?;
            keys.write(key, format::be64(raw, 8), format::LOCAL_WRITE, now)?;
            message = rest;
        }
        if message.is_empty() {
            return Ok(());
        }
        Err(format!(
            "a message of {all} bytes for a buffer of {}",
            all - message.len()
        ))
    }
}
