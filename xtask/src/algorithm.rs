//! `cargo xtask algorithm`: all evidence on a change of the concurrent algorithm, step by step up
//! to the first failure. docs/change-the-algorithm.md explains each step's output.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::{Failure, mutants, root};

type Line = &'static [&'static str];

enum Work {
    Cargo(Line),
    /// Runs `dpamatch` with each of these arguments in place of `{}`.
    Dpamatch(Line, &'static [&'static str]),
    Models,
    Mutants,
}

struct Step {
    name: &'static str,
    work: Work,
}

const STEPS: &[Step] = &[
    Step {
        name: "tests",
        work: Work::Cargo(&["test", "-p", "dpa_model"]),
    },
    Step {
        name: "schedules",
        work: Work::Dpamatch(
            &[
                "explore",
                "--example",
                "{}",
                "--handlers",
                "3",
                "--bound",
                "1",
            ],
            &["x1", "x2", "x3", "x4", "x5"],
        ),
    },
    Step {
        name: "streams",
        work: Work::Cargo(&[
            "test",
            "-p",
            "dpamatch",
            "--release",
            "--test",
            "random_streams",
        ]),
    },
    Step {
        name: "loom",
        work: Work::Models,
    },
    Step {
        name: "shuttle",
        work: Work::Cargo(&["test", "-p", "dpamatch_explore", "--test", "random"]),
    },
    Step {
        name: "faults",
        work: Work::Mutants,
    },
    Step {
        name: "prediction",
        work: Work::Dpamatch(&["predict"], &[""]),
    },
    Step {
        name: "comparison",
        work: Work::Cargo(&[
            "run",
            "--release",
            "-q",
            "-p",
            "dpamatch_papers",
            "--",
            "compare",
            "depth",
            "--engine",
            "optimistic,bins",
        ]),
    },
];

/// Runs the task. `args` are names of steps; none means all.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if let Some(unknown) = args
        .iter()
        .find(|&name| STEPS.iter().all(|step| step.name != name))
    {
        let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        return Err(Failure::Usage(format!(
            "no step `{unknown}`; steps: {}",
            names.join(", ")
        )));
    }
    let root = root();
    let begun = Instant::now();
    let asked = |step: &&Step| args.is_empty() || args.iter().any(|name| name == step.name);
    for step in STEPS.iter().filter(asked) {
        println!("== {}", step.name);
        step.work.run(&root).map_err(|failure| match failure {
            Failure::Task(why) => Failure::Task(format!("{}: {why}", step.name)),
            usage => usage,
        })?;
    }
    println!("all steps passed in {:.0} s", begun.elapsed().as_secs_f64());
    Ok(())
}

impl Work {
    fn run(&self, root: &Path) -> Result<(), Failure> {
        match *self {
            Self::Cargo(line) => cargo(root, |cargo| cargo.args(line)),
            Self::Dpamatch(line, each) => each.iter().try_for_each(|value| {
                let line = line
                    .iter()
                    .map(|&word| if word == "{}" { value } else { word });
                cargo(root, |cargo| {
                    cargo
                        .args(["run", "--release", "-q", "-p", "dpamatch_tools", "--"])
                        .args(line)
                })
            }),
            Self::Models => {
                let line = ["--tests", "--", "--nocapture", "--test-threads=2"];
                succeed(&mut mutants::cargo(root, &line))
            }
            Self::Mutants => mutants::run(&[]),
        }
    }
}

fn cargo(root: &Path, line: impl FnOnce(&mut Command) -> &mut Command) -> Result<(), Failure> {
    let mut command = crate::cargo();
    succeed(line(command.current_dir(root)))
}

fn succeed(command: &mut Command) -> Result<(), Failure> {
    let status = command
        .status()
        .map_err(|error| Failure::Task(format!("cannot run cargo: {error}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::Task(format!("{command:?}: {status}")))
    }
}
