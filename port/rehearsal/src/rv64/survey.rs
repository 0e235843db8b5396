//! Static analysis of a program's code.

use std::collections::{BTreeMap, BTreeSet};

use super::decode::{Instruction, Op, decode};
use super::image::Image;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Function {
    pub name: String,
    pub address: u64,
    /// Bytes.
    pub size: u64,
    pub frame: u64,
    pub divisions: usize,
    pub byte_stores: usize,
    /// Instructions that the machine lacks: floating point, vectors, system calls.
    pub unknown: usize,
    /// External addresses that it calls or jumps to, once per place.
    pub calls: Vec<u64>,
    pub computed_calls: usize,
}

/// All functions by address. Aliases count once.
pub fn survey(image: &Image) -> Vec<Function> {
    let mut starts = BTreeMap::new();
    for symbol in image.symbols().iter().filter(|symbol| symbol.is_function && symbol.size > 0) {
        starts.entry(symbol.address).or_insert(symbol);
    }
    let (code_start, code) = image.code();
    let function = |symbol: &&super::Symbol| {
        let first = symbol.address.checked_sub(code_start)? as usize;
        let bytes = code.get(first..first + symbol.size as usize)?;
        Some(function(&symbol.name, symbol.address, bytes))
    };
    starts.values().filter_map(function).collect()
}

fn function(name: &str, address: u64, bytes: &[u8]) -> Function {
    let mut function = Function {
        name: name.to_owned(),
        address,
        size: bytes.len() as u64,
        ..Function::default()
    };
    // The last `auipc` result in each register, for the jump that follows.
    let mut upper = [None; 32];
    let mut at = 0;
    while at + 2 <= bytes.len() {
        let half = |at: usize| {
            bytes
                .get(at..at + 2)
                .map_or(0, |pair| u32::from(u16::from_le_bytes([pair[0], pair[1]])))
        };
        let word = half(at) | half(at + 2) << 16;
        let instruction = decode(word);
        // Compilers place it where control must not arrive.
        if word & 0xffff == 0 || word == 0xc000_1073 {
            at += usize::from(instruction.length);
            continue;
        }
        let pc = address + at as u64;
        note(&mut function, &mut upper, pc, &instruction);
        at += usize::from(instruction.length);
    }
    function
}

fn note(function: &mut Function, upper: &mut [Option<u64>; 32], pc: u64, at: &Instruction) {
    let offset = i64::from(at.immediate) as u64;
    let base = upper[usize::from(at.rs1) & 31];
    let own = function.address..function.address + function.size;
    let written = std::mem::take(&mut upper[usize::from(at.rd) & 31]);
    match at.op {
        Op::Illegal | Op::Ecall => function.unknown += 1,
        Op::Sb => function.byte_stores += 1,
        op if op.is_division() => function.divisions += 1,
        // The prologue lowers the stack pointer, perhaps in two steps.
        Op::Addi if at.rd == 2 && at.rs1 == 2 && at.immediate < 0 => {
            function.frame += u64::from(at.immediate.unsigned_abs());
        }
        Op::Auipc => upper[usize::from(at.rd) & 31] = Some(pc.wrapping_add(offset)),
        Op::Jal => {
            let target = pc.wrapping_add(offset);
            if !own.contains(&target) {
                function.calls.push(target);
            }
        }
        Op::Jalr => match base {
            Some(base) => function.calls.push(base.wrapping_add(offset) & !1),
            // A return, or a call through a register.
            None if at.rd != 0 => function.computed_calls += 1,
            None => {}
        },
        // Other instructions keep the registers that they do not write.
        _ if at.rd == 0 => upper[0] = written,
        _ => {}
    }
}

/// The deepest stack below a function, along direct calls for which `counts` holds; `None` for
/// recursion.
pub fn deepest_stack(
    functions: &[Function],
    from: &Function,
    counts: &dyn Fn(&Function) -> bool,
) -> Option<u64> {
    let mut known = BTreeMap::new();
    deepest(functions, from, counts, &mut BTreeSet::new(), &mut known)
}

fn deepest(
    functions: &[Function],
    from: &Function,
    counts: &dyn Fn(&Function) -> bool,
    above: &mut BTreeSet<u64>,
    known: &mut BTreeMap<u64, u64>,
) -> Option<u64> {
    if let Some(&depth) = known.get(&from.address) {
        return Some(depth);
    }
    if !above.insert(from.address) {
        return None;
    }
    let mut below = 0;
    for target in &from.calls {
        let index = functions.partition_point(|function| function.address <= *target);
        let Some(callee) = index.checked_sub(1).map(|index| &functions[index]) else { continue };
        if counts(callee) {
            below = below.max(deepest(functions, callee, counts, above, known)?);
        }
    }
    above.remove(&from.address);
    known.insert(from.address, from.frame + below);
    Some(from.frame + below)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two stack adjustments, a division, a byte store, a recursive and an external call, a
    /// floating-point load, a computed call, a return.
    #[test]
    fn a_function_is_taken_apart() {
        let code: [u32; 10] = [
            0xff01_0113, // addi sp, sp, -16
            0x02b5_4533, // div a0, a0, a1
            0x00a5_8023, // sb a0, 0(a1)
            0x0100_00ef, // jal ra, +16: itself
            0x0000_1097, // auipc ra, 1
            0x0080_80e7, // jalr ra, 8(ra)
            0x0005_3507, // fld fa0, 0(a0)
            0x0005_00e7, // jalr ra, 0(a0)
            0x0101_0113, // addi sp, sp, 16
            0x0000_8067, // ret
        ];
        let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        let found = function("f", 0x8000_0000, &bytes);
        assert_eq!(
            (found.frame, found.divisions, found.byte_stores, found.unknown, found.computed_calls),
            (16, 1, 1, 1, 1)
        );
        assert_eq!(found.calls, [0x8000_1018]);
    }

    #[test]
    fn stacks_add_up_along_calls() {
        let function = |address, frame, calls: &[u64]| Function {
            address,
            size: 16,
            frame,
            calls: calls.to_vec(),
            ..Function::default()
        };
        let mut functions = vec![
            function(0, 16, &[16, 32]),
            function(16, 64, &[]),
            function(32, 32, &[50]),
            function(48, 48, &[]),
        ];
        assert_eq!(deepest_stack(&functions, &functions[0], &|_| true), Some(16 + 32 + 48));
        assert_eq!(deepest_stack(&functions, &functions[0], &|at| at.address < 48), Some(16 + 64));
        functions[3].calls.push(0);
        assert_eq!(deepest_stack(&functions, &functions[0], &|_| true), None);
    }
}
