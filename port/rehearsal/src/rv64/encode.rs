//! Machine code of single instructions, by their fields.

/// An instruction with a constant.
pub(crate) fn i(opcode: u32, funct3: u32, rd: u32, rs1: u32, immediate: i32) -> u32 {
    (immediate as u32 & 0xfff) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

/// An instruction of three registers.
pub(crate) fn r(opcode: u32, funct3: u32, funct7: u32, rd: u32, rs1: u32, rs2: u32) -> u32 {
    funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

/// A store; `funct3` 0 to 3: 1 to 8 bytes.
pub(crate) fn store(funct3: u32, source: u32, base: u32, offset: i32) -> u32 {
    let offset = offset as u32;
    (offset >> 5 & 0x7f) << 25
        | source << 20
        | base << 15
        | funct3 << 12
        | (offset & 31) << 7
        | 0x23
}

/// A branch; `funct3` 0: equal, 1: not equal, 4: less, 5: not less, 6 and 7: the unsigned compares.
pub(crate) fn branch(funct3: u32, rs1: u32, rs2: u32, offset: i32) -> u32 {
    let bits = |low: u32, count: u32| (offset as u32 >> low) & ((1 << count) - 1);
    bits(12, 1) << 31
        | bits(5, 6) << 25
        | rs2 << 20
        | rs1 << 15
        | funct3 << 12
        | bits(1, 4) << 8
        | bits(11, 1) << 7
        | 0x63
}
