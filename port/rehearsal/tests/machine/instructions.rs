//! Single instructions, with results worked out by hand from the manual.

use crate::assembler::*;
use dpamatch_port::rv64::{Fault, Image, Mark, Setup, run};

/// Loads a 64-bit value, 8 bits at a time.
fn li(rd: u32, value: u64) -> Vec<u32> {
    let mut code = vec![addi(rd, ZERO, 0)];
    for byte in value.to_be_bytes() {
        code.extend([i(0x13, 1, rd, rd, 8), i(0x13, 6, rd, rd, i32::from(byte))]);
    }
    code
}

/// A number in C's notation, as 64 bits.
fn number(text: &str) -> u64 {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse::<i64>().ok().map(|number| number as u64),
    };
    number.unwrap_or_else(|| panic!("{text} is no number"))
}

#[test]
fn registers_and_constants_are_combined() {
    let rows = include_str!("instructions.txt").lines().filter(|line| !line.starts_with('#'));
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [name, machine_code, first, second, expected] = cells[..] else {
            panic!("five cells: {row}")
        };
        let word = u32::from_str_radix(machine_code, 16).expect(row);
        // A short instruction, and one that does nothing.
        let word = if machine_code.len() == 4 { 0x0001_0000 | word } else { word };
        let mut code = li(A1, number(first));
        code.extend(li(A2, number(second)));
        code.extend(li(A4, number(expected)));
        // a0 = 1 if a3 differs from a4.
        let differs = [xor(A3, A3, A4), r(0x33, 3, 0, A0, ZERO, A3)];
        code.extend([addi(A3, A1, 0), word, differs[0], differs[1]]);
        assert_eq!(result(&code), 0, "{name} of {first} and {second}");
    }
}

#[test]
fn loads_extend_and_stores_keep_their_neighbours() {
    let mut code = li(A1, START + data(0) as u64);
    code.extend(li(A2, 0x8182_8384_8586_8788));
    code.push(sd(A2, A1, 0));
    // Byte 1 becomes 0x11, and the upper half 0x2222.
    code.extend([addi(A2, ZERO, 0x11), store(0, A2, A1, 1)]);
    code.extend(li(A2, 0x2222));
    code.push(store(2, A2, A1, 4));
    for (funct3, offset, expected) in [
        (3, 0, 0x0000_2222_8586_1188),
        (0, 0, 0xffff_ffff_ffff_ff88),
        (4, 0, 0x88),
        (1, 2, 0xffff_ffff_ffff_8586),
        (5, 2, 0x8586),
        (2, 0, 0xffff_ffff_8586_1188),
        (6, 0, 0x8586_1188),
    ] {
        let mut code = code.clone();
        code.push(load(funct3, A3, A1, offset));
        code.extend(li(A4, expected));
        code.extend([xor(A3, A3, A4), r(0x33, 3, 0, A0, ZERO, A3)]);
        assert_eq!(result(&code), 0, "load {funct3} at {offset}");
    }
}

#[test]
fn branches_go_where_they_should() {
    for (funct3, first, second, taken) in [
        (0, 3, 3, true),
        (1, 3, 3, false),
        (4, -1, 1, true),
        (5, -1, 1, false),
        (6, -1, 1, false),
        (7, -1, 1, true),
    ] {
        let code = [
            addi(A1, ZERO, first),
            addi(A2, ZERO, second),
            addi(A0, ZERO, 1),
            branch(funct3, A1, A2, 8),
            addi(A0, ZERO, 0),
        ];
        assert_eq!(result(&code) == 1, taken, "branch {funct3} on {first}, {second}");
    }
}

/// Two 16-bit instructions per word; the test compares the sum of their effects.
#[test]
fn short_instructions_are_long_ones() {
    // c.li a0, -3; c.addi a0, 10 / c.slli a0, 2; c.mv a1, a0 / c.add a0, a1; c.nop
    let code = [0x0529_5575, 0x85aa_050a, 0x0001_952e];
    assert_eq!(result(&code), 56);
    // c.li a2, 5 / c.li a0, 0; loop: c.add a0, a2 / c.addi a2, -1; c.bnez a2, loop
    let code = [0x4501_4615, 0x167d_9532, 0x0001_fe75];
    assert_eq!(result(&code), 15);
    // c.li a0, 12; c.j +4 over c.li a0, 1 to c.andi a0, 7; c.sub with c.li a1, 1
    let code = [0xa011_4531, 0x891d_4505, 0x8d0d_4585];
    assert_eq!(result(&code), 3);
}

