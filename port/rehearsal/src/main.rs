//! The command behind `cargo xtask rv64`.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use dpamatch_needs::Need;

use dpamatch_port::build::{Build, BuildError, root};
use dpamatch_port::report::STACK_MOST;
use dpamatch_port::weak::Choice;
use dpamatch_port::{check, kit, report, steps, vectors, weak};

/// The card's side as firmware of a RISC-V machine, and as a DPA program.
#[derive(clap::Parser)]
#[command(name = "cargo xtask rv64", bin_name = "cargo xtask rv64")]
struct Arguments {
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(clap::Subcommand)]
enum Task {
    /// Firmware in the interpreter: outcomes equal the oracle's (if no task is given)
    Check,
    /// Instructions and memory accesses per message, by phase
    Report {
        /// Options of the firmware, such as domains=paper: instructions by phase with them
        options: Vec<String>,
    },
    /// What lies between two steps
    Steps {
        /// Write it for the predictor
        #[arg(long)]
        write: bool,
    },
    /// Weak memory: the shipped orderings hold, and how often a weakened one is noticed
    Weak(Choice),
    /// The engine as a DPA program: streams on the emulator; compiled for RISC-V
    Kit {
        /// Instead: millions of messages a second on the emulator, by workload and workers
        #[arg(long)]
        rates: bool,
    },
    /// Streams with the outcomes that a card has to give
    Vectors { folder: PathBuf },
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task.unwrap_or(Task::Check) {
        Task::Check => run_check(),
        Task::Report { options } => run_report(&options.join(" ")),
        Task::Steps { write } => run_steps(write),
        Task::Weak(choice) => weak::run(&choice).map_err(Into::into),
        Task::Kit { rates: true } => kit::rates().map(|text| {
            print!("{text}");
            true
        }),
        Task::Kit { rates: false } => run_kit(),
        Task::Vectors { folder } => vectors::write(&folder).map_err(Into::into).map(|count| {
            println!(
                "{count} streams with their outcomes are in {}",
                folder.display()
            );
            true
        }),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => match error.downcast_ref::<BuildError>() {
            Some(BuildError::NoTarget) => not_run(Need::RiscV),
            _ => {
                eprintln!("rv64: {error}");
                ExitCode::FAILURE
            }
        },
    }
}

/// The exit code of a check that cannot run on this machine.
fn not_run(need: Need) -> ExitCode {
    match need.check(false) {
        Ok(_) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("rv64: {reason}");
            ExitCode::FAILURE
        }
    }
}

type Result = std::result::Result<bool, Box<dyn std::error::Error>>;

fn run_kit() -> Result {
    let mut good = true;
    if Need::CCompiler.check(kit::has_host_compiler())? {
        let folder = root().join("target/firmware/run/kit");
        std::fs::create_dir_all(&folder)?;
        for (name, host) in [("FlexIO", kit::build(true)?), ("DOCA", kit::build_doca()?)] {
            let started = Instant::now();
            let verdict = check::on_emulator(&host, &folder)?;
            println!(
                "DPA emulator, {name}: {verdict}, {:.1} s",
                started.elapsed().as_secs_f64()
            );
            good &= verdict.wrong.is_empty();
        }
    }
    if Need::RiscVCompiler.check(kit::has_compiler())? {
        kit::build_for_card()?;
        println!("RISC-V: compiled");
    }
    Ok(good)
}

fn run_report(options: &str) -> Result {
    let marked = Build::Marks.image()?;
    if options.is_empty() {
        print!("{}", report::report(&marked, &Build::Plain.image()?)?);
    } else {
        print!("{}", report::by_phase(&marked, options)?);
    }
    Ok(true)
}

fn run_steps(write: bool) -> Result {
    let text = steps::text(&steps::steps(&Build::Marks.image()?)?);
    if write {
        std::fs::write(root().join(steps::FILE), text)?;
    } else {
        print!("{text}");
    }
    Ok(true)
}

fn run_check() -> Result {
    let image = Build::Plain.image()?;
    let started = Instant::now();
    let verdict = check::all(&image, &check::jobs(8, 4000, 8));
    println!(
        "interpreter: {verdict}, {:.1} s",
        started.elapsed().as_secs_f64()
    );
    let stack = report::stack_for_setting_up(&image);
    println!("stack for setting up: {stack} bytes, {STACK_MOST} allowed");
    Ok(verdict.wrong.is_empty() && stack <= STACK_MOST)
}
