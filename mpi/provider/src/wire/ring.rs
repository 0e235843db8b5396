//! A ring of records in shared memory, from one process to one other.
//!
//! **Memory.** A control line, then a power of two of lines of 64 bytes. A record's head takes one
//! line: its first word is the stamp, the others are [`Record::to_words`]; payload that is not in
//! the head follows on whole lines. Records never cross the end; a `Wrap` record fills the rest.
//!
//! **States.** The line at position p holds a record once its stamp is p + 1. If the line after a
//! record had payload last, the sender makes its stamp zero before it stamps the record itself, so
//! old payload is never taken for a stamp; old stamps are smaller. The receiver's position in the
//! control line says which lines are free again.
//!
//! **Orderings.** Stamp: Release by the sender -> Acquire by the receiver: head and payload are
//! written. Receiver's position: Release -> Acquire: payload is read. `asleep`: SeqCst on both
//! sides with a fence after the stamp, so that either the sender sees the sleeper or the sleeper
//! the stamp.
//!
//! **Trust.** Each side keeps its own position; it only compares numbers of the other side. A
//! receiver's position ahead of the sender's or more than a ring behind it ends the connection, and
//! so does an invalid record. Payload is copied once, as bytes, and never read in place.
//!
//! **Cost.** A small message moves one cache line, and neither side touches another line: reading
//! the next line's stamp would cost one more miss.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use super::lease::Lease;
use super::record::{Bytes, EAGER_MAX, HEAD_WORDS, INLINE, Kind, Record, flag};
use super::witness::Announced;
use crate::bindings::IoVec;
use crate::wire::memory::gather;

const LINE: usize = 64;
/// Least lines of a ring: two of the longest records, and room to spare.
pub(super) const LINES_MIN: usize = (2 * EAGER_MAX / LINE).next_power_of_two() * 2;
/// Most lines of a ring.
pub(super) const LINES_MAX: usize = 1 << 20;

pub(crate) const fn ring_bytes(lines: usize) -> usize {
    LINE + lines * LINE
}

/// The receiver's line, read by the sender.
#[repr(C, align(64))]
struct Control {
    /// Lines that the receiver has freed.
    done: AtomicU64,
    /// The receiver sleeps, or is about to.
    asleep: AtomicU32,
    /// The receiver wants long messages announced.
    crowded: AtomicU32,
    /// Until when the sender may use what it reads in the receiver's memory.
    lease: Lease,
    /// How the sender knows the receiver's memory.
    witness: Announced,
}

/// The memory of a ring: the common part of both ends.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: NonNull<u8>,
    /// Lines less one.
    mask: u64,
}

impl Place {
    fn control(&self) -> &Control {
        // SAFETY: the ring's first line, mapped as long as the end lives (`new`); any bytes are a
        // valid `Control`.
        unsafe { self.start.cast::<Control>().as_ref() }
    }

    fn index(&self, position: u64) -> usize {
        (position & self.mask) as usize
    }

    fn line(&self, position: u64) -> *mut u8 {
        let index = self.index(position);
        // SAFETY: the index is below the number of lines, all of which are mapped.
        unsafe { self.start.as_ptr().add(LINE + index * LINE) }
    }

    fn words(&self, position: u64) -> &[AtomicU64; 1 + HEAD_WORDS] {
        // SAFETY: `line` gives a whole one, mapped as long as the end lives.
        unsafe { words(self.line(position)) }
    }

    /// Lines up to the ring's end.
    fn rest(&self, position: u64) -> u64 {
        self.lines() - (position & self.mask)
    }

    fn lines(&self) -> u64 {
        self.mask + 1
    }
}

/// The words of a line.
///
/// # Safety
/// A whole line of a ring, which stays mapped.
#[inline(always)]
unsafe fn words<'a>(line: *const u8) -> &'a [AtomicU64; 1 + HEAD_WORDS] {
    // SAFETY: the caller's promise: 64 bytes, aligned to as many. Any bytes are valid words, and
    // all access that is not by these atomics is to payload lines.
    unsafe { &*line.cast() }
}

