//! The steps: which cargo command each runs, in which environment, and what its output must show.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::counts::{self, Counts};
use crate::process;

/// One cargo command and the judgement of what it printed.
pub(crate) struct Step {
    /// Its name in headings and in the summary.
    pub(crate) name: &'static str,
    /// Whether `--fast` leaves it out.
    pub(crate) slow: bool,
    /// Variables set for this step.
    env: &'static [(&'static str, &'static str)],
    /// A folder of its own below the target folder: other compiler flags would rebuild everything
    /// in the shared one.
    target: Option<&'static str>,
    /// Arguments to cargo.
    args: &'static str,
    /// What a successful exit must have printed.
    judge: fn(&process::Finished) -> Result<Counts, String>,
}

/// A step that failed.
pub(crate) struct Fault {
    /// Why, in one line.
    pub(crate) reason: String,
    /// All that the command printed.
    pub(crate) output: String,
}

/// All steps, the cheap and likely ones to fail first.
///
/// Targets are named one kind at a time where tests run: `--all-targets` would run the benches as
/// well. The benches run in the `dev` profile, which shares its build with the tests and keeps
/// debug assertions on.
pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "format",
        slow: false,
        env: &[],
        target: None,
        args: "fmt --all --check",
        judge: |_| Ok(Counts::default()),
    },
    Step {
        name: "lints",
        slow: false,
        env: &[],
        target: None,
        args: "clippy --workspace --all-targets -- -D warnings",
        judge: |_| Ok(Counts::default()),
    },
    Step {
        name: "no_std",
        slow: false,
        env: &[],
        target: None,
        args: "check -p dpa_model --no-default-features",
        judge: |finished| counts::no_warnings(&finished.output).map(|()| Counts::default()),
    },
    Step {
        name: "no_std ends",
        slow: false,
        env: &[],
        target: None,
        args: "check -p dpa_model --no-default-features --features ends",
        judge: |finished| counts::no_warnings(&finished.output).map(|()| Counts::default()),
    },
    Step {
        name: "tests",
        slow: false,
        env: &[],
        target: None,
        args: "test --workspace --exclude dpa_model_explore --exclude dpa_model_predict --lib --bins --tests --examples",
        judge: |finished| counts::tests(&finished.stdout),
    },
    Step {
        name: "doc tests",
        slow: false,
        env: &[],
        target: None,
        args: "test --workspace --exclude dpa_model_explore --exclude dpa_model_predict --doc",
        judge: |finished| counts::doc_tests(&finished.stdout),
    },
    Step {
        name: "docs",
        slow: false,
        env: &[("RUSTDOCFLAGS", "-D warnings")],
        target: None,
        args: "doc --workspace --no-deps",
        judge: |_| Ok(Counts::default()),
    },
    Step {
        name: "packages",
        slow: false,
        env: &[],
        target: None,
        args: "package --no-verify --allow-dirty -p dpamatch_vocabulary -p dpa_model -p dpamatch_lanes -p dpamatch",
        judge: |_| Ok(Counts::default()),
    },
    Step {
        name: "loom",
        slow: true,
        env: &[("RUSTFLAGS", "--cfg dpamatch_loom -C debug-assertions")],
        target: Some("loom"),
        // Without the doc tests: rustdoc does not know the cfg, so there would be nothing to call.
        args: "test -p loom_tests --release --tests -- --nocapture --test-threads=2",
        judge: |finished| {
            counts::no_warnings(&finished.output)?;
            counts::models(&finished.stdout)
        },
    },
    Step {
        name: "shuttle",
        slow: true,
        env: &[("RUSTFLAGS", "--cfg dpamatch_shuttle -C debug-assertions")],
        target: Some("shuttle"),
        args: "test -p loom_tests --release --test schedules",
        judge: |finished| {
            counts::no_warnings(&finished.output)?;
            counts::tests(&finished.stdout)
        },
    },
    Step {
        name: "benches",
        slow: true,
        env: &[],
        target: None,
        args: "bench -p dpamatch_benches --profile dev -- --test",
        judge: |finished| counts::benches(&finished.stdout),
    },
];

/// The command as a person would type it in the repository's root.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self.env {
            write!(f, "{name}=\"{value}\" ")?;
        }
        if let Some(folder) = self.target {
            write!(f, "CARGO_TARGET_DIR=target/{folder} ")?;
        }
        write!(f, "cargo {}", self.args)
    }
}

impl Step {
    /// Runs the step in the repository at `root`.
    ///
    /// # Errors
    /// A [`Fault`] when cargo cannot be started, exits with failure, or printed something that is
    /// not good enough.
    pub(crate) fn run(&self, root: &Path) -> Result<Counts, Fault> {
        let finished = process::run(&mut self.command(root)).map_err(|error| Fault {
            reason: format!("cannot run cargo: {error}"),
            output: String::new(),
        })?;
        let judgement = if finished.status.success() {
            (self.judge)(&finished)
        } else {
            Err(format!("`cargo {}` ended with {}", self.args, finished.status))
        };
        judgement.map_err(|reason| Fault { reason, output: finished.output })
    }

    fn command(&self, root: &Path) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // No colours: the escape codes would stand in the lines that are parsed.
        command.current_dir(root).args(self.args.split(' ')).env("CARGO_TERM_COLOR", "never");
        for (name, value) in self.env {
            command.env(name, value);
            // The encoded form would win over the plain one.
            command.env_remove(format!("CARGO_ENCODED_{name}"));
        }
        if let Some(folder) = self.target {
            let shared =
                env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
            command.env("CARGO_TARGET_DIR", shared.join(folder));
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str) -> &'static Step {
        STEPS.iter().find(|step| step.name == name).expect("the step exists")
    }

    #[test]
    fn the_heading_can_be_typed() {
        assert_eq!(
            step("loom").to_string(),
            "RUSTFLAGS=\"--cfg dpamatch_loom -C debug-assertions\" CARGO_TARGET_DIR=target/loom \
             cargo test -p loom_tests --release --tests -- --nocapture --test-threads=2"
        );
        assert_eq!(step("format").to_string(), "cargo fmt --all --check");
    }

    #[test]
    fn what_is_slow() {
        let slow: Vec<&str> = STEPS.iter().filter(|step| step.slow).map(|step| step.name).collect();
        assert_eq!(slow, ["loom", "shuttle", "benches"]);
    }

    #[test]
    fn model_flags_keep_out_of_the_shared_target_folder() {
        for step in STEPS {
            let flags = step.env.iter().any(|&(name, _)| name == "RUSTFLAGS");
            assert_eq!(flags, step.target.is_some(), "{}", step.name);
        }
    }
}
