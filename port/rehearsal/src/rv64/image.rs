//! A program: the contents of an ELF file.

use std::collections::BTreeMap;

use object::{Architecture, Object, ObjectSegment, ObjectSymbol, SegmentFlags, elf};

use super::decode::{Instruction, decode};
use super::memory::MEMORY_BASE;

#[derive(Clone, Debug)]
pub struct Image {
    pub(crate) entry: u64,
    /// Address and contents of its segments.
    pub(crate) parts: Vec<(u64, Vec<u8>)>,
    /// Address of the code, and an instruction for each even address from there on.
    pub(crate) code: (u64, Vec<Instruction>),
    symbols: BTreeMap<String, u64>,
}

#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("not a readable ELF file: {0}")]
    Object(#[from] object::read::Error),
    #[error("not a program for RISC-V")]
    Machine,
    #[error("no code in it")]
    NoCode,
    #[error("a part at {0:#x} lies below the machine's memory")]
    Below(u64),
}

impl Image {
    /// A program of bare machine code, at the beginning of memory.
    pub fn from_code(code: &[u32]) -> Self {
        let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        Self {
            entry: MEMORY_BASE,
            code: (MEMORY_BASE, instructions(&bytes)),
            parts: vec![(MEMORY_BASE, bytes)],
            symbols: BTreeMap::new(),
        }
    }

    pub fn from_elf(bytes: &[u8]) -> Result<Self, ImageError> {
        let file = object::File::parse(bytes)?;
        if file.architecture() != Architecture::Riscv64 {
            return Err(ImageError::Machine);
        }
        let (mut parts, mut code) = (Vec::new(), None);
        for part in file.segments() {
            let (address, contents) = (part.address(), part.data()?);
            if contents.is_empty() {
                continue;
            }
            if address < MEMORY_BASE {
                return Err(ImageError::Below(address));
            }
            if let SegmentFlags::Elf { p_flags } = part.flags()
                && p_flags & elf::PF_X != 0
            {
                code = Some((address, instructions(contents)));
            }
            parts.push((address, contents.to_vec()));
        }
        let name = |symbol: object::Symbol<'_, '_>| {
            Some((symbol.name().ok()?.to_owned(), symbol.address()))
        };
        Ok(Self {
            entry: file.entry(),
            parts,
            code: code.ok_or(ImageError::NoCode)?,
            symbols: file.symbols().filter_map(name).collect(),
        })
    }

    /// The program from a symbol on.
    pub fn starting_at(&self, name: &str) -> Option<Self> {
        Some(Self {
            entry: self.address_of(name)?,
            ..self.clone()
        })
    }

    /// A symbol's address.
    pub fn address_of(&self, name: &str) -> Option<u64> {
        self.symbols.get(name).copied()
    }
}

fn instructions(bytes: &[u8]) -> Vec<Instruction> {
    let half = |at: usize| {
        let pair = bytes
            .get(at..at + 2)
            .map_or([0; 2], |pair| [pair[0], pair[1]]);
        u32::from(u16::from_le_bytes(pair))
    };
    (0..bytes.len())
        .step_by(2)
        .map(|at| decode(half(at) | half(at + 2) << 16))
        .collect()
}
