//! The experiments by name, with their inputs and results.

use super::cards::{CARDS, CASSINI, CardRoom};
use super::measure::{disturbed, untimed};
use super::{
    Candidate, Case, CompareError, Sheet, applications, complexity, dedicated, measure, memory,
    senders, traffic,
};
use dpamatch::registry::{EngineEntry, EngineOptions};
use dpamatch_tools::counted;
use dpamatch_tools::figure::Figure;
use dpamatch_tools::table::Table;
use dpamatch_vocabulary::choices;

choices! {
    /// An experiment.
    #[derive(Hash)]
    pub enum Experiment, by default Search {
        /// 4D's micro-benchmark: forward and reverse search, few and many messages per sender.
        Search = "search",
        /// 4D's micro-benchmark with a growing share of ANY_SOURCE.
        Any = "any",
        /// 4D's table of memory, and the engines' real memory.
        Memory = "memory",
        /// 4D's spans, thresholds and example.
        Spans = "spans",
        /// Dedicated queues of collectives against the cap.
        Queues = "queues",
        /// Applications as whole jobs.
        Applications = "applications",
        /// Overhead of dedicated queues relative to their search time.
        Overhead = "overhead",
        /// Search behind entries that stay, one to 65,536 of them.
        Depth = "depth",
        /// Time per message at one depth.
        Rate = "rate",
        /// Application patterns.
        Patterns = "patterns",
        /// Counted steps against formulas.
        Complexity = "complexity",
    }
}

#[derive(Debug)]
pub struct Plan {
    /// The engines, starting with the list, the baseline of all comparisons.
    pub engines: Vec<&'static EngineEntry>,
    pub options: EngineOptions,
    /// Job sizes; empty for each experiment's default. `memory`, `spans`, `any`, `rate`, `depth`
    /// and `complexity` always use their own.
    pub ranks: Vec<u32>,
    pub pending: Vec<u32>,
    pub depths: Vec<u32>,
    /// Divisors of the cap on dedicated queues in the experiment `queues`.
    pub k: Vec<u32>,
    /// The room of the engines that stand for a card.
    pub room: CardRoom,
    /// Timed rounds; 0 counts steps only, with a reproducible report.
    pub rounds: usize,
    pub seed: u64,
}

impl Plan {
    /// Sizes of which no experiment takes more than a minute of processor time in a release build.
    pub fn usual(engines: Vec<&'static EngineEntry>) -> Self {
        Self {
            engines,
            options: EngineOptions {
                threads: false,
                grow_bins: true,
                ..EngineOptions::default()
            },
            ranks: Vec::new(),
            pending: vec![1, 5, 10],
            depths: (0..=16).step_by(2).map(|power| 1 << power).collect(),
            k: vec![1, 2, 4, 8],
            room: CardRoom::All,
            rounds: 3,
            seed: 1,
        }
    }

    pub(super) fn ranks_or(&self, usual: &[u32]) -> Vec<u32> {
        if self.ranks.is_empty() {
            usual.to_vec()
        } else {
            self.ranks.clone()
        }
    }

    /// The room of the cards among the engines, if there are any, and how the emulated NIC gets its
    /// messages.
    pub(super) fn cards(&self) -> Vec<String> {
        let names = self.engines.iter().map(|entry| entry.name);
        let cards: Vec<_> = names.filter(|name| CARDS.contains(name)).collect();
        if cards.is_empty() {
            return Vec::new();
        }
        let bins = match (cards.contains(&"optimistic"), self.options.grow_bins) {
            (false, _) => String::new(),
            (true, true) => {
                "; optimistic has twice as many bins as receives, at most 65536".to_owned()
            }
            (true, false) => format!(
                "; optimistic has {} in every case",
                counted(self.options.bins.get(), "bin")
            ),
        };
        let room = self.room.words(&cards, self.options.behind_cards);
        let mut notes = vec![format!("cards ({}): {room}{bins}", cards.join(", "))];
        if self.has_one_by_one() {
            notes.push(format!(
                "optimistic matches in blocks of up to {} and also sends and delivers each message; \
                 {ONE_BY_ONE} has blocks of one message, as the other engines get one in a call",
                self.options.nic.handlers
            ));
        }
        notes
    }

    fn has_one_by_one(&self) -> bool {
        self.rounds > 0 && self.engines.iter().any(|entry| entry.name == "optimistic")
    }

    /// New candidates for a case.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        let of = |entry: &&'static EngineEntry| {
            let named = |name, options| Candidate::with_room(entry, name, options, self.room);
            let mut all = vec![named(entry.name, &self.options)];
            if entry.name == "optimistic" && self.has_one_by_one() {
                let mut options = self.options.clone();
                options.nic.handlers = 1;
                let candidate = Candidate::registered(entry, &options, self.room);
                all.push(candidate.named(ONE_BY_ONE));
            }
            if entry.name == "portals" && self.room == CardRoom::Real {
                all.push(named(CASSINI, &self.options));
            }
            all
        };
        self.engines.iter().flat_map(of).collect()
    }
}

/// The emulated NIC with blocks of one message.
const ONE_BY_ONE: &str = "optimistic-1";

/// Receives an experiment's progress: the finished part, from 0 to 1, and the next item. An error
/// ends the experiment, usually [`CompareError::Stopped`].
pub type Progress<'a> = &'a mut dyn FnMut(f64, &str) -> Result<(), CompareError>;

#[derive(Clone, Debug, Default)]
pub struct Report {
    pub summary: Vec<Table>,
    /// All numbers, for programs.
    pub data: Vec<Table>,
    /// Figures with their file names without extension.
    pub figures: Vec<(String, Figure)>,
}

impl Experiment {
    /// Runs the experiment.
    ///
    /// # Errors
    /// [`CompareError`], also if an engine's results differ from the list's.
    pub fn run(self, plan: &Plan, progress: Progress<'_>) -> Result<Report, CompareError> {
        match self {
            Self::Search => senders::search(plan, progress),
            Self::Any => senders::any(plan, progress),
            Self::Memory => memory::memory(plan, progress),
            Self::Spans => Ok(memory::spans()),
            Self::Queues => dedicated::queues(plan, progress),
            Self::Applications => applications::applications(plan, progress),
            Self::Overhead => applications::overhead(plan, progress),
            Self::Depth => traffic::depth(plan, progress),
            Self::Rate => senders::rate(plan, progress),
            Self::Patterns => traffic::patterns(plan, progress),
            Self::Complexity => complexity::complexity(plan, progress),
        }
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
    sheet.notes.extend(plan.cards());
    let candidates = plan.candidates();
    let count = cases.len() as f64;
    for (i, case) in cases.into_iter().enumerate() {
        let name = format!(
            "{} of {}",
            case.workload.pattern,
            counted(case.workload.ranks, "rank")
        );
        progress(i as f64 / count, &name)?;
        let measurements = measure(&candidates, &case.workload, None, plan.rounds, &name)?;
        sheet.rows.push((case, measurements));
    }
    let all: Vec<_> = sheet.rows.iter().flat_map(|(_, all)| all).collect();
    let notes = untimed(&all, plan.rounds)
        .into_iter()
        .chain(disturbed(&all));
    sheet.notes.extend(notes.collect::<Vec<_>>());
    Ok(sheet)
}
