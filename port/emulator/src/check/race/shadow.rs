//! What is known of the last accesses of each eight bytes.
//!
//! ordering: a mark that another thread overtakes costs a report or its place; nothing else depends
//! on it.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Bytes that have accesses in common, and accesses that are known of them.
pub(super) const WORD: usize = 8;
const CELLS: usize = 4;
/// Words that have a shadow, of all programs' memory: 256 MiB of shadow.
const WORDS: usize = 4 << 20;

/// Bytes of a range that is forgotten page by page, and of the largest page of this machine's.
const LARGE: usize = 1 << 20;
const PAGE: usize = 1 << 16;
/// The slot of the host in marks.
pub(super) const HOST: u16 = 0;

/// Words with a shadow so far.
static USED: AtomicUsize = AtomicUsize::new(0);

/// An access as a cell holds it, from the lowest bit: a bit for each byte of the word, whether it
/// writes, whether it is atomic, its time in 38 bits, and the thread's slot in 16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark(u64);

const BYTES: u64 = 0xff;
const WRITES: u64 = 1 << 8;
const ATOMIC: u64 = 1 << 9;
const TIME: u32 = 10;
const SLOT: u32 = 48;
/// Times that fit into a mark.
pub(super) const TIMES: u64 = 1 << (SLOT - TIME);

impl Mark {
    /// A mark without bytes, of a read.
    pub(super) fn new(slot: u16, time: u64) -> Self {
        Self(u64::from(slot) << SLOT | (time % TIMES) << TIME)
    }

    /// The mark of such an access. This one is of a read without bytes.
    pub(super) fn with(self, is_atomic: bool, writes: bool) -> Self {
        let how = if is_atomic { ATOMIC } else { 0 } | if writes { WRITES } else { 0 };
        Self(self.0 | how)
    }

    /// The mark of these bytes of a word, one or more. This one has none.
    pub(super) fn of(self, first: usize, bytes: usize) -> Self {
        Self(self.0 | (BYTES >> (WORD - bytes)) << first)
    }

    pub(super) fn slot(self) -> u16 {
        (self.0 >> SLOT) as u16
    }

    pub(super) fn time(self) -> u64 {
        self.0 >> TIME & (TIMES - 1)
    }

    pub(super) fn writes(self) -> bool {
        self.0 & WRITES != 0
    }

    pub(super) fn is_atomic(self) -> bool {
        self.0 & ATOMIC != 0
    }

    /// The first byte of the word that it accesses.
    pub(super) fn first(self) -> usize {
        self.0.trailing_zeros() as usize
    }

    fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 & BYTES != 0
    }

    fn covers(self, other: Self) -> bool {
        other.0 & !self.0 & BYTES == 0
    }

    /// Whether the same slot has made both.
    fn is_own(self, other: Self) -> bool {
        (self.0 ^ other.0) >> SLOT == 0
    }

    /// Whether this access, the later one of a slot, says all that the earlier one does.
    fn replaces(self, earlier: Self) -> bool {
        self.covers(earlier) && (self.writes() || !earlier.writes())
    }

    /// Whether it reads, or writes, what this access of the same slot has at the same time.
    fn contains(self, later: Self) -> bool {
        self.covers(later) && self.time() == later.time()
    }
}

/// The last accesses of a word: their marks, or 0, and their places.
#[repr(align(64))]
struct Word {
    marks: [AtomicU64; CELLS],
    places: [AtomicUsize; CELLS],
}

impl Word {
    /// Notes an access of a word that only its slot has accessed, most of them, or read of what the
    /// host wrote, if it may: the first two cells hold all that is known, and the access replaces
    /// one of them or needs none. False for others.
    #[inline(always)]
    fn note_own(&self, mark: Mark, place: usize, reads_host: bool) -> bool {
        let [first, second] = [0, 1].map(|at| Mark(self.marks[at].load(Relaxed)));
        let others = self.marks[2].load(Relaxed) | self.marks[3].load(Relaxed);
        let is_hosts = first.0 != 0 && first.slot() == HOST && reads_host;
        let is_alone = others == 0
            && (first.is_own(mark) || is_hosts)
            && (second.0 == 0 || second.is_own(mark));
        if !is_alone {
            return false;
        }
        let at = if is_hosts {
            if second.0 != 0 && !mark.replaces(second) {
                return second.contains(mark);
            }
            1
        } else if mark.replaces(first) {
            if second.0 != 0 && mark.replaces(second) {
                self.marks[1].store(0, Relaxed);
            }
            0
        } else if first.contains(mark) {
            // A read of what this thread has just written.
            return true;
        } else if second.0 == 0 || mark.replaces(second) {
            1
        } else {
            return second.contains(mark);
        };
        self.places[at].store(place, Relaxed);
        self.marks[at].store(mark.0, Relaxed);
        true
    }

    fn is_used(&self) -> bool {
        self.marks.iter().any(|mark| mark.load(Relaxed) != 0)
    }
}

/// The shadow of a range of memory. The system gives it memory where it is used.
pub(super) struct Shadow {
    memory: Range<usize>,
    words: *mut Word,
    bytes: usize,
}

// SAFETY: an address of memory that is only accessed atomically.
unsafe impl Send for Shadow {}
// SAFETY: as above.
unsafe impl Sync for Shadow {}

