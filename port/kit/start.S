# From reset to hart_main, with a stack of 8 KiB for each hart, as a DPA's threads have.
    .section .text.start, "ax"
    .globl _start
_start:
    csrr    a0, mhartid
    csrwi   mie, 2              # an interrupt pends for ever and is never taken:
    csrwi   mip, 2              # `wfi` then only lets another hart run
    .option push
    .option norelax
    la      gp, __global_pointer$
    .option pop
    la      sp, stacks_start
    addi    t0, a0, 1
    slli    t0, t0, 13
    add     sp, sp, t0
    call    hart_main
1:  wfi
    j       1b

# The three instructions of a semihosting call, uncompressed and on one page.
    .option push
    .option norvc
    .option norelax
    .balign 16
    .globl host_call
host_call:
    slli    x0, x0, 0x1f
    ebreak
    srai    x0, x0, 7
    ret
    .option pop
