//! The command behind `cargo xtask rv64`.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::Instant;

use dpamatch_port::build::{Build, BuildError, root};
use dpamatch_port::check::STACK_MOST;
use dpamatch_port::choice::Choice;
use dpamatch_port::job::{Ends, Job};
use dpamatch_port::rv64::Image;
use dpamatch_port::{check, kit, qemu, report, steps, vectors, weak};

const HELP: &str = "\
cargo xtask rv64 [check]         firmware in QEMU and in the interpreter: outcomes equal the oracle's
cargo xtask rv64 report          instructions and memory accesses per message, by phase
cargo xtask rv64 report OPTION.. instructions by phase with options of the firmware: domains=paper
cargo xtask rv64 steps [--write] what lies between two steps; --write: for the predictor
cargo xtask rv64 weak [SEEDS]    weak memory: the shipped orderings hold
cargo xtask rv64 weak SEEDS [--first-seed N] PLACE...
                                 rate of wrong runs with one ordering weakened; PLACE: a line of
                                 `cargo xtask orderings --list`, `shipped`, or a kind of run:
                                 NC, WC-FP, WC-SP, streams
cargo xtask rv64 kit             the engine as a DPA program: streams on the emulator; RISC-V objects
cargo xtask rv64 vectors DIR     streams with the outcomes that a card has to give
cargo xtask rv64 help            this text
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        [] | ["check"] => run_check(),
        ["weak", ref chosen @ ..] => match Choice::read(chosen) {
            Ok(choice) => run_weak(&choice),
            Err(error) => {
                eprintln!("rv64 weak: {error}");
                return ExitCode::from(2);
            }
        },
        ["kit"] => run_kit(),
        ["vectors", folder] => vectors::write(folder.as_ref())
            .map(|count| {
                println!("{count} streams with their outcomes are in {folder}");
                true
            })
            .map_err(Into::into),
        ["report"] => run_report(),
        ["report", ref options @ ..] => image(Build::Marks).and_then(|marked| {
            print!("{}", report::by_phase(&marked, &options.join(" "))?);
            Ok(true)
        }),
        ["steps"] => run_steps(false),
        ["steps", "--write"] => run_steps(true),
        ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(true)
        }
        _ => {
            eprintln!("rv64: no such command\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => match error.downcast_ref::<BuildError>() {
            // Without the target there is nothing to check.
            Some(BuildError::NoTarget) => {
                println!("skipped: {error}");
                ExitCode::SUCCESS
            }
            _ => {
                eprintln!("rv64: {error}");
                ExitCode::FAILURE
            }
        },
    }
}

type Result = std::result::Result<bool, Box<dyn std::error::Error>>;

fn image(build: Build) -> std::result::Result<Image, Box<dyn std::error::Error>> {
    Ok(Image::from_elf(&build.image()?)?)
}

fn run_weak(choice: &Choice) -> Result {
    let Choice { seeds, shipped, places, kinds } = choice;
    let mut say = |line: &str| println!("{line}");
    let mut good = true;
    if *shipped {
        good &= weak::shipped(&image(Build::Plain)?, kinds, seeds.clone(), &mut say);
    }
    if !places.is_empty() {
        good &= weak::weakened(&image(Build::Faults)?, places, kinds, seeds.clone(), &mut say);
    }
    Ok(good)
}

fn run_kit() -> Result {
    let mut good = true;
    if kit::has_host_compiler() {
        let (host, folder) = (kit::build()?, root().join("target/firmware/run/kit"));
        std::fs::create_dir_all(&folder)?;
        let started = Instant::now();
        let verdict = check::on_emulator(&host, &folder)?;
        println!("DPA emulator: {verdict}, {:.1} s", started.elapsed().as_secs_f64());
        good = verdict.wrong.is_empty();
    } else {
        println!("DPA emulator: skipped, there is no C compiler (cc)");
    }
    if kit::has_compiler() {
        kit::build_for_card()?;
        println!("RISC-V: compiled");
    } else {
        println!("RISC-V: skipped, there is no riscv64-unknown-elf-gcc");
    }
    Ok(good)
}

fn run_report() -> Result {
    print!("{}", report::report(&image(Build::Marks)?, &image(Build::Plain)?)?);
    Ok(true)
}

fn run_steps(write: bool) -> Result {
    let text = steps::text(&steps::steps(&image(Build::Marks)?)?);
    if write {
        std::fs::write(root().join(steps::FILE), text)?;
    } else {
        print!("{text}");
    }
    Ok(true)
}

fn run_check() -> Result {
    let elf = Build::Plain.build()?;
    let image = Image::from_elf(&std::fs::read(&elf)?)?;
    let jobs = check::jobs(8, 4000, 8);
    let folder = root().join("target/firmware/run").join(std::process::id().to_string());
    let started = Instant::now();
    let verdict = check::in_interpreter(&image, &jobs);
    println!("interpreter: {verdict}, {:.1} s", started.elapsed().as_secs_f64());
    let stack = check::stack_for_setting_up(&image).unwrap_or(u64::MAX);
    println!("stack for setting up: {stack} bytes, {STACK_MOST} allowed");
    let mut good = verdict.wrong.is_empty() && stack <= STACK_MOST;
    if qemu::is_here() {
        let started = Instant::now();
        let verdict = check::in_qemu(&elf, &jobs, &folder)?;
        println!("QEMU: {verdict}, {:.1} s", started.elapsed().as_secs_f64());
        good &= verdict.wrong.is_empty();
        let mut differences = 0;
        for (workload, handlers) in check::counted() {
            let job = Job::workload(workload, (1, handlers), Ends::Leader, (8, 128), "");
            let [mine, theirs] = check::instructions(&elf, &image, &job, &folder)?;
            if mine != theirs {
                println!("{} N={handlers}: {mine} instructions, QEMU {theirs}", workload.name());
                differences += 1;
            }
        }
        println!("instructions on one hart: {} of 9 runs as in QEMU", 9 - differences);
        good &= differences == 0;
        std::fs::remove_dir_all(folder)?;
    } else {
        println!("QEMU: skipped, there is no qemu-system-riscv64 (package qemu-system-misc)");
    }
    Ok(good)
}
