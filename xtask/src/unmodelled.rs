//! `cargo xtask unmodelled`: prints the functions of the card that no loom model runs.
//!
//! The models are built with rustc's coverage counters and explore [`CUT`] executions each: enough
//! to enter what they enter. A function counts as one name in one file, closures left out.
//! `loom_tests/unmodelled.toml` lists these functions, each with a reason. The task fails where the
//! list differs from the functions that it finds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failure, mutants, orderings, process, root, target};

/// Executions of each exploration.
const CUT: &str = "100";

/// The list of reasons, from the root.
const REASONS: &str = "loom_tests/unmodelled.toml";

/// File below `dpa_model/`, and function; in the list `*` stands for all.
type Location = (String, String);

/// Runs the task, which takes no arguments.
///
/// # Errors
/// [`Failure::Usage`] for an argument; [`Failure::Task`] when a model fails, when llvm's tools are
/// missing, or when the list of reasons is not what the models say.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if let Some(first) = args.first() {
        return Err(Failure::Usage(format!(
            "`{first}`: unmodelled takes no arguments"
        )));
    }
    let reasons = reasons(&read(&root().join(REASONS))?).map_err(Failure::Task)?;
    let (functions, never) = never_run(&counted()?, &root().join("dpa_model"))?;
    let said: Vec<&Location> = reasons.iter().flat_map(|(_, places)| places).collect();
    let (mut wrong, mut explained) = (0, 0);
    for (reason, places) in &reasons {
        println!("{reason}");
        for place in places {
            let found = never.iter().filter(|one| covers(place, one)).count();
            explained += found;
            let verdict = if found == 0 { "A MODEL RUNS " } else { "" };
            wrong += usize::from(found == 0);
            println!("    {verdict}{} {}", place.0, place.1);
        }
    }
    for (file, name) in never
        .iter()
        .filter(|one| !said.iter().any(|place| covers(place, one)))
    {
        println!("NO MODEL RUNS {file}: {name}");
        wrong += 1;
    }
    println!("{functions} functions: no model runs {explained} with a reason, {wrong} wrong");
    if wrong == 0 {
        Ok(())
    } else {
        Err(Failure::Task(format!("not as {REASONS} says")))
    }
}

fn covers(place: &Location, one: &Location) -> bool {
    place.0 == one.0 && (place.1 == "*" || place.1 == one.1)
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::Task(format!("{}: {error}", path.display())))
}

/// Reasons with their functions.
fn reasons(text: &str) -> Result<Vec<(String, Vec<Location>)>, String> {
    let reasons: BTreeMap<String, BTreeMap<String, Vec<String>>> =
        toml::from_str(text).map_err(|error| format!("{REASONS}: {error}"))?;
    let with_places = |(reason, files): (String, BTreeMap<String, Vec<String>>)| {
        let places = files
            .into_iter()
            .flat_map(|(file, names)| names.into_iter().map(move |name| (file.clone(), name)));
        (reason, places.collect())
    };
    Ok(reasons.into_iter().map(with_places).collect())
}

/// Builds and runs the models, and returns llvm's counts as lcov writes them.
fn counted() -> Result<String, Failure> {
    let folder = target().join("loom-coverage");
    let mut cargo = mutants::cargo(&root(), &["--tests", "--no-run"]);
    cargo.env("CARGO_TARGET_DIR", &folder);
    cargo.env(
        "RUSTFLAGS",
        "--cfg dpamatch_loom -C debug-assertions -C instrument-coverage",
    );
    let programs = orderings::programs(&mut cargo)?;
    let (profile, merged) = (
        folder.join("models.profraw"),
        folder.join("models.profdata"),
    );
    let mut counts = String::new();
    // One by one: a program that lacks a function has an empty entry, which would hide others'.
    for program in programs {
        let mut models = Command::new(&program);
        models
            .arg("--test-threads=1")
            .current_dir(root().join("loom_tests"));
        ended(
            models
                .env("DPAMATCH_LOOM_CUT", CUT)
                .env("LLVM_PROFILE_FILE", &profile),
        )?;
        ended(
            llvm("llvm-profdata")?
                .args(["merge", "-o"])
                .args([&merged, &profile]),
        )?;
        let mut export = llvm("llvm-cov")?;
        export
            .args(["export", "-format=lcov", "-instr-profile"])
            .args([&merged, &program]);
        counts += &ended(&mut export)?;
    }
    Ok(counts)
}

