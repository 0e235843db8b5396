//! From reset to `main`: registers, stacks, zeroed memory. Further harts wait until they may start.

use core::sync::atomic::{AtomicUsize, Ordering::Release};

/// Harts below this number may start; all but hart 0 wait until it has built everything.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".data")]
static HARTS_STARTED: AtomicUsize = AtomicUsize::new(0);

core::arch::global_asm!(
    include_str!("start.S"),
    stack_bytes = const STACK_BYTES,
);

/// Bytes of each hart's stack, as in `memory.ld`.
pub(crate) const STACK_BYTES: usize = 32 << 10;
/// Number of stacks, as in `memory.ld`.
pub(crate) const HARTS_MOST: usize = 272;

/// Starts harts `1..harts`, and releases all earlier writes to them.
pub(crate) fn start_harts(harts: usize) {
    // ordering: the harts acquire it in `start.S`; the firmware in weak memory runs both.
    HARTS_STARTED.store(harts, Release);
}

/// Lets another hart run, on machines that run harts in turn.
#[inline(always)]
pub(crate) fn wait() {
    // SAFETY: an interrupt has been pending since the start, and none is taken, so this returns at
    // once.
    unsafe { core::arch::asm!("wfi", options(nomem, nostack, preserves_flags)) };
}

/// Mark after the tables are built.
pub(crate) const SET_UP: u32 = 2045;
/// Mark that starts an observer's count of instructions.
pub(crate) const COUNT_FROM: u32 = 2046;
pub(crate) const COUNT_TO: u32 = 2047;

/// A mark: an instruction without effect for observers of the machine.
#[inline(always)]
pub(crate) fn mark<const NUMBER: u32>() {
    // SAFETY: `slti` to register x0 is a hint: it changes nothing.
    unsafe { core::arch::asm!("slti x0, x0, {number}", number = const NUMBER, options(nostack)) };
}
