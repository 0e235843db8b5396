//! The verdict for an application, its ranks and its communicators.

use std::collections::{BTreeMap, BTreeSet};

use dpamatch::registry::{EngineEntry, EngineOptions};
use dpamatch::stream::RunError;
use rayon::prelude::*;
use serde::Serialize;

use super::demand::Part;
use super::ends::Ends;
use super::hardware::Matcher;
use super::orders::{self, InOrder};
use super::remarks::{self, Remark, RemarkKind};
use super::verdict::{BreakEven, Costs, Gain, Reason};
use super::{Answer, Card, CardError, Demand, Hardware, Host, Service, Verdict};
use crate::analyze::order::{Network, Order};
use crate::analyze::{Program, Run};

#[derive(Clone, Debug)]
pub struct Question {
    /// The network of the causal order.
    pub network: Network,
    /// The software engine that matches on the host now.
    pub engine: &'static EngineEntry,
    pub options: EngineOptions,
    pub host: Host,
    pub card: Card,
    /// Smallest part of a run's time that counts as a difference.
    pub worth: f64,
    /// Also judge each communicator, as if it alone were offloaded.
    pub communicators: bool,
    /// Also match on cards that match in hardware.
    pub hardware: Option<Hardware>,
}

/// A part of the run with its verdict.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Advised {
    /// Number of the rank or communicator; `None` for the application.
    pub number: Option<u32>,
    pub demand: Demand,
    /// The card's result: sums of times and counts, message means of latencies.
    pub service: Service,
    /// Costs, summed.
    pub costs: Costs,
    /// The change of the run's end; `None` without a verdict.
    pub gain: Option<Gain>,
    /// From where on the card pays; `None` without a verdict.
    pub break_even: Option<BreakEven>,
    pub verdict: Verdict,
}

/// Verdicts for the application and its parts.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    pub application: Advised,
    pub ranks: Vec<Advised>,
    pub communicators: Vec<Advised>,
    /// Host, DPA and hardware side by side, if requested.
    pub matchers: Vec<Matcher>,
    /// The application in each order that was run, the deciding one first.
    pub orders: Vec<InOrder>,
    pub length: Length,
    /// What is assumed, capped, not modelled, not read or not run.
    pub remarks: Vec<Remark>,
}

/// Ratio of the simulated and the recorded length from which on a remark names it.
const FAR: f64 = 2.0;

/// How long the run takes, from its first matching call to the end of its last rank.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Length {
    /// Simulated without a card, in microseconds: the whole of each percentage. `None` without a
    /// verdict.
    pub simulated_us: Option<f64>,
    /// From a rank's first call to its last one as recorded, in microseconds: the longest rank.
    /// `None` without recorded times.
    pub recorded_us: Option<f64>,
}

impl Length {
    fn new(run: &Run, gain: Option<&Gain>) -> Self {
        let longest = run.programs.iter().map(|program| program.run_ns).max();
        let recorded_ns = longest.filter(|&ns| ns > 0);
        Self {
            simulated_us: gain.map(|gain| gain.run_us),
            recorded_us: recorded_ns.map(|ns| ns as f64 / 1e3),
        }
    }

    /// A remark if the simulated run is far from the recorded one.
    fn remark(&self) -> Option<Remark> {
        let ratio = self.simulated_us? / self.recorded_us?;
        let text = if ratio > FAR {
            format!("the simulated length, which is {ratio:.1} times the recorded one")
        } else if ratio < 1.0 / FAR {
            let times = 1.0 / ratio;
            format!("the simulated length; the recorded run is {times:.1} times as long")
        } else {
            return None;
        };
        Some(Remark::new(RemarkKind::Assumed, text))
    }
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OffloadError {
    #[error("engine {engine}, rank {rank}: {error}")]
    Engine {
        engine: &'static str,
        rank: u32,
        error: RunError,
    },
    #[error("rank {rank}: {error}")]
    Card { rank: u32, error: CardError },
}

/// A rank, a communicator at a rank, or a sum of several.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weighed {
    pub(super) demand: Demand,
    pub(super) service: Service,
    pub(super) costs: Costs,
}

