//! The repository's tasks: `cargo xtask <task>`. Uses only the standard library, so that it builds
//! in a second.
#![forbid(unsafe_code)]

use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

mod algorithm;
mod instructions;
mod mpi;
mod mutants;
mod orderings;
mod process;
mod rv64;
mod site;
mod test;
mod unmodelled;

struct Task {
    name: &'static str,
    about: &'static str,
    /// Command lines with their purposes.
    examples: &'static [(&'static str, &'static str)],
    run: fn(&[String]) -> Result<(), Failure>,
}

enum Failure {
    /// Invalid command line; exit code 2.
    Usage(String),
    /// Invalid command line; a program run by the task has already printed why.
    Told,
    /// The task found a fault; exit code 1.
    Task(String),
}

const TASKS: &[Task] = &[
    Task {
        name: "test",
        about: "run every check: format, lints, no_std, tests, docs, packages, loom models, random schedules, one round of each bench",
        examples: &[
            ("cargo xtask test", "everything; what must hold before a change is merged"),
            ("cargo xtask test --fast", "format, lints and tests, with fewer random streams"),
            (
                "cargo xtask test --full",
                "models to their full bounds, too, Miri and ThreadSanitizer",
            ),
        ],
        run: test::run,
    },
    Task {
        name: "mutants",
        about: "plant each seeded fault in turn; the loom model named in loom_tests/mutants.txt must notice it",
        examples: &[
            ("cargo xtask mutants", "the whole table"),
            ("cargo xtask mutants SlowNoWait", "one fault, by its name"),
        ],
        run: mutants::run,
    },
    Task {
        name: "orderings",
        about: "weaken each atomic ordering of the card in turn, and find the model that notices",
        examples: &[
            ("cargo xtask orderings", "all, half an hour; docs/correctness.md has the result"),
            ("cargo xtask orderings region.rs", "only places with such a part"),
            ("cargo xtask orderings --list", "the places, as `cargo xtask rv64 weak` takes them"),
        ],
        run: orderings::run,
    },
    Task {
        name: "unmodelled",
        about: "print the functions of the card that no loom model runs; loom_tests/unmodelled.txt gives each a reason",
        examples: &[(
            "cargo xtask unmodelled",
            "five minutes with its build; needs `rustup component add llvm-tools`",
        )],
        run: unmodelled::run,
    },
    Task {
        name: "algorithm",
        about: "judge a change of the concurrent algorithm: tests, schedules, models, faults, prediction, comparison",
        examples: &[
            (
                "cargo xtask algorithm",
                "all steps, half an hour or more; docs/change-the-algorithm.md",
            ),
            ("cargo xtask algorithm tests schedules", "some of them, by name"),
        ],
        run: algorithm::run,
    },
    Task {
        name: "instructions",
        about: "count instructions per message with callgrind, by scenario and number of handlers",
        examples: &[("cargo xtask instructions", "needs valgrind")],
        run: instructions::run,
    },
    Task {
        name: "rv64",
        about: "the card's side as firmware of a RISC-V machine, in an interpreter and in QEMU",
        examples: &[
            (
                "cargo xtask rv64",
                "its outcomes equal the oracle's; instructions as QEMU counts them",
            ),
            ("cargo xtask rv64 help", "what else there is: reports on instructions, weak memory"),
        ],
        run: rv64::run,
    },
    Task {
        name: "mpi",
        about: "run MPI programs under MPICH and Open MPI with the provider; replay their order logs through the oracle",
        examples: &[
            ("cargo xtask mpi", "the repository's programs, every engine"),
            ("cargo xtask mpi --suites", "also the tests and programs that others wrote; hours"),
            ("cargo xtask mpi --dev", "built fast instead of to run fast"),
        ],
        run: mpi::run,
    },
    Task {
        name: "site",
        about: "build the pages as a site with mdBook, with live pages of explore",
        examples: &[("cargo xtask site", "needs mdbook; writes target/site/book")],
        run: site::run,
    },
    Task {
        name: "help",
        about: "list the tasks",
        examples: &[("cargo xtask help", "this text")],
        run: |_| {
            print!("{}", help());
            Ok(())
        },
    },
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
            eprintln!("xtask: {message}\n\n{}", help());
            ExitCode::from(2)
        }
        Err(Failure::Told) => ExitCode::from(2),
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
    let name = if matches!(name.as_str(), "-h" | "--help") { "help" } else { name };
    match TASKS.iter().find(|task| task.name == name) {
        Some(task) => (task.run)(rest),
        None => Err(Failure::Usage(format!("no task `{name}`"))),
    }
}

fn help() -> String {
    let mut text = "cargo xtask <task>\n".to_owned();
    for task in TASKS {
        text += &format!("\n{}: {}\n", task.name, task.about);
        for (command, purpose) in task.examples {
            text += &format!("    {command:<32}{purpose}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn help_shows_each_task_with_an_example() {
        let text = help();
        for task in TASKS {
            assert!(text.contains(&format!("\n{}: ", task.name)), "{} is not listed", task.name);
            assert!(!task.examples.is_empty(), "{} has no example", task.name);
            for (command, _) in task.examples {
                assert!(command.starts_with(&format!("cargo xtask {}", task.name)), "{command}");
            }
        }
    }

    #[test]
    fn nonsense_is_a_usage_error_and_help_is_also_an_option() {
        for line in ["help", "--help", "-h"] {
            assert!(dispatch(&words(line)).is_ok(), "`{line}` was refused");
        }
        for line in
            ["", "tset", "test --fsat", "test fast", "test --fast --fast", "test --full --fast"]
        {
            assert!(
                matches!(dispatch(&words(line)), Err(Failure::Usage(_))),
                "`{line}` was accepted"
            );
        }
    }
}
