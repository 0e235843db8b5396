//! Litmus tests of weak memory under their names in the literature: allowed outcomes appear,
//! forbidden ones never do.

use std::collections::BTreeSet;

use crate::assembler::*;

const SEEDS: u64 = 2000;

fn full() -> u32 {
    fence(3, 3)
}

fn release() -> u32 {
    fence(3, 1)
}

fn acquire() -> u32 {
    fence(2, 3)
}

/// Offsets of x, y and z, and of each hart's result.
const X: i32 = 0;
const Y: i32 = 64;
const RESULTS: i32 = 256;
const DONE: i32 = 512;

/// Runs a program per hart with `a1` at the data; each leaves its result in `a0`. Returns all
/// observed combinations.
fn seen(programs: &[Vec<u32>]) -> BTreeSet<Vec<u64>> {
    let mut code = base(A1, data(0)).to_vec();
    // Hart 0 switches weak memory on; the others wait for it (word at DONE + 64).
    code.extend([HART_TO_A0, addi(A2, ZERO, 1)]);
    code.extend([
        branch(1, A0, ZERO, 16),
        mark(1),
        sd(A2, A1, DONE + 64),
        branch(0, ZERO, ZERO, 16),
    ]);
    code.extend([WFI, ld(A3, A1, DONE + 64), branch(0, A3, ZERO, -8)]);
    code.push(fence(3, 3));
    for (hart, program) in programs.iter().enumerate() {
        let hart = hart as i32;
        // Skips the program, its store of the result, the count of finished harts, and the end.
        let length = program.len() as i32 + 8;
        code.extend([addi(A5, ZERO, hart), branch(1, A0, A5, 4 * length)]);
        code.extend(program);
        code.extend([sd(A0, A1, RESULTS + 8 * hart), full(), addi(A2, ZERO, 1)]);
        code.extend([addi(A4, A1, DONE), amo(3, 0, A3, A4, A2), WFI, branch(0, ZERO, ZERO, -4)]);
    }
    // The last hart waits for the others; the test reads the results from memory.
    code.extend([addi(A2, ZERO, programs.len() as i32), WFI, ld(A3, A1, DONE)]);
    code.push(branch(1, A3, A2, -8));
    code.push(full());
    // Results of up to four harts, two bits each.
    code.push(addi(A0, ZERO, 0));
    for hart in 0..programs.len() as i32 {
        code.extend([i(0x13, 1, A0, A0, 4), ld(A3, A1, RESULTS + 8 * hart), add(A0, A0, A3)]);
    }
    code.extend(end());
    let result = |seed| {
        let outcome = outcome(&code, &weak(programs.len() + 1, seed));
        let code = outcome.end.unwrap_or_else(|fault| panic!("seed {seed}: {fault}")) as u64;
        (0..programs.len()).rev().map(|hart| code >> (4 * hart) & 15).collect()
    };
    (0..SEEDS).map(result).collect()
}

fn set(address: i32, value: i32) -> Vec<u32> {
    vec![addi(A2, ZERO, value), sd(A2, A1, address)]
}

/// `a0` = 2 * first + second.
fn pair(first: i32, between: &[u32], second: i32) -> Vec<u32> {
    let mut code = vec![ld(A2, A1, first)];
    code.extend(between);
    code.extend([ld(A3, A1, second), add(A0, A2, A2), add(A0, A0, A3)]);
    code
}

fn writer(between: &[u32]) -> Vec<u32> {
    [set(X, 1), between.to_vec(), set(Y, 1), vec![addi(A0, ZERO, 0)]].concat()
}

/// The reader sees the flag but not the data.
const LATE: u64 = 2;

#[test]
fn message_passing_needs_both_fences() {
    let sees = |between_writes: &[u32], between_reads: &[u32]| {
        let results = seen(&[writer(between_writes), pair(Y, between_reads, X)]);
        let reader: BTreeSet<u64> = results.into_iter().map(|results| results[1]).collect();
        assert!(reader.contains(&0) && reader.contains(&3), "neither nor, and both: {reader:?}");
        reader.contains(&LATE)
    };
    assert!(sees(&[], &[]));
    assert!(sees(&[release()], &[]), "loads may be done in any order");
    assert!(sees(&[], &[acquire()]), "stores may reach memory in any order");
    assert!(!sees(&[release()], &[acquire()]));
    assert!(!sees(&[full()], &[full()]));
}

#[test]
fn an_address_that_depends_on_a_load_orders() {
    // The second load's address depends on the first load's value, without being changed by it.
    let reader = [
        vec![ld(A2, A1, Y), xor(A4, A2, A2), add(A4, A4, A1), ld(A3, A4, X)],
        vec![add(A0, A2, A2), add(A0, A0, A3)],
    ]
    .concat();
    let results = seen(&[writer(&[release()]), reader]);
    assert!(results.iter().all(|results| results[1] != LATE), "{results:?}");
}