impl Shadow {
    pub(super) fn new(memory: Range<usize>) -> Result<Self, String> {
        let memory = memory.start / WORD * WORD..memory.end.next_multiple_of(WORD);
        let bytes = memory.len() / WORD * size_of::<Word>();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping.
        let words = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, flags, -1, 0) };
        if words == libc::MAP_FAILED {
            return Err(format!("no address space for {bytes} bytes"));
        }
        let words = words.cast();
        Ok(Self {
            memory,
            words,
            bytes,
        })
    }

    pub(super) fn has(&self, address: usize) -> bool {
        self.memory.contains(&address)
    }

    /// The end of the memory.
    pub(super) fn end(&self) -> usize {
        self.memory.end
    }

    fn word(&self, address: usize) -> &Word {
        let at = (address - self.memory.start) / WORD;
        // SAFETY: the address is in the memory, which `has` says, so its word is in the mapping.
        unsafe { &*self.words.add(at) }
    }

    /// Notes an access of a word whose bytes no other slot has accessed, or a read of what others
    /// have only read, or of what the host has written if it `knows_host`. False for other
    /// accesses, which [`Self::note`] has to note.
    #[inline(always)]
    pub(super) fn note_alone(
        &self,
        address: usize,
        mark: Mark,
        place: usize,
        knows_host: bool,
    ) -> bool {
        let reads_host = knows_host && !mark.writes();
        self.word(address).note_own(mark, place, reads_host)
            || self.note_known(address, mark, place, reads_host)
    }

    #[inline(never)]
    fn note_known(&self, address: usize, mark: Mark, place: usize, reads_host: bool) -> bool {
        let is_known = |other: Mark, _| match other.slot() {
            HOST => reads_host,
            _ => !mark.writes() && !other.writes(),
        };
        self.note(address, mark, place, is_known)
    }

    /// Notes an access of a word, unless `meets` is false for an earlier access of the same bytes
    /// by another slot. It is called for each of those.
    #[inline(always)]
    pub(super) fn note(
        &self,
        address: usize,
        mark: Mark,
        place: usize,
        mut meets: impl FnMut(Mark, usize) -> bool,
    ) -> bool {
        let word = self.word(address);
        let mut into = CELLS;
        let all = word
            .marks
            .iter()
            .fold(0, |all, other| all | other.load(Relaxed));
        if Mark(all).overlaps(mark) {
            for at in 0..CELLS {
                // An empty mark has no bytes.
                let other = Mark(word.marks[at].load(Relaxed));
                if !other.overlaps(mark) {
                    continue;
                }
                let is_own = other.is_own(mark);
                if !is_own && !meets(other, word.places[at].load(Relaxed)) {
                    return false;
                }
                if mark.replaces(other) && (is_own || mark.writes()) {
                    if into == CELLS {
                        // This cell is never empty meanwhile, so that no other thread takes it.
                        into = at;
                    } else {
                        word.marks[at].store(0, Relaxed);
                    }
                } else if is_own && other.contains(mark) {
                    // A read of what this thread has just written.
                    return true;
                }
            }
        }
        if into == CELLS {
            let is_empty = |mark: &AtomicU64| mark.load(Relaxed) == 0;
            let empty = word.marks.iter().position(is_empty);
            into = empty.unwrap_or(mark.time() as usize % CELLS);
            if all == 0 && USED.fetch_add(1, Relaxed) >= WORDS {
                super::too_much();
                return true;
            }
        }
        word.places[into].store(place, Relaxed);
        word.marks[into].store(mark.0, Relaxed);
        true
    }

    /// The accesses that are known of a word.
    pub(super) fn marks(&self, address: usize, mut each: impl FnMut(Mark)) {
        let marks = self
            .word(address)
            .marks
            .iter()
            .map(|known| known.load(Relaxed));
        marks
            .filter(|&mark| mark != 0)
            .for_each(|mark| each(Mark(mark)));
    }

    /// Forgets what is known of a range.
    pub(super) fn forget(&self, range: &Range<usize>) {
        let start = range.start.max(self.memory.start) / WORD * WORD;
        let end = range.end.min(self.memory.end);
        if end.saturating_sub(start) >= LARGE {
            return self.forget_pages(start, end);
        }
        let mut forgotten = 0;
        for address in (start..end).step_by(WORD) {
            let word = self.word(address);
            if word.is_used() {
                word.marks.iter().for_each(|mark| mark.store(0, Relaxed));
                forgotten += 1;
            }
        }
        if forgotten > 0 {
            USED.fetch_sub(forgotten, Relaxed);
        }
    }

    /// Forgets a large range, whose shadow the system takes back. Words at its ends, in pages that
    /// are not all of the range, stay.
    fn forget_pages(&self, start: usize, end: usize) {
        let cells = |address: usize| std::ptr::from_ref(self.word(address)).addr();
        let start = cells(start).next_multiple_of(PAGE);
        let bytes = (cells(end - WORD) / PAGE * PAGE).saturating_sub(start);
        // SAFETY: whole pages of this mapping. Accesses at the same time see old marks or none.
        unsafe { libc::madvise(start as *mut libc::c_void, bytes, libc::MADV_DONTNEED) };
    }

    /// Notes that the host wrote a range.
    pub(super) fn host_wrote(&self, range: &Range<usize>) {
        self.forget(range);
        let start = range.start.max(self.memory.start);
        let end = range.end.min(self.memory.end);
        for word in (start / WORD * WORD..end).step_by(WORD) {
            let first = start.max(word) - word;
            let bytes = end.min(word + WORD) - word - first;
            let mark = Mark::new(HOST, 1).with(false, true).of(first, bytes);
            self.word(word).marks[0].store(mark.0, Relaxed);
            USED.fetch_add(1, Relaxed);
        }
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; borrows of it have ended.
        unsafe { libc::munmap(self.words.cast(), self.bytes) };
    }
}
