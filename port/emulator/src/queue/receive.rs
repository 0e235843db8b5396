//! Receive queues.

use super::completion::Completion;
use super::format;
use super::key::Keys;
use crate::process::Place;

const SEGMENTS: usize = 32;
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

pub(crate) struct Buffer {
    segments: [(u32, u64, u32); SEGMENTS],
    count: usize,
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
        Self { cqn, user_index, ring, record, log_depth, log_stride, taken: 0, broken: false }
    }

    pub(crate) fn has_buffer(&self) -> bool {
        !self.broken && self.record.word(0) as u16 != self.taken
    }

    pub(crate) fn take(&mut self) -> Option<Buffer> {
        if !self.has_buffer() {
            return None;
        }
        let mut buffer = Buffer { segments: [(0, 0, 0); SEGMENTS], count: 0, counter: self.taken };
        let bytes = 1_usize << self.log_stride;
        let at = u64::from(self.taken) & ((1 << self.log_depth) - 1);
        let entry = self.ring.at(at << self.log_stride, bytes as u64);
        for segment in 0..(bytes / format::SEGMENT).min(SEGMENTS) {
            let mut raw = [0; format::SEGMENT];
            // SAFETY: within the ring's entry, which the heap keeps mapped.
            unsafe {
                let from = entry.add(segment * format::SEGMENT);
                std::ptr::copy_nonoverlapping(from, raw.as_mut_ptr(), format::SEGMENT);
            }
            let (length, key) = (format::be32(&raw, 0), format::be32(&raw, 4));
            if key == NO_KEY && length == 0 {
                break;
            }
            buffer.segments[segment] = (key, format::be64(&raw, 8), length);
            buffer.count += 1;
        }
        self.taken = self.taken.wrapping_add(1);
        Some(buffer)
    }
}

impl Buffer {
    pub(crate) fn completion(&self, number: u32) -> Completion {
        Completion { number, counter: self.counter, ..Completion::default() }
    }

    pub(crate) fn scatter(&self, keys: &Keys, mut message: &[u8]) -> Result<(), String> {
        let all = message.len();
        for &(key, address, length) in &self.segments[..self.count] {
            let (now, rest) = message.split_at(message.len().min(length as usize));
            if !now.is_empty() {
                keys.write((key, address), format::LOCAL_WRITE, now)?;
            }
            message = rest;
        }
        if message.is_empty() {
            return Ok(());
        }
        Err(format!("a message of {all} bytes for a buffer of {}", all - message.len()))
    }
}
