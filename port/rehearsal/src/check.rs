//! `check`: compares the firmware's outcomes with the oracle's.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use dpa_model::PaperWorkload;
use dpamatch::stream::Profile;

use crate::job::{Ends, Job, OUT, STREAM, WARM_UP};
use crate::kit;
use crate::rv64::{Image, Setup};

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
                let job = Job::workload(workload, (windows + WARM_UP, 128));
                job.on((harts, handlers), ends, options)
            }));
        }
        for seed in 0..streams {
            let stream = Job::stream(PROFILES[seed as usize % PROFILES.len()], seed, events);
            let ends = if seed % 2 == 0 { Ends::Leader } else { Ends::Apart };
            let handlers = if seed % 3 == 0 { 32 } else { harts };
            // Tables that overflow: receives, or unexpected messages.
            let few = ["receives=16 unexpected=512", "receives=512 unexpected=16"];
            let few = few[seed as usize % 2];
            for options in ["", few, FULL, &format!("{few} {FULL}")] {
                jobs.push(stream.clone().on((harts, handlers), ends, options));
            }
        }
    }
    jobs
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Verdict {
    /// Outcomes equal to the oracle's.
    pub outcomes: usize,
    pub runs: usize,
    pub wrong: Vec<String>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for wrong in &self.wrong {
            writeln!(f, "{wrong}")?;
        }
        let right = self.runs - self.wrong.len();
        write!(f, "{right} of {} runs give the oracle's outcomes", self.runs)?;
        write!(f, " ({} outcomes)", self.outcomes)
    }
}

impl Verdict {
    fn note(&mut self, job: &Job, difference: Option<String>) {
        self.runs += 1;
        match difference {
            None => self.outcomes += job.expected.len() / dpa_model::Outcome::RECORD_BYTES,
            Some(difference) => {
                self.wrong.push(format!("{} ({}): {difference}", job.name, job.arguments));
            }
        }
    }
}

/// Runs a job in the interpreter. Returns the difference to the oracle or the failure, if any.
pub fn interpret(image: &Image, job: &Job, setup: Setup) -> (Option<String>, crate::rv64::Outcome) {
    let setup = Setup {
        harts: job.harts,
        memory: 128 << 20,
        arguments: job.arguments.clone(),
        files: BTreeMap::from([(STREAM.to_owned(), job.stream.clone())]),
        ..setup
    };
    let outcome = crate::rv64::run(image, &setup);
    let difference = match outcome.end {
        Ok(0) => job.difference(outcome.files.get(OUT)),
        Ok(code) => Some(format!("exit code {code}: {}", outcome.console.trim_end())),
        Err(fault) => Some(fault.to_string()),
    };
    (difference, outcome)
}

/// Runs all jobs in the interpreter, one per processor at a time.
pub fn in_interpreter(image: &Image, jobs: &[Job]) -> Verdict {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    on_all_processors(|| {
        let next = || Some(next.fetch_add(1, Ordering::Relaxed));
        let indexes = std::iter::from_fn(|| next().filter(|&index| index < jobs.len()));
        for index in indexes {
            let job = &jobs[index];
            let difference = interpret(image, job, Setup::default()).0;
            done.lock().unwrap_or_else(PoisonError::into_inner).insert(index, difference);
        }
    });
    let mut verdict = Verdict::default();
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.into_iter().for_each(|(index, difference)| verdict.note(&jobs[index], difference));
    verdict
}

/// Runs `work` on a thread for each processor.
pub(crate) fn on_all_processors(work: impl Fn() + Sync) {
    let threads = thread::available_parallelism().map_or(1, Into::into);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(&work))));
}

/// Options of the program `port/kit/matching`: workers, tables that overflow, orders of threads.
const KIT: [&str; 4] = [
    "workers=1",
    "workers=4 barrier=1 receives=16 DPA_SEED=5",
    "workers=3 handlers=16 queue=16 unexpected=16 removal=2 DPA_SEED=7",
    "workers=2 handlers=32 receives=16 unexpected=16 DPA_SEED=11 DPA_WORKERS=2",
];

/// Runs workloads and random streams with the matching engine on the emulated DPA.
pub fn on_emulator(host: &Path, folder: &Path) -> std::io::Result<Verdict> {
    let workloads = PaperWorkload::ALL.iter().copied();
    let workloads = workloads.map(|workload| Job::workload(workload, (3, 128)));
    let streams = (0..4).map(|seed| Job::stream(PROFILES[seed as usize], seed, 700));
    let jobs: Vec<Job> = workloads.chain(streams).collect();
    let mut verdict = Verdict::default();
    for (number, job) in jobs.iter().enumerate() {
        let ran = kit::run(host, job, KIT[number % KIT.len()], folder)?;
        verdict.note(job, ran.err());
    }
    Ok(verdict)
}

/// The number at the end of the console's line that begins so.
pub fn said(console: &str, what: &str) -> Option<u64> {
    let line = console.lines().find(|line| line.starts_with(what))?;
    line.rsplit(' ').next()?.parse().ok()
}
