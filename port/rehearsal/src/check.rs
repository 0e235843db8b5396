//! `check`: compares the firmware's outcomes with the oracle's.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use dpa_model::PaperWorkload;
use dpamatch::stream::Profile;

use crate::job::{Ends, Job, OUT, STREAM, WARM_UP};
use crate::rv64::{Image, Outcome, Setup};
use crate::{kit, rv64};

/// Harts of the card's side, each with at least one handler.
const HARTS: [usize; 4] = [1, 4, 8, 32];
const PROFILES: [Profile; 4] = [Profile::Mixed, Profile::Hot, Profile::Wild, Profile::Keys];

/// A queue that is always full.
const FULL: &str = "queue=32 removal=eager barrier=bitmap domains=paper";

/// Three workloads and random streams on 1, 4, 8 and 32 harts, with the lengths `windows` and
/// `events`.
pub fn jobs(windows: usize, events: u64, streams: u64) -> Vec<Job> {
    let mut jobs = Vec::new();
    for harts in HARTS {
        for (ends, handlers, options) in [
            (Ends::Leader, harts, ""),
            (Ends::Leader, 32, ""),
            (Ends::Apart, harts, ""),
            (Ends::Apart, 32, "queue=32 removal=deferred domains=paper"),
        ] {
            jobs.extend(PaperWorkload::ALL.iter().map(|&workload| {
                let job = Job::workload(workload, windows + WARM_UP, 128);
                job.on(harts, handlers, ends, options)
            }));
        }
        for seed in 0..streams {
            let stream = Job::stream(PROFILES[seed as usize % PROFILES.len()], seed, events);
            let ends = if seed % 2 == 0 {
                Ends::Leader
            } else {
                Ends::Apart
            };
            let handlers = if seed % 3 == 0 { 32 } else { harts };
            // Tables that overflow: receives, or unexpected messages.
            let few = ["receives=16 unexpected=512", "receives=512 unexpected=16"];
            let few = few[seed as usize % 2];
            for options in ["", few, FULL, &format!("{few} {FULL}")] {
                jobs.push(stream.clone().on(harts, handlers, ends, options));
            }
        }
    }
    jobs
}

/// What runs gave.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Verdict {
    pub runs: u64,
    /// Outcomes equal to the oracle's.
    pub outcomes: usize,
    /// Number of each run with other outcomes or without an end, and its fault.
    pub wrong: BTreeMap<u64, String>,
    /// Complete runs that came to a weakened ordering.
    pub came_by: u64,
    /// Instructions of the longest complete run, over all harts.
    pub longest: u64,
    /// Stores that waited.
    pub delayed: u64,
    /// Loads that returned an old version.
    pub stale: u64,
    /// Deferred loads.
    pub late: u64,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, wrong) in &self.wrong {
            writeln!(f, "{number}: {wrong}")?;
        }
        let right = self.runs - self.wrong.len() as u64;
        write!(
            f,
            "{right} of {} runs give the oracle's outcomes",
            self.runs
        )?;
        write!(f, " ({} outcomes)", self.outcomes)
    }
}

impl Verdict {
    fn note(&mut self, number: u64, job: &Job, difference: Option<String>) {
        self.runs += 1;
        match difference {
            None => self.outcomes += job.expected.len() / dpa_model::Outcome::RECORD_BYTES,
            Some(difference) => {
                let fault = format!("{} ({}): {difference}", job.name, job.arguments);
                self.wrong.insert(number, fault);
            }
        }
    }

    fn add(&mut self, outcome: &Outcome) {
        self.delayed += outcome.delayed;
        self.stale += outcome.stale;
        self.late += outcome.late;
        if outcome.end.is_ok() {
            self.came_by += u64::from(said(&outcome.console, "weakened:") != Some(0));
            self.longest = self.longest.max(outcome.retired.iter().sum());
        }
    }
}

/// Runs a job in the interpreter. Returns the difference to the oracle or the failure, if any.
pub fn interpret(image: &Image, job: &Job, setup: Setup) -> (Option<String>, Outcome) {
    let setup = Setup {
        harts: job.harts,
        memory: 128 << 20,
        arguments: job.arguments.clone(),
        files: BTreeMap::from([(STREAM.to_owned(), job.stream.clone())]),
        ..setup
    };
    let outcome = rv64::run(image, &setup);
    let difference = match outcome.end {
        Ok(0) => job.difference(outcome.files.get(OUT)),
        Ok(code) => Some(format!("exit code {code}: {}", outcome.console.trim_end())),
        Err(fault) => Some(fault.to_string()),
    };
    (difference, outcome)
}

/// Runs the jobs with these numbers in the interpreter, one per processor at a time, until `enough`
/// of them are wrong.
pub fn in_interpreter(
    image: &Image,
    numbers: Range<u64>,
    enough: usize,
    job: impl Fn(u64) -> (Job, Setup) + Sync,
) -> Verdict {
    let next = AtomicU64::new(numbers.start);
    let verdict = Mutex::new(Verdict::default());
    let locked = || verdict.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || loop {
        // ordering: only the numbers differ, and the verdict has a lock.
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= numbers.end || locked().wrong.len() >= enough {
            return;
        }
        let (job, setup) = job(number);
        let (difference, outcome) = interpret(image, &job, setup);
        let mut verdict = locked();
        verdict.note(number, &job, difference);
        verdict.add(&outcome);
    };
    let threads = thread::available_parallelism().map_or(1, Into::into);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    verdict.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Runs all of [`jobs`].
pub fn all(image: &Image, jobs: &[Job]) -> Verdict {
    in_interpreter(image, 0..jobs.len() as u64, usize::MAX, |number| {
        (jobs[number as usize].clone(), Setup::default())
    })
}

/// Options of the program `port/kit/matching`: workers, tables that overflow, orders of threads,
/// slow READs.
const KIT: [&str; 4] = [
    "workers=1",
    "workers=4 barrier=1 receives=16 DPA_SEED=5 DPA_READ_TURNS=9",
    "workers=3 handlers=16 queue=16 unexpected=16 removal=2 DPA_SEED=7",
    "workers=2 handlers=32 receives=16 unexpected=16 DPA_SEED=11 DPA_WORKERS=2 DPA_READ_TURNS=30",
];

/// Runs workloads and random streams with the matching engine on the emulated DPA.
pub fn on_emulator(host: &Path, folder: &Path) -> std::io::Result<Verdict> {
    let workloads = PaperWorkload::ALL.iter().copied();
    let workloads = workloads.map(|workload| Job::workload(workload, 3, 128));
    let streams = (0..4).map(|seed| Job::stream(PROFILES[seed as usize], seed, 700));
    let jobs: Vec<Job> = workloads.chain(streams).collect();
    let mut verdict = Verdict::default();
    for ((number, job), options) in (0..).zip(&jobs).zip(KIT.iter().cycle()) {
        let ran = kit::run(host, job, options, folder)?;
        verdict.note(number, job, ran.err());
    }
    Ok(verdict)
}

/// The number at the end of the console's line that begins so.
pub fn said(console: &str, what: &str) -> Option<u64> {
    let line = console.lines().find(|line| line.starts_with(what))?;
    line.rsplit(' ').next()?.parse().ok()
}
