//! The steps: which cargo command each runs, in which environment, and what its output must show.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Extent;
use super::counts::{self, Counts};
use crate::process;

/// One cargo command and the judgement of what it printed.
pub(crate) struct Step {
    /// Its name in headings and in the summary.
    pub(crate) name: &'static str,
    /// When it is run.
    pub(super) extents: &'static [Extent],
    /// A toolchain by name, if it needs another than the repository's.
    toolchain: Option<&'static str>,
    /// Variables set for this step.
    env: &'static [(&'static str, &'static str)],
    /// A folder of its own below the target folder: other compiler flags would rebuild everything
    /// in the shared one.
    target: Option<&'static str>,
    /// Run last, beside the tests if the models end before them: it uses what the tests built.
    pub(super) for_either_row: bool,
    /// Arguments to cargo.
    args: &'static str,
    /// Tests that are not run: parts of their names.
    left_out: &'static [&'static str],
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

/// Run whatever is asked for.
const ALWAYS: &[Extent] = &[Extent::Fast, Extent::Everyday, Extent::Full];
/// Run before a change is merged.
const MERGE: &[Extent] = &[Extent::Everyday, Extent::Full];

/// A step with the repository's toolchain, in the shared target folder, that counts nothing.
const PLAIN: Step = Step {
    name: "",
    extents: MERGE,
    toolchain: None,
    env: &[],
    target: None,
    for_either_row: false,
    args: "",
    left_out: &[],
    judge: |_| Ok(Counts::default()),
};

/// All steps, the cheap and likely ones to fail first.
///
/// Targets are named one kind at a time where tests run: `--all-targets` would run the benches as
/// well. The benches run in the `dev` profile, which shares its build with the tests and keeps
/// debug assertions on.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "format", extents: ALWAYS, args: "fmt --all --check", ..PLAIN },
    Step {
        name: "lints",
        extents: ALWAYS,
        args: "clippy --workspace --all-targets -- -D warnings",
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
        name: "riscv64",
        args: "run -p dpamatch_port -- code",
        judge: |finished| {
            // Where the compiler cannot build for the card nothing can be wrong, and a line says
            // so.
            let skipped = finished.stdout.lines().find(|line| line.starts_with("skipped: "));
            if let Some(line) = skipped {
                println!("   {line}");
            }
            Ok(Counts::default())
        },
        ..PLAIN
    },
    Step {
        name: "tests",
        extents: &[Extent::Fast],
        // The first few hundred random streams find nearly everything.
        env: &[KEEP_MEMORY[0], KEEP_MEMORY[1], KEEP_MEMORY[2], ("DPAMATCH_STREAMS", "300")],
        args: TESTS,
        left_out: SLOW,
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
        args: "package --no-verify --allow-dirty -p dpamatch_vocabulary -p dpa_model -p dpamatch",
        ..PLAIN
    },
    Step {
        name: "benches",
        for_either_row: true,
        // Asked for in the workspace: with the package alone, crates of others have fewer features,
        // and all that needs them would be built again.
        args: "bench --workspace --exclude dpa_model_explore --exclude dpa_model_predict --profile dev --bench engines --bench nic --bench predict --bench selector --bench trace -- --test",
        judge: |finished| counts::benches(&finished.stdout),
        ..PLAIN
    },
    Step {
        name: "shuttle",
        env: &[("RUSTFLAGS", "--cfg dpamatch_shuttle -C debug-assertions")],
        target: Some("shuttle"),
        args: "test -p loom_tests --profile models --test schedules",
        judge: |finished| {
            counts::no_warnings(&finished.output)?;
            counts::tests(&finished.stdout)
        },
        ..PLAIN
    },
    Step {
        name: "loom",
        extents: &[Extent::Everyday],
        env: &[LOOM_FLAGS],
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
        env: &[("RUSTFLAGS", "-Zsanitizer=thread"), ("DPAMATCH_STRESS", "20")],
        target: Some("tsan"),
        // The standard library has to be built the same way, or its locks are not seen.
        args: "test -Zbuild-std --target x86_64-unknown-linux-gnu -p dpa_model --test stress",
        judge: |finished| counts::tests(&finished.stdout),
        ..PLAIN
    },
    Step {
        name: "loom, full",
        extents: &[Extent::Full],
        env: &[LOOM_FLAGS, ("DPAMATCH_LOOM_FULL", "1")],
        target: Some("loom"),
        args: LOOM,
        judge: loom,
        ..PLAIN
    },
];

