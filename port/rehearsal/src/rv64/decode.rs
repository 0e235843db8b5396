//! Instructions, decoded once by the table of `encodings.rs`: execution is a look-up and one
//! `match`.

use std::sync::LazyLock;

use super::encodings::ENCODINGS;

/// Operations, named as in the manual.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Op {
    #[default]
    Illegal,
    Lui,
    Auipc,
    Jal,
    Jalr,
    Beq,
    Bne,
    Blt,
    Bge,
    Bltu,
    Bgeu,
    Lb,
    Lh,
    Lw,
    Ld,
    Lbu,
    Lhu,
    Lwu,
    Sb,
    Sh,
    Sw,
    Sd,
    Addi,
    Slti,
    Sltiu,
    Xori,
    Ori,
    Andi,
    Slli,
    Srli,
    Srai,
    Addiw,
    Slliw,
    Srliw,
    Sraiw,
    Add,
    Sub,
    Sll,
    Slt,
    Sltu,
    Xor,
    Srl,
    Sra,
    Or,
    And,
    Addw,
    Subw,
    Sllw,
    Srlw,
    Sraw,
    Mul,
    Mulh,
    Mulhsu,
    Mulhu,
    Div,
    Divu,
    Rem,
    Remu,
    Mulw,
    Divw,
    Divuw,
    Remw,
    Remuw,
    Fence,
    Pause,
    Mark,
    Ebreak,
    Wfi,
    CsrRead,
    CsrWrite,
    LrW,
    LrD,
    ScW,
    ScD,
    AmoW,
    AmoD,
}

impl Op {
    pub(crate) fn is_division(self) -> bool {
        use Op::{Div, Divu, Divuw, Divw, Rem, Remu, Remuw, Remw};
        matches!(self, Div | Divu | Rem | Remu | Divw | Divuw | Remw | Remuw)
    }
}

/// A decoded instruction: register numbers, constant, length in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
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

/// Fields other than constants.
const FIELDS: [&str; 5] = ["rd", "rs1", "rs2", "aq", "rl"];

/// A row of the table.
#[derive(Default)]
struct Encoding {
    op: Op,
    length: u8,
    /// Bits that must be as in `fixed`.
    mask: u32,
    fixed: u32,
    /// Place in [`FIELDS`], lowest bit, number of bits, and what is added.
    fields: Vec<(usize, u32, u32, u32)>,
    /// Parts of the constant: lowest bit, number of bits, and the lowest bit in the constant.
    constant: Vec<(u32, u32, u32)>,
    /// Bits above the constant's sign, or of an unsigned one none.
    unused: u32,
}

static ROWS: LazyLock<Vec<Encoding>> = LazyLock::new(|| {
    let read = |(op, code)| Encoding::read(op, code).unwrap_or_else(|| panic!("{op:?} {code}"));
    ENCODINGS.into_iter().map(read).collect()
});

impl Encoding {
    fn read(op: Op, code: &str) -> Option<Self> {
        let mut row = Self {
            op,
            ..Self::default()
        };
        let mut at = 0;
        for word in code.split_whitespace().rev() {
            at += if let Some((name, bits)) = word.strip_suffix(']').and_then(|w| w.split_once('['))
            {
                row.part_of_constant(at, name == "imm", bits)?
            } else if word.starts_with(['0', '1', '-']) {
                row.bits(at, word)
            } else {
                row.named_fields(at, word)?
            };
        }
        row.length = (at / 8) as u8;
        Some(row)
    }

    fn bits(&mut self, at: u32, digits: &str) -> u32 {
        for (place, digit) in (at..).zip(digits.bytes().rev()) {
            self.mask |= u32::from(digit != b'-') << place;
            self.fixed |= u32::from(digit == b'1') << place;
        }
        digits.len() as u32
    }

    fn part_of_constant(&mut self, at: u32, signed: bool, ranges: &str) -> Option<u32> {
        let mut width = 0;
        for range in ranges.rsplit('|') {
            let (high, low) = range.split_once(':').unwrap_or((range, range));
            let (high, low): (u32, u32) = (high.parse().ok()?, low.parse().ok()?);
            let bits = high - low + 1;
            self.constant.push((at + width, bits, low));
            if signed {
                let unused = 31 - high;
                self.unused = if self.unused == 0 {
                    unused
                } else {
                    self.unused.min(unused)
                };
            }
            width += bits;
        }
        Some(width)
    }

    fn named_fields(&mut self, at: u32, names: &str) -> Option<u32> {
        let mut width = 0;
        for name in names.split('/') {
            let (name, bits, more) = if let Some((name, number)) = name.split_once('=') {
                (name, 0, number.parse().ok()?)
            } else if let Some(name) = name.strip_suffix('\'') {
                (name, 3, 8)
            } else {
                (
                    name,
                    if name.starts_with('r') && name != "rl" {
                        5
                    } else {
                        1
                    },
                    0,
                )
            };
            let field = FIELDS.iter().position(|field| *field == name)?;
            self.fields.push((field, at, bits, more));
            width = bits;
        }
        Some(width)
    }

    fn instruction(&self, word: u32) -> Instruction {
        let cut = |at: u32, bits: u32| word >> at & (u32::MAX >> (32 - bits));
        let mut fields = [0; FIELDS.len()];
        for &(field, at, bits, more) in &self.fields {
            fields[field] = more as u8 + if bits == 0 { 0 } else { cut(at, bits) as u8 };
        }
        let parts = self
            .constant
            .iter()
            .map(|&(at, bits, to)| cut(at, bits) << to);
        let constant = parts.fold(0, |constant, part| constant | part);
        Instruction {
            op: self.op,
            rd: fields[0],
            rs1: fields[1],
            rs2: fields[2],
            length: self.length,
            acquire: fields[3] == 1,
            release: fields[4] == 1,
            immediate: (constant << self.unused) as i32 >> self.unused,
        }
    }
}

/// Decodes the instruction at the beginning of `word`: 32 bits, or 16 of them.
pub(crate) fn decode(word: u32) -> Instruction {
    let illegal = Instruction {
        op: Op::Illegal,
        length: 4,
        ..Instruction::default()
    };
    let row = ROWS.iter().find(|row| word & row.mask == row.fixed);
    row.map_or(illegal, |row| row.instruction(word))
}
