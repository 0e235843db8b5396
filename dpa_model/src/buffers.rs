//! An array of equal buffers: bounce and unexpected buffers in NIC memory, staging buffers on the
//! host (O19, O22).

use alloc::boxed::Box;
use core::cell::UnsafeCell;

use crate::sync::PlainCell;

pub(crate) struct Buffers {
    memory: Box<[UnsafeCell<u8>]>,
    /// Empty in a plain build; under loom it makes unordered use of a buffer a reported race.
    guards: Box<[PlainCell<()>]>,
    size: usize,
}

// SAFETY: the bytes are only reached through `write` and `read`, whose callers exclude overlapping
// writes per buffer.
unsafe impl Sync for Buffers {}

impl core::fmt::Debug for Buffers {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Buffers({} x {} bytes)", self.guards.len(), self.size)
    }
}

impl Buffers {
    pub(crate) fn new(count: usize, size: usize) -> Self {
        // Zeroed pages stay untouched until their first use.
        let zeroed = Box::into_raw(alloc::vec![0u8; count * size].into_boxed_slice());
        Self {
            // SAFETY: the box is owned, and `UnsafeCell<u8>` has the layout of `u8`.
            memory: unsafe { Box::from_raw(zeroed as *mut [UnsafeCell<u8>]) },
            guards: (0..count).map(|_| PlainCell::new(())).collect(),
            size,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.guards.len()
    }

    /// Copies `bytes` to the start of a buffer.
    ///
    /// # Safety
    /// No other thread accesses this buffer during the call.
    ///
    /// # Panics
    /// If `bytes` is longer than a buffer or the buffer does not exist; the protocol stage checks
    /// the length first.
    pub(crate) unsafe fn write(&self, buffer: usize, bytes: &[u8]) {
        assert!(bytes.len() <= self.size);
        let place = self.memory[buffer * self.size..][..self.size].as_ptr();
        // SAFETY: `place` starts a region of `size` bytes inside `memory`, all of it in
        // `UnsafeCell`; the caller excludes every other access to it.
        unsafe {
            self.guards[buffer].write(|()| ());
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), UnsafeCell::raw_get(place), bytes.len());
        }
    }

    /// Passes the first `length` bytes of a buffer to a closure.
    ///
    /// # Safety
    /// No thread writes this buffer during the call.
    ///
    /// # Panics
    /// If `length` is longer than a buffer or the buffer does not exist.
    pub(crate) unsafe fn read<R>(
        &self,
        buffer: usize,
        length: usize,
        look: impl FnOnce(&[u8]) -> R,
    ) -> R {
        assert!(length <= self.size);
        let place = self.memory[buffer * self.size..][..self.size].as_ptr();
        // SAFETY: `place` starts a region of `size` bytes in `UnsafeCell`; the caller excludes
        // writes.
        unsafe {
            self.guards[buffer].read(|()| ());
            look(core::slice::from_raw_parts(UnsafeCell::raw_get(place), length))
        }
    }
}
