//! Instructions, decoded once: execution is a table look-up and one `match`.

use super::expand::expand;

/// Operations, named as in the manual.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[rustfmt::skip]
pub(crate) enum Op {
    Illegal,
    Lui, Auipc, Jal, Jalr,
    Beq, Bne, Blt, Bge, Bltu, Bgeu,
    Lb, Lh, Lw, Ld, Lbu, Lhu, Lwu,
    Sb, Sh, Sw, Sd,
    Addi, Slti, Sltiu, Xori, Ori, Andi, Slli, Srli, Srai,
    Addiw, Slliw, Srliw, Sraiw,
    Add, Sub, Sll, Slt, Sltu, Xor, Srl, Sra, Or, And,
    Addw, Subw, Sllw, Srlw, Sraw,
    Mul, Mulh, Mulhsu, Mulhu, Div, Divu, Rem, Remu,
    Mulw, Divw, Divuw, Remw, Remuw,
    /// A fence; `immediate` holds mode, predecessors and successors as in the instruction.
    Fence,
    Pause,
    /// `slti x0, x0, immediate`: a hint without effect that marks a place in the code.
    Mark,
    Ecall, Ebreak, Wfi,
    /// Reads a control register (`csrrs rd, csr, x0`); `immediate` is its number.
    CsrRead,
    /// Writes one; `immediate` is its number.
    CsrWrite,
    LrW, LrD, ScW, ScD,
    /// Read-modify-write of 4 or 8 bytes; `immediate` bits 4..0 are the function.
    AmoW, AmoD,
}

impl Op {
    pub(crate) fn is_division(self) -> bool {
        use Op::{Div, Divu, Divuw, Divw, Rem, Remu, Remuw, Remw};
        matches!(self, Div | Divu | Rem | Remu | Divw | Divuw | Remw | Remuw)
    }
}

/// A decoded instruction: register numbers, sign-extended constant, length in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Instruction {
    pub(crate) op: Op,
    pub(crate) rd: u8,
    pub(crate) rs1: u8,
    pub(crate) rs2: u8,
    pub(crate) length: u8,
    /// Ordering bits of an atomic instruction.
    pub(crate) acquire: bool,
    pub(crate) release: bool,
    pub(crate) immediate: i32,
}

/// Decodes the instruction at the beginning of `word`: 32 bits, or 16 of them.
pub(crate) fn decode(word: u32) -> Instruction {
    if word & 3 == 3 {
        Instruction { length: 4, ..decode_long(word) }
    } else {
        Instruction { length: 2, ..decode_long(expand(word as u16)) }
    }
}

fn decode_long(word: u32) -> Instruction {
    let register = |low: u32| (word >> low & 31) as u8;
    let (funct3, funct7) = (word >> 12 & 7, word >> 25);
    let i_immediate = word as i32 >> 20;
    let mut instruction = Instruction {
        op: Op::Illegal,
        rd: register(7),
        rs1: register(15),
        rs2: register(20),
        length: 4,
        acquire: false,
        release: false,
        immediate: i_immediate,
    };
    instruction.op = match word & 0x7f {
        0x37 | 0x17 => {
            instruction.immediate = (word & 0xffff_f000) as i32;
            if word & 0x20 != 0 { Op::Lui } else { Op::Auipc }
        }
        0x6f => {
            let low = word & 0xf_f000 | word >> 9 & 0x800 | word >> 20 & 0x7fe;
            instruction.immediate = (word as i32 >> 31) << 20 | low as i32;
            Op::Jal
        }
        0x67 if funct3 == 0 => Op::Jalr,
        0x63 => {
            let low = word << 4 & 0x800 | word >> 20 & 0x7e0 | word >> 7 & 0x1e;
            instruction.immediate = (word as i32 >> 31) << 12 | low as i32;
            [Op::Beq, Op::Bne, Op::Illegal, Op::Illegal, Op::Blt, Op::Bge, Op::Bltu, Op::Bgeu]
                [funct3 as usize]
        }
        0x03 => [Op::Lb, Op::Lh, Op::Lw, Op::Ld, Op::Lbu, Op::Lhu, Op::Lwu, Op::Illegal]
            [funct3 as usize],
        0x23 => {
            instruction.immediate = (word as i32 >> 25) << 5 | i32::from(register(7));
            instruction.rd = 0;
            *[Op::Sb, Op::Sh, Op::Sw, Op::Sd].get(funct3 as usize).unwrap_or(&Op::Illegal)
        }
        0x13 => with_constant(&mut instruction, funct3, funct7),
        0x1b => with_constant_word(&mut instruction, funct3, funct7),
        0x33 => of_registers(funct3, funct7),
        0x3b => of_registers_word(funct3, funct7),
        0x0f if funct3 == 0 && i_immediate == 0x010 => Op::Pause,
        0x0f if funct3 == 0 => Op::Fence,
        0x73 => match (funct3, word) {
            (0, 0x0000_0073) => Op::Ecall,
            (0, 0x0010_0073) => Op::Ebreak,
            (0, 0x1050_0073) => Op::Wfi,
            (2, _) if instruction.rs1 == 0 => {
                instruction.immediate &= 0xfff;
                Op::CsrRead
            }
            (1 | 5, _) if instruction.rd == 0 => {
                instruction.immediate &= 0xfff;
                Op::CsrWrite
            }
            _ => Op::Illegal,
        },
        0x2f => atomic(&mut instruction, word),
        _ => Op::Illegal,
    };
    // Clears register fields that the form does not have.
    match word & 0x7f {
        0x63 | 0x0f => instruction.rd = 0,
        0x03 | 0x13 | 0x1b | 0x67 => instruction.rs2 = 0,
        _ => {}
    }
    instruction
}

