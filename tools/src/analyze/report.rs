//! All that is found out about a run, as one value: tables, files and pictures are made from it.

use rayon::prelude::*;

use super::advice::{Advice, advise};
use super::communicators::Translation;
use super::engines::{EngineReport, replay};
use super::inbound::{Inbound, Lost};
use super::legality;
use super::lifetime::{Lifetime, lifetime};
use super::order::{Network, Order, Stall};
use super::program::{Oddities, UNKNOWN};
use super::run::Run;
use super::sites::{SiteReport, sites};
use super::stats::{CommStats, Plan, RankStats, Totals, Unmatched, walk};
use super::truth::Truth;
use dpamatch::registry::{BuildError, EngineEntry, EngineOptions};
use dpamatch::stream::RunError;

/// In which order messages and posts come to the ranks.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
pub enum OrderChoice {
    /// The ranks run, each until it blocks.
    #[default]
    Causal,
    /// By the recorded clocks.
    Time,
    /// As it was, which only order logs tell.
    Recorded,
    /// What was really matched, all receives first.
    PostsFirst,
    /// What was really matched, each message as early as it can be.
    ArrivalsFirst,
    /// What was really matched, mixed at random.
    Random {
        /// The same seed gives the same order.
        seed: u64,
    },
}

/// What is to be found out.
#[derive(Clone, Debug)]
pub struct Question {
    /// The trace's name in the report.
    pub name: String,
    /// The order.
    pub order: OrderChoice,
    /// For [`OrderChoice::Causal`].
    pub network: Network,
    /// Numbers of bins and handlers, and the NIC.
    pub plan: Plan,
    /// Check every rank's pairs against MPI's rules: costs a walk along the queues for each event.
    pub check: bool,
    /// Engines to replay through besides.
    pub engines: Vec<&'static EngineEntry>,
    /// What they are built from.
    pub options: EngineOptions,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The trace has no wall times.
    #[error("order time: not all ranks of the trace have wall times")]
    NoTimes,
    /// An engine cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// An engine gave up.
    #[error("engine {engine}, rank {rank}: {error}")]
    Engine {
        /// Which.
        engine: &'static str,
        /// At which rank.
        rank: u32,
        /// Why.
        error: RunError,
    },
}

/// One communicator.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct CommReport {
    /// Its number in the run; the world is 0.
    pub id: u32,
    /// Its number in the trace of the lowest rank that has it.
    pub number: u32,
    /// How it came about.
    pub name: String,
    /// Processes, both groups together.
    pub size: u32,
    /// How sure its ranks are.
    pub translation: Translation,
    /// Its ranks added up.
    #[serde(flatten)]
    pub stats: CommStats,
}

/// What the trace itself tells and hides.
#[derive(Clone, Debug, PartialEq, Eq, Default, serde::Serialize)]
pub struct Source {
    /// Calls in the trace.
    pub calls: u64,
    /// Bytes of trace.
    pub bytes: u64,
    /// How receives and messages go together.
    pub truth: Truth,
    /// Sends that lead nowhere.
    pub lost: Lost,
    /// What was odd.
    pub oddities: Oddities,
    /// Creations of communicators that not all members recorded.
    pub incomplete_creations: u64,
    /// Ranks whose trace broke off, and what was lost.
    pub salvaged: Vec<(u32, String)>,
}

/// The whole.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Report {
    /// The trace's name.
    pub name: String,
    /// Processes of the run.
    pub processes: u32,
    /// The trace does not tell how many: it is the least number that its ranks need.
    pub processes_guessed: bool,
    /// The order that was replayed.
    pub order: OrderChoice,
    /// The network of a causal order.
    pub network: Option<Network>,
    /// How often a rank had to be let go in a causal order.
    pub stalls: u64,
    /// The first of these times.
    pub first_stalls: Vec<Stall>,
    /// What the trace tells.
    pub source: Source,
    /// All ranks together.
    pub application: Totals,
    /// Each rank that has a trace.
    pub ranks: Vec<RankStats>,
    /// Communicators in use.
    pub communicators: Vec<CommReport>,
    /// The published analyzer's view.
    pub lifetime: Vec<Lifetime>,
    /// Replays through further engines.
    pub engines: Vec<EngineReport>,
    /// What is wrong with the pairs by MPI's rules, by rank; `None` if that was not asked for.
    pub checked: Option<Vec<(u32, String)>>,
    /// What is left at the end.
    pub unmatched: Vec<Unmatched>,
    /// Where in the program queues grow; empty if no call sites were recorded.
    pub sites: Vec<SiteReport>,
    /// What to make of it.
    pub advice: Vec<Advice>,
    /// End of the last rank in the order's times; 0 if it has none.
    pub end_ns: u64,
    /// The receive of each message at each rank, in the order of [`Run::inbound`].
    #[serde(skip)]
    pub pairs: Vec<Vec<u32>>,
}

/// Unmatched receives and messages that are told one by one.
const UNMATCHED_TOLD: usize = 20;

