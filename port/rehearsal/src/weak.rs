//! `weak`: the firmware in weak memory, unmodified and with one ordering weakened.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use dpa_model::PaperWorkload;
use dpamatch::stream::Profile;

use crate::check::{interpret, on_all_processors};
use crate::job::{Ends, Job};
use crate::phases::marks;
use crate::rv64::{Image, Setup, WeakOptions};

/// Instruction limit of a hanging run: four times the longest good one.
const LIMIT: u64 = 60_000_000;

/// Kind of a run; the seed chooses the schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Workload(PaperWorkload),
    /// A random stream with its own seed.
    Stream,
}

impl Kind {
    pub const ALL: [Self; 4] = [
        Self::Workload(PaperWorkload::NoConflict),
        Self::Workload(PaperWorkload::FastPath),
        Self::Workload(PaperWorkload::SlowPath),
        Self::Stream,
    ];

    fn job(self, seed: u64, weaken: Option<&str>) -> Job {
        let ends = if seed.is_multiple_of(2) { Ends::Leader } else { Ends::Apart };
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
                Job::workload(workload, (4, 32)).on((8, handlers), ends, &options)
            }
            Self::Stream => {
                let profile = [Profile::Mixed, Profile::Hot, Profile::Wild][seed as usize % 3];
                Job::stream(profile, seed, 120).on((8, handlers), ends, &options)
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

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    pub runs: u64,
    /// Runs with outcomes other than the oracle's, or without an end.
    pub wrong: u64,
    /// The wrong run with the lowest seed, and its fault.
    pub first: Option<(u64, String)>,
    /// Complete runs that came to the weakened ordering.
    pub came_by: u64,
    /// Instructions of the longest completed run, over all harts.
    pub longest: u64,
    /// Stores that waited.
    pub delayed: u64,
    /// Loads that returned an old version.
    pub stale: u64,
    /// Deferred loads.
    pub late: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>5} of {:>5} wrong", self.wrong, self.runs)?;
        match &self.first {
            Some((seed, difference)) => {
                let short: String =
                    difference.lines().next().unwrap_or_default().chars().take(60).collect();
                write!(f, "; seed {seed}: {short}")
            }
            None => Ok(()),
        }
    }
}

/// Runs a kind with these seeds, until `enough` runs are wrong. `weaken`: an ordering, see
/// `dpa_model::weaken`.
pub fn runs(
    image: &Image,
    kind: Kind,
    weaken: Option<&str>,
    seeds: Range<u64>,
    enough: u64,
) -> Tally {
    let next = AtomicU64::new(seeds.start);
    let tally = Mutex::new(Tally::default());
    let tallied = || tally.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= seeds.end || tallied().wrong >= enough {
            return;
        }
        let setup = Setup {
            marks: marks(),
            weak: Some(WeakOptions::of_seed(seed)),
            limit: LIMIT,
            ..Setup::default()
        };
        let (difference, outcome) = interpret(image, &kind.job(seed, weaken), setup);
        let mut tally = tallied();
        tally.runs += 1;
        tally.delayed += outcome.delayed;
        tally.stale += outcome.stale;
        tally.late += outcome.late;
        let unreached = outcome.console.lines().any(|line| line == "weakened: 0");
        if outcome.end.is_ok() {
            tally.came_by += u64::from(!unreached);
            tally.longest = tally.longest.max(outcome.retired.iter().sum());
        }
        if let Some(difference) = difference {
            tally.wrong += 1;
            if tally.first.as_ref().is_none_or(|first| seed < first.0) {
                tally.first = Some((seed, difference));
            }
        }
    };
    on_all_processors(work);
    tally.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the shipped orderings; returns whether all outcomes are the oracle's.
pub fn shipped(
    image: &Image,
    kinds: &[Kind],
    seeds: Range<u64>,
    mut each: impl FnMut(&str),
) -> bool {
    let mut good = true;
    for &kind in kinds {
        let tally = runs(image, kind, None, seeds.clone(), 1);
        each(&format!(
            "{:<22}{:<8} {tally}; {} stores waited, {} loads returned an old version, {} \
             were put off, at most {} instructions",
            "as shipped",
            kind.name(),
            tally.delayed,
            tally.stale,
            tally.late,
            tally.longest
        ));
        good &= tally.wrong == 0;
    }
    good
}

/// Runs each weakened ordering with all seeds of each kind. Returns whether every ordering had a
/// wrong run.
pub fn weakened(
    image: &Image,
    places: &[String],
    kinds: &[Kind],
    seeds: Range<u64>,
    mut each: impl FnMut(&str),
) -> bool {
    let mut good = true;
    for place in places {
        let tallies = kinds
            .iter()
            .map(|&kind| (kind, runs(image, kind, Some(place), seeds.clone(), u64::MAX)));
        let tallies: Vec<(Kind, Tally)> = tallies.collect();
        let rate = |&(kind, ref tally): &(Kind, Tally)| {
            let never = if tally.wrong + tally.came_by == 0 { " (never reached)" } else { "" };
            format!("{} {}/{}{never}", kind.name(), tally.wrong, tally.runs)
        };
        let rates: Vec<String> = tallies.iter().map(rate).collect();
        let caught = tallies.iter().any(|(_, tally)| tally.wrong > 0);
        let verdict = if caught { "caught" } else { "NOT CAUGHT" };
        each(&format!("{place:<36}{verdict}: {}", rates.join(", ")));
        good &= caught;
    }
    good
}
