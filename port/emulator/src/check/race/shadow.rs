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

/// An access as a cell holds it: the thread's slot in 16 bits, its time in 40, the first and the
/// last byte in 3 each, and whether it writes and whether it is atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark(u64);

/// Times that fit into a mark.
pub(super) const TIMES: u64 = 1 << 40;

impl Mark {
    pub(super) fn new(slot: u16, time: u64, bytes: Range<usize>, is_atomic: bool) -> Self {
        let (first, last) = (bytes.start as u64, bytes.end as u64 - 1);
        let owner = u64::from(slot) << 48;
        let time = (time % TIMES) << 8;
        let place = first << 2 | last << 5;
        Self(owner | time | place | u64::from(is_atomic) << 1)
    }

    pub(super) fn writing(self, writes: bool) -> Self {
        Self(self.0 & !1 | u64::from(writes))
    }

    pub(super) fn slot(self) -> u16 {
        (self.0 >> 48) as u16
    }

    pub(super) fn time(self) -> u64 {
        self.0 >> 8 & (TIMES - 1)
    }

    pub(super) fn writes(self) -> bool {
        self.0 & 1 != 0
    }

    pub(super) fn is_atomic(self) -> bool {
        self.0 & 2 != 0
    }

    /// The bytes of the word, from the first to the last.
    pub(super) fn bytes(self) -> (u64, u64) {
        (self.0 >> 2 & 7, self.0 >> 5 & 7)
    }

    fn overlaps(self, other: Self) -> bool {
        let ((first, last), (from, to)) = (self.bytes(), other.bytes());
        first <= to && from <= last
    }

    fn covers(self, other: Self) -> bool {
        let ((first, last), (from, to)) = (self.bytes(), other.bytes());
        first <= from && to <= last
    }
}

/// A mark, and the place of the access.
type Cell = [AtomicU64; 2];

/// The shadow of a range of memory. The system gives it memory where it is used.
pub(super) struct Shadow {
    memory: Range<usize>,
    cells: *mut [Cell; CELLS],
    bytes: usize,
}

// SAFETY: an address of memory that is only accessed atomically.
unsafe impl Send for Shadow {}
// SAFETY: as above.
unsafe impl Sync for Shadow {}

impl Shadow {
    pub(super) fn new(memory: Range<usize>) -> Result<Self, String> {
        let memory = memory.start / WORD * WORD..memory.end.next_multiple_of(WORD);
        let bytes = memory.len() / WORD * size_of::<[Cell; CELLS]>();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping.
        let cells = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, flags, -1, 0) };
        if cells == libc::MAP_FAILED {
            return Err(format!("no address space for {bytes} bytes"));
        }
        let cells = cells.cast();
        Ok(Self {
            memory,
            cells,
            bytes,
        })
    }

    pub(super) fn has(&self, address: usize) -> bool {
        self.memory.contains(&address)
    }

    fn word(&self, address: usize) -> &[Cell; CELLS] {
        let at = (address - self.memory.start) / WORD;
        // SAFETY: the address is in the memory, which `has` says, so its cells are in the mapping.
        unsafe { &*self.cells.add(at) }
    }

    /// Notes an access of a word. Calls `meets` with each earlier access of the same bytes by
    /// another slot.
    pub(super) fn note(
        &self,
        address: usize,
        mark: Mark,
        place: usize,
        mut meets: impl FnMut(Mark, usize),
    ) {
        let cells = self.word(address);
        let mut into = None;
        let mut empty = None;
        let mut is_unused = true;
        for (at, [known, known_place]) in cells.iter().enumerate() {
            let other = Mark(known.load(Relaxed));
            if other.0 == 0 {
                empty = empty.or(Some(at));
                continue;
            }
            is_unused = false;
            if !other.overlaps(mark) {
                continue;
            }
            let is_own = other.slot() == mark.slot();
            if !is_own {
                meets(other, known_place.load(Relaxed) as usize);
            }
            if mark.covers(other) && (mark.writes() || is_own && !other.writes()) {
                // What comes later is compared with this access.
                if into.replace(at).is_some() {
                    known.store(0, Relaxed);
                }
            } else if is_own && other.covers(mark) && other.time() == mark.time() {
                // A read of what this thread has just written.
                return;
            }
        }
        if is_unused && USED.fetch_add(1, Relaxed) >= WORDS {
            return super::too_much();
        }
        let at = into.or(empty).unwrap_or(mark.time() as usize % CELLS);
        cells[at][1].store(place as u64, Relaxed);
        cells[at][0].store(mark.0, Relaxed);
    }

    /// The accesses that are known of a word.
    pub(super) fn marks(&self, address: usize, mut each: impl FnMut(Mark)) {
        let marks = self
            .word(address)
            .iter()
            .map(|[known, _]| known.load(Relaxed));
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
        for address in (start..end).step_by(WORD) {
            let mut is_used = false;
            for [known, _] in self.word(address) {
                if known.load(Relaxed) != 0 {
                    is_used = true;
                    known.store(0, Relaxed);
                }
            }
            if is_used {
                USED.fetch_sub(1, Relaxed);
            }
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
            let bytes = start.max(word) - word..end.min(word + WORD) - word;
            let mark = Mark::new(HOST, 1, bytes, false).writing(true);
            self.word(word)[0][0].store(mark.0, Relaxed);
            USED.fetch_add(1, Relaxed);
        }
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; borrows of it have ended.
        unsafe { libc::munmap(self.cells.cast(), self.bytes) };
    }
}
