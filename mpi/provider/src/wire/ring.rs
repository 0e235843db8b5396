//! A ring of records in shared memory, from one process to one other.
//!
//! **Memory.** Two control lines, then a power of two of lines of 64 bytes. A record's head takes
//! one line: its first word is the stamp, the others are [`Record::to_words`]; payload that is not
//! in the head follows on whole lines. Records never cross the end; a `Wrap` record fills the rest.
//!
//! **States.** The line at position p holds a record once its stamp is p + 1. If the line after a
//! record had payload last, the sender makes its stamp zero before it stamps the record itself, so
//! old payload is never taken for a stamp; old stamps are smaller. In a full ring that line is the
//! head of the oldest record, which no payload was on. The receiver's position in the
//! control line says which lines are free again.
//!
//! **Pages.** After [`LIGHT`] lines a sender looks at the receiver's position. If the receiver has
//! taken everything, the sender goes back to the ring's first line, by a `Wrap` record. So light
//! traffic touches two pages, and a record's lines if these are more. Going back leaves less room,
//! so a sender that has once found none uses the whole ring from then on.
//!
//! **Orderings.** Stamp: Release by the sender -> Acquire by the receiver: head and payload are
//! written. Receiver's position: Release -> Acquire: payload is read. `asleep`: the sender stamps
//! the record and looks for a sleeper, the sleeper says that it sleeps and looks for a stamp. Each
//! has a SeqCst fence between, so that one of them sees the other. The models of
//! `loom_tests/tests/rings.rs` run this file.
//!
//! **Trust.** Each side keeps its own position; it only compares numbers of the other side. A
//! receiver's position ahead of the sender's or more than a ring behind it ends the connection, and
//! so does an invalid record. Payload is copied once, as bytes, and never read in place.
//!
//! **Cost.** A small message moves one cache line, and neither side touches another line: reading
//! the next line's stamp would cost one more miss. The sender's look costs a miss, too.

use std::marker::PhantomData;
use std::ptr::NonNull;

use dpamatch_door::{Ordering, fault, fence, weak};

use super::lease::Lease;
use super::record::{Bytes, EAGER_MAX, HEAD_WORDS, INLINE, Kind, Record, flag};
use super::shared::{Announced, Control, Line};
use crate::bindings::IoVec;

/// Bytes of payload on a line.
const LINE: usize = 64;
/// Least lines of a ring: two of the longest records, and room to spare.
pub(super) const LINES_MIN: usize = (2 * EAGER_MAX / LINE).next_power_of_two() * 2;
/// Most lines of a ring.
pub(super) const LINES_MAX: usize = 1 << 20;

/// Most lines that a sender uses while the receiver keeps up. With the control lines and the next
/// line they are on two pages, also in a second ring. Models have rings of four lines.
const LIGHT: u64 = if cfg!(dpamatch_loom) { 3 } else { 123 };

/// Lines between two looks of a sender that could not go back.
const LOOK_EVERY: u64 = 16;

pub(crate) const fn ring_bytes(lines: usize) -> usize {
    size_of::<Control>() + lines * size_of::<Line>()
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
        // SAFETY: the ring's first lines, mapped as long as the end lives (`new`); any bytes are a
        // valid `Control`.
        unsafe { self.start.cast::<Control>().as_ref() }
    }

    fn index(&self, position: u64) -> usize {
        (position & self.mask) as usize
    }

    fn line_start(&self, position: u64) -> *const Line {
        let bytes = ring_bytes(self.index(position));
        // SAFETY: the index is below the number of lines, all of which are mapped.
        unsafe { self.start.as_ptr().add(bytes).cast() }
    }

    #[inline(always)]
    fn line(&self, position: u64) -> &Line {
        // SAFETY: `line_start` gives a whole one, mapped as long as the end lives. Any bytes are
        // valid words, and all access that is not by their atomics is to payload lines.
        unsafe { &*self.line_start(position) }
    }

    /// Lines up to the ring's end.
    fn rest(&self, position: u64) -> u64 {
        self.lines() - (position & self.mask)
    }

    fn lines(&self) -> u64 {
        self.mask + 1
    }
}

