//! `cargo xtask orderings`: weakens each atomic ordering of the card in turn, and finds the model
//! that notices.
//!
//! The sources are the list: each ordering is an argument of `weak!`, with a reason if nothing can
//! notice its absence. A first run of each model tells which orderings it comes to. The models that
//! come to an ordering then run without it, the quickest first. If none fails, the firmware runs in
//! weak memory (`cargo xtask rv64 weak`).

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use dpamatch_needs::Need;

use crate::process::{self, Finished};
use crate::{Failure, root, rv64};

/// Seeds of each kind of firmware run for an ordering that no model needs.
const SEEDS: &str = "12";

#[derive(Clone, PartialEq, Eq, Debug)]
struct Weakening {
    /// Path below `src/`.
    file: String,
    line: u32,
    column: u32,
    weaker: &'static str,
    /// Why nothing can notice.
    why: Option<String>,
}

impl Weakening {
    /// The number that the models print for the place, see `dpa_model/src/fault.rs`.
    fn place(&self) -> u32 {
        let step = |hash: u32, next: u32| (hash ^ next).wrapping_mul(0x0100_0193);
        let hash = self
            .file
            .bytes()
            .fold(0x811c_9dc5, |hash, byte| step(hash, u32::from(byte)));
        step(hash, self.line)
            .rotate_left(13)
            .wrapping_add(self.column)
            | 1
    }
}

impl fmt::Display for Weakening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}:{}={}",
            self.file, self.line, self.column, self.weaker
        )
    }
}

/// A test with a model, and what its run with the shipped orderings showed.
struct Model {
    program: PathBuf,
    name: String,
    took: Duration,
    places: HashSet<u32>,
}

/// Runs the task. The arguments are parts of places; none means all. `--list` prints the places.
///
/// # Errors
/// [`Failure::Usage`] if no place has such a part; [`Failure::Task`] when a weaker ordering is
/// neither noticed nor explained, when one is both, or when a model fails without one.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let (lists, parts) = match args.split_first() {
        Some((first, rest)) if first == "--list" => (true, rest),
        _ => (false, args),
    };
    let mut all = weakenings(&root().join("dpa_model/src")).map_err(Failure::Task)?;
    all.retain(|one| parts.is_empty() || parts.iter().any(|part| one.to_string().contains(part)));
    if all.is_empty() {
        return Err(Failure::Usage(format!("no ordering `{}`", parts.join(" "))));
    }
    if lists {
        all.iter().for_each(|one| println!("{one}"));
        return Ok(());
    }
    let mut models = Vec::new();
    for program in programs(&mut crate::mutants::cargo(
        &root(),
        &["--tests", "--no-run"],
    ))? {
        models.extend(models_of(&program)?);
    }
    models.sort_by_key(|model| model.took);
    let has_firmware = Need::RiscV
        .check(rv64::has_target())
        .map_err(Failure::Task)?;
    // Noticed by models, by the firmware, explained, wrong, not known.
    let mut counts = [0; 5];
    for one in &all {
        let started = Instant::now();
        let reached = models
            .iter()
            .any(|model| model.places.contains(&one.place()));
        let (kind, mut verdict) = match (noticed(&models, one, has_firmware)?, &one.why) {
            (Some((kind, by)), None) => (kind, format!("noticed by {by}")),
            (None, Some(why)) => (2, format!("not noticed: {why}")),
            (None, None) if !has_firmware => {
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
            "{:<44}{:>7.1} s  {verdict}",
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
    one: &Weakening,
    has_firmware: bool,
) -> Result<Option<(usize, String)>, Failure> {
    for model in models
        .iter()
        .filter(|model| model.places.contains(&one.place()))
    {
        let ran = run_model(
            &model.program,
            &model.name,
            ("DPAMATCH_WEAKEN", &one.to_string()),
        )?;
        if !ran.status.success() {
            let how = crate::mutants::reason(&ran.output);
            return Ok(Some((0, format!("{}: {how}", model.name))));
        }
    }
    if !has_firmware {
        return Ok(None);
    }
    let place = one.to_string();
    let ran = rv64::run(&["weak".to_owned(), SEEDS.to_owned(), place]);
    Ok(ran.is_ok().then(|| (1, "the firmware".to_owned())))
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
        let ran = run_model(program, name, ("DPAMATCH_PLACES", "1"))?;
        if !ran.status.success() {
            return Err(Failure::Task(format!(
                "{name} fails as it is\n{}",
                ran.output
            )));
        }
        let places = ran
            .stdout
            .lines()
            .filter_map(|line| line.strip_prefix("place ")?.parse().ok());
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

fn run_model(program: &Path, test: &str, variable: (&str, &str)) -> Result<Finished, Failure> {
    let mut command = Command::new(program);
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("RUST_BACKTRACE", "0");
    command
        .current_dir(root().join("loom_tests"))
        .env(variable.0, variable.1);
    process::run(&mut command).map_err(Failure::Task)
}

/// All weaker orderings in the sources below a folder.
fn weakenings(folder: &Path) -> Result<Vec<Weakening>, String> {
    let mut found = Vec::new();
    let mut files = Vec::new();
    sources(folder, &mut files).map_err(|error| format!("{}: {error}", folder.display()))?;
    files.sort();
    for path in files.iter().filter(|path| !path.ends_with("fault.rs")) {
        let text = fs::read_to_string(path).map_err(|error| format!("{path:?}: {error}"))?;
        let file = path
            .strip_prefix(folder)
            .unwrap_or(path)
            .to_string_lossy()
            .into_owned();
        found.extend(weakenings_in(&file, &text)?);
    }
    Ok(found)
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, files)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

fn weakenings_in(file: &str, text: &str) -> Result<Vec<Weakening>, String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("weak!(") {
        let before = &text[..at];
        let line = 1 + before.matches('\n').count() as u32;
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        if before[start..].contains("//") {
            continue;
        }
        let column = 1 + before[start..].chars().count() as u32;
        let rest = &text[at + "weak!(".len()..];
        let end = rest.find([',', ')']).unwrap_or(0);
        let weaker: &[&str] = match rest[..end].trim() {
            "Acquire" | "Release" => &["Relaxed"],
            "AcqRel" => &["Acquire", "Release"],
            other => return Err(format!("{file}:{line}: `{other}` cannot be weakened")),
        };
        let why = match rest[end..].starts_with(',') {
            true => rest[end..].split('"').nth(1).map(str::to_owned),
            false => None,
        };
        let one = |&weaker| Weakening {
            file: file.to_owned(),
            line,
            column,
            weaker,
            why: why.clone(),
        };
        found.extend(weaker.iter().map(one));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The card's sources, whose places the models number alike.
    #[test]
    fn the_card_has_orderings_in_different_places() {
        let all = weakenings(&root().join("dpa_model/src")).expect("sources");
        let places: HashSet<(u32, &str)> =
            all.iter().map(|one| (one.place(), one.weaker)).collect();
        assert_eq!(places.len(), all.len(), "two places have one number");
        for file in [
            "block.rs",
            "bin.rs",
            "ring.rs",
            "region.rs",
            "dropped.rs",
            "shared.rs",
        ] {
            assert!(all.iter().any(|one| one.file == file), "{file}");
        }
        let one = Weakening {
            line: 12,
            column: 7,
            file: "a/b.rs".into(),
            weaker: "",
            why: None,
        };
        assert_eq!(one.place(), 2_016_561_841);
    }
}