const TESTS: &str = "test --workspace --exclude dpa_model_explore --exclude dpa_model_predict --lib --bins --tests --examples";

/// Two thirds of the tests' time, which `--fast` saves: much is asked about the same code, or a
/// claim about many cases.
const SLOW: &[&str] = &[
    // Of the command: each option, each page.
    "every_option_of_",
    "options_of_",
    "commands_print_what_the_pages_show",
    "what_commands_print_is_what_the_schema_allows",
    "tables_fit",
    "every_worked_example_gives_the_oracles_result",
    // Of the models.
    "a_number_that_matters_is_told_from_one_that_does_not",
    "a_number_that_moves_nothing_and_one_that_is_none",
    "intervals_hold_the_truth_as_often_as_they_say",
    "our_policy_is_never_far_behind_the_best_published_one",
    "predicted_paths_are_those_of_the_nic",
    "run_length_is_never_far_behind_the_best",
    // What builds something else first: programs in C, the card's side.
    "a_host_of_its_own_says_the_same",
    "a_wrong_outcome_is_noticed",
    "every_weakened_ordering_has_a_fault",
    "handlers_in_c_link_with_the_cards_side",
    "instructions_have_phases",
    "nonsense_on_the_command_line_ends_with_a_message",
    "outcomes_are_the_oracles",
    "qemu_says_the_same",
    "shipped_orderings_hold_in_weak_memory_and_weakened_ones_do_not",
    "the_c_example_runs",
    "the_predictors_table_is_of_this_code",
    "what_finds_no_room_is_matched_in_software",
];

const LOOM_FLAGS: (&str, &str) = ("RUSTFLAGS", "--cfg dpamatch_loom -C debug-assertions");
/// Without the doc tests: rustdoc does not know the cfg, so there would be nothing to call. One
/// model at a time: loom maps and unmaps a stack for each thread of each execution, and every unmap
/// interrupts the other core if the process has a second thread. Two models at a time take two
/// thirds more processor time.
const LOOM: &str = "test -p loom_tests --profile models --tests -- --nocapture --test-threads=1";

/// The allocator of glibc keeps what was freed: else each thread that frees much gives it back to
/// the system and gets it again page by page, up to half of a test program's processor time.
const KEEP_MEMORY: [(&str, &str); 3] = [
    ("MALLOC_MMAP_THRESHOLD_", "1073741824"),
    ("MALLOC_TOP_PAD_", "16777216"),
    ("MALLOC_TRIM_THRESHOLD_", "1073741824"),
];

fn loom(finished: &process::Finished) -> Result<Counts, String> {
    counts::no_warnings(&finished.output)?;
    counts::models(&finished.stdout)
}

/// The command as a person would type it in the repository's root.
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
        for (place, name) in self.left_out.iter().enumerate() {
            write!(f, "{} --skip {name}", if place == 0 { " --" } else { "" })?;
        }
        Ok(())
    }
}

impl Step {
    /// Whether it shares no target folder with others, so that it can run beside their builds.
    pub(super) fn is_apart(&self) -> bool {
        self.target.is_some()
    }

