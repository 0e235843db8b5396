//! `cargo xtask rv64`: the card's side as firmware of a RISC-V machine. A separate package,
//! `dpamatch_port`, does the work, so that this one builds in a second.

use crate::{Failure, root};

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
