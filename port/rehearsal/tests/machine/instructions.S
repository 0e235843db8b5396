# Single instructions, with results worked out by hand from the manual.

    # a1 and a2 are given, a3 begins as a1 and has to end as `expected`; s1 is the data's address.
    .macro row instructions, first, second, expected
    addi s0, s0, 1
    li a1, \first
    li a2, \second
    mv a3, a1
    \instructions
    li a4, \expected
    beq a3, a4, 9f
    j failed
9:
    .endm

    # The same in the 16-bit form.
    .macro short instructions, first, second, expected
    .option push
    .option rvc
    row "\instructions", \first, \second, \expected
    .option pop
    .endm

    # The word at s1 begins as 6, and ends as `after`; a3 gets both.
    .macro amo name, operand, after
    row "sw a1, 0(s1); \name a3, a2, (s1); lw t0, 0(s1); slli t0, t0, 8; add a3, a3, t0", 6, \operand, (6+(\after<<8))
    .endm

# Ends with the number of the first row that gives another result, or 0.
instructions:
    lla s1, data
    li s0, 0
    row "add a3, a1, a2", -1, 2, 1
    row "sub a3, a1, a2", 1, 2, -1
    row "sll a3, a1, a2", 3, 65, 6
    row "slt a3, a1, a2", -1, 0, 1
    row "sltu a3, a1, a2", -1, 0, 0
    row "xor a3, a1, a2", 12, 10, 6
    row "srl a3, a1, a2", 0x8000000000000000, 63, 1
    row "sra a3, a1, a2", 0x8000000000000000, 63, -1
    row "or a3, a1, a2", 12, 10, 14
    row "and a3, a1, a2", 12, 10, 8
    row "mul a3, a1, a2", 0x10000000000, 0x40000000, 0
    row "mulh a3, a1, a2", -1, -1, 0
    row "mulhsu a3, a1, a2", -1, -1, -1
    row "mulhu a3, a1, a2", -1, -1, -2
    row "div a3, a1, a2", -7, 2, -3
    row "div a3, a1, a2", 7, 0, -1
    row "div a3, a1, a2", 0x8000000000000000, -1, 0x8000000000000000
    row "divu a3, a1, a2", -1, 2, 0x7fffffffffffffff
    row "rem a3, a1, a2", -7, 2, -1
    row "rem a3, a1, a2", 7, 0, 7
    row "rem a3, a1, a2", 0x8000000000000000, -1, 0
    row "remu a3, a1, a2", -1, 16, 15
    row "addw a3, a1, a2", 0x7fffffff, 1, 0xffffffff80000000
    row "subw a3, a1, a2", 0, 1, -1
    row "sllw a3, a1, a2", 1, 31, 0xffffffff80000000
    row "srlw a3, a1, a2", 0xffffffff80000000, 31, 1
    row "sraw a3, a1, a2", 0x80000000, 31, -1
    row "mulw a3, a1, a2", 0x100000003, 5, 15
    row "divw a3, a1, a2", 0xffffffff80000000, -1, 0xffffffff80000000
    row "divw a3, a1, a2", 9, 0, -1
    row "divuw a3, a1, a2", 0xffffffff, 2, 0x7fffffff
    row "remw a3, a1, a2", -7, 2, -1
    row "remuw a3, a1, a2", 0xffffffff, 0, -1
    row "addi a3, a1, -1", 0, 0, -1
    row "slti a3, a1, -1", -2, 0, 1
    row "sltiu a3, a1, -1", 5, 0, 1
    row "xori a3, a1, -1", 1, 0, -2
    row "ori a3, a1, 8", 1, 0, 9
    row "andi a3, a1, -2", 7, 0, 6
    row "slli a3, a1, 63", 1, 0, 0x8000000000000000
    row "srli a3, a1, 63", -1, 0, 1
    row "srai a3, a1, 63", 0x8000000000000000, 0, -1
    row "addiw a3, a1, 1", 0x7fffffff, 0, 0xffffffff80000000
    row "sraiw a3, a1, 4", 0x80000000, 0, 0xfffffffff8000000
    row "lui a3, 0x80000", 0, 0, 0xffffffff80000000
    row "slliw a3, a1, 31", 1, 0, 0xffffffff80000000
    row "srliw a3, a1, 31", 0xffffffff80000000, 0, 1
    short "c.addi a3, -3", 10, 0, 7
    short "c.addiw a3, 1", 0x7fffffff, 0, 0xffffffff80000000
    short "c.li a3, -3", 10, 0, -3
    short "c.lui a3, 0xfffe0", 0, 0, -131072
    short "c.slli a3, 40", 1, 0, 0x10000000000
    short "c.srli a3, 40", -1, 0, 0xffffff
    short "c.srai a3, 62", 0x8000000000000000, 0, -2
    short "c.andi a3, -2", 7, 0, 6
    short "c.mv a3, a2", 1, 9, 9
    short "c.add a3, a2", -1, 2, 1
    short "c.sub a3, a2", 1, 2, -1
    short "c.xor a3, a2", 12, 10, 6
    short "c.or a3, a2", 12, 10, 14
    short "c.and a3, a2", 12, 10, 8
    short "c.subw a3, a2", 0, 1, -1
    short "c.addw a3, a2", 0x7fffffff, 1, 0xffffffff80000000

    # Short instructions among others, and jumps of both kinds.
    short "c.li a3, -3; c.addi a3, 10; c.slli a3, 2; c.mv a0, a3; c.add a3, a0; c.nop", 0, 0, 56
    short "c.li a2, 5; c.li a3, 0; 8: c.add a3, a2; c.addi a2, -1; c.bnez a2, 8b", 0, 0, 15
    short "c.li a3, 12; c.j 8f; c.li a3, 1; 8: c.andi a3, 7; c.li a1, 1; c.sub a3, a1", 0, 0, 3
    short "sd a1, 0(s1); c.ld a3, 0(s1); c.sw a2, 4(s1); c.lw a2, 4(s1); c.add a3, a2", 5, -9, -4

    # Loads extend; stores keep their neighbours.
    row "sd a1, 0(s1); sb a2, 1(s1); ld a3, 0(s1)", 0x8182838485868788, 0x11, 0x8182838485861188
    row "sd a1, 0(s1); sh a2, 2(s1); ld a3, 0(s1)", 0x8182838485868788, 0x11, 0x8182838400118788
    row "sd a1, 0(s1); sw a2, 4(s1); ld a3, 0(s1)", 0x8182838485868788, 0x11, 0x1185868788
    row "sd a1, 0(s1); lb a3, 0(s1)", 0x8182838485868788, 0, -0x78
    row "sd a1, 0(s1); lbu a3, 0(s1)", 0x8182838485868788, 0, 0x88
    row "sd a1, 0(s1); lh a3, 2(s1)", 0x8182838485868788, 0, -0x7a7a
    row "sd a1, 0(s1); lhu a3, 2(s1)", 0x8182838485868788, 0, 0x8586
    row "sd a1, 0(s1); lw a3, 0(s1)", 0x8182838485868788, 0, -0x7a797878
    row "sd a1, 0(s1); lwu a3, 4(s1)", 0x8182838485868788, 0, 0x81828384

    # A branch that is taken leaves a3 as 1.
    row "li a3, 1; beq a1, a2, 8; li a3, 0", 3, 3, 1
    row "li a3, 1; bne a1, a2, 8; li a3, 0", 3, 3, 0
    row "li a3, 1; blt a1, a2, 8; li a3, 0", -1, 1, 1
    row "li a3, 1; bge a1, a2, 8; li a3, 0", -1, 1, 0
    row "li a3, 1; bltu a1, a2, 8; li a3, 0", -1, 1, 0
    row "li a3, 1; bgeu a1, a2, 8; li a3, 0", -1, 1, 1

    # Read-modify-writes return what stood there.
    amo amoadd.w, -1, 5
    amo amoswap.w, 9, 9
    amo amoxor.w, 5, 3
    amo amoor.w, 9, 15
    amo amoand.w, 3, 2
    amo amomin.w, -7, -7
    amo amomax.w, -7, 6
    amo amominu.w, -7, 6
    amo amomaxu.w, -7, -7

    # The first store finds its reservation (0), the second none (1).
    row "lr.d t0, (s1); sc.d a3, a1, (s1); sc.d t1, a1, (s1); sub a3, a3, t1", 7, 0, -1
    row "sd a1, 0(s1); lr.w t0, (s1); sc.w t1, a2, (s1); lw a3, 0(s1); sub a3, a3, t0", 7, 9, 2
    li a0, 0
    j end
failed:
    mv a0, s0
    j end

# Marks open phases; a held phase ignores them.
counted:
    lla a1, data
    mark 1
    mark 3
    nop
    sb a0, 0(a1)
    ld a2, 0(a1)
    mark 4
    nop
    mark 3
    fence rw, rw
    amoadd.d a2, a1, (a1)
    mark 5
    div a2, a1, a1
    mark 2
    nop
    li a0, 0
    j end

# Three harts store and load one word.
race:
    lla a1, data
    mark 1
    csrr a0, mhartid
    sd a0, 0(a1)
    ld a0, 0(a1)
    j end