#[test]
fn store_buffering_needs_full_fences() {
    let program = |mine, other, between: &[u32]| {
        [set(mine, 1), between.to_vec(), vec![ld(A0, A1, other)]].concat()
    };
    let both_miss = |between: &[u32]| {
        seen(&[program(X, Y, between), program(Y, X, between)]).contains(&vec![0, 0])
    };
    assert!(both_miss(&[]));
    assert!(both_miss(&[release()]), "release orders no later load");
    assert!(!both_miss(&[full()]));
}

#[test]
fn load_buffering_is_seen_without_order() {
    // Reads one place, then writes 1 to the other.
    let program =
        |from, to, between: &[u32]| [vec![ld(A0, A1, from)], between.to_vec(), set(to, 1)].concat();
    let both = |between: &[u32]| {
        seen(&[program(X, Y, between), program(Y, X, between)]).contains(&vec![1, 1])
    };
    assert!(both(&[]));
    assert!(!both(&[fence(2, 1)]));
    assert!(!both(&[full()]));
    // A branch on the read value, to the next instruction either way.
    assert!(!both(&[branch(1, A0, ZERO, 4)]), "control dependency to a store");
    // The read value is written; then it is part of the address.
    let copy = |from, to| vec![ld(A0, A1, from), sd(A0, A1, to)];
    let copies = seen(&[copy(X, Y), copy(Y, X)]);
    assert_eq!(copies, BTreeSet::from([vec![0, 0]]), "nothing comes out of thin air");
    let through = |from, to| {
        let address = [xor(A4, A0, A0), add(A4, A4, A1), addi(A2, ZERO, 1), sd(A2, A4, to)];
        [vec![ld(A0, A1, from)], address.to_vec()].concat()
    };
    assert!(!seen(&[through(X, Y), through(Y, X)]).contains(&vec![1, 1]), "address dependency");
}

#[test]
fn one_word_never_goes_back_in_time() {
    let results = seen(&[[set(X, 1), vec![addi(A0, ZERO, 0)]].concat(), pair(X, &[], X)]);
    let reader: BTreeSet<u64> = results.into_iter().map(|results| results[1]).collect();
    assert_eq!(reader, BTreeSet::from([0, 1, 3]), "never new and then old");
}

#[test]
fn a_hart_sees_its_own_stores() {
    // A byte within a buffered word, and a word over a buffered byte.
    let program = [
        set(X, 3),
        vec![addi(A2, ZERO, 2), store(0, A2, A1, X + 1), ld(A3, A1, X), load(0, A0, A1, X)],
        vec![addi(A3, A3, -515), r(0x33, 3, 0, A3, ZERO, A3), add(A0, A0, A3)],
    ]
    .concat();
    let results = seen(&[program, set(Y, 1)]);
    assert!(results.iter().all(|results| results[0] == 3), "{results:?}");
}

#[test]
fn two_readers_agree_on_the_order_of_two_writers() {
    let write = |address| [set(address, 1), vec![addi(A0, ZERO, 0)]].concat();
    let disagree = |between: &[u32]| {
        let results = seen(&[write(X), write(Y), pair(X, between, Y), pair(Y, between, X)]);
        results.iter().any(|results| results[2] == LATE && results[3] == LATE)
    };
    assert!(disagree(&[]));
    assert!(!disagree(&[acquire()]), "there is one memory");
}

#[test]
fn a_lock_by_swap_excludes() {
    // Each hart adds 1 to x three times under a lock at y; the sum is six.
    let swap = r(0x2f, 3, 1 << 2, A3, A4, A2);
    let (with_acquire, with_release) = (1 << 26, 1 << 25);
    let program = |acquire: u32, release: u32| {
        let once = [
            addi(A2, ZERO, 1),
            addi(A4, A1, Y),
            swap | acquire,
            branch(1, A3, ZERO, -4),
            ld(A3, A1, X),
            addi(A3, A3, 1),
            sd(A3, A1, X),
            r(0x2f, 3, 1 << 2, A3, A4, ZERO) | release,
        ];
        // Waits until both are done: the sum of both counts is at z.
        let tail = [
            addi(A4, A1, 128),
            full(),
            amo(3, 0, A3, A4, A2),
            ld(A3, A1, 128),
            addi(A3, A3, -2),
            branch(1, A3, ZERO, -8),
            full(),
            ld(A0, A1, X),
        ];
        [once.repeat(3), tail.to_vec()].concat()
    };
    let sums = |acquire, release| {
        let program = program(acquire, release);
        seen(&[program.clone(), program])
    };
    assert_eq!(sums(with_acquire, with_release), BTreeSet::from([vec![6, 6]]));
    assert!(sums(0, with_release).len() > 1, "without acquire an old sum is read");
    assert!(sums(with_acquire, 0).len() > 1, "without release the sum comes too late");
}

#[test]
fn a_seed_gives_one_run() {
    let mut code = base(A1, data(0)).to_vec();
    code.extend([mark(1), HART_TO_A0, sd(A0, A1, 0), ld(A0, A1, 0)]);
    code.extend(end());
    for seed in 0..20 {
        let [first, second] = [(), ()].map(|()| outcome(&code, &weak(3, seed)));
        assert_eq!((first.end, first.retired), (second.end, second.retired));
    }
}
