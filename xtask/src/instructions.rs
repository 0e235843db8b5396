//! `cargo xtask instructions`: instructions per message, counted by callgrind.
//!
//! The example `instructions` of `dpa_model` sends, matches and polls windows of messages by one
//! thread. It runs twice with different numbers of windows; the difference of both counts, divided
//! by the messages between, is free of set-up and of noise.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;
use crate::{Failure, root};

const SCENARIOS: [&str; 4] = ["NC", "WC-FP", "WC-SP", "UNEXP"];
const HANDLERS: [&str; 3] = ["8", "32", "256"];
const WINDOWS: [u64; 2] = [100, 300];
const MESSAGES_PER_WINDOW: u64 = 128;

/// Runs the task; an argument is another program to count in place of the one built here, for
/// example the same example of an earlier version.
///
/// # Errors
/// [`Failure::Usage`] for more than one argument; [`Failure::Task`] when the example cannot be built
/// or valgrind is not there.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let program = match args {
        [] => build()?,
        [program] => PathBuf::from(program),
        _ => return Err(Failure::Usage("instructions takes one program at most".to_owned())),
    };
    println!("instructions per message: send, post, match, deliver and poll, windows of 128");
    print!("{:<10}", "handlers");
    SCENARIOS.iter().for_each(|scenario| print!("{scenario:>8}"));
    println!();
    for handlers in HANDLERS {
        print!("{handlers:<10}");
        for scenario in SCENARIOS {
            let count = |windows| count(&program, scenario, windows, handlers);
            let messages = (WINDOWS[1] - WINDOWS[0]) * MESSAGES_PER_WINDOW;
            let difference = count(WINDOWS[1])?.saturating_sub(count(WINDOWS[0])?);
            print!("{:>8.1}", difference as f64 / messages as f64);
        }
        println!();
    }
    Ok(())
}

fn build() -> Result<PathBuf, Failure> {
    let root = root();
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(&root).args([
        "build",
        "--quiet",
        "--release",
        "--package",
        "dpa_model",
        "--example",
        "instructions",
    ]);
    let finished = process::run(&mut command)
        .map_err(|error| Failure::Task(format!("cannot run cargo: {error}")))?;
    if !finished.status.success() {
        return Err(Failure::Task(format!("the example was not built\n{}", finished.output)));
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release/examples/instructions"))
}

fn count(program: &Path, scenario: &str, windows: u64, handlers: &str) -> Result<u64, Failure> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program).args([
        scenario,
        &windows.to_string(),
        handlers,
    ]);
    let finished = process::run(&mut command)
        .map_err(|error| Failure::Task(format!("cannot run valgrind: {error}")))?;
    collected(&finished.output)
        .ok_or_else(|| Failure::Task(format!("no count from callgrind\n{}", finished.output)))
}

/// The number behind `Collected :`.
fn collected(output: &str) -> Option<u64> {
    let line = output.lines().find_map(|line| line.split_once("Collected :"))?;
    line.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read() {
        assert_eq!(collected("==7== x\n==7== Collected : 1234\n"), Some(1234));
        assert_eq!(collected("==7== nothing"), None);
    }
}