impl Report {
    /// Finds it all out; `done` is told each rank.
    ///
    /// # Errors
    /// [`ReportError`].
    pub fn make(
        run: &Run,
        question: &Question,
        done: impl Fn(u32) + Sync,
    ) -> Result<Self, ReportError> {
        let (orders, stalls, first_stalls) =
            run.orders(question.order, question.network).ok_or(ReportError::NoTimes)?;
        let end = |order: &Order| {
            order.len().checked_sub(1).and_then(|last| order.time_ns(last)).unwrap_or(0)
        };
        let end_ns = orders.iter().map(end).max().unwrap_or(0);
        let calls = |message: &Inbound| sending_call(run, message);
        let walks: Vec<_> = orders
            .par_iter()
            .enumerate()
            .map(|(at, order)| {
                let result = walk(run.view(at), order, &question.plan, end_ns, calls);
                done(run.programs[at].rank);
                result
            })
            .collect();
        let (ranks, pairs): (Vec<_>, Vec<_>) = walks.into_iter().unzip();
        let mut application = Totals { tag_max: -1, ..Totals::default() };
        ranks.iter().for_each(|rank| application.add(&rank.totals));
        let choice = if run.is_logged() { OrderChoice::Recorded } else { question.order };
        let checked = question.check.then(|| illegal(run, &orders, choice, &pairs));
        let engines =
            question.engines.iter().map(|entry| replay(run, &orders, entry, question, &pairs));
        let engines = engines.collect::<Result<Vec<_>, _>>()?;
        let sites = sites(run, &orders, &pairs);
        drop(orders);
        let views: Vec<_> = run.views().collect();
        let unmatched =
            ranks.iter().flat_map(|rank| &rank.unmatched).take(UNMATCHED_TOLD).cloned().collect();
        let mut report = Self {
            name: question.name.clone(),
            processes: run.processes,
            processes_guessed: run.processes_guessed,
            order: choice,
            network: (choice == OrderChoice::Causal).then_some(question.network),
            stalls,
            first_stalls,
            source: source(run),
            application,
            communicators: communicators(run, &ranks),
            ranks,
            lifetime: lifetime(&views, &question.plan.bins),
            engines,
            checked,
            unmatched,
            sites,
            advice: Vec::new(),
            end_ns,
            pairs,
        };
        report.advice = advise(&report, &question.plan);
        Ok(report)
    }
}

/// What is illegal about the pairs, by rank.
fn illegal(
    run: &Run,
    orders: &[Order],
    choice: OrderChoice,
    pairs: &[Vec<u32>],
) -> Vec<(u32, String)> {
    // Guided orders keep the order of a sender only within a tag.
    let keeps_order =
        matches!(choice, OrderChoice::Causal | OrderChoice::Time | OrderChoice::Recorded);
    let check = |(at, order): (usize, &Order)| {
        let view = run.view(at);
        let found = match legality::check(view, order, &pairs[at]) {
            Err(error) => error.to_string(),
            Ok(()) if keeps_order && !legality::keeps_senders_order(view, order) => {
                "a sender's messages overtake each other".to_owned()
            }
            Ok(()) => return None,
        };
        Some((view.program.rank, found))
    };
    orders.par_iter().enumerate().filter_map(check).collect()
}

/// The call that sent a message, as its number at the sender.
fn sending_call(run: &Run, message: &Inbound) -> Option<u32> {
    if message.op == UNKNOWN {
        return None;
    }
    let sender = run.programs.binary_search_by_key(&message.sender, |program| program.rank).ok()?;
    run.programs[sender].transfers.get(message.op as usize).map(|transfer| transfer.call)
}

fn source(run: &Run) -> Source {
    let mut source =
        Source { lost: run.lost, incomplete_creations: run.comms.incomplete, ..Source::default() };
    for truth in &run.truth {
        source.truth.add(truth);
    }
    for program in &run.programs {
        source.calls += program.calls.total();
        source.bytes += program.trace_bytes;
        source.oddities.unknown_requests += program.oddities.unknown_requests;
        source.oddities.unknown_starts += program.oddities.unknown_starts;
        source.oddities.contradictions += program.oddities.contradictions;
        source.salvaged.extend(program.salvaged.clone().map(|lost| (program.rank, lost)));
    }
    source
}

fn communicators(run: &Run, ranks: &[RankStats]) -> Vec<CommReport> {
    let mut all = std::collections::BTreeMap::<u32, CommStats>::new();
    for (&id, stats) in ranks.iter().flat_map(|rank| &rank.comms) {
        all.entry(id).or_default().add(stats);
    }
    let report = |(id, stats): (u32, CommStats)| {
        let comm = &run.comms.all[id as usize];
        let size = comm.members.len() + comm.remote.as_ref().map_or(0, |remote| remote.len());
        CommReport {
            id,
            number: comm.number,
            name: comm.name.clone(),
            size: size as u32,
            translation: comm.translation,
            stats,
        }
    };
    all.into_iter().map(report).collect()
}
