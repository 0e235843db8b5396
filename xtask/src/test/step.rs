//! The steps: the cargo command of each, its environment, and the expected output.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use super::Extent;
use super::counts::{self, Counts};
use crate::{orderings, process, rv64, sites};

/// A cargo command and the judgement of its output.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(super) extents: &'static [Extent],
    /// A toolchain by name, if not the repository's.
    toolchain: Option<&'static str>,
    env: &'static [(&'static str, &'static str)],
    /// A separate folder below the target folder: other compiler flags would rebuild everything in
    /// the shared one.
    target: Option<&'static str>,
    /// Runs last, in either row: it uses what the tests built.
    pub(super) for_either_row: bool,
    args: &'static str,
    /// Leaves the slow tests out.
    is_fast: bool,
    /// Whether this machine has what the step needs. Where it has not, only `--full` runs the step,
    /// which then fails.
    pub(super) can_run: fn() -> bool,
    /// Judges the output of a successful exit.
    judge: fn(&process::Finished) -> Result<Counts, String>,
}

pub(crate) struct StepFault {
    pub(crate) reason: String,
    pub(crate) output: String,
}

/// Part of every extent.
const ALWAYS: &[Extent] = &[Extent::Fast, Extent::Everyday, Extent::Full];
const MERGE: &[Extent] = &[Extent::Everyday, Extent::Full];

/// A step with the repository's toolchain and the shared target folder that counts nothing.
const PLAIN: Step = Step {
    name: "",
    extents: MERGE,
    toolchain: None,
    env: &[],
    target: None,
    for_either_row: false,
    args: "",
    is_fast: false,
    can_run: || true,
    judge: |_| Ok(Counts::default()),
};

/// All steps; cheap ones and those likely to fail come first.
///
/// Steps with tests name the kinds of targets, since `--all-targets` would also run the benches.
/// The benches use the `dev` profile, which shares its build with the tests and keeps debug
/// assertions on.
pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "format",
        extents: ALWAYS,
        args: "fmt --all --check",
        ..PLAIN
    },
    Step {
        name: "lints",
        extents: ALWAYS,
        args: "clippy --workspace --all-targets -- -D warnings",
        ..PLAIN
    },
    Step {
        name: "emulator: format",
        extents: ALWAYS,
        target: Some("emulator"),
        args: "fmt --manifest-path port/emulator/Cargo.toml --check",
        ..PLAIN
    },
    Step {
        name: "emulator: lints",
        extents: ALWAYS,
        target: Some("emulator"),
        args: "clippy --locked --manifest-path port/emulator/Cargo.toml --all-targets -- -D warnings",
        ..PLAIN
    },
    Step {
        name: "emulator: tests",
        extents: ALWAYS,
        target: Some("emulator"),
        args: "test --manifest-path port/emulator/Cargo.toml --lib --tests",
        judge: |finished| counts::tests(&finished.stdout),
        ..PLAIN
    },
    Step {
        name: "emulator: docs",
        target: Some("emulator"),
        env: &[("RUSTDOCFLAGS", "-D warnings")],
        args: "doc --manifest-path port/emulator/Cargo.toml --no-deps",
        ..PLAIN
    },
    Step {
        name: "no_std",
        extents: ALWAYS,
        args: "check -p dpa_model --no-default-features",
        judge: |finished| counts::no_warnings(&finished.output).map(|()| Counts::default()),
        ..PLAIN
    },
    Step {
        name: "no_std ends",
        extents: ALWAYS,
        args: "check -p dpa_model --no-default-features --features ends",
        judge: |finished| counts::no_warnings(&finished.output).map(|()| Counts::default()),
        ..PLAIN
    },
    Step {
        name: "python",
        extents: &[Extent::Full],
        args: "test -p dpamatch_tools --features pandas --test cli python::",
        judge: |finished| counts::tests(&finished.stdout),
        ..PLAIN
    },
    Step {
        name: FIRMWARE,
        args: "test -p dpamatch_port --features rv64 --test card --test firmware --test machine",
        can_run: rv64::has_target,
        judge: |finished| counts::tests(&finished.stdout),
        ..PLAIN
    },
    Step {
        name: "programs",
        extents: ALWAYS,
        // Tests run programs of other packages and examples, which the step below builds as tests.
        args: "build --workspace --exclude dpa_model_explore --exclude dpa_model_predict --bins --examples",
        ..PLAIN
    },
    Step {
        name: "tests",
        extents: &[Extent::Fast],
        // The first few hundred random streams find nearly everything.
        env: &[
            KEEP_MEMORY[0],
            KEEP_MEMORY[1],
            KEEP_MEMORY[2],
            ("DPAMATCH_STREAMS", "300"),
        ],
        args: TESTS,
        is_fast: true,
        judge: |finished| counts::tests(&finished.stdout),
        ..PLAIN
    },
    Step {
        name: "tests",
        env: &KEEP_MEMORY,
        args: TESTS,
        judge: |finished| counts::tests(&finished.stdout),
        ..PLAIN
    },
    Step {
        name: "doc tests",
        for_either_row: true,
        args: "test --workspace --exclude dpa_model_explore --exclude dpa_model_predict --doc",
        judge: |finished| counts::doc_tests(&finished.stdout),
        ..PLAIN
    },
    Step {
        name: "docs",
        for_either_row: true,
        env: &[("RUSTDOCFLAGS", "-D warnings")],
        args: "doc --workspace --no-deps",
        ..PLAIN
    },
    Step {
        name: "packages",
        for_either_row: true,
        args: "package --no-verify --allow-dirty -p dpamatch_vocabulary -p dpa_model -p dpamatch -p dpamatch_traces",
        ..PLAIN
    },
    Step {
        name: "benches",
        for_either_row: true,
        // Selected through the workspace: for the package alone, dependencies have fewer features
        // and would be rebuilt.
        args: "bench --workspace --exclude dpa_model_explore --exclude dpa_model_predict --profile dev --bench nic -- --test",
        judge: |finished| counts::benches(&finished.stdout),
        ..PLAIN
    },
    Step {
        name: "loom",
        extents: &[Extent::Everyday],
        env: &[LOOM_FLAGS, orderings::PLACES],
        target: Some("loom"),
        args: LOOM,
        judge: loom,
        ..PLAIN
    },
    Step {
        name: "Miri",
        extents: &[Extent::Full],
        toolchain: Some("nightly"),
        target: Some("miri"),
        args: "miri test -p dpa_model --lib --tests -- --skip hash --skip pool --skip recent",
        judge: |finished| counts::tests(&finished.stdout),
        ..PLAIN
    },
    Step {
        name: "threads",
        extents: &[Extent::Full],
        toolchain: Some("nightly"),
        env: &[
            ("RUSTFLAGS", "-Zsanitizer=thread"),
            ("DPAMATCH_STRESS", "20"),
        ],
        target: Some("tsan"),
        // The standard library must be built alike, or its locks stay invisible.
        args: "test -Zbuild-std --target x86_64-unknown-linux-gnu -p dpa_model --test stress",
        judge: |finished| counts::tests(&finished.stdout),
        ..PLAIN
    },
    Step {
        name: "more tools",
        extents: &[Extent::Full],
        target: Some("emulator"),
        args: "test --manifest-path port/emulator/Cargo.toml --features more-tools --test ci",
        judge: |finished| counts::tests(&finished.stdout),
        ..PLAIN
    },
    Step {
        name: "loom in full",
        extents: &[Extent::Full],
        env: &[LOOM_FLAGS, orderings::PLACES, ("DPAMATCH_LOOM_FULL", "1")],
        target: Some("loom"),
        args: LOOM,
        judge: loom,
        ..PLAIN
    },
];

