# From reset to `main` and `further_hart`.

    .section .text.start, "ax"
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
