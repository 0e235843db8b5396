//! An array of equal buffers: bounce and unexpected buffers in NIC memory, staging buffers on the
//! host (O19, O22).
//!
//! **Layout.** Each buffer begins with a cache line and has an odd number of lines. So messages of
//! neighbouring buffers are in different sets of a cache, where buffers of a page would share one.

use alloc::boxed::Box;
use core::cell::UnsafeCell;

use crate::copy::copy;
use crate::sync::PlainCell;

pub(crate) struct Buffers {
    memory: Box<[UnsafeCell<u8>]>,
    /// Empty in a plain build; under loom it makes unordered use of a buffer a reported race.
    guards: Box<[PlainCell<()>]>,
    size: usize,
    /// Distance of two buffers.
    stride: usize,
    /// Where the first buffer begins.
    first: usize,
}

const LINE: usize = 64;

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
        let stride = Self::bytes_each(size);
        // Zeroed pages stay untouched until their first use.
        let zeroed = alloc::vec![0u8; count * stride + LINE - 1].into_boxed_slice();
        let first = zeroed.as_ptr().align_offset(LINE).min(LINE - 1);
        Self {
            // SAFETY: the box is owned, and `UnsafeCell<u8>` has the layout of `u8`.
            memory: unsafe { Box::from_raw(Box::into_raw(zeroed) as *mut [UnsafeCell<u8>]) },
            guards: (0..count).map(|_| PlainCell::new(())).collect(),
            size,
            stride,
            first,
        }
    }

    /// Bytes of memory that a buffer of `size` bytes takes.
    pub(crate) const fn bytes_each(size: usize) -> usize {
        if size == 0 {
            0
        } else {
            (size.div_ceil(LINE) | 1).saturating_mul(LINE)
        }
    }

    #[inline]
    fn place(&self, buffer: usize, length: usize) -> *mut u8 {
        assert!(length <= self.size && buffer < self.guards.len());
        // SAFETY: `new` took memory for this buffer, behind the lines of those before it.
        unsafe { UnsafeCell::raw_get(self.memory.as_ptr().add(self.first + buffer * self.stride)) }
    }

    /// Address of the first buffer, and the distance of two, for a wire that fills buffers itself.
    #[cfg(not(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual)))]
    pub(crate) fn addresses(&self) -> (u64, u64) {
        // One past the last byte if there is no buffer.
        let first = self.memory.as_ptr().wrapping_add(self.first);
        (first.expose_provenance() as u64, self.stride as u64)
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
        let place = self.place(buffer, bytes.len());
        // SAFETY: `place` starts as many bytes in `UnsafeCell`; the caller excludes every other
        // access to them.
        unsafe {
            self.guards[buffer].write(|()| ());
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
        }
    }

    /// [`write`](Self::write) for a loop over messages: without a call, see [`copy`].
    ///
    /// # Safety
    /// The safety contracts of [`write`](Self::write) and [`copy`] apply.
    #[inline]
    pub(crate) unsafe fn write_in_loop(&self, buffer: usize, bytes: &[u8]) {
        let place = self.place(buffer, bytes.len());
        // SAFETY: as in `write`.
        unsafe {
            self.guards[buffer].write(|()| ());
            copy(bytes, place);
        }
    }

    /// Passes the first `length` bytes of a buffer to a closure.
    ///
    /// # Safety
    /// No thread writes this buffer during the call.
    ///
    /// # Panics
    /// If `length` is longer than a buffer or the buffer does not exist.
    #[inline]
    pub(crate) unsafe fn read<R>(
        &self,
        buffer: usize,
        length: usize,
        look: impl FnOnce(&[u8]) -> R,
    ) -> R {
        let place = self.place(buffer, length);
        // SAFETY: `place` starts as many bytes in `UnsafeCell`; the caller excludes writes.
        unsafe {
            self.guards[buffer].read(|()| ());
            look(core::slice::from_raw_parts(place, length))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every buffer is filled to the end, then read: none reaches into the next.
    #[test]
    fn buffers_begin_with_a_line_and_lie_apart() {
        for (size, bytes_each) in [(1, 64), (64, 64), (65, 192), (192, 192), (4096, 4160)] {
            let buffers = Buffers::new(3, size);
            assert_eq!(Buffers::bytes_each(size), bytes_each);
            let content = |buffer: usize| -> alloc::vec::Vec<u8> {
                (0..size).map(|at| (at * 7 + buffer + 1) as u8).collect()
            };
            for buffer in 0..3 {
                assert_eq!(buffers.place(buffer, size) as usize % LINE, 0);
                // SAFETY: this is the only thread.
                unsafe { buffers.write(buffer, &content(buffer)) };
            }
            for buffer in 0..3 {
                // SAFETY: this is the only thread.
                unsafe { buffers.read(buffer, size, |seen| assert_eq!(seen, content(buffer))) };
            }
        }
    }

    #[test]
    #[should_panic(expected = "length <= self.size")]
    fn a_message_longer_than_a_buffer_is_not_written() {
        // SAFETY: this is the only thread.
        unsafe { Buffers::new(2, 64).write(0, &[0; 65]) };
    }
}