    /// Runs the step in the repository at `root`.
    ///
    /// # Errors
    /// A [`Fault`] when cargo cannot be started, exits with failure, or printed something that is
    /// not good enough.
    pub(crate) fn run(&self, root: &Path) -> Result<Counts, Fault> {
        let finished = process::run(&mut self.command(root)).map_err(|error| Fault {
            reason: format!("cannot run `{self}`: {error}"),
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
        let mut command = match self.toolchain {
            None => Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into())),
            // `cargo` is here the cargo that runs this task, which knows no other toolchain.
            Some(name) => {
                let mut rustup = Command::new("rustup");
                rustup.args(["run", name, "cargo"]);
                rustup
            }
        };
        // No colours: the escape codes would stand in the lines that are parsed.
        command.current_dir(root).args(self.args.split(' ')).env("CARGO_TERM_COLOR", "never");
        if !self.left_out.is_empty() {
            command.arg("--").args(self.left_out.iter().flat_map(|&name| ["--skip", name]));
        }
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
             cargo test -p loom_tests --profile models --tests -- --nocapture --test-threads=1"
        );
        assert_eq!(step("format").to_string(), "cargo fmt --all --check");
        assert!(
            step("Miri")
                .to_string()
                .starts_with("CARGO_TARGET_DIR=target/miri cargo +nightly miri test ")
        );
    }

    #[test]
    fn each_extent_has_its_steps() {
        let names = |extent: Extent| -> Vec<&str> {
            let steps = STEPS.iter().filter(|step| step.extents.contains(&extent));
            steps.map(|step| step.name).collect()
        };
        assert_eq!(names(Extent::Fast), ["format", "lints", "no_std", "no_std ends", "tests"]);
        let (everyday, full) = (names(Extent::Everyday), names(Extent::Full));
        assert_eq!(everyday.last(), Some(&"loom"));
        assert_eq!(everyday[..everyday.len() - 1], full[..everyday.len() - 1]);
        assert_eq!(full[everyday.len() - 1..], ["Miri", "threads", "loom, full"]);
        for names in [everyday, full] {
            assert_eq!(names.iter().filter(|&&name| name == "tests").count(), 1);
        }
    }

    /// Whether a file below the folder has this text; not in what was built.
    fn is_somewhere(folder: &Path, text: &str) -> bool {
        let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("one"));
        entries.into_iter().any(|entry| {
            let (path, name) = (entry.path(), entry.file_name());
            match entry.file_type().expect("its kind") {
                kind if kind.is_dir() => {
                    name != "target" && name != ".git" && is_somewhere(&path, text)
                }
                kind if kind.is_file() && path.extension().is_some_and(|end| end == "rs") => {
                    std::fs::read_to_string(&path).expect("sources").contains(text)
                }
                _ => false,
            }
        })
    }

    #[test]
    fn what_is_left_out_is_there() {
        for name in SLOW {
            assert!(is_somewhere(&crate::root(), &format!("fn {name}")), "no test {name}");
        }
        let typed = STEPS.iter().find(|step| step.name == "tests").expect("the step").to_string();
        assert!(typed.contains("--examples -- --skip every_option_of_ --skip "), "{typed}");
    }

    #[test]
    fn every_bench_is_run() {
        let manifest = include_str!("../../../benches/Cargo.toml");
        let benches = manifest.split("[[bench]]").skip(1).map(|bench| {
            let (_, name) = bench.split_once("name = \"").expect("a bench has a name");
            name.split_once('"').expect("the name ends").0
        });
        let words: Vec<&str> = step("benches").args.split(' ').collect();
        let run = words.iter().zip(&words[1..]).filter(|(option, _)| **option == "--bench");
        let run: Vec<&str> = run.map(|(_, name)| *name).collect();
        assert_eq!(benches.collect::<Vec<_>>(), run);
    }

    /// Steps that run last depend on no other build, and no step depends on them.
    #[test]
    fn what_either_row_runs_comes_after_the_tests() {
        let shared: Vec<&Step> = STEPS.iter().filter(|step| !step.is_apart()).collect();
        let first = shared.iter().position(|step| step.for_either_row).expect("there are some");
        assert_eq!(shared[first - 1].name, "tests");
        assert!(shared[first..].iter().all(|step| step.for_either_row));
        assert!(STEPS.iter().all(|step| !(step.for_either_row && step.is_apart())));
    }

    #[test]
    fn model_flags_keep_out_of_the_shared_target_folder() {
        for step in STEPS {
            let flags = step.env.iter().any(|&(name, _)| name == "RUSTFLAGS");
            assert_eq!(flags || step.toolchain.is_some(), step.target.is_some(), "{}", step.name);
        }
    }
}
