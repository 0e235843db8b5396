//! `kit`: the matching engine as a program for a DPA, on the emulator of `port/emulator` and as
//! objects for RISC-V.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dpa_model::{Outcome, PaperWorkload};

use crate::build::{BuildError, cargo, finish, program, root, target_folder};
use crate::check::said;
use crate::job::{Job, STREAM};

const COMPILER: &str = "riscv64-unknown-elf-gcc";
/// The file of outcomes.
pub const OUT: &str = "kit-outcomes.bin";
/// The DPA's cycles in a microsecond, as the emulator counts them.
const CYCLES_IN_US: f64 = 1800.0;
/// The card's side waits, writes back and reads by functions of the program around it.
const FLAGS: &str = "--cfg dpamatch_card";

fn is_there(compiler: &mut Command) -> bool {
    compiler
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Whether a C compiler for this machine is installed.
pub fn has_host_compiler() -> bool {
    is_there(&mut program("CC", "cc"))
}

/// Whether a C compiler for RISC-V is installed.
pub fn has_compiler() -> bool {
    is_there(&mut Command::new(COMPILER))
}

fn source(name: &str) -> PathBuf {
    root().join("port/kit/matching").join(name)
}

/// Windows of a workload whose rate is measured, and runs of which the best counts.
const WINDOWS: usize = 200;
const RUNS: usize = 7;

/// Messages a second of the program by workload and workers, in millions, by the clock of the
/// leader's activations. Accesses are not checked.
pub fn rates() -> Result<String, Box<dyn std::error::Error>> {
    let (host, workers) = (build(false)?, [1, 2, 4, 8]);
    let folder = host.with_extension("run");
    fs::create_dir_all(&folder)?;
    let head: String = workers.iter().map(|count| format!("{count:>9}")).collect();
    let mut text = format!("{:<10}{head}\n", "workers");
    for &workload in PaperWorkload::ALL {
        let job = Job::workload(workload, WINDOWS, 128);
        let fast = if workload == PaperWorkload::SlowPath {
            "fast=0"
        } else {
            ""
        };
        text += &format!("{:<10}", workload.name());
        for count in workers {
            let options = format!("workers={count} handlers=32 {fast}");
            let mut best = u64::MAX;
            for _ in 0..RUNS {
                let cycles = said(
                    &run(&host, &job, &options, &folder)??,
                    "cycles of the leader",
                );
                best = best.min(cycles.ok_or("it said no cycles")?);
            }
            text += &format!(
                "{:>9.2}",
                (WINDOWS * 128) as f64 / best as f64 * CYCLES_IN_US
            );
        }
        text += "\n";
    }
    Ok(text)
}

/// Installs the emulator, and builds the FlexIO program with it as users do. `checks`: of each
/// access.
pub fn build(checks: bool) -> Result<PathBuf, BuildError> {
    match checks {
        true => build_in("kit", "matching", "dev"),
        false => build_in("kit-rates", "matching", "release"),
    }
}

/// As [`build`], the DOCA program, with checks of each access.
pub fn build_doca() -> Result<PathBuf, BuildError> {
    build_in("kit-doca", "doca", "dev")
}

/// Builds the program of a folder of `port/kit` in a folder of its own.
fn build_in(name: &str, program_folder: &str, profile: &str) -> Result<PathBuf, BuildError> {
    let folder = target_folder().join(name);
    let target = target_folder();
    let target = target.parent().unwrap_or(&target);
    let mut install = Command::new(root().join("port/emulator/install.sh"));
    install
        .arg(&folder)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_PROFILE", profile);
    finish(install)?;
    // The emulator runs the device part as code of this machine.
    let card = native("card", FLAGS)?;
    let player = native("host", "")?;
    let mut build = Command::new(root().join("port/emulator/build.sh"));
    build
        .arg(&folder)
        .arg("matching")
        .arg(root().join("port/kit").join(program_folder))
        .arg(player.join("libdpamatch_kit.a"));
    build.env(
        "DEVICE_LIBS",
        format!("-L{},-ldpamatch_kit", card.display()),
    );
    build.env("DPACC_CHECK", if profile == "dev" { "1" } else { "0" });
    finish(build)?;
    Ok(folder.join("matching"))
}

/// Builds the kit's static library for this machine; returns its folder.
fn native(name: &str, flags: &str) -> Result<PathBuf, BuildError> {
    let library = target_folder().join(format!("{name}-native"));
    let mut cargo = program("CARGO", "cargo");
    cargo.current_dir(root().join("port/kit"));
    cargo
        .args(["build", "--release", "--quiet", "--locked", "--target-dir"])
        .arg(&library);
    cargo
        .env("RUSTFLAGS", flags)
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    cargo
        .env_remove("CARGO_BUILD_TARGET")
        .env_remove("CARGO_TARGET_DIR");
    finish(cargo)?;
    Ok(library.join("release"))
}

/// Plays a job's stream with options of the program and of the emulator (`DPA_` names). Answers
/// the difference to the oracle, if any, or what the program said.
pub fn run(
    host: &Path,
    job: &Job,
    options: &str,
    folder: &Path,
) -> std::io::Result<Result<String, String>> {
    let out = folder.join(OUT);
    fs::write(folder.join(STREAM), &job.stream)?;
    let mut command = Command::new(host);
    command.arg(folder.join(STREAM)).arg(&out);
    for option in options.split_whitespace() {
        match option.split_once('=') {
            Some((name, value)) if name.starts_with("DPA_") => command.env(name, value),
            _ => command.arg(option),
        };
    }
    let ran = command.output()?;
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let errors = String::from_utf8_lossy(&ran.stderr);
    if !ran.status.success() || !errors.is_empty() {
        return Ok(Err(format!("{}: {said}{errors}", ran.status)));
    }
    let (mut job, mut written) = (job.clone(), fs::read(out)?);
    if options.contains("DPA_READ_TURNS") {
        // Messages' results overtake each other.
        for outcomes in [&mut job.expected, &mut written] {
            let mut records: Vec<_> = outcomes.chunks(Outcome::RECORD_BYTES).collect();
            records.sort_unstable();
            *outcomes = records.concat();
        }
    }
    Ok(job.difference(Some(&written)).map_or(Ok(said), Err))
}

/// Compiles the device part and the card's side for RISC-V. The program for the emulator shows that
/// they link.
pub fn build_for_card() -> Result<(), BuildError> {
    let mut library = cargo("card-library", FLAGS)?;
    library.current_dir(root().join("port/kit"));
    finish(library)?;
    let headers = root().join("port/emulator/include");
    let mut compiler = Command::new(COMPILER);
    compiler.args([
        "-march=rv64imac_zicsr",
        "-mabi=lp64",
        "-mcmodel=medany",
        "-O2",
        "-Werror",
    ]);
    compiler.args(["-Wall", "-Wextra", "-ffreestanding", "-isystem"]);
    compiler
        .arg(headers.join("device"))
        .arg("-isystem")
        .arg(headers)
        .arg("-c");
    compiler
        .arg(source("device.c"))
        .arg("-o")
        .arg(target_folder().join("device.o"));
    finish(compiler)
}
