//! The firmware's outcomes equal the oracle's. Where the compiler has no such target there is
//! nothing to test, and a line says so.

use std::path::PathBuf;

use dpamatch_port::build::{Build, BuildError};
use dpamatch_port::job::{Ends, Job, Workload};
use dpamatch_port::{check, qemu};
use dpamatch_rv64::{Image, Setup};

/// The ELF file; `None`: it cannot be built here.
fn elf(build: Build) -> Option<PathBuf> {
    match build.build() {
        Ok(path) => Some(path),
        Err(error @ BuildError::NoTarget) => {
            println!("not tested: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn image(elf: &PathBuf) -> Image {
    let bytes = std::fs::read(elf).expect("it was just built");
    Image::from_elf(&bytes).expect("the linker's output")
}

#[test]
fn outcomes_are_the_oracles() {
    let Some(elf) = elf(Build::Plain) else { return };
    let verdict = check::in_interpreter(&image(&elf), &check::jobs(1, 300, 4));
    assert_eq!(verdict.wrong, Vec::<String>::new());
    assert_eq!(verdict.runs, 4 * (9 + 4));
}

#[test]
fn a_wrong_outcome_is_noticed() {
    let Some(elf) = elf(Build::Plain) else { return };
    let mut job = Job::workload(Workload::FastPath, (2, 4), Ends::Leader, (1, 128), "");
    let changed = job.expected.len() - 24 + 8;
    job.expected[changed] ^= 1;
    let (difference, _) = check::interpret(&image(&elf), &job, Setup::default());
    assert_eq!(difference.as_deref(), Some("outcome 383 is not the oracle's"));
}

#[test]
fn nonsense_on_the_command_line_ends_with_a_message() {
    let Some(elf) = elf(Build::Plain) else { return };
    let image = image(&elf);
    for (words, says) in [
        ("workload=XY", "workload=XY: NC or WC"),
        ("harts=0", "harts=0 is out of range"),
        ("handlers=257", "handlers is 257, must be 1 to 256"),
        ("handlers=x", "handlers=x is no number"),
        ("stream=none.bin", "cannot read none.bin"),
        ("fast=slow", "fast=slow is no fast path"),
        ("fault=SlowNoWait", "this build knows no faults"),
    ] {
        let arguments = format!("firmware {words}");
        let setup = Setup { arguments, memory: 128 << 20, ..Setup::default() };
        let outcome = dpamatch_rv64::run(&image, &setup);
        assert_eq!(outcome.end, Ok(2), "{words}");
        assert!(outcome.console.contains(says), "{words}: {}", outcome.console);
    }
}

#[test]
fn qemu_says_the_same() {
    let Some(elf) = elf(Build::Plain) else { return };
    if !qemu::is_here() {
        println!("not tested: there is no qemu-system-riscv64");
        return;
    }
    let image = image(&elf);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("qemu");
    let job = Job::workload(Workload::SlowPath, (4, 8), Ends::Apart, (1, 128), "");
    let verdict = check::in_qemu(&elf, &[job], &folder).expect("QEMU runs");
    assert_eq!(verdict.wrong, Vec::<String>::new());
    for (workload, handlers) in check::counted() {
        let job = Job::workload(workload, (1, handlers), Ends::Leader, (1, 128), "");
        let [mine, theirs] = check::instructions(&elf, &image, &job, &folder).expect("QEMU runs");
        assert_eq!(mine, theirs, "instructions of {} at N = {handlers}", workload.name());
    }
}
