//! `cargo xtask mutants`: plants each seeded fault in turn and checks that its model in the table
//! notices it.
//!
//! The table is `loom_tests/mutants.toml`. One build has all faults, and an environment variable
//! chooses one.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::process;
use crate::{Failure, root};

#[derive(PartialEq, Eq, Debug)]
struct Mutant {
    fault: String,
    fate: Fate,
}

#[derive(PartialEq, Eq, Debug)]
enum Fate {
    /// This test in this file of `loom_tests` must fail.
    Killed { file: String, test: String },
    /// No model can notice, for this reason.
    Survives(String),
}

/// Runs the task. The arguments name faults; none means all.
///
/// # Errors
/// [`Failure::Usage`] for an unknown fault; [`Failure::Task`] when a fault survives, when a model
/// kills a fault that the table calls equivalent, or when a model fails without a fault.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let root = root();
    let mut mutants = read(&root)?;
    if let Some(unknown) = args
        .iter()
        .find(|name| !mutants.iter().any(|mutant| mutant.fault == **name))
    {
        return Err(Failure::Usage(format!("no fault `{unknown}`")));
    }
    mutants.retain(|mutant| args.is_empty() || args.contains(&mutant.fault));

    let (mut wrong, mut counts) = (Vec::new(), [0; 3]);
    for Mutant { fault, fate } in &mutants {
        let started = Instant::now();
        let run = |cargo: &[&str], filter: &[&str]| model(&root, fault, cargo, filter);
        let (kind, line) = match fate {
            Fate::Killed { file, test } => match run(&["--test", file], &["--exact", test])? {
                Some(how) => (0, format!("killed by {file}::{test}: {how}")),
                None => (2, format!("NOT NOTICED by {file}::{test}")),
            },
            // No model may notice.
            Fate::Survives(why) => match run(&["--tests"], &[])? {
                None => (1, format!("survives: {why}")),
                Some(how) => (2, format!("KILLED, but the table says it cannot be: {how}")),
            },
        };
        counts[kind] += 1;
        if kind == 2 {
            wrong.push(fault.as_str());
        }
        let seconds = started.elapsed().as_secs_f64();
        println!("{fault:<34}{seconds:>7.1} s  {line}");
    }
    let [killed, survived, mistakes] = counts;
    println!(
        "{} mutants: {killed} killed, {survived} equivalent, {mistakes} wrong",
        mutants.len()
    );
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failure::Task(format!(
            "not as the table says: {}",
            wrong.join(", ")
        )))
    }
}

/// The names of all seeded faults.
pub(crate) fn faults(root: &Path) -> Result<Vec<String>, Failure> {
    let mutants = read(root)?;
    Ok(mutants.into_iter().map(|mutant| mutant.fault).collect())
}

fn read(root: &Path) -> Result<Vec<Mutant>, Failure> {
    let table = std::fs::read_to_string(root.join("loom_tests/mutants.toml"))
        .map_err(|error| Failure::Task(format!("cannot read loom_tests/mutants.toml: {error}")))?;
    parse(&table).map_err(Failure::Task)
}

fn parse(table: &str) -> Result<Vec<Mutant>, String> {
    let table: toml::Table = table
        .parse()
        .map_err(|error| format!("loom_tests/mutants.toml: {error}"))?;
    if table.is_empty() {
        return Err("loom_tests/mutants.toml names no fault".to_owned());
    }
    let mutant = |(fault, value): (String, toml::Value)| match fate(&value) {
        Some(fate) => Ok(Mutant { fault, fate }),
        None => Err(format!(
            "loom_tests/mutants.toml: {fault}: expected \"<file>::<test>\" or {{ survives = \"<why>\" }}"
        )),
    };
    table.into_iter().map(mutant).collect()
}

fn fate(value: &toml::Value) -> Option<Fate> {
    if let Some(why) = value.get("survives") {
        return Some(Fate::Survives(why.as_str()?.to_owned()));
    }
    let (file, test) = value.as_str()?.split_once("::")?;
    Some(Fate::Killed {
        file: file.to_owned(),
        test: test.to_owned(),
    })
}

/// A cargo command that builds and runs models; `arguments` come before any `--`.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut command = crate::cargo();
    command
        .current_dir(root)
        .args([
            "test",
            "-p",
            "loom_tests",
            "--features",
            "models",
            "--profile",
            "models",
        ])
        .args(arguments)
        .env("RUSTFLAGS", "--cfg dpamatch_loom -C debug-assertions")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("CARGO_TARGET_DIR", crate::target().join("loom"))
        .env("CARGO_TERM_COLOR", "never");
    command
}

/// How a model failed with the fault; `None` if it passed.
fn model(
    root: &Path,
    fault: &str,
    cargo: &[&str],
    filter: &[&str],
) -> Result<Option<String>, Failure> {
    let mut command = self::cargo(root, cargo);
    command
        .args(["--quiet", "--", "--nocapture", "--test-threads=2"])
        .args(filter)
        .env("RUST_BACKTRACE", "0")
        .env("DPAMATCH_FAULT", fault);
    let finished = process::run(&mut command).map_err(Failure::Task)?;
    if !finished.output.contains("running ") || finished.output.contains("no such fault") {
        return Err(Failure::Task(format!(
            "{fault}: the model did not run\n{}",
            finished.output
        )));
    }
    if !filter.is_empty() && !finished.stdout.contains("running 1 test") {
        return Err(Failure::Task(format!(
            "{fault}: there is no test `{}`",
            filter.join(" ")
        )));
    }
    Ok((!finished.status.success()).then(|| reason(&finished.output)))
}

/// The message of the first panic: the line after its place.
pub(crate) fn reason(output: &str) -> String {
    let mut lines = output
        .lines()
        .skip_while(|line| !line.contains(" panicked at "))
        .skip(1);
    lines
        .next()
        .unwrap_or("ended without a message")
        .trim()
        .to_owned()
}
