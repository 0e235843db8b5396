//! `cargo xtask orderings`: weakens each atomic ordering that a model runs in turn, and finds the
//! model that notices. `--all` lists every atomic operation with its model or its reason instead.
//!
//! The sources are the list: each ordering is an argument of `weak!`, with a reason if nothing can
//! notice its absence. A first run of each model tells which orderings it comes to. The models that
//! come to an ordering then run without it, the quickest first. If none fails, the firmware runs in
//! weak memory (`cargo xtask rv64 weak`), for an ordering of the card.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use dpamatch_needs::Need;

use crate::process::{self, Finished};
use crate::sites::{self, Location, Weak};
use crate::{Failure, root, rv64};

/// Seeds of each kind of firmware run for an ordering that no model needs.
const SEEDS: &str = "12";

/// A place and a weaker ordering.
struct Weakening<'a> {
    at: &'a Weak,
    weaker: &'static str,
}

impl fmt::Display for Weakening<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.at.place, self.weaker)
    }
}

/// The weaker orderings in place of one.
///
/// # Errors
/// It cannot be weakened.
fn weaker(at: &Weak) -> Result<Vec<Weakening<'_>>, String> {
    let weaker: &[&str] = match at.ordering.as_str() {
        "Acquire" | "Release" => &["Relaxed"],
        "AcqRel" => &["Acquire", "Release"],
        // Of a fence; no model knows more of an operation than that.
        "SeqCst" => &["AcqRel"],
        other => return Err(format!("{}: `{other}` cannot be weakened", at.place)),
    };
    Ok(weaker
        .iter()
        .map(|weaker| Weakening { at, weaker })
        .collect())
}

/// A test with a model, and what its run with the shipped orderings showed.
struct Model {
    program: PathBuf,
    name: String,
    took: Duration,
    places: BTreeSet<Location>,
}

/// Runs the task. The arguments are parts of places; none means all. `--list` prints the places,
/// `--all` every atomic operation.
///
/// # Errors
/// [`Failure::Usage`] if no place has such a part; [`Failure::Task`] when a weaker ordering is
/// neither noticed nor explained, when one is both, or when a model fails without one.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let (lists, parts) = match args.split_first() {
        Some((first, rest)) if first == "--list" => (true, rest),
        Some((first, [])) if first == "--all" => return every_operation(),
        _ => (false, args),
    };
    let sources = sites::of_repository(&root()).map_err(Failure::Task)?;
    let mut all = Vec::new();
    for weak in &sources.weaks {
        all.extend(weaker(weak).map_err(Failure::Task)?);
    }
    all.retain(|one| parts.is_empty() || parts.iter().any(|part| one.to_string().contains(part)));
    if all.is_empty() {
        return Err(Failure::Usage(format!("no ordering `{}`", parts.join(" "))));
    }
    if lists {
        all.iter().for_each(|one| println!("{one}"));
        return Ok(());
    }
    let has_firmware = Need::RiscV
        .check(rv64::has_target())
        .map_err(Failure::Task)?;
    let mut models = Vec::new();
    for program in programs(&mut crate::mutants::cargo(
        &root(),
        &["--tests", "--no-run"],
    ))? {
        models.extend(models_of(&program)?);
    }
    models.sort_by_key(|model| model.took);
    // Noticed by models, by the firmware, explained, wrong, not known.
    let mut counts = [0; 5];
    for one in &all {
        let started = Instant::now();
        let reached = models
            .iter()
            .any(|model| model.places.contains(&one.at.place));
        let (kind, mut verdict) = match (noticed(&models, one, has_firmware)?, &one.at.why) {
            (Some((kind, by)), None) => (kind, format!("noticed by {by}")),
            (None, Some(why)) => (2, format!("not noticed: {why}")),
            (None, None) if !has_firmware && is_of_the_card(one) => {
                (4, "no model notices; the firmware did not run".to_owned())
            }
            (None, None) => (3, "NOT NOTICED, and the source does not say why".to_owned()),
            (Some(_), Some(_)) => (
                3,
                "NOTICED, but the source says that nothing can".to_owned(),
            ),
        };
        if !reached {
            verdict += " (no model comes there)";
        }
        counts[kind] += 1;
        println!(
            "{:<56}{:>7.1} s  {verdict}",
            one.to_string(),
            started.elapsed().as_secs_f64()
        );
    }
    let [by_models, by_firmware, explained, wrong, unknown] = counts;
    println!(
        "{} weaker orderings: {by_models} noticed by models, {by_firmware} by the firmware in \
         weak memory, {explained} explained, {wrong} wrong, {unknown} not known",
        all.len()
    );
    if wrong == 0 {
        Ok(())
    } else {
        Err(Failure::Task(format!("{wrong} are wrong")))
    }
}

/// Who notices a weaker ordering: the place of its count, and the words.
fn noticed(
    models: &[Model],
    one: &Weakening<'_>,
    has_firmware: bool,
) -> Result<Option<(usize, String)>, Failure> {
    for model in models
        .iter()
        .filter(|model| model.places.contains(&one.at.place))
    {
        let ran = run_model(
            &model.program,
            &model.name,
            "DPAMATCH_WEAKEN",
            &one.to_string(),
        )?;
        if !ran.status.success() {
            let how = crate::mutants::reason(&ran.output);
            return Ok(Some((0, format!("{}: {how}", model.name))));
        }
    }
    if !has_firmware || !is_of_the_card(one) {
        return Ok(None);
    }
    let caught = rv64::catches(SEEDS, &one.to_string())?;
    Ok(caught.then(|| (1, "the firmware".to_owned())))
}