fn ended(command: &mut Command) -> Result<String, Failure> {
    let ran = process::run(command).map_err(Failure::Task)?;
    if ran.status.success() {
        Ok(ran.stdout)
    } else {
        Err(Failure::Task(ran.output))
    }
}

/// One of the toolchain's own llvm tools, whose format fits the compiler's.
fn llvm(name: &str) -> Result<Command, Failure> {
    let libraries = ended(Command::new("rustc").args(["--print", "target-libdir"]))?;
    let path = PathBuf::from(libraries.trim())
        .with_file_name("bin")
        .join(name);
    if path.exists() {
        return Ok(Command::new(path));
    }
    Err(Failure::Task(format!(
        "{name} is missing: rustup component add llvm-tools"
    )))
}

/// How many functions the sources below a folder have, and those that never ran.
fn never_run(lcov: &str, folder: &Path) -> Result<(usize, BTreeSet<Location>), Failure> {
    let mut counts: BTreeMap<Location, BTreeMap<usize, u64>> = BTreeMap::new();
    let (mut file, mut source) = (String::new(), String::new());
    let mut lines = BTreeMap::new();
    for entry in lcov.lines() {
        let Some((kind, rest)) = entry.split_once(':') else {
            continue;
        };
        match (kind, rest.split_once(',')) {
            ("SF", _) => {
                let below = Path::new(rest).strip_prefix(folder).ok();
                source = below.map_or_else(|| Ok(String::new()), |_| read(Path::new(rest)))?;
                file = below
                    .map(|below| below.display().to_string())
                    .unwrap_or_default();
                lines.clear();
            }
            ("FN", Some((line, symbol))) => drop(lines.insert(symbol, line.parse().unwrap_or(0))),
            ("FNDA", Some((count, symbol))) => {
                let line = lines.get(symbol).copied().unwrap_or(0);
                let Some(name) = function_at(&source, line) else {
                    continue;
                };
                let place = counts.entry((file.clone(), name)).or_default();
                // Each instance of a generic function has its entry.
                *place.entry(line).or_default() += count.parse().unwrap_or(0);
            }
            _ => {}
        }
    }
    let functions = counts.len();
    counts.retain(|_, lines| lines.values().any(|&count| count == 0));
    Ok((functions, counts.into_keys().collect()))
}

/// The function whose declaration begins in a line; `None` for a closure.
fn function_at(source: &str, line: usize) -> Option<String> {
    let text = source.lines().nth(line.checked_sub(1)?)?.trim_start();
    let starts = ["pub", "fn ", "const ", "unsafe ", "extern "];
    let name = text.split_once("fn ")?.1.split(['(', '<']).next()?;
    starts
        .iter()
        .any(|start| text.starts_with(start))
        .then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that is gone would hide nothing and explain nothing.
    #[test]
    fn the_list_names_functions_of_the_card() {
        let text = fs::read_to_string(root().join(REASONS)).expect("the list");
        let reasons = reasons(&text).expect("reasons");
        assert!(reasons.len() > 5, "{reasons:?}");
        for (reason, places) in &reasons {
            assert!(reason.ends_with('.') && !places.is_empty(), "{reason}");
            for (file, name) in places {
                let source = fs::read_to_string(root().join("dpa_model").join(file)).expect(file);
                let lines = 1..=source.lines().count();
                let mut names = lines.filter_map(|line| function_at(&source, line));
                assert!(
                    names.any(|one| name == "*" || one == *name),
                    "{file}: no `{name}`"
                );
            }
        }
    }
}
