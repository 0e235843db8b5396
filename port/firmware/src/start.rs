//! From reset to `main`: registers, stacks, zeroed memory. Further harts wait until they may start.

use core::sync::atomic::{AtomicUsize, Ordering::Release};

/// Harts below this number may start; all but hart 0 wait until it has built everything.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".data")]
static HARTS_STARTED: AtomicUsize = AtomicUsize::new(0);

core::arch::global_asm!(
    "
    .section .text.start, \"ax\"
    .globl _start
_start:
    csrr    a0, mhartid
    csrwi   mie, 2              # a software interrupt pends for ever, and is never taken:
    csrwi   mip, 2              # `wfi` then only lets another hart run
    .option push
    .option norelax
    la      gp, __global_pointer$
    .option pop
    lla     t2, stacks_start
    li      t0, {stack_bytes}
    addi    t1, a0, 1
    mul     t0, t0, t1
    add     sp, t2, t0
    bnez    a0, 3f
    lla     t0, bss_start
    lla     t1, bss_end
1:  bgeu    t0, t1, 2f
    sd      zero, 0(t0)
    addi    t0, t0, 8
    j       1b
2:  call    main
3:  lla     t0, HARTS_STARTED
4:  wfi
    ld      t1, 0(t0)
    fence   r, rw
    bgeu    a0, t1, 4b
    call    further_hart
5:  wfi
    j       5b
    ",
    stack_bytes = const STACK_BYTES,
);

/// Bytes of each hart's stack, as in `memory.ld`.
pub(crate) const STACK_BYTES: usize = 32 << 10;
/// Number of stacks, as in `memory.ld`.
pub(crate) const HARTS_MOST: usize = 272;

/// Starts harts `1..harts`, and releases all earlier writes to them.
pub(crate) fn start_harts(harts: usize) {
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
