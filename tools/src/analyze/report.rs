//! The complete report on a run, from which tables, files and figures are made.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::advice::{Advice, advise};
use super::communicators::Translation;
use super::engines::{EngineReport, replay};
use super::expand::Expanded;
use super::inbound::{Inbound, Lost};
use super::late::{Late, Sharing, late};
use super::legality;
use super::lifetime::{Lifetime, lifetime};
use super::order::{Network, Order, OrderChoice, Stall};
use super::program::{Oddities, UNKNOWN, UNKNOWN_BYTES};
use super::rank_classes::{RANKS_TOLD, RankClass, rank_classes, write_told};
use super::run::Run;
use super::sites::{SiteReport, sites};
use super::spread::{self, InOrder, Spread};
use super::stats::{CommStats, Plan, RankStats, Totals, Unmatched, walk};
use super::times::{CallTime, times};
use super::truth::Truth;
use super::waits::{Waits, waits};
use dpamatch::registry::{BuildError, EngineEntry, EngineOptions};
use dpamatch::stream::RunError;

#[derive(Clone, Debug)]
pub struct Question {
    pub name: String,
    pub order: OrderChoice,
    pub network: Network,
    /// Numbers of bins and handlers, and the NIC's sizes.
    pub plan: Plan,
    /// Whether to check every rank's pairs against MPI's rules: each event walks the queues.
    pub check: bool,
    pub engines: Vec<&'static EngineEntry>,
    pub options: EngineOptions,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    #[error("order time: some ranks of the trace have no wall times")]
    NoTimes,
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error("engine {engine}, rank {rank}: {error}")]
    Engine {
        engine: &'static str,
        rank: u32,
        error: RunError,
    },
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct CommReport {
    /// Its number in the run; the world is 0.
    pub id: u32,
    /// Its number in the trace of the lowest rank that has it.
    pub number: u32,
    /// Names it among all communicators of the run (see [`GlobalComm::label`](super::GlobalComm)).
    pub label: String,
    pub name: String,
    /// Number of processes, in both groups together.
    pub size: u32,
    pub translation: Translation,
    /// Whether it is the context of another communicator's collective operations.
    pub collectives: bool,
    /// Its statistics, summed over its ranks.
    #[serde(flatten)]
    pub stats: CommStats,
}

/// The contents of the trace, and its gaps.
#[derive(Clone, Debug, PartialEq, Eq, Default, serde::Serialize)]
pub struct Source {
    pub calls: u64,
    pub bytes: u64,
    pub truth: Truth,
    pub lost: Lost,
    /// Successful probes whose message is in no trace. They take no part.
    pub probes_without_message: u64,
    /// What became of collective operations, if their messages were made.
    pub expanded: Option<Expanded>,
    pub oddities: Oddities,
    /// What the traces have and their reader does not read, by name, and how often.
    pub not_read: BTreeMap<String, u64>,
    /// Creations of communicators that some members did not record.
    pub incomplete_creations: u64,
    /// Ranks with a truncated trace, and their losses.
    pub salvaged: Vec<(u32, String)>,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Report {
    pub name: String,
    pub processes: u32,
    /// Whether `processes` is a guess: the minimum that the recorded ranks imply.
    pub processes_guessed: bool,
    pub order: OrderChoice,
    pub network: Option<Network>,
    /// Number of stalls that a causal order had to resolve.
    pub stalls: u64,
    pub first_stalls: Vec<Stall>,
    pub source: Source,
    pub application: Totals,
    /// Expected and unexpected messages in several legal orders, the report's own first.
    pub unexpected_by_order: Spread,
    /// What the receives of unexpected messages allow.
    pub late: Late,
    pub sharing: Sharing,
    /// All ranks, of which documents and tables list [`RANKS_TOLD`](super::RANKS_TOLD).
    #[serde(serialize_with = "write_told")]
    pub ranks: Vec<RankStats>,
    /// Ranks that they do not list.
    pub ranks_left_out: u64,
    pub rank_classes: Vec<RankClass>,
    pub communicators: Vec<CommReport>,
    pub lifetime: Vec<Lifetime>,
    pub engines: Vec<EngineReport>,
    /// Violations of MPI's rules by rank; `None` if not checked.
    pub checked: Option<Vec<(u32, String)>>,
    pub unmatched: Vec<Unmatched>,
    /// Call sites and their unexpected messages; empty if the trace has no call sites.
    pub sites: Vec<SiteReport>,
    /// Wall time in calls, by function and call site; empty without wall times.
    pub times: Vec<CallTime>,
    pub advice: Vec<Advice>,
    /// Time of the last event; 0 if the order has no times.
    pub end_ns: u64,
    /// Who sends to whom.
    #[serde(skip)]
    pub flows: Flows,
    /// By communicator.
    #[serde(skip)]
    pub waits: BTreeMap<u32, Waits>,
    /// The receive of each message at each rank, in the order of [`Run::inbound`].
    #[serde(skip)]
    pub pairs: Vec<Vec<u32>>,
}

const UNMATCHED_TOLD: usize = 20;

/// Messages and bytes from each rank to each, or from and to neighbouring ranks together.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Flows {
    /// Ranks of a row or column.
    pub group: u32,
    /// Messages and bytes by sender, then by receiver.
    pub rows: Vec<Vec<[u64; 2]>>,
}

impl Flows {
    /// Most rows and columns.
    const MOST: u32 = 64;

    /// Neighbouring ranks that share a row, for this number of ranks.
    pub(super) fn group(ranks: u32) -> u32 {
        ranks.div_ceil(Self::MOST).max(1)
    }