#[inline(always)]
fn prefetch(line: *const Line) {
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
pub(crate) struct Broken;

/// The sending end.
#[derive(Debug)]
pub(crate) struct RingSender {
    place: Place,
    tail: u64,
    /// The receiver's position as last seen.
    done: u64,
    /// Records that end up to here need no look at it.
    sure: u64,
    /// There was always room.
    light: bool,
    /// The lines whose last content was payload. Only this side writes to a sound ring.
    payload: Box<[bool]>,
}

impl RingSender {
    /// # Safety
    /// `start` is aligned to 64 bytes and begins [`ring_bytes`]`(lines)` bytes that stay mapped
    /// until the value is dropped, `lines` is a power of two of at least [`LINES_MIN`], and no
    /// other sender of this ring exists in this process.
    pub(crate) unsafe fn new(start: NonNull<u8>, lines: usize) -> Self {
        let payload = vec![false; lines].into();
        Self {
            place: Place {
                start,
                mask: lines as u64 - 1,
            },
            tail: 0,
            done: 0,
            sure: LIGHT.min(lines as u64),
            light: true,
            payload,
        }
    }

    /// Puts a record and the payload outside its head, `skip` bytes into the list.
    /// `Ok(false)`: the ring is full.
    ///
    /// # Safety
    /// The list's buffers can be read and hold `skip +` [`Record::outside`] bytes.
    pub(crate) unsafe fn put(
        &mut self,
        record: Record,
        iov: &[IoVec],
        skip: usize,
    ) -> Result<bool, Broken> {
        let outside = record.outside();
        let lines = lines_of(outside);
        if self.place_for(lines) + lines > self.sure && !self.find_room(lines)? {
            return Ok(false);
        }
        let at = self.place_for(lines);
        self.clear(at + lines);
        if outside > 0 {
            let first = self.place.index(at) + 1;
            self.payload[first..first + lines as usize - 1].fill(true);
            // SAFETY: the record's lines are free (`has_room`) and are before the ring's end; the
            // caller vouches for the list.
            unsafe { Line::fill(self.place.line_start(at).add(1), iov, skip, outside) };
        }
        if at != self.tail {
            self.wrap();
        }
        self.stamp(at, record);
        self.tail = at + lines;
        Ok(true)
    }

    /// Where a record of that many lines begins: it never crosses the end.
    fn place_for(&self, lines: u64) -> u64 {
        let rest = self.place.rest(self.tail);
        self.tail + if lines > rest { rest } else { 0 }
    }

    /// Leaves the lines up to the end out.
    fn wrap(&mut self) {
        // The first line never holds payload, so no stamp is to be cleared.
        self.stamp(self.tail, Record::new(Kind::Wrap));
        self.tail += self.place.rest(self.tail);
    }

    /// Whether there is room for a record without payload outside its head.
    #[inline(always)]
    pub(super) fn has_room_for_head(&mut self) -> Result<bool, Broken> {
        Ok(self.tail < self.sure || self.find_room(1)?)
    }

    /// Puts a record whose payload, if any, is in its head. `Ok(false)`: the ring is full.
    #[inline(always)]
    pub(crate) fn put_head(&mut self, record: Record) -> Result<bool, Broken> {
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
        if std::mem::take(&mut self.payload[self.place.index(position)])
            && !fault!(RingLineNotCleared)
        {
            self.place.line(position).stamp.store(0, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn stamp(&self, position: u64, record: Record) {
        let line = self.place.line(position);
        if !fault!(RingStampFirst) {
            line.set_words(record.to_words());
        }
        line.stamp.store(position + 1, weak!(Release));
        if fault!(RingStampFirst) {
            line.set_words(record.to_words());
        }
    }

    /// Whether a record of that many lines has room, by the receiver's position now.
    #[inline(never)]
    fn find_room(&mut self, lines: u64) -> Result<bool, Broken> {
        let all = self.place.lines();
        let mut used = all - self.place.rest(self.tail);
        // As many lines behind the end are free, once the receiver has taken everything.
        let goes_back = used + lines > LIGHT && (1..=used).contains(&lines);
        if self.is_taken()? && self.light && goes_back {
            self.wrap();
            used = 0;
        }
        let free = self.done + all;
        let has_room = self.place_for(lines) + lines <= free;
        self.light &= has_room;
        let ahead = match self.light {
            true if used < LIGHT => LIGHT - used,
            // Looks again soon, since the receiver may have been about to take the last record.
            true => LOOK_EVERY,
            false => all,
        };
        self.sure = free.min(self.tail + ahead);
        Ok(has_room)
    }

    /// Whether the receiver has given all records back.
    pub(crate) fn is_taken(&mut self) -> Result<bool, Broken> {
        let done = self.place.control().done.load(weak!(Acquire));
        if done < self.done || done > self.tail {
            return Err(Broken);
        }
        self.done = done;
        Ok(done == self.tail)
    }

    /// That of the receiver's memory.
    pub(crate) fn lease(&self) -> &Lease {
        &self.place.control().lease
    }

    /// That of the receiver.
    pub(crate) fn witness(&self) -> &Announced {
        &self.place.control().witness
    }

    pub(crate) fn receiver_is_crowded(&self) -> bool {
        // ordering: a hint, since the receiver takes a long message whether it wants it or not.
        self.place.control().crowded.load(Ordering::Relaxed) != 0
    }

    /// The bell that the receiver wants set after each record, if any.
    #[inline(always)]
    pub(crate) fn bell(&self) -> Option<u64> {
        // ordering: a hint (`bells`).
        let number = self.place.control().bell.number.load(Ordering::Relaxed);
        number.checked_sub(1)
    }

    /// Whether the receiver sleeps and must be woken.
    pub(crate) fn receiver_sleeps(&self) -> bool {
        fence(weak!(SeqCst));
        self.place.control().asleep.load(Ordering::Relaxed) != 0
    }
}

/// A message that is read in place.
pub(crate) struct Short<'a> {
    /// The record's first word.
    first: u64,
    /// Payload bytes. Up to [`INLINE`] are in the head, more on the lines after it.
    pub(crate) bytes: usize,
    pub(crate) tag: u64,
    line: *const Line,
    ring: PhantomData<&'a Line>,
}

impl Short<'_> {
    /// A word of the head.
    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        // SAFETY: the line of a ring (`peek_plain`).
        unsafe { &*self.line }.word(at)
    }

    /// The sender's completion data; 0 from a sound sender without them.
    #[inline(always)]
    pub(crate) fn data(&self) -> u64 {
        self.word(2)
    }

    #[inline(always)]
    pub(crate) fn has_data(&self) -> bool {
        self.first & u64::from(flag::DATA) << 8 != 0
    }

    #[inline(always)]
    pub(crate) fn body(&self) -> [u64; 3] {
        [4, 5, 6].map(|at| self.word(at))
    }

    /// The payload outside the head, until [`RingReceiver::release`].
    pub(crate) fn outside(&self) -> Bytes {
        let length = if self.bytes > INLINE { self.bytes } else { 0 };
        Bytes {
            start: self.line.wrapping_add(1).cast(),
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
                target.cast::<u64>().write_unaligned(self.word(4));
                1
            } else if self.bytes <= INLINE {
                target.copy_from_nonoverlapping(self.body().as_ptr().cast(), self.bytes);
                1
            } else {
                Line::copy_out(self.line.add(1), target, self.bytes);
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
        let (data, cookie) = (self.data(), self.word(3));
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
    pub(crate) unsafe fn new(start: NonNull<u8>, lines: usize) -> Self {
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
    pub(crate) fn ready(&self) -> bool {
        self.place.line(self.head).stamp.load(weak!(Acquire)) == self.head + 1
    }

    /// The next record, not passed yet, if it is a tagged message with its data in this ring for
    /// whose end the sender does not wait.
    #[inline(always)]
    pub(crate) fn peek_plain(&self) -> Option<Short<'_>> {
        let line = self.place.line(self.head);
        if line.stamp.load(weak!(Acquire)) != self.head + 1 {
            return None;
        }
        let first = line.word(0);
        let bytes = (first >> 32) as usize;
        let plain = u64::from(flag::TAGGED) << 8 | Kind::Eager as u64;
        if first & (u64::from(flag::ACK) << 8 | plain | 0xff) != plain
            || bytes > INLINE && !self.has_outside(bytes)
        {
            return None;
        }
        let (tag, line) = (line.word(1), self.place.line_start(self.head));
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
        prefetch(self.place.line_start(self.head + 1));
    }

    /// The next record; its payload is in the ring until [`release`](Self::release).
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<(Record, Bytes)>, Broken> {
        self.next_if(|_| true)
    }

    /// Works like [`next`](Self::next) if the next record is wanted; other ones stay.
    #[inline]
    pub(crate) fn next_if(
        &mut self,
        wanted: impl FnOnce(&Record) -> bool,
    ) -> Result<Option<(Record, Bytes)>, Broken> {
        while self.ready() {
            let line = self.place.line(self.head);
            let words: [u64; HEAD_WORDS] = std::array::from_fn(|at| line.word(at));
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
            let start = unsafe { self.place.line_start(self.head).add(1) }.cast();
            self.head += lines;
            if fault!(RingReleasedInUse) {
                self.release();
            }
            // The sender has written it or will soon: prefetch it while this one is handled.
            prefetch(self.place.line_start(self.head + 1));
            return Ok(Some((record, Bytes { start, length })));
        }
        Ok(None)
    }

    /// Gives the lines of all records read so far back to the sender.
    #[inline]
    pub(crate) fn release(&mut self) {
        if self.released != self.head {
            self.released = self.head;
            self.place.control().done.store(self.head, weak!(Release));
        }
    }

    /// That of this side's memory.
    pub(crate) fn lease(&self) -> &Lease {
        &self.place.control().lease
    }

    /// That of this side.
    pub(crate) fn witness(&self) -> &Announced {
        &self.place.control().witness
    }

    /// Asks the sender to announce long messages, or no longer.
    pub(crate) fn set_crowded(&self, crowded: bool) {
        self.place
            .control()
            .crowded
            // ordering: a hint, since this side takes a long message whether it wants it or not.
            .store(crowded.into(), Ordering::Relaxed);
    }

    /// Asks the sender to set this bell after each record from now on, or none.
    pub(crate) fn set_bell(&self, bell: Option<usize>) {
        let number = bell.map_or(0, |bell| bell as u64 + 1);
        // ordering: a hint (`bells`).
        self.place
            .control()
            .bell
            .number
            .store(number, Ordering::Relaxed);
    }

    /// Announces that this side will sleep. `false`: a record waits in this ring, or in the one
    /// whose sender looks for a sleeper here, too.
    pub(crate) fn fall_asleep(&self, long: Option<&Self>) -> bool {
        let look = || !self.ready() && (fault!(SleepForgetsLong) || !long.is_some_and(Self::ready));
        let before = fault!(SleepAfterLook).then(look);
        self.place.control().asleep.store(1, Ordering::Relaxed);
        fence(weak!(SeqCst));
        before.unwrap_or_else(look)
    }

    /// Announces that this side is awake.
    pub(crate) fn wake(&self) {
        self.place.control().asleep.store(0, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(dpamatch_loom)))]
mod tests;
