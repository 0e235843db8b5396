//! How deep the stack of hart 0 ever was.
//!
//! Memory is zero at reset, so below the deepest point all words still are. What is left of a frame
//! whose last words were never written, or written with zeros, is not seen.

use crate::start::STACK_BYTES;

unsafe extern "C" {
    static stacks_start: u8;
}

/// Bytes of its stack that hart 0 has used so far.
pub(crate) fn deepest() -> usize {
    let lowest = (&raw const stacks_start).cast::<u64>();
    let words = STACK_BYTES / size_of::<u64>();
    // SAFETY: the linker script gives this range to hart 0 alone, which reads it here; a read by
    // address, because the range has live variables in it.
    let is_untouched = |&word: &usize| unsafe { lowest.add(word).read_volatile() } == 0;
    let untouched = (0..words).take_while(is_untouched).count();
    (words - untouched) * size_of::<u64>()
}
