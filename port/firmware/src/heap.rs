//! Memory for the tables, taken while the NIC is built; the host's end takes a little later.
//!
//! The heap never frees: the card's side allocates nothing after set-up, and a run of this program
//! is short. A port uses its system's allocator.

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

unsafe extern "C" {
    static heap_start: u8;
    static heap_end: u8;
}

/// Alignment of every range, as of a host's allocator.
const LEAST: usize = 16;

struct Heap {
    taken: AtomicUsize,
}

#[global_allocator]
static HEAP: Heap = Heap { taken: AtomicUsize::new(0) };

pub(crate) fn bytes_taken() -> usize {
    HEAP.taken.load(Relaxed)
}

// SAFETY: each call gets its own range between `heap_start` and `heap_end`, which the linker script
// reserves for the heap; no range is given out twice.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = (&raw const heap_start).addr();
        let room = (&raw const heap_end).addr() - start;
        let mut taken = self.taken.load(Relaxed);
        loop {
            let first = (start + taken).next_multiple_of(layout.align().max(LEAST)) - start;
            let Some(end) = first.checked_add(layout.size()).filter(|&end| end <= room) else {
                return core::ptr::null_mut();
            };
            match self.taken.compare_exchange_weak(taken, end, Relaxed, Relaxed) {
                Ok(_) => return (&raw const heap_start).cast_mut().wrapping_add(first),
                Err(seen) => taken = seen,
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`. Memory is zero at reset and given
        // out once.
        unsafe { self.alloc(layout) }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}
