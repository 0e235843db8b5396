//! Allocation from one range that the caller provides; never frees.

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

struct Arena {
    /// First free byte.
    next: AtomicUsize,
    /// End of the range.
    end: AtomicUsize,
}

#[global_allocator]
static ARENA: Arena = Arena { next: AtomicUsize::new(0), end: AtomicUsize::new(0) };

pub(crate) fn hand_over(start: usize, bytes: usize) {
    ARENA.next.store(start, Relaxed);
    ARENA.end.store(start.saturating_add(bytes), Relaxed);
}

// SAFETY: each call gets its own range out of the one that the caller of `dpamatch_new` gave away;
// no range is given out twice.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let end = self.end.load(Relaxed);
        let mut next = self.next.load(Relaxed);
        loop {
            let first = next.next_multiple_of(layout.align());
            let Some(after) = first.checked_add(layout.size()).filter(|&after| after <= end) else {
                return core::ptr::null_mut();
            };
            match self.next.compare_exchange_weak(next, after, Relaxed, Relaxed) {
                Ok(_) => return core::ptr::with_exposed_provenance_mut(first),
                Err(seen) => next = seen,
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise. The range was zeros and is given out once.
        unsafe { self.alloc(layout) }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}