/// The step that `cargo xtask rv64` runs, too.
pub(crate) const FIRMWARE: &str = "firmware";

/// A part of the names of tests that act as another user, which only root can.
const AS_ANOTHER_USER: &str = "of_another_user";

/// Whether this process has the rights of root.
pub(super) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

const TESTS: &str = "test --workspace --exclude dpa_model_explore --exclude dpa_model_predict --lib --bins --tests --examples";

/// Parts of the names of slow tests, which take two thirds of the tests' time: many questions about
/// the same code, or many cases of one claim.
const SLOW: [&str; 11] = [
    // The command: each option, each page.
    "every_option_of_",
    "commands_print_what_the_pages_show",
    "what_commands_print_is_what_the_schema_allows",
    "tables_fit",
    // The models.
    "intervals_hold_the_truth_as_often_as_they_say",
    "predicted_paths_are_those_of_the_nic",
    "run_length_is_never_far_behind_the_best",
    "whole_jobs_are_like_the_published_ones",
    // Tests that first build something else: programs in C, the card's side.
    "workloads_and_streams_give_the_oracles_outcomes",
    "the_c_example_runs",
    // Commands whose instructions valgrind counts.
    "four_times_the_work_costs_at_most_five_times_as_much",
];

const LOOM_FLAGS: (&str, &str) = ("RUSTFLAGS", "--cfg dpamatch_loom -C debug-assertions");
/// Without doc tests, since rustdoc does not know the cfg. One model at a time: loom maps and
/// unmaps a stack per thread and execution, and in a multi-threaded process every unmap interrupts
/// the other core. Two models at a time take two thirds more processor time.
const LOOM: &str =
    "test -p loom_tests --features models --profile models --tests -- --nocapture --test-threads=1";

/// Makes glibc's allocator keep freed memory. Otherwise threads return it to the system and fault
/// it in again, for up to half of a test program's processor time.
const KEEP_MEMORY: [(&str, &str); 3] = [
    ("MALLOC_MMAP_THRESHOLD_", "1073741824"),
    ("MALLOC_TOP_PAD_", "16777216"),
    ("MALLOC_TRIM_THRESHOLD_", "1073741824"),
];