    fn of(run: &Run) -> Self {
        let group = Self::group(run.processes);
        let groups = run.processes.div_ceil(group) as usize;
        let mut rows = vec![vec![[0; 2]; groups]; groups];
        for view in run.views() {
            for message in view.inbound.iter() {
                let cell = rows.get_mut((message.sender / group) as usize);
                let cell = cell.and_then(|row| row.get_mut((view.program.rank / group) as usize));
                if let Some([messages, bytes]) = cell {
                    *messages += 1;
                    *bytes += if message.bytes == UNKNOWN_BYTES {
                        0
                    } else {
                        message.bytes
                    };
                }
            }
        }
        Self { group, rows }
    }
}

impl Report {
    /// Whether it is of order logs, which know neither calls nor call sites, and communicators that
    /// no program can give hints.
    pub fn is_of_logs(&self) -> bool {
        self.order == OrderChoice::Recorded
    }

    /// Makes the report and calls `done` after each rank.
    pub fn make(
        run: &Run,
        question: &Question,
        done: impl Fn(u32) + Sync,
    ) -> Result<Self, ReportError> {
        let (orders, stalls, first_stalls) = run
            .orders(question.order, question.network)
            .ok_or(ReportError::NoTimes)?;
        let end = |order: &Order| {
            order
                .len()
                .checked_sub(1)
                .and_then(|last| order.time_ns(last))
                .unwrap_or(0)
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
        let mut application = Totals {
            tag_max: -1,
            ..Totals::default()
        };
        ranks.iter().for_each(|rank| application.add(&rank.totals));
        let choice = if run.is_logged() {
            OrderChoice::Recorded
        } else {
            question.order
        };
        let checked = question
            .check
            .then(|| illegal(run, &orders, choice, &pairs));
        let engines = question
            .engines
            .iter()
            .map(|entry| replay(run, &orders, entry, question, &pairs));
        let engines = engines.collect::<Result<Vec<_>, _>>()?;
        let late = late(run, &orders, &pairs);
        let sites = sites(run, &orders, &pairs);
        let waits = waits(run, &orders, &pairs, end_ns);
        drop(orders);
        let own = InOrder {
            order: spread::name(choice, question.network),
            expected: application.traffic.expected,
            unexpected: application.traffic.unexpected,
        };
        let unexpected_by_order = Spread::of(run, question.network, vec![own]);
        let views: Vec<_> = run.views().collect();
        let unmatched = ranks
            .iter()
            .flat_map(|rank| &rank.unmatched)
            .take(UNMATCHED_TOLD)
            .cloned()
            .collect();
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
            unexpected_by_order,
            late,
            sharing: Sharing::of(run),
            communicators: communicators(run, &ranks),
            ranks_left_out: ranks.len().saturating_sub(RANKS_TOLD) as u64,
            rank_classes: rank_classes(&ranks),
            ranks,
            lifetime: lifetime(&views, &question.plan.bins),
            engines,
            checked,
            unmatched,
            sites,
            times: times(run),
            advice: Vec::new(),
            end_ns,
            flows: Flows::of(run),
            waits,
            pairs,
        };
        report.advice = advise(&report, &question.plan);
        Ok(report)
    }
}

fn illegal(
    run: &Run,
    orders: &[Order],
    choice: OrderChoice,
    pairs: &[Vec<u32>],
) -> Vec<(u32, String)> {
    // Guided orders keep a sender's order only within a tag.
    let keeps_order = matches!(
        choice,
        OrderChoice::Causal | OrderChoice::Time | OrderChoice::Recorded
    );
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

fn sending_call(run: &Run, message: &Inbound) -> Option<u32> {
    if message.op == UNKNOWN {
        return None;
    }
    let sender = run.program_of(message.sender)?;
    run.programs[sender]
        .transfers
        .get(message.op)
        .map(|transfer| transfer.call)
}

fn source(run: &Run) -> Source {
    let mut source = Source {
        lost: run.lost,
        probes_without_message: run.probes.iter().map(|probes| probes.without_message).sum(),
        expanded: run.expanded,
        incomplete_creations: run.comms.incomplete,
        ..Source::default()
    };
    for truth in &run.truth {
        source.truth.add(truth);
    }
    for program in &run.programs {
        source.calls += program.calls.total();
        source.bytes += program.trace_bytes;
        source.oddities.unknown_requests += program.oddities.unknown_requests;
        source.oddities.unknown_starts += program.oddities.unknown_starts;
        source.oddities.contradictions += program.oddities.contradictions;
        source.oddities.long_receives += program.oddities.long_receives;
        for (what, times) in &program.not_read {
            *source.not_read.entry(what.clone()).or_default() += times;
        }
        source
            .salvaged
            .extend(program.salvaged.clone().map(|lost| (program.rank, lost)));
    }
    source
}

fn communicators(run: &Run, ranks: &[RankStats]) -> Vec<CommReport> {
    let mut all = BTreeMap::<u32, CommStats>::new();
    for (id, stats) in ranks.iter().flat_map(|rank| &rank.comms) {
        all.entry(*id).or_default().add(stats);
    }
    let report = |(id, stats): (u32, CommStats)| {
        let comm = &run.comms.all[id as usize];
        let size = comm.members.len() + comm.remote.as_ref().map_or(0, |remote| remote.len());
        CommReport {
            id,
            number: comm.number,
            label: comm.label.clone(),
            name: comm.name.clone(),
            size: size as u32,
            translation: comm.translation,
            collectives: comm.collectives,
            stats,
        }
    };
    all.into_iter().map(report).collect()
}