/// Whether the firmware has it, too.
fn is_of_the_card(one: &Weakening<'_>) -> bool {
    one.at.place.file.starts_with("dpa_model/")
}

/// Prints each atomic operation with its model or its reason.
fn every_operation() -> Result<(), Failure> {
    let sources = sites::of_repository(&root()).map_err(Failure::Task)?;
    let mut models = BTreeMap::new();
    for program in programs(&mut crate::mutants::cargo(
        &root(),
        &["--tests", "--no-run"],
    ))? {
        let mut command = Command::new(&program);
        command
            .args(["--nocapture", "--test-threads=1"])
            .current_dir(root().join("loom_tests"))
            .envs([PLACES, ("DPAMATCH_LOOM_CUT", CUT)]);
        let ran = process::run(&mut command).map_err(Failure::Task)?;
        if !ran.status.success() {
            return Err(Failure::Task(format!("a model fails\n{}", ran.output)));
        }
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let file = name.split('-').next().unwrap_or_default();
        places_by_model(file, &ran.stdout, &mut models);
    }
    print!("{}", sources.judge(&models).map_err(Failure::Task)?);
    Ok(())
}

/// Makes a program print the places that it comes to.
pub(crate) const PLACES: (&str, &str) = ("DPAMATCH_PLACES", "1");
/// Executions of each exploration for the list of all operations.
const CUT: &str = "1000";

/// The places that the models of a file have printed, each with the first test that came there.
pub(crate) fn places_by_model(file: &str, output: &str, models: &mut BTreeMap<Location, String>) {
    let mut test = "";
    for line in output.lines() {
        if let Some(name) = line.strip_prefix("test ") {
            test = name.split(' ').next().unwrap_or_default();
        }
        if let Some(place) = line.strip_prefix("place ").and_then(Location::parse) {
            models
                .entry(place)
                .or_insert_with(|| format!("{file}::{test}"));
        }
    }
}

pub(crate) fn programs(cargo: &mut Command) -> Result<Vec<PathBuf>, Failure> {
    let built = process::run(cargo).map_err(Failure::Task)?;
    let lines = built
        .output
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Executable "));
    // `tests/block.rs (target/loom/models/deps/block-0123)`
    let programs = lines.filter_map(|line| line.rsplit_once('(')?.1.strip_suffix(')'));
    let programs: Vec<PathBuf> = programs.map(|path| root().join(path)).collect();
    if !built.status.success() || programs.is_empty() {
        return Err(Failure::Task(format!(
            "the models were not built\n{}",
            built.output
        )));
    }
    Ok(programs)
}

/// Runs each model of a program once, as it is.
fn models_of(program: &Path) -> Result<Vec<Model>, Failure> {
    let listed = process::run(Command::new(program).arg("--list")).map_err(Failure::Task)?;
    let names = listed
        .stdout
        .lines()
        .filter_map(|line| line.strip_suffix(": test"));
    let model = |name: &str| {
        let started = Instant::now();
        let ran = run_model(program, name, PLACES.0, PLACES.1)?;
        if !ran.status.success() {
            return Err(Failure::Task(format!(
                "{name} fails as it is\n{}",
                ran.output
            )));
        }
        let places = ran
            .stdout
            .lines()
            .filter_map(|line| Location::parse(line.strip_prefix("place ")?));
        let (program, name) = (program.to_owned(), name.to_owned());
        Ok(Model {
            program,
            name,
            took: started.elapsed(),
            places: places.collect(),
        })
    };
    names.map(model).collect()
}

fn run_model(program: &Path, test: &str, name: &str, value: &str) -> Result<Finished, Failure> {
    let mut command = Command::new(program);
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("RUST_BACKTRACE", "0");
    command
        .current_dir(root().join("loom_tests"))
        .env(name, value);
    process::run(&mut command).map_err(Failure::Task)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number that a program has for a place, see `dpa_model/src/fault.rs`.
    fn number(place: &Location) -> u32 {
        let step = |hash: u32, next: u32| (hash ^ next).wrapping_mul(0x0100_0193);
        let (_, below) = place.file.rsplit_once("src/").expect("a source");
        let hash = below
            .bytes()
            .fold(0x811c_9dc5, |hash, byte| step(hash, u32::from(byte)));
        step(hash, place.line as u32)
            .rotate_left(13)
            .wrapping_add(place.column as u32)
            | 1
    }

    #[test]
    fn sources_have_orderings_in_different_places() {
        let sources = sites::of_repository(&root()).expect("sources");
        let all: Vec<_> = sources.weaks.iter().flat_map(weaker).flatten().collect();
        let places: BTreeSet<(u32, &str)> = all
            .iter()
            .map(|one| (number(&one.at.place), one.weaker))
            .collect();
        assert_eq!(places.len(), all.len(), "two places have one number");
        for file in [
            "dpa_model/src/block.rs",
            "dpa_model/src/bin.rs",
            "dpa_model/src/ring.rs",
            "dpa_model/src/region.rs",
            "dpa_model/src/dropped.rs",
            "dpa_model/src/shared.rs",
            "mpi/provider/src/wire/lease.rs",
            "mpi/provider/src/wire/ring.rs",
        ] {
            assert!(all.iter().any(|one| one.at.place.file == file), "{file}");
        }
        let one = Location::parse("x/src/a/b.rs:12:7").expect("a place");
        assert_eq!(number(&one), 2_016_561_841);
    }
}
