//! `cargo xtask rv64`: the card's side as firmware of a RISC-V machine. A separate package,
//! `dpamatch_port`, does the work, so that this one builds in a second.

use std::path::Path;
use std::process::Command;

use crate::test::{FIRMWARE, STEPS};
use crate::{Failure, process, root};

/// Whether Rust can build the firmware.
pub(crate) fn has_target() -> bool {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--print", "target-libdir", "--target"]);
    let printed = process::run(rustc.arg("riscv64imac-unknown-none-elf"));
    printed
        .is_ok_and(|printed| printed.status.success() && Path::new(printed.stdout.trim()).is_dir())
}

/// Runs the task: builds `dpamatch_port` and passes the arguments on. Without arguments it runs the
/// tests of the card's side, then `check`.
///
/// # Errors
/// [`Failure::Reported`] for invalid arguments, [`Failure::Task`] when it found a fault or cannot
/// run.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if args.is_empty() {
        let tests = STEPS.iter().find(|step| step.name == FIRMWARE);
        let ran = tests.map(|step| step.run(&root()));
        if let Some(Err(fault)) = ran {
            println!("{}", fault.output);
            return Err(Failure::Task(format!("{FIRMWARE}: {}", fault.reason)));
        }
    }
    let status = command()
        .args(args)
        .status()
        .map_err(|error| Failure::Task(format!("cannot run cargo: {error}")))?;
    match status.code() {
        Some(0) => Ok(()),
        Some(2) => Err(Failure::Reported),
        _ => Err(Failure::Task("rv64 failed".to_owned())),
    }
}

/// Whether the firmware in weak memory is wrong with a weaker ordering.
///
/// # Errors
/// It did not run.
pub(crate) fn catches(seeds: &str, place: &str) -> Result<bool, Failure> {
    let ran = process::run(command().args(["weak", seeds, place])).map_err(Failure::Task)?;
    verdict(place, &ran.stdout)
        .ok_or_else(|| Failure::Task(format!("the firmware did not run\n{}", ran.output)))
}

/// What the line of a place says; `None` without it.
fn verdict(place: &str, output: &str) -> Option<bool> {
    let line = output.lines().find_map(|line| line.strip_prefix(place))?;
    match line.trim_start().split_once(':')? {
        ("caught", _) => Some(true),
        ("NOT CAUGHT", _) => Some(false),
        _ => None,
    }
}

fn command() -> Command {
    let mut command = crate::cargo();
    command.current_dir(root()).args([
        "run",
        "--quiet",
        "--release",
        "--package",
        "dpamatch_port",
        "--",
    ]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_says_nothing_is_no_verdict() {
        let place = "a/src/b.rs:1:2=Relaxed";
        let line = |said: &str| verdict(place, &format!("other\n{place}   {said}: NC 3/12\n"));
        assert_eq!(line("caught"), Some(true));
        assert_eq!(line("NOT CAUGHT"), Some(false));
        assert_eq!(line("stopped"), None);
        assert_eq!(verdict(place, "error: could not compile\n"), None);
    }
}