impl Weighed {
    pub(super) fn add(&mut self, other: &Self) {
        let (mine, theirs) = (self.demand.messages, other.demand.messages);
        let share = |part: u64| part as f64 / (mine + theirs).max(1) as f64;
        self.service = Service {
            busy_us: self.service.busy_us + other.service.busy_us,
            latency_us: self.service.latency_us * share(mine)
                + other.service.latency_us * share(theirs),
            longest_us: self.service.longest_us.max(other.service.longest_us),
            matched: self.service.matched + other.service.matched,
            messages_in_software: self.service.messages_in_software
                + other.service.messages_in_software,
            receives_in_software: self.service.receives_in_software
                + other.service.receives_in_software,
        };
        self.costs.add(&other.costs, mine, theirs);
        self.demand.add(&other.demand);
    }

    /// With the verdict that `gain` leads to, or with none for a `reason`.
    fn advised(
        &self,
        number: Option<u32>,
        gain: Result<Gain, Reason>,
        question: &Question,
    ) -> Advised {
        let Self {
            demand,
            service,
            costs,
        } = *self;
        let host = &question.host;
        let verdict = match &gain {
            Ok(gain) => Verdict::judge(&demand, host, &costs, gain, question.worth),
            Err(reason) => Verdict::none(*reason),
        };
        let gain = gain.ok();
        Advised {
            number,
            demand,
            service,
            costs,
            gain,
            break_even: gain.map(|_| BreakEven::new(&demand, &service, host)),
            verdict,
        }
    }
}

/// Each rank, its communicators, and its matchers.
struct Weights {
    ranks: Vec<Weighed>,
    by_comm: Vec<BTreeMap<u32, Weighed>>,
    matchers: Vec<Matcher>,
}

/// The weights of one rank.
struct RankWeights {
    all: Weighed,
    by_comm: BTreeMap<u32, Weighed>,
    matchers: Vec<Matcher>,
}

impl Question {
    pub(super) fn demand(&self, part: Part<'_>) -> Result<Demand, OffloadError> {
        let limit = self.card.setup.eager_limit as u64;
        part.demand(self.engine, &self.options, limit)
            .map_err(|error| OffloadError::Engine {
                engine: self.engine.name,
                rank: part.view.program.rank,
                error,
            })
    }

    pub(super) fn weighed(&self, demand: Demand, service: Service) -> Weighed {
        Weighed {
            demand,
            service,
            costs: Costs::new(&demand, &service, &self.host),
        }
    }

    fn weigh(&self, part: Part<'_>) -> Result<Weighed, OffloadError> {
        let demand = self.demand(part)?;
        let rank = part.view.program.rank;
        let service = self
            .card
            .serve(part)
            .map_err(|error| OffloadError::Card { rank, error })?;
        Ok(self.weighed(demand, service))
    }

    fn weigh_rank(&self, whole: Part<'_>) -> Result<RankWeights, OffloadError> {
        let all = self.weigh(whole)?;
        let mut by_comm = BTreeMap::new();
        if self.communicators {
            let comms = whole.comms();
            for &comm in &comms {
                let part = Part {
                    comm: Some(comm),
                    ..whole
                };
                let weighed = if comms.len() == 1 {
                    all
                } else {
                    self.weigh(part)?
                };
                by_comm.insert(comm, weighed);
            }
        }
        let matchers = self.hardware.map_or(Ok(Vec::new()), |hardware| {
            let receives = self.card.setup.receives;
            let (demand, service, costs) = (&all.demand, &all.service, &all.costs);
            let host = &self.host;
            Matcher::all(whole, demand, service, costs, host, receives, hardware)
        });
        let matchers = matchers.map_err(|error| OffloadError::Engine {
            engine: "beside the card",
            rank: whole.view.program.rank,
            error,
        })?;
        Ok(RankWeights {
            all,
            by_comm,
            matchers,
        })
    }

    fn weigh_all(
        &self,
        run: &Run,
        orders: &[Order],
        done: impl Fn(u32) + Sync,
    ) -> Result<Weights, OffloadError> {
        let weigh = |at: usize| {
            let whole = Part {
                view: run.view(at),
                order: &orders[at],
                comm: None,
            };
            let weights = self.weigh_rank(whole)?;
            done(run.programs[at].rank);
            Ok(weights)
        };
        let weighed: Result<Vec<RankWeights>, OffloadError> =
            (0..orders.len()).into_par_iter().map(weigh).collect();
        let mut all = Weights {
            ranks: Vec::new(),
            by_comm: Vec::new(),
            matchers: Vec::new(),
        };
        for rank in weighed? {
            all.ranks.push(rank.all);
            all.by_comm.push(rank.by_comm);
            if all.matchers.is_empty() {
                all.matchers = rank.matchers;
            } else {
                let sums = all.matchers.iter_mut().zip(&rank.matchers);
                sums.for_each(|(sum, rank)| sum.add(rank));
            }
        }
        Ok(all)
    }

