//! `cargo xtask rv64`: the card's side as firmware of a RISC-V machine. A separate package,
//! `dpamatch_port`, does the work, so that this one builds in a second.

use std::path::Path;
use std::process::Command;

use crate::{Failure, process, root};

/// Whether Rust can build the firmware.
pub(crate) fn has_target() -> bool {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--print", "target-libdir", "--target"]);
    let printed = process::run(rustc.arg("riscv64imac-unknown-none-elf"));
    printed
        .is_ok_and(|printed| printed.status.success() && Path::new(printed.stdout.trim()).is_dir())
}

/// Runs the task: builds `dpamatch_port` and passes the arguments on.
///
/// # Errors
/// [`Failure::Told`] for invalid arguments, [`Failure::Task`] when it found a fault or cannot run.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let mut command = crate::cargo();
    command.current_dir(root());
    command
        .args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "dpamatch_port",
            "--",
        ])
        .args(args);
    let status = command
        .status()
        .map_err(|error| Failure::Task(format!("cannot run cargo: {error}")))?;
    match status.code() {
        Some(0) => Ok(()),
        Some(2) => Err(Failure::Told),
        _ => Err(Failure::Task("rv64 failed".to_owned())),
    }
}
