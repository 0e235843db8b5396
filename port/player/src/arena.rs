//! Allocation from one range that the program provides. It never frees: the card's side allocates
//! nothing after set-up. A port may use its system's allocator.

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

/// One range of zeros, given out from its start. Each allocation is aligned to
/// at least `align`.
#[derive(Debug)]
pub struct Arena {
    align: usize,
    start: AtomicUsize,
    /// First free byte.
    next: AtomicUsize,
    end: AtomicUsize,
}

// ordering: `hand_over` comes before all other calls.
impl Arena {
    /// An arena without memory, whose allocations are aligned to at least this power of two.
    pub const fn empty(align: usize) -> Self {
        Self {
            align,
            start: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
        }
    }

    /// Takes the memory over.
    ///
    /// # Safety
    /// The range is valid and zero, belongs to this arena from now on, and this is the only call.
    pub unsafe fn hand_over(&self, start: usize, bytes: usize) {
        self.start.store(start, Relaxed);
        self.next.store(start, Relaxed);
        self.end.store(start.saturating_add(bytes), Relaxed);
    }

    /// Bytes given out so far.
    pub fn taken(&self) -> usize {
        self.next.load(Relaxed) - self.start.load(Relaxed)
    }
}

// SAFETY: each call gets its own range out of the one that was handed over; no range is given out
// twice.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // ordering: `hand_over` comes before all other calls.
        let end = self.end.load(Relaxed);
        // ordering: each call gets its own range, and only its caller uses it.
        let mut next = self.next.load(Relaxed);
        // ordering: as above.
        loop {
            let first = next.next_multiple_of(layout.align().max(self.align));
            let Some(after) = first
                .checked_add(layout.size())
                .filter(|&after| after <= end)
            else {
                return core::ptr::null_mut();
            };
            match self
                .next
                .compare_exchange_weak(next, after, Relaxed, Relaxed)
            {
                Ok(_) => return core::ptr::with_exposed_provenance_mut(first),
                Err(seen) => next = seen,
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`. The range was zeros and is given
        // out once.
        unsafe { self.alloc(layout) }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}
