//! A program: the contents of an ELF file.

use std::collections::BTreeMap;

use object::elf::FileHeader64;
use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol};

use super::memory::MEMORY_BASE;

#[derive(Clone, Debug)]
pub struct Image {
    pub(crate) entry: u64,
    /// Address and contents of its segments.
    pub(crate) parts: Vec<(u64, Vec<u8>)>,
    pub(crate) code: (u64, Vec<u8>),
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
            parts: vec![(MEMORY_BASE, bytes.clone())],
            code: (MEMORY_BASE, bytes),
            symbols: BTreeMap::new(),
        }
    }

    pub fn from_elf(bytes: &[u8]) -> Result<Self, ImageError> {
        let file = ElfFile::<FileHeader64<Endianness>>::parse(bytes)?;
        let (header, endian) = (file.elf_header(), file.endian());
        if header.e_machine(endian) != object::elf::EM_RISCV {
            return Err(ImageError::Machine);
        }
        let mut image = Self {
            entry: file.entry(),
            parts: Vec::new(),
            code: (0, Vec::new()),
            symbols: BTreeMap::new(),
        };
        for part in header.program_headers(endian, bytes)? {
            if part.p_type(endian) != object::elf::PT_LOAD {
                continue;
            }
            let address = part.p_paddr(endian);
            let Ok(contents) = part.data(endian, bytes) else { continue };
            if contents.is_empty() {
                continue;
            }
            if address < MEMORY_BASE {
                return Err(ImageError::Below(address));
            }
            if part.p_flags(endian) & object::elf::PF_X != 0 {
                image.code = (address, contents.to_vec());
            }
            image.parts.push((address, contents.to_vec()));
        }
        if image.code.1.is_empty() {
            return Err(ImageError::NoCode);
        }
        image.symbols = file
            .symbols()
            .filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), symbol.address())))
            .collect();
        Ok(image)
    }

    /// The program from a symbol on.
    pub fn starting_at(&self, name: &str) -> Option<Self> {
        Some(Self { entry: self.address_of(name)?, ..self.clone() })
    }

    /// A symbol's address.
    pub fn address_of(&self, name: &str) -> Option<u64> {
        self.symbols.get(name).copied()
    }

    pub fn code(&self) -> (u64, &[u8]) {
        (self.code.0, &self.code.1)
    }
}
