//! `weak`: the firmware in weak memory, unmodified and with one ordering weakened.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use dpa_model::PaperWorkload;
use dpamatch::stream::Profile;

use crate::check::interpret;
use crate::job::{Ends, Job};
use crate::phases::marks;
use crate::rv64::{Image, Setup, WeakOptions};

/// Names of the faults that weaken an ordering.
pub const WEAKENED: [&str; 21] = [
    "BitSetRelaxed",
    "BitsReadRelaxed",
    "PublishRelaxed",
    "PublishedRelaxed",
    "ReachBookedRelaxed",
    "ReachMatchedRelaxed",
    "ReachFinishedRelaxed",
    "WaitRelaxed",
    "SliceCountRelaxed",
    "EndedRelaxed",
    "HasEndedRelaxed",
    "LockAcquireRelaxed",
    "LockReleaseRelaxed",
    "FillRelaxed",
    "ReadyRelaxed",
    "HeadReleaseRelaxed",
    "HeadRelaxed",
    "ExposeRelaxed",
    "FinRelaxed",
    "LeaveRelaxed",
    "TakeRelaxed",
];

/// Orderings that these runs do not need, and why. The models of `loom_tests` find all but one,
/// which another implies.
pub const NOT_SHOWN: [(&str, &str); 7] = [
    (
        "HeadReleaseRelaxed",
        "orders loads before a store that frees what they read: they end long before",
    ),
    (
        "HeadRelaxed",
        "orders a load before stores behind a branch on it, which RISC-V orders anyway",
    ),
    ("FinRelaxed", "orders loads before a store that frees what they read: they end long before"),
    ("ExposeRelaxed", "implied: the key reaches its reader in an entry that is released later"),
    (
        "EndedRelaxed",
        "implied: the count before it is an aqrl, which orders all before it with all behind it",
    ),
    ("LeaveRelaxed", "in the firmware no completion queue changes hands"),
    ("TakeRelaxed", "in the firmware no completion queue changes hands"),
];

/// Instruction limit of a hanging run: four times the longest good one.
const LIMIT: u64 = 60_000_000;

/// Kind of a run; the seed chooses the schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One of the paper's workloads.
    Workload(PaperWorkload),
    /// A random stream with its own seed.
    Stream,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [
        Self::Workload(PaperWorkload::NoConflict),
        Self::Workload(PaperWorkload::FastPath),
        Self::Workload(PaperWorkload::SlowPath),
        Self::Stream,
    ];

    fn job(self, seed: u64, fault: Option<&str>) -> Job {
        let ends = if seed.is_multiple_of(2) { Ends::Leader } else { Ends::Apart };
        // Small tables, since set-up is the longest part of a run. Eight harts, with one handler
        // each or with four.
        let handlers = if seed.is_multiple_of(3) { 32 } else { 8 };
        let barrier = if (seed / 2).is_multiple_of(2) { "lanes" } else { "bitmap" };
        let repost = if (seed / 4).is_multiple_of(2) { "leader" } else { "handlers" };
        let mut options = format!("bins=16 queue=32 barrier={barrier} repost={repost}");
        if let Some(fault) = fault {
            options += &format!(" fault={fault}");
        }
        match self {
            Self::Workload(workload) => {
                options += " receives=64";
                // Two senders with a completion queue each, in every second run with ends apart.
                let senders = if seed % 4 == 3 { 2 } else { 1 };
                options += " queues=3";
                Job::workload_from(senders, workload, (8, handlers), ends, (2, 32), &options)
            }
            Self::Stream => {
                let profile = [Profile::Mixed, Profile::Hot, Profile::Wild][seed as usize % 3];
                Job::stream((profile, seed, 120), (8, handlers), ends, &options)
            }
        }
    }

    /// Name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Workload(workload) => workload.name(),
            Self::Stream => "streams",
        }
    }
}

/// Result of many runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Runs.
    pub runs: u64,
    /// Runs with outcomes other than the oracle's, or without an end.
    pub wrong: u64,
    /// The wrong run with the lowest seed, and its fault.
    pub first: Option<(u64, String)>,
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

/// Runs a kind with many seeds, until `enough` runs are wrong.
pub fn runs(image: &Image, kind: Kind, fault: Option<&str>, seeds: u64, enough: u64) -> Tally {
    let next = AtomicU64::new(0);
    let tally = Mutex::new(Tally::default());
    let tallied = || tally.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= seeds || tallied().wrong >= enough {
            return;
        }
        let setup = Setup {
            marks: marks(),
            weak: Some(WeakOptions::of_seed(seed)),
            limit: LIMIT,
            ..Setup::default()
        };
        let (difference, outcome) = interpret(image, &kind.job(seed, fault), setup);
        let mut tally = tallied();
        tally.runs += 1;
        tally.delayed += outcome.delayed;
        tally.stale += outcome.stale;
        tally.late += outcome.late;
        if outcome.end.is_ok() {
            tally.longest = tally.longest.max(outcome.retired.iter().sum());
        }
        if let Some(difference) = difference {
            tally.wrong += 1;
            if tally.first.as_ref().is_none_or(|first| seed < first.0) {
                tally.first = Some((seed, difference));
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, Into::into);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    tally.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the shipped orderings; returns whether all outcomes are the oracle's.
pub fn shipped(image: &Image, kinds: &[Kind], seeds: u64, mut each: impl FnMut(&str)) -> bool {
    let mut good = true;
    for &kind in kinds {
        let tally = runs(image, kind, None, seeds, 1);
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

/// Runs each weakened ordering, with up to `seeds` seeds of each kind, until one run is wrong.
/// Returns whether all were caught, except those in [`NOT_SHOWN`].
pub fn weakened(
    image: &Image,
    faults: &[&str],
    kinds: &[Kind],
    seeds: u64,
    mut each: impl FnMut(&str),
) -> bool {
    let mut good = true;
    for &fault in faults {
        let mut caught = false;
        for &kind in kinds {
            if !caught {
                let tally = runs(image, kind, Some(fault), seeds, 1);
                caught = tally.wrong > 0;
                each(&format!("{fault:<22}{:<8} {tally}", kind.name()));
            }
        }
        let reason = NOT_SHOWN.iter().find(|(name, _)| *name == fault).map(|(_, reason)| *reason);
        match (caught, reason) {
            (true, None) => {}
            (false, Some(reason)) => each(&format!("{fault:<22}not shown: {reason}")),
            (true, Some(_)) => each(&format!("{fault:<22}caught, though it is not expected")),
            (false, None) => {
                each(&format!("{fault:<22}NOT CAUGHT"));
                good = false;
            }
        }
    }
    good
}
