//! A buffer while it belongs to the NIC.

use alloc::vec::Vec;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

/// A buffer lent to the NIC: the parts of a `Vec`.
#[derive(Debug)]
pub(super) struct LentBuffer {
    pub(super) start: NonNull<u8>,
    length: usize,
    capacity: usize,
}

impl LentBuffer {
    pub(super) fn new(buffer: Vec<u8>) -> Self {
        let mut buffer = ManuallyDrop::new(buffer);
        // SAFETY: a `Vec`'s pointer is never null.
        let start = unsafe { NonNull::new_unchecked(buffer.as_mut_ptr()) };
        Self {
            start,
            length: buffer.len(),
            capacity: buffer.capacity(),
        }
    }

    /// Number of bytes that a message may fill.
    pub(super) fn capacity(&self) -> u32 {
        u32::try_from(self.length).unwrap_or(u32::MAX)
    }

    /// # Safety
    /// The caller has exclusive access to the buffer, and calls this once for this value.
    pub(super) unsafe fn give_back(&self) -> Vec<u8> {
        // SAFETY: these are the parts of a `Vec<u8>` that was forgotten in `new`.
        unsafe { Vec::from_raw_parts(self.start.as_ptr(), self.length, self.capacity) }
    }
}
