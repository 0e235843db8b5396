//! Greatest depth of hart 0's stack.
//!
//! Memory is zero at reset, so words below the deepest point are still zero. A frame that ends in
//! zeros or unwritten words counts too small.

use crate::start::STACK_BYTES;

unsafe extern "C" {
    static stacks_start: u8;
}

/// Bytes of stack that hart 0 has used so far.
pub(crate) fn deepest() -> usize {
    let lowest = (&raw const stacks_start).cast::<u64>();
    let words = STACK_BYTES / size_of::<u64>();
    // SAFETY: the linker script gives this range to hart 0 alone, which reads it here; the read is
    // by address because the range holds live variables.
    let is_untouched = |&word: &usize| unsafe { lowest.add(word).read_volatile() } == 0;
    let untouched = (0..words).take_while(is_untouched).count();
    (words - untouched) * size_of::<u64>()
}
