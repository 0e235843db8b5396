# Litmus tests under their names in the literature: a program for each hart, which leaves its result
# in a0. One more hart collects the results.

    .equ X, 0
    .equ Y, 64
    .equ RESULTS, 256
    .equ DONE, 512
    .equ STARTED, 576

    # Hart 0 switches weak memory on; the others wait for it. a1 is the address of the data.
    .macro litmus name
\name:
    lla a1, data
    csrr a0, mhartid
    li a2, 1
    bnez a0, 8f
    mark 1
    sd a2, STARTED(a1)
    j 9f
8:  wfi
    ld a3, STARTED(a1)
    beqz a3, 8b
9:  fence rw, rw
    .endm

    .macro hart number
    li a5, \number
    bne a0, a5, 9f
    .endm

    .macro result number
    sd a0, RESULTS + 8 * \number(a1)
    fence rw, rw
    li a2, 1
    addi a4, a1, DONE
    amoadd.d a3, a2, (a4)
8:  wfi
    j 8b
9:
    .endm

    # The last hart ends the run: four bits for each hart's result, hart 0's highest.
    .macro judge harts
    li a2, \harts
8:  wfi
    ld a3, DONE(a1)
    bne a3, a2, 8b
    fence rw, rw
    li a0, 0
    addi a4, a1, RESULTS
8:  slli a0, a0, 4
    ld a3, 0(a4)
    add a0, a0, a3
    addi a4, a4, 8
    addi a2, a2, -1
    bnez a2, 8b
    j end
    .endm

    .macro set address, value
    li a2, \value
    sd a2, \address(a1)
    .endm

    # a0 = 2 * first + second.
    .macro pair first, between, second
    ld a2, \first(a1)
    \between
    ld a3, \second(a1)
    add a0, a2, a2
    add a0, a0, a3
    .endm

    .macro writer number, between
    hart \number
    set X, 1
    \between
    set Y, 1
    li a0, 0
    result \number
    .endm

# Message passing: 2 is the flag without the data.
    .macro message_passing name, writes, reads
    litmus \name
    writer 0, "\writes"
    hart 1
    pair Y, "\reads", X
    result 1
    judge 2
    .endm

    message_passing mp, "", ""
    message_passing mp_release, "fence rw, w", ""
    message_passing mp_acquire, "", "fence r, rw"
    message_passing mp_both, "fence rw, w", "fence r, rw"
    message_passing mp_full, "fence rw, rw", "fence rw, rw"

# The second load's address depends on the first load's value, without being changed by it.
    litmus mp_address
    writer 0, "fence rw, w"
    hart 1
    ld a2, Y(a1)
    xor a4, a2, a2
    add a4, a4, a1
    ld a3, X(a4)
    add a0, a2, a2
    add a0, a0, a3
    result 1
    judge 2

# Each writes one place, then reads the other.
    .macro store_buffering name, between
    litmus \name
    hart 0
    set X, 1
    \between
    ld a0, Y(a1)
    result 0
    hart 1
    set Y, 1
    \between
    ld a0, X(a1)
    result 1
    judge 2
    .endm

    store_buffering sb, ""
    store_buffering sb_release, "fence rw, w"
    store_buffering sb_full, "fence rw, rw"

# Each reads one place, then writes the other.
    .macro load_buffering name, between:vararg
    litmus \name
    hart 0
    ld a0, X(a1)
    \between Y
    result 0
    hart 1
    ld a0, Y(a1)
    \between X
    result 1
    judge 2
    .endm

    .macro lb_plain to
    set \to, 1
    .endm
    .macro lb_ordered to
    fence r, w
    set \to, 1
    .endm
    .macro lb_total to
    fence rw, rw
    set \to, 1
    .endm
    # A branch to the next instruction either way.
    .macro lb_branching to
    bnez a0, 4
    set \to, 1
    .endm
    .macro lb_copying to
    sd a0, \to(a1)
    .endm
    .macro lb_addressing to
    xor a4, a0, a0
    add a4, a4, a1
    li a2, 1
    sd a2, \to(a4)
    .endm

    load_buffering lb, lb_plain
    load_buffering lb_fence, lb_ordered
    load_buffering lb_full, lb_total
    load_buffering lb_branch, lb_branching
    load_buffering lb_copy, lb_copying
    load_buffering lb_address, lb_addressing

# One word, read twice.
    litmus coherence
    hart 0
    set X, 1
    li a0, 0
    result 0
    hart 1
    pair X, "", X
    result 1
    judge 2

# A byte within a word that waits, and a word over a byte that waits: 3.
    litmus own_stores
    hart 0
    set X, 3
    li a2, 2
    sb a2, X + 1(a1)
    ld a3, X(a1)
    lb a0, X(a1)
    addi a3, a3, -515
    snez a3, a3
    add a0, a0, a3
    result 0
    hart 1
    set Y, 1
    result 1
    judge 2

# Two writers, and two readers who read in opposite order.
    .macro independent_reads name, between
    litmus \name
    hart 0
    set X, 1
    li a0, 0
    result 0
    hart 1
    set Y, 1
    li a0, 0
    result 1
    hart 2
    pair X, "\between", Y
    result 2
    hart 3
    pair Y, "\between", X
    result 3
    judge 4
    .endm

    independent_reads iriw, ""
    independent_reads iriw_acquire, "fence r, rw"

# Each adds 1 to x three times under a lock at y, and reads the sum after both are done.
    .macro lock name, swap, unlock
    litmus \name
    hart 0
    adds \swap, \unlock
    result 0
    hart 1
    adds \swap, \unlock
    result 1
    judge 2
    .endm

    .macro adds swap, unlock
    .rept 3
    li a2, 1
    addi a4, a1, Y
7:  \swap a3, a2, (a4)
    bnez a3, 7b
    ld a3, X(a1)
    addi a3, a3, 1
    sd a3, X(a1)
    \unlock a3, zero, (a4)
    .endr
    addi a4, a1, 128
    fence rw, rw
    amoadd.d a3, a2, (a4)
7:  ld a3, 128(a1)
    addi a3, a3, -2
    bnez a3, 7b
    fence rw, rw
    ld a0, X(a1)
    .endm

    lock lock_both, amoswap.d.aq, amoswap.d.rl
    lock lock_acquire, amoswap.d.aq, amoswap.d
    lock lock_release, amoswap.d, amoswap.d.rl
