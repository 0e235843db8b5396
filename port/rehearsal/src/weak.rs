//! `weak`: the firmware in weak memory, unmodified and with one ordering weakened.

use std::ops::Range;

use dpa_model::PaperWorkload;
use dpamatch::stream::Profile;

use crate::build::{Build, BuildError};
use crate::check::{Verdict, in_interpreter};
use crate::job::{Ends, Job};
use crate::phases::marks;
use crate::rv64::{Image, Setup, WeakOptions};

/// Instruction limit of a hanging run: four times the longest good one.
const LIMIT: u64 = 60_000_000;

/// Kind of a run; the seed chooses the schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunKind {
    Workload(PaperWorkload),
    /// A random stream with its own seed.
    Stream,
}

impl RunKind {
    pub const ALL: [Self; 4] = [
        Self::Workload(PaperWorkload::NoConflict),
        Self::Workload(PaperWorkload::FastPath),
        Self::Workload(PaperWorkload::SlowPath),
        Self::Stream,
    ];

    fn job(self, seed: u64, weaken: Option<&str>) -> Job {
        let ends = if seed.is_multiple_of(2) {
            Ends::Leader
        } else {
            Ends::Apart
        };
        // Small tables, since set-up is the longest part of a run. Eight harts, with one handler
        // each or with four.
        let handlers = if seed.is_multiple_of(3) { 32 } else { 8 };
        let rules = match seed % 8 {
            2 | 3 | 6 | 7 => "barrier=bitmap domains=paper",
            0 | 1 => "barrier=lanes domains=paper",
            _ => "barrier=lanes domains=keyed",
        };
        let mut options = format!("bins=16 queue=32 {rules}");
        if let Some(place) = weaken {
            options += &format!(" weaken={place}");
        }
        match self {
            Self::Workload(workload) => {
                options += " receives=64";
                Job::workload(workload, 4, 32).on(8, handlers, ends, &options)
            }
            Self::Stream => {
                let profile = [Profile::Mixed, Profile::Hot, Profile::Wild][seed as usize % 3];
                Job::stream(profile, seed, 120).on(8, handlers, ends, &options)
            }
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Workload(workload) => workload.name(),
            Self::Stream => "streams",
        }
    }
}

/// Which runs to make.
#[derive(Clone, PartialEq, Eq, Debug, clap::Args)]
pub struct Choice {
    /// Number of seeds
    #[arg(default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// The first of them
    #[arg(long, value_name = "N", default_value_t = 0)]
    first_seed: u64,
    /// A line of `cargo xtask orderings --list`, which is weakened; `shipped`: the orderings as
    /// they are; or a kind of run: NC, WC-FP, WC-SP, streams
    #[arg(value_name = "PLACE", value_parser = known_word)]
    words: Vec<String>,
}

fn known_word(word: &str) -> Result<String, String> {
    let is_number = |text: &str| text.parse::<u32>().is_ok();
    let is_place = match word.split([':', '=']).collect::<Vec<_>>()[..] {
        [_, line, column, _] => is_number(line) && is_number(column),
        _ => false,
    };
    let is_kind = RunKind::ALL.iter().any(|kind| kind.name() == word);
    let known = is_place || is_kind || word == "shipped";
    known
        .then(|| word.to_owned())
        .ok_or_else(|| "no ordering".to_owned())
}

impl Choice {
    /// The seeds to run.
    pub fn seeds(&self) -> Range<u64> {
        self.first_seed..self.first_seed.saturating_add(self.seeds)
    }

    /// The orderings to weaken.
    pub fn places(&self) -> Vec<&str> {
        self.words
            .iter()
            .map(String::as_str)
            .filter(|word| word.contains('='))
            .collect()
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|one| one == word)
    }

    /// Whether to run the orderings as they are: if asked, or if none is to be weakened.
    pub fn shipped(&self) -> bool {
        self.has("shipped") || self.places().is_empty()
    }

    /// The kinds of run: all, if none is chosen.
    pub fn kinds(&self) -> Vec<RunKind> {
        let any = RunKind::ALL.iter().any(|kind| self.has(kind.name()));
        RunKind::ALL
            .into_iter()
            .filter(|kind| !any || self.has(kind.name()))
            .collect()
    }
}

/// Runs a kind with these seeds, until `enough` runs are wrong. `weaken`: an ordering, see
/// `dpa_model::weaken`.
pub fn runs(
    image: &Image,
    kind: RunKind,
    weaken: Option<&str>,
    seeds: Range<u64>,
    enough: usize,
) -> Verdict {
    in_interpreter(image, seeds, enough, |seed| {
        let weak = Some(WeakOptions::of_seed(seed));
        (
            kind.job(seed, weaken),
            Setup {
                marks: marks(),
                weak,
                limit: LIMIT,
                ..Setup::default()
            },
        )
    })
}

/// Runs the chosen orderings. Returns whether the shipped ones never had a wrong run, and each
/// weakened one had one.
pub fn run(choice: &Choice) -> Result<bool, BuildError> {
    let mut good = true;
    if choice.shipped() {
        let image = Build::Plain.image()?;
        for kind in choice.kinds() {
            let verdict = runs(&image, kind, None, choice.seeds(), 1);
            let Verdict {
                delayed,
                stale,
                late,
                longest,
                ..
            } = verdict;
            println!(
                "{:<8} {verdict}; {delayed} stores waited, {stale} loads returned an old version, \
                 {late} were put off, at most {longest} instructions",
                kind.name()
            );
            good &= verdict.wrong.is_empty();
        }
    }
    if choice.places().is_empty() {
        return Ok(good);
    }
    let image = Build::Faults.image()?;
    for place in choice.places() {
        let (mut caught, mut rates) = (false, Vec::new());
        for kind in choice.kinds() {
            let verdict = runs(&image, kind, Some(place), choice.seeds(), usize::MAX);
            let wrong = verdict.wrong.len();
            let never = if wrong == 0 && verdict.came_by == 0 {
                " (never reached)"
            } else {
                ""
            };
            rates.push(format!("{} {wrong}/{}{never}", kind.name(), verdict.runs));
            caught |= wrong > 0;
        }
        let said = if caught { "caught" } else { "NOT CAUGHT" };
        println!("{place:<36}{said}: {}", rates.join(", "));
        good &= caught;
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        choice: Choice,
    }

    fn read(line: &str) -> Result<Choice, String> {
        let words = std::iter::once("weak").chain(line.split_whitespace());
        Line::try_parse_from(words)
            .map(|line| line.choice)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn places_and_kinds_are_chosen() {
        const PLACE: &str = "region.rs:170:54=Relaxed";
        for (line, seeds, shipped, places, kinds) in [
            ("", 0..1000, true, 0, 4),
            ("7 --first-seed 40", 40..47, true, 0, 4),
            (&format!("5 {PLACE} streams WC-FP"), 0..5, false, 1, 2),
            (
                &format!("5 --first-seed 1 {PLACE} shipped"),
                1..6,
                true,
                1,
                4,
            ),
        ] {
            let choice = read(line).expect(line);
            assert_eq!(
                (choice.seeds(), choice.shipped()),
                (seeds, shipped),
                "{line}"
            );
            assert_eq!(
                (choice.places(), choice.kinds().len()),
                (vec![PLACE; places], kinds)
            );
        }
        for word in [
            "0",
            "-1",
            "5 Headed",
            "5 region.rs:170=Relaxed",
            "5 region.rs:x:1=Relaxed",
        ] {
            let error = read(word).expect_err("no such choice");
            assert!(error.contains(word.trim_start_matches("5 ")), "{error}");
        }
    }
}