fn with_constant(instruction: &mut Instruction, funct3: u32, funct7: u32) -> Op {
    let shift = instruction.immediate & 63;
    match (funct3, funct7 >> 1) {
        (0, _) => Op::Addi,
        (2, _) if instruction.rd == 0 && instruction.rs1 == 0 => {
            instruction.immediate &= 0xfff;
            Op::Mark
        }
        (2, _) => Op::Slti,
        (3, _) => Op::Sltiu,
        (4, _) => Op::Xori,
        (6, _) => Op::Ori,
        (7, _) => Op::Andi,
        (1, 0) | (5, 0 | 0x10) => {
            instruction.immediate = shift;
            match (funct3, funct7 >> 1) {
                (1, _) => Op::Slli,
                (_, 0) => Op::Srli,
                _ => Op::Srai,
            }
        }
        _ => Op::Illegal,
    }
}

fn with_constant_word(instruction: &mut Instruction, funct3: u32, funct7: u32) -> Op {
    let op = match (funct3, funct7) {
        (0, _) => return Op::Addiw,
        (1, 0) => Op::Slliw,
        (5, 0) => Op::Srliw,
        (5, 0x20) => Op::Sraiw,
        _ => return Op::Illegal,
    };
    instruction.immediate &= 31;
    op
}

fn of_registers(funct3: u32, funct7: u32) -> Op {
    const BASE: [Op; 8] = [Op::Add, Op::Sll, Op::Slt, Op::Sltu, Op::Xor, Op::Srl, Op::Or, Op::And];
    const MULTIPLY: [Op; 8] =
        [Op::Mul, Op::Mulh, Op::Mulhsu, Op::Mulhu, Op::Div, Op::Divu, Op::Rem, Op::Remu];
    match (funct7, funct3) {
        (0, _) => BASE[funct3 as usize],
        (1, _) => MULTIPLY[funct3 as usize],
        (0x20, 0) => Op::Sub,
        (0x20, 5) => Op::Sra,
        _ => Op::Illegal,
    }
}

fn of_registers_word(funct3: u32, funct7: u32) -> Op {
    match (funct7, funct3) {
        (0, 0) => Op::Addw,
        (0, 1) => Op::Sllw,
        (0, 5) => Op::Srlw,
        (0x20, 0) => Op::Subw,
        (0x20, 5) => Op::Sraw,
        (1, 0) => Op::Mulw,
        (1, 4) => Op::Divw,
        (1, 5) => Op::Divuw,
        (1, 6) => Op::Remw,
        (1, 7) => Op::Remuw,
        _ => Op::Illegal,
    }
}

fn atomic(instruction: &mut Instruction, word: u32) -> Op {
    let (function, funct3) = (word >> 27, word >> 12 & 7);
    instruction.acquire = word >> 26 & 1 == 1;
    instruction.release = word >> 25 & 1 == 1;
    instruction.immediate = function as i32;
    match (function, funct3) {
        (2, 2) if instruction.rs2 == 0 => Op::LrW,
        (2, 3) if instruction.rs2 == 0 => Op::LrD,
        (3, 2) => Op::ScW,
        (3, 3) => Op::ScD,
        (0 | 1 | 4 | 8 | 12 | 16 | 20 | 24 | 28, 2) => Op::AmoW,
        (0 | 1 | 4 | 8 | 12 | 16 | 20 | 24 | 28, 3) => Op::AmoD,
        _ => Op::Illegal,
    }
}
