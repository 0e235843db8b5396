//! Copies of payloads inside loops over messages.

/// Minimum number of bytes for [`copy`].
pub(crate) const BYTES_MIN: usize = 16;
/// Maximum number of bytes that a loop copies in place. A call takes less time for more.
pub(crate) const BYTES_MAX: usize = 512;

/// On other machines, such as a DPA, an unaligned store takes eight byte stores.
pub(crate) const UNALIGNED_IS_ONE_ACCESS: bool =
    cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Copies [`BYTES_MIN`] bytes or more without a call, whose stores would come between those of two
/// messages. The last parts overlap.
///
/// # Safety
/// `to` starts as many bytes, which only the caller accesses and which do not overlap `from`.
#[inline(always)]
pub(crate) unsafe fn copy(from: &[u8], to: *mut u8) {
    let length = from.len();
    debug_assert!(length >= BYTES_MIN, "{length}");
    if !UNALIGNED_IS_ONE_ACCESS {
        // SAFETY: the caller's promise.
        return unsafe { core::ptr::copy_nonoverlapping(from.as_ptr(), to, length) };
    }
    // SAFETY: every part is inside `from`, and as far inside the target.
    let part = |at: usize| unsafe {
        let (from, to) = (from.as_ptr().add(at).cast::<[u8; 16]>(), to.add(at).cast());
        core::ptr::copy_nonoverlapping(from, to, 1);
    };
    let mut at = 0;
    while at + 64 < length {
        [at, at + 16, at + 32, at + 48].into_iter().for_each(part);
        at += 64;
    }
    // Up to 64 bytes are left; 16 before `at` have been copied if there are fewer.
    if at + 32 < length {
        [at, at + 16, length - 32].into_iter().for_each(part);
    } else if at + 16 < length {
        part(at);
    }
    part(length - 16);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every length up to beyond two lines and the longest, to a place that is not aligned, with
    /// bytes on both sides that must stay.
    #[test]
    fn exactly_the_bytes_are_copied() {
        let from: alloc::vec::Vec<u8> = (0..=BYTES_MAX).map(|at| (at % 251) as u8 + 1).collect();
        for length in (BYTES_MIN..200).chain([BYTES_MAX - 1, BYTES_MAX, BYTES_MAX + 1]) {
            let mut to = alloc::vec![0; length + 2];
            // SAFETY: `to` has a byte more on each side.
            unsafe { copy(&from[..length], to.as_mut_ptr().add(1)) };
            assert_eq!(to[1..=length], from[..length], "{length}");
            assert_eq!((to[0], to[length + 1]), (0, 0), "{length}");
        }
    }
}
