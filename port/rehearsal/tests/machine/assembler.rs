//! A small assembler: one function per instruction of the manual, and a program's end.

pub(crate) use dpamatch_port::rv64::encode::{branch, i, r, store};
use dpamatch_port::rv64::{Image, MEMORY_BASE, Mark, Outcome, Setup, WeakOptions, run};

pub(crate) const ZERO: u32 = 0;
pub(crate) const A0: u32 = 10;
pub(crate) const A1: u32 = 11;
pub(crate) const A2: u32 = 12;
pub(crate) const A3: u32 = 13;
pub(crate) const A4: u32 = 14;
pub(crate) const A5: u32 = 15;

pub(crate) fn addi(rd: u32, rs1: u32, immediate: i32) -> u32 {
    i(0x13, 0, rd, rs1, immediate)
}

pub(crate) fn add(rd: u32, rs1: u32, rs2: u32) -> u32 {
    r(0x33, 0, 0, rd, rs1, rs2)
}

pub(crate) fn xor(rd: u32, rs1: u32, rs2: u32) -> u32 {
    r(0x33, 4, 0, rd, rs1, rs2)
}

/// `funct3` 0 to 3: 1 to 8 bytes; 4 to 6: unsigned.
pub(crate) fn load(funct3: u32, rd: u32, base: u32, offset: i32) -> u32 {
    i(0x03, funct3, rd, base, offset)
}

pub(crate) fn ld(rd: u32, base: u32, offset: i32) -> u32 {
    load(3, rd, base, offset)
}

pub(crate) fn sd(source: u32, base: u32, offset: i32) -> u32 {
    store(3, source, base, offset)
}

/// Bits of sets: 2 reads, 1 writes.
pub(crate) fn fence(before: u32, after: u32) -> u32 {
    before << 24 | after << 20 | 0x0f
}

/// `function` as in the manual, without ordering bits.
pub(crate) fn amo(funct3: u32, function: u32, rd: u32, address: u32, source: u32) -> u32 {
    r(0x2f, funct3, function << 2, rd, address, source)
}

pub(crate) fn mark(number: u32) -> u32 {
    number << 20 | 2 << 12 | 0x13
}

pub(crate) const HART_TO_A0: u32 = 0xf140_2573;
pub(crate) const WFI: u32 = 0x1050_0073;
pub(crate) const NOP: u32 = 0x13;
const END: usize = 9;

/// `a1` = start of memory + `offset`: three instructions.
pub(crate) fn base(rd: u32, offset: i32) -> [u32; 3] {
    // addi rd, x0, 1; slli rd, rd, 31; addi rd, rd, offset
    [addi(rd, ZERO, 1), i(0x13, 1, rd, rd, 31), addi(rd, rd, offset)]
}

/// Ends the program with the value in `a0` as exit code.
pub(crate) fn end() -> [u32; END] {
    let [one, shift, offset] = base(A1, 2032);
    [
        one,
        shift,
        offset,
        sd(A0, A1, 8),
        addi(A0, ZERO, 0x18),
        NOP,
        0x01f0_1013,
        0x0010_0073,
        0x4070_5013,
    ]
}

/// Runs a program that ends with [`end`]. Code must end below byte 2032, the exit block; data
/// begins at 1024.
pub(crate) fn outcome(code: &[u32], setup: &Setup) -> Outcome {
    let mut code = code.to_vec();
    assert!(code.len() * 4 <= 1024, "code runs into data");
    code.resize(508, 0);
    code.extend([0x2_0026, 0, 0, 0]);
    run(&Image::from_code(&code), setup)
}

pub(crate) fn result(code: &[u32]) -> i32 {
    let mut code = code.to_vec();
    code.extend(end());
    let outcome = outcome(&code, &Setup { memory: 1 << 16, ..Setup::default() });
    outcome.end.unwrap_or_else(|fault| panic!("{fault}"))
}

/// Weak memory from mark 1 on.
pub(crate) fn weak(harts: usize, seed: u64) -> Setup {
    let mut marks = vec![Mark::Ignore; 2];
    marks[1] = Mark::CountFrom;
    let weak = Some(WeakOptions::of_seed(seed));
    Setup { harts, memory: 1 << 16, marks, weak, limit: 1_000_000, ..Setup::default() }
}

pub(crate) const fn data(offset: i32) -> i32 {
    1024 + offset
}

pub(crate) const START: u64 = MEMORY_BASE;
