//! The repository's tasks: `cargo xtask <task>`. Beside the standard library it uses Rust's tokens
//! alone, so that it builds in seconds.
#![forbid(unsafe_code)]

use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

mod algorithm;
mod dist;
mod instructions;
mod model;
mod mpi;
mod mutants;
mod orderings;
mod process;
mod results;
mod rv64;
mod site;
mod sites;
mod soak;
mod test;
mod unmodelled;
mod walks;

enum Failure {
    /// Invalid command line; exit code 2.
    Usage(String),
    /// Invalid command line; a program run by the task has already printed why.
    Reported,
    /// The task found a fault; exit code 1.
    Task(String),
}

/// What each task does, with examples.
const HELP: &str = include_str!("help.txt");

type Task = fn(&[String]) -> Result<(), Failure>;

/// The tasks by name.
const TASKS: &[(&str, Task)] = &[
    ("test", test::run),
    ("model", model::run),
    ("mutants", mutants::run),
    ("orderings", orderings::run),
    ("unmodelled", unmodelled::run),
    ("algorithm", algorithm::run),
    ("instructions", instructions::run),
    ("results", results::run),
    ("dist", dist::run),
    ("walks", walks::run),
    ("rv64", rv64::run),
    ("mpi", mpi::run),
    ("site", site::run),
    ("soak", soak::run),
    ("help", |_| {
        print!("{HELP}");
        Ok(())
    }),
];

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Task(message)) => {
            eprintln!("xtask: {message}");
            ExitCode::from(1)
        }
        Err(Failure::Usage(message)) => {
            eprintln!("xtask: {message}\n\n{HELP}");
            ExitCode::from(2)
        }
        Err(Failure::Reported) => ExitCode::from(2),
    }
}

/// The repository's root: the parent of this package, from cargo's environment.
fn root() -> PathBuf {
    let package =
        env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let mut root = PathBuf::from(package);
    root.pop();
    root
}

/// The cargo that runs this task.
fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Cargo's target folder.
fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

fn dispatch(args: &[String]) -> Result<(), Failure> {
    let Some((name, rest)) = args.split_first() else {
        return Err(Failure::Usage("no task given".to_owned()));
    };
    let name = if matches!(name.as_str(), "-h" | "--help") {
        "help"
    } else {
        name
    };
    match TASKS.iter().find(|task| task.0 == name) {
        Some((_, run)) => run(rest),
        None => Err(Failure::Usage(format!("no task `{name}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_shows_each_task_with_an_example() {
        for (name, _) in TASKS {
            let (_, text) = HELP.split_once(&format!("\n{name}: ")).expect(name);
            let examples = text.lines().skip_while(|line| !line.starts_with("    "));
            let mut examples = examples.take_while(|line| !line.is_empty()).peekable();
            assert!(examples.peek().is_some(), "{name} has no example");
            let begin = format!("    cargo xtask {name}");
            assert!(examples.all(|line| line.starts_with(&begin)), "{name}");
        }
    }
}
