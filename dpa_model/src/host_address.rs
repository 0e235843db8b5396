//! The address of a user's buffer, and the NIC's writes to it.

use crate::copy::{UNALIGNED_IS_ONE_ACCESS, copy};

/// Address of a host buffer that the NIC may write until it reports the request complete.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct HostAddress(*mut u8);

// SAFETY: only `HostAddress::put` uses the address, and its caller owns the buffer behind it then.
unsafe impl Send for HostAddress {}
// SAFETY: only `HostAddress::put` uses the address, and its caller owns the buffer behind it then.
unsafe impl Sync for HostAddress {}

impl HostAddress {
    pub(crate) const fn none() -> Self {
        Self(core::ptr::null_mut())
    }

    pub(crate) fn new(start: *mut u8) -> Self {
        Self(start)
    }

    #[cfg(dpamatch_card)]
    pub(crate) fn start(self) -> *mut u8 {
        self.0
    }

    /// Copies as much of `bytes` as fits into the buffer of `capacity` bytes.
    ///
    /// # Safety
    /// The address starts a live buffer of at least `capacity` bytes. Only the caller accesses it
    /// until it reports the request complete.
    #[inline]
    pub(crate) unsafe fn put(self, capacity: u32, bytes: &[u8]) {
        let length = bytes.len().min(capacity as usize);
        if length == 8 {
            // SAFETY: both sides hold at least 8 bytes.
            unsafe { self.put_word(bytes.as_ptr()) };
        } else {
            // SAFETY: the source is a slice of at least `length` bytes; the caller vouches for the
            // target; a user buffer never overlaps NIC memory or another request's buffer.
            unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0, length) };
        }
    }

    /// Copies `length` bytes of an entry's payload without a call, so that a loop keeps its
    /// registers.
    ///
    /// # Safety
    /// The safety contract of [`put`](Self::put) applies.
    #[inline]
    pub(crate) unsafe fn put_inline(self, capacity: u32, payload: &[u64; 3], length: u32) {
        let count = length.min(capacity) as usize;
        let from = payload.as_ptr().cast::<u8>();
        if count == 8 {
            // SAFETY: both sides hold at least 8 bytes.
            return unsafe { self.put_word(from) };
        }
        let count = count.min(size_of_val(payload));
        let mut at = 0;
        // SAFETY: the caller vouches for the target; the source has 24 bytes, and the parts add up
        // to `count`.
        unsafe {
            // One copy per bit of `count`, the largest first.
            if count & 16 != 0 {
                self.put_part(16, from, &mut at);
            }
            if count & 8 != 0 {
                self.put_part(8, from, &mut at);
            }
            if count & 4 != 0 {
                self.put_part(4, from, &mut at);
            }
            if count & 2 != 0 {
                self.put_part(2, from, &mut at);
            }
            if count & 1 != 0 {
                self.put_part(1, from, &mut at);
            }
        }
    }

    /// [`put`](Self::put) without a call, so that a loop keeps its registers.
    ///
    /// # Safety
    /// The safety contracts of [`put`](Self::put) and [`copy`] apply.
    #[inline]
    pub(crate) unsafe fn put_in_loop(self, capacity: u32, bytes: &[u8]) {
        let length = bytes.len().min(capacity as usize);
        // SAFETY: the caller's promise.
        unsafe { copy(bytes.get_unchecked(..length), self.0) };
    }

    /// Copies a part of `bytes` bytes, from `at` on.
    ///
    /// # Safety
    /// Both sides hold the part, and do not overlap.
    #[inline]
    unsafe fn put_part(self, bytes: usize, from: *const u8, at: &mut usize) {
        // SAFETY: the caller gives a part that both sides hold.
        unsafe { core::ptr::copy_nonoverlapping(from.add(*at), self.0.add(*at), bytes) };
        *at += bytes;
    }

    /// Copies eight bytes, the most common size.
    ///
    /// # Safety
    /// Both sides hold eight bytes, and do not overlap.
    #[inline]
    unsafe fn put_word(self, from: *const u8) {
        // SAFETY: the caller gives eight bytes on both sides, aligned to 8 if required.
        unsafe {
            let (from, to) = (from.cast::<u64>(), self.0.cast::<u64>());
            if UNALIGNED_IS_ONE_ACCESS || !from.is_aligned() || !to.is_aligned() {
                to.write_unaligned(from.read_unaligned());
            } else {
                to.write(from.read());
            }
        }
    }
}
