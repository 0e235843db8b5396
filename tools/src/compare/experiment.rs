//! The experiments by name, what they are told and what they give.

use std::fmt;
use std::str::FromStr;

use super::{
    Candidate, Case, CompareError, Sheet, complexity, dedicated, measure, memory, senders, traffic,
};
use crate::figure::Figure;
use crate::table::Table;
use dpamatch::registry::{EngineEntry, EngineOptions};

/// An experiment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Experiment {
    /// 4D's micro-benchmark: forward and reverse search, few and many messages of each sender.
    Search,
    /// The same with a growing share of ANY_SOURCE.
    Any,
    /// 4D's table of memory, and what the engines really take.
    Memory,
    /// 4D's spans, thresholds and example.
    Spans,
    /// Dedicated queues of collectives against the cap.
    Queues,
    /// Overhead of dedicated queues to their search time.
    Overhead,
    /// Search behind entries that stay, one to 65,536 of them.
    Depth,
    /// Time per message at one depth.
    Rate,
    /// What applications do.
    Patterns,
    /// Counted steps against formulas.
    Complexity,
}

/// A word that names no experiment.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown experiment {0:?} (known: {known})", known = Experiment::ALL.map(Experiment::name).join(", "))]
pub struct UnknownExperiment(pub String);

/// What an experiment is told.
#[derive(Debug)]
pub struct Plan {
    /// The engines, the list first: what all are compared with.
    pub engines: Vec<&'static EngineEntry>,
    /// How they are built.
    pub options: EngineOptions,
    /// Job sizes; none: each experiment's usual ones. `memory`, `spans`, `any`, `rate`, `depth` and
    /// `complexity` have their own in any case.
    pub ranks: Vec<u32>,
    /// Messages of each sender.
    pub pending: Vec<u32>,
    /// Entries that stay in the queue.
    pub depths: Vec<u32>,
    /// Parts of the cap on dedicated queues in the experiment `queues`.
    pub k: Vec<u32>,
    /// Timed rounds; 0: steps only, and the report is the same every time.
    pub rounds: usize,
    /// Seed of everything random.
    pub seed: u64,
}

impl Plan {
    /// Sizes that take less than two minutes altogether.
    pub fn usual(engines: Vec<&'static EngineEntry>) -> Self {
        Self {
            engines,
            options: EngineOptions { threads: false, grow_bins: true, ..EngineOptions::default() },
            ranks: Vec::new(),
            pending: vec![1, 5, 10],
            depths: (0..=16).step_by(2).map(|power| 1 << power).collect(),
            k: vec![1, 2, 4, 8],
            rounds: 3,
            seed: 1,
        }
    }

    /// The job sizes given, or else these.
    pub(super) fn ranks_or(&self, usual: &[u32]) -> Vec<u32> {
        if self.ranks.is_empty() { usual.to_vec() } else { self.ranks.clone() }
    }

    /// New candidates for a case.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        self.engines.iter().map(|entry| Candidate::registered(entry, &self.options)).collect()
    }
}

/// Is told how far an experiment is: the part that is done, from 0 to 1, and what comes next.
pub type Progress<'a> = &'a mut dyn FnMut(f64, &str);

/// What an experiment gives.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// For people.
    pub summary: Vec<Table>,
    /// Every number, for programs.
    pub data: Vec<Table>,
    /// File names without ending, and figures.
    pub figures: Vec<(String, Figure)>,
}

impl Experiment {
    /// All experiments.
    pub const ALL: [Self; 10] = [
        Self::Search,
        Self::Any,
        Self::Memory,
        Self::Spans,
        Self::Queues,
        Self::Overhead,
        Self::Depth,
        Self::Rate,
        Self::Patterns,
        Self::Complexity,
    ];

    /// The experiment's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Any => "any",
            Self::Memory => "memory",
            Self::Spans => "spans",
            Self::Queues => "queues",
            Self::Overhead => "overhead",
            Self::Depth => "depth",
            Self::Rate => "rate",
            Self::Patterns => "patterns",
            Self::Complexity => "complexity",
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// [`CompareError`], of an engine that cannot be built or gives other results than the list as
    /// well.
    pub fn run(self, plan: &Plan, progress: Progress<'_>) -> Result<Report, CompareError> {
        match self {
            Self::Search => senders::search(plan, progress),
            Self::Any => senders::any(plan, progress),
            Self::Memory => memory::memory(plan, progress),
            Self::Spans => Ok(memory::spans()),
            Self::Queues => dedicated::queues(plan, progress),
            Self::Overhead => dedicated::overhead(plan, progress),
            Self::Depth => traffic::depth(plan, progress),
            Self::Rate => senders::rate(plan, progress),
            Self::Patterns => traffic::patterns(plan, progress),
            Self::Complexity => complexity::complexity(plan, progress),
        }
    }
}

impl fmt::Display for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Experiment {
    type Err = UnknownExperiment;

    fn from_str(text: &str) -> Result<Self, UnknownExperiment> {
        let unknown = || UnknownExperiment(text.chars().take(40).collect());
        Self::ALL.into_iter().find(|experiment| experiment.name() == text).ok_or_else(unknown)
    }
}

/// Runs all cases through all engines of the plan.
pub(super) fn run_cases(
    plan: &Plan,
    keys: &[&'static str],
    cases: Vec<Case>,
    progress: Progress<'_>,
) -> Result<Sheet, CompareError> {
    let mut sheet = Sheet::new(keys);
    let candidates = plan.candidates();
    let count = cases.len() as f64;
    for (i, case) in cases.into_iter().enumerate() {
        let name = format!("{} of {} ranks", case.workload.pattern, case.workload.ranks);
        progress(i as f64 / count, &name);
        let measurements = measure(&candidates, &case.workload, None, plan.rounds, &name)?;
        sheet.rows.push((case, measurements));
    }
    Ok(sheet)
}