fn loom(finished: &process::Finished) -> Result<Counts, String> {
    counts::no_warnings(&finished.output)?;
    let counts = counts::models(&finished.stdout)?;
    // The models have printed what they run, so the rest of `cargo xtask orderings --all` is here.
    let mut models = BTreeMap::new();
    orderings::places_by_model("loom_tests", &finished.stdout, &mut models);
    sites::of_repository(&crate::root())?.judge(&models)?;
    Ok(counts)
}

/// The command as typed in the repository's root.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self.env {
            write!(f, "{name}=\"{value}\" ")?;
        }
        if let Some(folder) = self.target {
            write!(f, "CARGO_TARGET_DIR=target/{folder} ")?;
        }
        match self.toolchain {
            Some(name) => write!(f, "cargo +{name} {}", self.args)?,
            None => write!(f, "cargo {}", self.args)?,
        }
        let left_out = || self.left_out();
        f.write_str(if left_out().next().is_some() {
            " --"
        } else {
            ""
        })?;
        left_out().try_for_each(|name| write!(f, " --skip {name}"))
    }
}

impl Step {
    /// Tests to skip, by parts of their names.
    fn left_out(&self) -> impl Iterator<Item = &'static str> {
        let other_users = self.args == TESTS && !is_root();
        let other_users = other_users.then_some(AS_ANOTHER_USER);
        SLOW.into_iter().filter(|_| self.is_fast).chain(other_users)
    }

    /// Whether it has its own target folder, and so can run beside other builds.
    pub(super) fn is_apart(&self) -> bool {
        self.target.is_some()
    }

    /// Runs the step in the repository at `root`.
    pub(crate) fn run(&self, root: &Path) -> Result<Counts, StepFault> {
        let finished = process::run(&mut self.command(root)).map_err(|reason| StepFault {
            reason,
            output: String::new(),
        })?;
        let judgement = if finished.status.success() {
            (self.judge)(&finished)
        } else {
            Err(format!(
                "`cargo {}` ended with {}",
                self.args, finished.status
            ))
        };
        judgement.map_err(|reason| StepFault {
            reason,
            output: finished.output,
        })
    }

    fn command(&self, root: &Path) -> Command {
        let mut command = match self.toolchain {
            None => crate::cargo(),
            // `cargo` here is the cargo that runs this task, which knows no other toolchain.
            Some(name) => {
                let mut rustup = Command::new("rustup");
                rustup.args(["run", name, "cargo"]);
                rustup
            }
        };
        // Escape codes would disturb the parsers.
        command
            .current_dir(root)
            .args(self.args.split(' '))
            .env("CARGO_TERM_COLOR", "never");
        if self.left_out().next().is_some() {
            command
                .arg("--")
                .args(self.left_out().flat_map(|name| ["--skip", name]));
        }
        for (name, value) in self.env {
            command.env(name, value);
            // The encoded form would override the plain one.
            command.env_remove(format!("CARGO_ENCODED_{name}"));
        }
        if let Some(folder) = self.target {
            command.env("CARGO_TARGET_DIR", crate::target().join(folder));
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str) -> &'static Step {
        STEPS
            .iter()
            .find(|step| step.name == name)
            .expect("the step exists")
    }

    #[test]
    fn what_is_left_out_is_there() {
        for name in SLOW {
            let mut git = Command::new("git");
            git.args([
                "grep",
                "-q",
                "--untracked",
                &format!("fn {name}"),
                "--",
                "*.rs",
            ]);
            let found = git.current_dir(crate::root()).status().expect("git runs");
            assert!(found.success(), "no test {name}");
        }
        let typed = STEPS
            .iter()
            .find(|step| step.name == "tests")
            .expect("the step")
            .to_string();
        assert!(
            typed.contains("--examples -- --skip every_option_of_ --skip "),
            "{typed}"
        );
    }

    #[test]
    fn every_bench_is_run() {
        let manifests = [
            include_str!("../../../Cargo.toml"),
            include_str!("../../../tools/Cargo.toml"),
        ];
        let benches = manifests
            .iter()
            .flat_map(|it| it.split("[[bench]]").skip(1))
            .map(|bench| {
                let (_, name) = bench.split_once("name = \"").expect("a bench has a name");
                name.split_once('"').expect("the name ends").0
            });
        let words: Vec<&str> = step("benches").args.split(' ').collect();
        let run = words
            .iter()
            .zip(&words[1..])
            .filter(|(option, _)| **option == "--bench");
        let run: Vec<&str> = run.map(|(_, name)| *name).collect();
        assert_eq!(benches.collect::<Vec<_>>(), run);
    }

    /// Steps that run last depend on no other build, and no step depends on them.
    #[test]
    fn what_either_row_runs_comes_after_the_tests() {
        let shared: Vec<&Step> = STEPS.iter().filter(|step| !step.is_apart()).collect();
        let first = shared
            .iter()
            .position(|step| step.for_either_row)
            .expect("there are some");
        assert_eq!(shared[first - 1].name, "tests");
        assert!(shared[first..].iter().all(|step| step.for_either_row));
        assert!(
            STEPS
                .iter()
                .all(|step| !(step.for_either_row && step.is_apart()))
        );
    }
}