    /// Each communicator's verdict, as if it alone were offloaded.
    fn communicators(&self, run: &Run, weights: &Weights, nothing: Option<Reason>) -> Vec<Advised> {
        let comms: BTreeSet<u32> = weights
            .by_comm
            .iter()
            .flat_map(|comms| comms.keys().copied())
            .collect();
        let advised = |comm: u32| {
            let of_rank =
                |comms: &BTreeMap<u32, Weighed>| comms.get(&comm).copied().unwrap_or_default();
            let ranks: Vec<Weighed> = weights.by_comm.iter().map(of_rank).collect();
            let sum = sum(&ranks);
            let gain = match nothing.or(sum.demand.nothing()) {
                None => Ok(Ends::new(run, self.network, &ranks, Some(comm)).gain(None)),
                Some(reason) => Err(reason),
            };
            sum.advised(Some(comm), gain, self)
        };
        comms.into_par_iter().map(advised).collect()
    }
}

impl Demand {
    /// Why there is nothing to judge, if so.
    fn nothing(&self) -> Option<Reason> {
        (self.messages == 0 || self.posts == 0).then_some(Reason::NothingToMatch)
    }
}

/// Why the run has nothing to judge, if so.
fn nothing(run: &Run, demand: &Demand) -> Option<Reason> {
    let calls = |program: &Program| program.calls.total() + program.transfers.len() as u64;
    if run.programs.iter().map(calls).sum::<u64>() == 0 {
        return Some(Reason::NoCalls);
    }
    demand.nothing().or(match &run.programs[..] {
        [only] => Some(Reason::OneRank { rank: only.rank }),
        _ => None,
    })
}

fn sum(ranks: &[Weighed]) -> Weighed {
    let mut sum = Weighed::default();
    ranks.iter().for_each(|rank| sum.add(rank));
    sum
}

impl Report {
    /// Judges every rank, and every communicator on request. Calls `done` after each rank.
    ///
    /// # Errors
    /// [`OffloadError`].
    pub fn make(
        run: &Run,
        question: &Question,
        done: impl Fn(u32) + Sync,
    ) -> Result<Self, OffloadError> {
        let (causal, stalls, _) = run.causal(question.network);
        let weights = question.weigh_all(run, &causal, done)?;
        drop(causal);
        let total = sum(&weights.ranks);
        let nothing = nothing(run, &total.demand);
        let ends = match nothing {
            None => Ok(Ends::new(run, question.network, &weights.ranks, None)),
            Some(reason) => Err(reason),
        };
        let gain = |rank: Option<usize>| match &ends {
            Ok(ends) => Ok(ends.gain(rank)),
            Err(reason) => Err(*reason),
        };
        let mut application = total.advised(None, gain(None), question);
        let mut remarks = remarks::find(run, question, &total, stalls);
        let mut in_orders = Vec::new();
        if let Some(gain) = application.gain {
            let first = InOrder::first(run, &application, gain);
            let others = orders::others(run, question, &weights.ranks, &mut remarks)?;
            in_orders.push(first);
            in_orders.extend(others);
            if in_orders.iter().any(|it| it.answer != in_orders[0].answer) {
                application.verdict = Verdict {
                    answer: Answer::DependsOnOrder,
                    reason: Reason::Order,
                };
            }
        }
        let of_rank = |(at, weighed): (usize, &Weighed)| {
            weighed.advised(Some(run.programs[at].rank), gain(Some(at)), question)
        };
        let length = Length::new(run, application.gain.as_ref());
        remarks.extend(length.remark());
        Ok(Self {
            application,
            ranks: weights.ranks.iter().enumerate().map(of_rank).collect(),
            communicators: question.communicators(run, &weights, nothing),
            matchers: weights.matchers,
            orders: in_orders,
            length,
            remarks,
        })
    }
}