#[test]
fn read_modify_writes_return_what_stood_there() {
    // Function, operand, and the word afterwards; the word begins as 6.
    for (function, operand, after) in
        [(0, -1, 5), (1, 9, 9), (4, 5, 3), (8, 9, 15), (12, 3, 2), (16, -7, -7), (20, -7, 6)]
    {
        let mut code = base(A1, data(0)).to_vec();
        code.extend([addi(A2, ZERO, 6), store(2, A2, A1, 0), addi(A2, ZERO, operand)]);
        code.extend([amo(2, function, A3, A1, A2), load(2, A0, A1, 0)]);
        code.extend([addi(A4, ZERO, after), r(0x33, 0, 0x20, A0, A0, A4)]);
        // Difference to the expected value, and the instruction's result.
        code.extend([addi(A3, A3, -6), r(0x33, 6, 0, A0, A0, A3)]);
        assert_eq!(result(&code), 0, "function {function}");
    }
}

#[test]
fn a_reservation_ends_with_a_store_conditional() {
    let mut code = base(A1, data(0)).to_vec();
    let (reserve, conditional) = (amo(3, 2, A2, A1, ZERO), amo(3, 3, A3, A1, A1));
    // The first succeeds (0), the second finds no reservation (1).
    code.extend([reserve, conditional, add(A0, ZERO, A3), conditional]);
    code.extend([i(0x13, 1, A3, A3, 1), add(A0, A0, A3)]);
    assert_eq!(result(&code), 2);
}

#[test]
fn what_the_machine_does_not_have_is_refused() {
    let end = |code: &[u32]| {
        let setup = Setup { memory: 1 << 16, limit: 1000, ..Setup::default() };
        run(&Image::from_code(code), &setup).end
    };
    assert_eq!(end(&[0]), Err(Fault::Illegal { pc: START }));
    // A floating-point load, and a system call.
    assert_eq!(end(&[NOP, 0x0005_3507]), Err(Fault::Illegal { pc: START + 4 }));
    assert_eq!(end(&[0x73]), Err(Fault::Illegal { pc: START }));
    assert_eq!(end(&[ld(A0, ZERO, 0)]), Err(Fault::Outside { pc: START, address: 0 }));
    let mut unaligned = base(A1, 4).to_vec();
    unaligned.push(ld(A0, A1, 0));
    assert_eq!(end(&unaligned), Err(Fault::Unaligned { pc: START + 12, address: START + 4 }));
    assert!(matches!(end(&[branch(0, ZERO, ZERO, 0)]), Err(Fault::Limit { .. })));
    let small = Setup { memory: 4, ..Setup::default() };
    assert_eq!(run(&Image::from_code(&[NOP; 4]), &small).end, Err(Fault::Size));
}

/// Marks open phases; a held phase ignores them; marks do not count as instructions.
#[test]
fn what_is_done_is_counted_by_phase() {
    let mut marks = vec![Mark::Ignore; 8];
    marks[1] = Mark::CountFrom;
    marks[2] = Mark::CountTo;
    marks[3] = Mark::Enter(3);
    marks[4] = Mark::Hold(4);
    marks[5] = Mark::Leave(5);
    let mut code = base(A1, data(0)).to_vec();
    code.extend([mark(1), mark(3), NOP, store(0, A0, A1, 0), ld(A2, A1, 0), mark(4), NOP]);
    code.extend([mark(3), fence(3, 3), amo(3, 0, A2, A1, A1), mark(5)]);
    code.extend([r(0x33, 4, 1, A2, A1, A1), mark(2), NOP]);
    code.extend(end());
    let outcome = outcome(&code, &Setup { marks, memory: 1 << 16, ..Setup::default() });
    let [third, fourth, fifth] = [3, 4, 5].map(|phase| outcome.counts[0][phase]);
    assert_eq!(
        (third.instructions, third.stores, third.byte_stores, third.loads, third.entered),
        (3, 1, 1, 1, 1)
    );
    assert_eq!((fourth.instructions, fourth.fences, fourth.atomics, fourth.entered), (3, 1, 1, 1));
    assert_eq!((fifth.instructions, fifth.divisions), (1, 1));
    assert_eq!(outcome.counts[0][0].instructions, 0);
}