#[inline(always)]
fn prefetch(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, without effect on what the program does.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(line.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

/// Lines of a record with `outside` payload bytes after its head.
fn lines_of(outside: usize) -> u64 {
    1 + outside.div_ceil(LINE) as u64
}

/// The peer broke the rules of the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Broken;

/// The sending end.
#[derive(Debug)]
pub(super) struct RingSender {
    place: Place,
    tail: u64,
    /// The receiver's position as last seen.
    done: u64,
    /// The lines whose last content was payload. Only this side writes to a sound ring.
    payload: Box<[bool]>,
}

impl RingSender {
    /// # Safety
    /// `start` is aligned to 64 bytes and begins [`ring_bytes`]`(lines)` bytes that stay mapped
    /// until the value is dropped, `lines` is a power of two of at least [`LINES_MIN`], and no
    /// other sender of this ring exists in this process.
    pub(super) unsafe fn new(start: NonNull<u8>, lines: usize) -> Self {
        let payload = vec![false; lines].into();
        Self {
            place: Place {
                start,
                mask: lines as u64 - 1,
            },
            tail: 0,
            done: 0,
            payload,
        }
    }

    /// Puts a record and the payload that stands outside its head, `skip` bytes into the list.
    /// `Ok(false)`: the ring is full.
    ///
    /// # Safety
    /// The list's buffers can be read and hold `skip +` [`Record::outside`] bytes.
    pub(super) unsafe fn put(
        &mut self,
        record: Record,
        iov: &[IoVec],
        skip: usize,
    ) -> Result<bool, Broken> {
        let outside = record.outside();
        let lines = lines_of(outside);
        let rest = self.place.rest(self.tail);
        let at = if lines > rest {
            self.tail + rest
        } else {
            self.tail
        };
        // One line more: its stamp may be cleared.
        if !self.has_room(at + lines + 1)? {
            return Ok(false);
        }
        self.clear(at + lines);
        if outside > 0 {
            let first = self.place.index(at) + 1;
            self.payload[first..first + lines as usize - 1].fill(true);
            // SAFETY: the record's lines are free (`has_room`) and lie before the ring's end; the
            // caller vouches for the list.
            unsafe { gather(iov, skip, self.place.line(at).add(LINE), outside) };
        }
        if at != self.tail {
            // The wrap leads to the first line.
            self.clear(at);
            self.stamp(self.tail, Record::new(Kind::Wrap));
        }
        self.stamp(at, record);
        self.tail = at + lines;
        Ok(true)
    }

    /// Whether there is room for a record without payload outside its head.
    #[inline(always)]
    pub(super) fn has_room_for_head(&mut self) -> Result<bool, Broken> {
        // One line more: its stamp may be cleared.
        self.has_room(self.tail + 2)
    }

    /// Puts a record whose payload, if any, is in its head. `Ok(false)`: the ring is full.
    #[inline(always)]
    pub(super) fn put_head(&mut self, record: Record) -> Result<bool, Broken> {
        debug_assert_eq!(record.outside(), 0);
        if !self.has_room_for_head()? {
            return Ok(false);
        }
        let at = self.tail;
        self.clear(at + 1);
        self.stamp(at, record);
        self.tail = at + 1;
        Ok(true)
    }

    /// Clears the line's stamp, so that the receiver does not read it as a record too early.
    #[inline(always)]
    fn clear(&mut self, position: u64) {
        if std::mem::take(&mut self.payload[self.place.index(position)]) {
            self.place.words(position)[0].store(0, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn stamp(&self, position: u64, record: Record) {
        let [stamp, head @ ..] = self.place.words(position);
        for (slot, word) in head.iter().zip(record.to_words()) {
            slot.store(word, Ordering::Relaxed);
        }
        stamp.store(position + 1, Ordering::Release);
    }

    #[inline(always)]
    fn has_room(&mut self, end: u64) -> Result<bool, Broken> {
        if end - self.done <= self.place.lines() {
            return Ok(true);
        }
        self.look_for_room(end)
    }

    #[inline(never)]
    fn look_for_room(&mut self, end: u64) -> Result<bool, Broken> {
        let done = self.place.control().done.load(Ordering::Acquire);
        if done < self.done || done > self.tail {
            return Err(Broken);
        }
        self.done = done;
        Ok(end - done <= self.place.lines())
    }

    /// That of the receiver's memory.
    pub(super) fn lease(&self) -> &Lease {
        &self.place.control().lease
    }

    /// That of the receiver.
    pub(super) fn witness(&self) -> &Announced {
        &self.place.control().witness
    }

    pub(super) fn receiver_is_crowded(&self) -> bool {
        self.place.control().crowded.load(Ordering::Relaxed) != 0
    }

    /// Whether the receiver sleeps and must be woken.
    pub(super) fn receiver_sleeps(&self) -> bool {
        fence(Ordering::SeqCst);
        self.place.control().asleep.load(Ordering::SeqCst) != 0
    }
}

/// A message that is read where it lies.
pub(crate) struct Short<'a> {
    /// The record's first word.
    first: u64,
    /// Payload bytes. Up to [`INLINE`] stand in the head, more on the lines after it.
    pub(crate) bytes: usize,
    pub(crate) tag: u64,
    line: *const u8,
    ring: PhantomData<&'a [AtomicU64]>,
}

impl Short<'_> {
    /// A word of the line.
    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        // SAFETY: the line of a ring (`peek`).
        unsafe { words(self.line)[at].load(Ordering::Relaxed) }
    }

    /// The sender's completion data; 0 from a sound sender without them.
    #[inline(always)]
    pub(crate) fn data(&self) -> u64 {
        self.word(3)
    }

    #[inline(always)]
    pub(crate) fn has_data(&self) -> bool {
        self.first & u64::from(flag::DATA) << 8 != 0
    }

    #[inline(always)]
    pub(crate) fn body(&self) -> [u64; 3] {
        [5, 6, 7].map(|at| self.word(at))
    }

    /// The payload outside the head, until [`RingReceiver::release`].
    pub(crate) fn outside(&self) -> Bytes {
        let length = if self.bytes > INLINE { self.bytes } else { 0 };
        Bytes {
            start: self.line.wrapping_add(LINE),
            length,
        }
    }

    pub(crate) fn lines(&self) -> u64 {
        lines_of(self.outside().length)
    }

    /// Copies the payload. Returns the record's lines.
    ///
    /// # Safety
    /// The target has room for it.
    #[inline(always)]
    pub(crate) unsafe fn copy_to(&self, target: *mut u8) -> u64 {
        // SAFETY: the caller's promise; the body has `INLINE` bytes, and more are on lines of the
        // ring (`peek`). The most common length needs no call.
        unsafe {
            if self.bytes == 8 {
                target.cast::<u64>().write_unaligned(self.word(5));
                1
            } else if self.bytes <= INLINE {
                target.copy_from_nonoverlapping(self.body().as_ptr().cast(), self.bytes);
                1
            } else {
                target.copy_from_nonoverlapping(self.line.add(LINE), self.bytes);
                lines_of(self.bytes)
            }
        }
    }

    #[inline(always)]
    pub(crate) fn record(&self) -> Record {
        let Self {
            first, bytes, tag, ..
        } = *self;
        let (flags, bytes, body) = ((first >> 8) as u8, bytes as u32, self.body());
        let (data, cookie) = (self.data(), self.word(4));
        Record {
            kind: Kind::Eager,
            flags,
            bytes,
            tag,
            data,
            cookie,
            body,
        }
    }
}

/// The receiving end.
#[derive(Debug)]
pub(crate) struct RingReceiver {
    place: Place,
    /// Next line to read.
    head: u64,
    /// The position that the sender can see.
    released: u64,
}

impl RingReceiver {
    /// # Safety
    /// The conditions of [`RingSender::new`], for the one receiver.
    pub(super) unsafe fn new(start: NonNull<u8>, lines: usize) -> Self {
        Self {
            place: Place {
                start,
                mask: lines as u64 - 1,
            },
            head: 0,
            released: 0,
        }
    }

    /// Whether a record waits.
    #[inline]
    pub(super) fn ready(&self) -> bool {
        self.place.words(self.head)[0].load(Ordering::Acquire) == self.head + 1
    }

    /// The next record, not passed yet, if it is a tagged message with its data in this ring for
    /// whose end the sender does not wait.
    #[inline(always)]
    pub(crate) fn peek_plain(&self) -> Option<Short<'_>> {
        let [stamp, first, tag, ..] = self.place.words(self.head);
        if stamp.load(Ordering::Acquire) != self.head + 1 {
            return None;
        }
        let first = first.load(Ordering::Relaxed);
        let bytes = (first >> 32) as usize;
        let plain = u64::from(flag::TAGGED) << 8 | Kind::Eager as u64;
        if first & (u64::from(flag::ACK) << 8 | plain | 0xff) != plain
            || bytes > INLINE && !self.has_outside(bytes)
        {
            return None;
        }
        let (tag, line) = (tag.load(Ordering::Relaxed), self.place.line(self.head));
        Some(Short {
            first,
            bytes,
            tag,
            line,
            ring: PhantomData,
        })
    }

    /// Whether the next record can have that much payload after its head.
    fn has_outside(&self, bytes: usize) -> bool {
        bytes <= EAGER_MAX && lines_of(bytes) <= self.place.rest(self.head)
    }

    /// Passes the record of that many lines that [`peek_plain`](Self::peek_plain) gave.
    #[inline(always)]
    pub(crate) fn pass(&mut self, lines: u64) {
        self.head += lines;
        // The sender has written it or will soon: prefetch it while this one is handled.
        prefetch(self.place.line(self.head + 1));
    }

    /// The next record; its payload lies in the ring until [`release`](Self::release).
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(Record, Bytes)>, Broken> {
        self.next_if(|_| true)
    }

    /// Works like [`next`](Self::next) if the next record is wanted; other ones stay.
    #[inline]
    pub(super) fn next_if(
        &mut self,
        wanted: impl FnOnce(&Record) -> bool,
    ) -> Result<Option<(Record, Bytes)>, Broken> {
        while self.ready() {
            let mut words = [0; HEAD_WORDS];
            for (word, slot) in words.iter_mut().zip(&self.place.words(self.head)[1..]) {
                *word = slot.load(Ordering::Relaxed);
            }
            let record = Record::from_words(words).ok_or(Broken)?;
            let rest = self.place.rest(self.head);
            if record.kind == Kind::Wrap {
                if rest == self.place.lines() {
                    // A wrap never fills a whole ring; otherwise this loop might not end.
                    return Err(Broken);
                }
                self.head += rest;
                continue;
            }
            if !wanted(&record) {
                return Ok(None);
            }
            let length = record.outside();
            let lines = lines_of(length);
            if lines > rest {
                return Err(Broken);
            }
            // SAFETY: inside the ring: the record ends before the ring does.
            let start = unsafe { self.place.line(self.head).add(LINE) };
            self.head += lines;
            // The sender has written it or will soon: prefetch it while this one is handled.
            prefetch(self.place.line(self.head + 1));
            return Ok(Some((record, Bytes { start, length })));
        }
        Ok(None)
    }

    /// Gives the lines of all records read so far back to the sender.
    #[inline]
    pub(super) fn release(&mut self) {
        if self.released != self.head {
            self.released = self.head;
            self.place
                .control()
                .done
                .store(self.head, Ordering::Release);
        }
    }

    /// That of this side's memory.
    pub(super) fn lease(&self) -> &Lease {
        &self.place.control().lease
    }

    /// That of this side.
    pub(super) fn witness(&self) -> &Announced {
        &self.place.control().witness
    }

    /// Asks the sender to announce long messages, or no longer.
    pub(super) fn set_crowded(&self, crowded: bool) {
        self.place
            .control()
            .crowded
            .store(crowded.into(), Ordering::Relaxed);
    }

    /// Announces that this side will sleep. `false`: a record waits.
    pub(super) fn fall_asleep(&self) -> bool {
        self.place.control().asleep.store(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        !self.ready()
    }

    /// Announces that this side is awake.
    pub(super) fn wake(&self) {
        self.place.control().asleep.store(0, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests;
