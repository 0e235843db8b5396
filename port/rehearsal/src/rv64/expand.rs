//! The C extension: every 16-bit instruction abbreviates a 32-bit one.

use super::encode;

fn field(word: u32, low: u32, count: u32) -> u32 {
    (word >> low) & ((1 << count) - 1)
}

/// Sign-extends a value of `bits` bits.
fn signed(value: u32, bits: u32) -> u32 {
    (((value << (32 - bits)) as i32) >> (32 - bits)) as u32
}

fn i_type(immediate: u32, rs1: u32, funct3: u32, rd: u32, opcode: u32) -> u32 {
    encode::i(opcode, funct3, rd, rs1, immediate as i32)
}

fn s_type(immediate: u32, rs2: u32, rs1: u32, funct3: u32) -> u32 {
    encode::store(funct3, rs2, rs1, immediate as i32)
}

fn r_type(funct7: u32, rs2: u32, rs1: u32, funct3: u32, rd: u32, opcode: u32) -> u32 {
    encode::r(opcode, funct3, funct7, rd, rs1, rs2)
}

fn jump(offset: u32, rd: u32) -> u32 {
    let bits = field(offset, 20, 1) << 31
        | field(offset, 1, 10) << 21
        | field(offset, 11, 1) << 20
        | field(offset, 12, 8) << 12;
    bits | rd << 7 | 0x6f
}

/// The 32-bit form of `half`, or 0 (an illegal instruction) if it is not RV64IMAC.
pub(crate) fn expand(half: u16) -> u32 {
    let word = u32::from(half);
    let bit = |n| field(word, n, 1);
    // Full registers, and the eight with a three-bit name.
    let (rd, rs2) = (field(word, 7, 5), field(word, 2, 5));
    let (short_high, short_low) = (8 + field(word, 7, 3), 8 + field(word, 2, 3));
    let small = signed(bit(12) << 5 | rs2, 6);
    // Offsets of loads and stores, by access size.
    let of_word = field(word, 10, 3) << 3 | bit(6) << 2 | bit(5) << 6;
    let of_double = field(word, 10, 3) << 3 | field(word, 5, 2) << 6;
    match (word & 3, word >> 13) {
        (0, 0) => {
            let offset =
                field(word, 11, 2) << 4 | field(word, 7, 4) << 6 | bit(6) << 2 | bit(5) << 3;
            if offset == 0 { 0 } else { i_type(offset, 2, 0, short_low, 0x13) }
        }
        (0, 2) => i_type(of_word, short_high, 2, short_low, 0x03),
        (0, 3) => i_type(of_double, short_high, 3, short_low, 0x03),
        (0, 6) => s_type(of_word, short_low, short_high, 2),
        (0, 7) => s_type(of_double, short_low, short_high, 3),
        (1, 0) => i_type(small, rd, 0, rd, 0x13),
        (1, 1) if rd != 0 => i_type(small, rd, 0, rd, 0x1b),
        (1, 2) => i_type(small, 0, 0, rd, 0x13),
        (1, 3) if rd == 2 => {
            let offset =
                bit(12) << 9 | bit(6) << 4 | bit(5) << 6 | field(word, 3, 2) << 7 | bit(2) << 5;
            if offset == 0 { 0 } else { i_type(signed(offset, 10), 2, 0, 2, 0x13) }
        }
        (1, 3) if small != 0 => field(small, 0, 20) << 12 | rd << 7 | 0x37,
        (1, 4) => arithmetic(word, short_high, short_low, small),
        (1, 5) => {
            let offset = bit(12) << 11
                | bit(11) << 4
                | field(word, 9, 2) << 8
                | bit(8) << 10
                | bit(7) << 6
                | bit(6) << 7
                | field(word, 3, 3) << 1
                | bit(2) << 5;
            jump(signed(offset, 12), 0)
        }
        (1, zero @ (6 | 7)) => {
            let offset = bit(12) << 8
                | field(word, 10, 2) << 3
                | field(word, 5, 2) << 6
                | field(word, 3, 2) << 1
                | bit(2) << 5;
            encode::branch(zero - 6, short_high, 0, signed(offset, 9) as i32)
        }
        (2, 0) => i_type(bit(12) << 5 | rs2, rd, 1, rd, 0x13),
        (2, 2) if rd != 0 => {
            i_type(bit(12) << 5 | field(word, 4, 3) << 2 | field(word, 2, 2) << 6, 2, 2, rd, 0x03)
        }
        (2, 3) if rd != 0 => {
            i_type(bit(12) << 5 | field(word, 5, 2) << 3 | field(word, 2, 3) << 6, 2, 3, rd, 0x03)
        }
        (2, 4) => match (bit(12), rd, rs2) {
            (_, 0, 0) if bit(12) == 0 => 0,
            (0, _, 0) => i_type(0, rd, 0, 0, 0x67),
            (0, ..) => r_type(0, rs2, 0, 0, rd, 0x33),
            (_, 0, 0) => 0x0010_0073,
            (_, _, 0) => i_type(0, rd, 0, 1, 0x67),
            _ => r_type(0, rs2, rd, 0, rd, 0x33),
        },
        (2, 6) => s_type(field(word, 9, 4) << 2 | field(word, 7, 2) << 6, rs2, 2, 2),
        (2, 7) => s_type(field(word, 10, 3) << 3 | field(word, 7, 3) << 6, rs2, 2, 3),
        _ => 0,
    }
}

/// Shifts, `and` with a constant, and the two-register group of quadrant 1.
fn arithmetic(word: u32, rd: u32, rs2: u32, small: u32) -> u32 {
    let shift = field(small, 0, 6);
    match (field(word, 10, 2), field(word, 12, 1), field(word, 5, 2)) {
        (0, ..) => i_type(shift, rd, 5, rd, 0x13),
        (1, ..) => i_type(0x400 | shift, rd, 5, rd, 0x13),
        (2, ..) => i_type(small, rd, 7, rd, 0x13),
        (_, 0, 0) => r_type(0x20, rs2, rd, 0, rd, 0x33),
        (_, 0, 1) => r_type(0, rs2, rd, 4, rd, 0x33),
        (_, 0, 2) => r_type(0, rs2, rd, 6, rd, 0x33),
        (_, 0, _) => r_type(0, rs2, rd, 7, rd, 0x33),
        (_, _, 0) => r_type(0x20, rs2, rd, 0, rd, 0x3b),
        (_, _, 1) => r_type(0, rs2, rd, 0, rd, 0x3b),
        _ => 0,
    }
}
