//! The verdict for an application, its ranks and its communicators.

use std::collections::BTreeMap;

use dpamatch::registry::{EngineEntry, EngineOptions};
use dpamatch::stream::RunError;
use rayon::prelude::*;
use serde::Serialize;

use super::demand::Part;
use super::hardware::Matcher;
use super::verdict::{BreakEven, Costs, Gain};
use super::{Card, CardError, Demand, Host, Range, Service, Verdict};
use crate::analyze::Run;
use crate::analyze::order::{Load, Network};

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
    /// Also match on cards whose hardware has this many entries.
    pub hardware: Option<u32>,
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
    /// The change of the run's end.
    pub gain: Gain,
    /// From where on the card pays.
    pub break_even: BreakEven,
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
struct Weighed {
    demand: Demand,
    service: Service,
    costs: Costs,
}

impl Weighed {
    fn add(&mut self, other: &Self) {
        let (mine, theirs) = (self.demand.messages, other.demand.messages);
        let share = |part: u64| part as f64 / (mine + theirs).max(1) as f64;
        self.service = Service {
            busy_us: self.service.busy_us + other.service.busy_us,
            latency_us: self.service.latency_us * share(mine)
                + other.service.latency_us * share(theirs),
            longest_us: self.service.longest_us.max(other.service.longest_us),
            sent_on: self.service.sent_on + other.service.sent_on,
        };
        self.costs.add(&other.costs, mine, theirs);
        self.demand.add(&other.demand);
    }

    fn advised(&self, number: Option<u32>, gain: Gain, question: &Question) -> Advised {
        let Self {
            demand,
            service,
            costs,
        } = *self;
        let host = &question.host;
        Advised {
            number,
            demand,
            service,
            costs,
            gain,
            break_even: BreakEven::of(&demand, &service, host),
            verdict: Verdict::of(&demand, host, &costs, &gain, question.worth),
        }
    }
}

/// The end of each range that counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Case {
    /// Least favourable to the card.
    Worst,
    Likely,
    /// Most favourable to the card.
    Best,
}

impl Case {
    const ALL: [Self; 3] = [Self::Worst, Self::Likely, Self::Best];

    fn of_now(self, range: Range) -> f64 {
        [range.low, range.likely, range.high][self as usize]
    }

    fn of_card(self, range: Range) -> f64 {
        [range.high, range.likely, range.low][self as usize]
    }
}

/// The ends of all ranks in microseconds, for each case: without a card, with it, and with it but
/// without its delay.
struct Ends {
    now: [Vec<f64>; 3],
    card: [Vec<f64>; 3],
    not_late: Vec<f64>,
}

impl Ends {
    /// Runs the ranks with these costs, for the receives of one communicator or of all.
    fn of(run: &Run, network: Network, ranks: &[Weighed], comm: Option<u32>) -> Self {
        let receives = |us: &dyn Fn(&Costs) -> f64| {
            let each = |weighed: &Weighed| {
                (us(&weighed.costs) * 1e3 / weighed.demand.posts.max(1) as f64).round() as u64
            };
            ranks.iter().map(each).collect::<Vec<u64>>()
        };
        let mut all = Weighed::default();
        ranks.iter().for_each(|rank| all.add(rank));
        let delay_ns = |case: Case| (case.of_card(all.costs.delay_us) * 1e3).round() as u64;
        let ends = |receive_ns: Vec<u64>, delay_ns: u64| {
            let ends = run.ends(
                network,
                Load {
                    receive_ns,
                    delay_ns,
                    comm,
                },
            );
            ends.into_iter()
                .map(|ns| ns as f64 / 1e3)
                .collect::<Vec<f64>>()
        };
        let now = |case: Case| ends(receives(&|costs| case.of_now(costs.now_us)), 0);
        let after = |case: Case| receives(&|costs| case.of_card(costs.after_us));
        Self {
            now: Case::ALL.map(now),
            card: Case::ALL.map(|case| ends(after(case), delay_ns(case))),
            not_late: ends(after(Case::Likely), 0),
        }
    }

    fn gain(&self, rank: Option<usize>) -> Gain {
        let end = |ends: &[f64]| match rank {
            Some(rank) => ends[rank],
            None => ends.iter().copied().fold(0.0, f64::max),
        };
        let share = |now: f64, card: f64| (now - card) / now.max(1e-9);
        let mut shares = Case::ALL.map(|case| {
            share(
                end(&self.now[case as usize]),
                end(&self.card[case as usize]),
            )
        });
        // A wildcard receive may take another message, so the worst case need not give the least
        // gain.
        shares.sort_by(f64::total_cmp);
        let run_us = end(&self.now[Case::Likely as usize]);
        Gain {
            run_us,
            share: Range::from(shares),
            share_without_delay: share(run_us, end(&self.not_late)),
        }
    }
}

impl Question {
    fn weigh(&self, part: Part<'_>) -> Result<Weighed, OffloadError> {
        let rank = part.view.program.rank;
        let limit = self.card.setup.eager_limit as u64;
        let demand = part
            .demand(self.engine, &self.options, limit)
            .map_err(|error| OffloadError::Engine {
                engine: self.engine.name,
                rank,
                error,
            })?;
        let service = self
            .card
            .serve(part)
            .map_err(|error| OffloadError::Card { rank, error })?;
        Ok(Weighed {
            demand,
            service,
            costs: Costs::of(&demand, &service, &self.host),
        })
    }
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
        let (orders, ..) = run.causal(question.network);
        let weigh_rank = |at: usize| {
            let whole = Part {
                view: run.view(at),
                order: &orders[at],
                comm: None,
            };
            let all = question.weigh(whole)?;
            let mut by_comm = BTreeMap::new();
            if question.communicators {
                let comms = whole.comms();
                for &comm in &comms {
                    let part = Part {
                        comm: Some(comm),
                        ..whole
                    };
                    let weighed = if comms.len() == 1 {
                        all
                    } else {
                        question.weigh(part)?
                    };
                    by_comm.insert(comm, weighed);
                }
            }
            let rank = run.programs[at].rank;
            let parts = (&all.demand, &all.service, &all.costs);
            let matchers = question.hardware.map_or(Ok(Vec::new()), |entries| {
                Matcher::all(whole, parts, &question.host, entries)
            });
            let matchers = matchers.map_err(|error| OffloadError::Engine {
                engine: "hw-list",
                rank,
                error,
            })?;
            done(rank);
            Ok(((all, by_comm), matchers))
        };
        let weighed: Result<Vec<_>, OffloadError> =
            (0..orders.len()).into_par_iter().map(weigh_rank).collect();
        let (weighed, of_ranks): (Vec<_>, Vec<Vec<Matcher>>) = weighed?.into_iter().unzip();
        let (ranks, by_comm): (Vec<Weighed>, Vec<BTreeMap<u32, Weighed>>) =
            weighed.into_iter().unzip();
        let matchers = of_ranks.into_iter().reduce(|mut sum, rank| {
            sum.iter_mut()
                .zip(&rank)
                .for_each(|(sum, rank)| sum.add(rank));
            sum
        });
        let ends = Ends::of(run, question.network, &ranks, None);
        let mut application = Weighed::default();
        ranks.iter().for_each(|rank| application.add(rank));
        let comms: std::collections::BTreeSet<u32> = by_comm
            .iter()
            .flat_map(|comms| comms.keys().copied())
            .collect();
        let communicators = comms.into_par_iter().map(|comm| {
            let of_rank =
                |comms: &BTreeMap<u32, Weighed>| comms.get(&comm).copied().unwrap_or_default();
            let ranks: Vec<Weighed> = by_comm.iter().map(of_rank).collect();
            let mut sum = Weighed::default();
            ranks.iter().for_each(|rank| sum.add(rank));
            let gain = Ends::of(run, question.network, &ranks, Some(comm)).gain(None);
            sum.advised(Some(comm), gain, question)
        });
        let communicators = communicators.collect();
        let of_rank = |(at, weighed): (usize, &Weighed)| {
            weighed.advised(Some(run.programs[at].rank), ends.gain(Some(at)), question)
        };
        Ok(Self {
            application: application.advised(None, ends.gain(None), question),
            ranks: ranks.iter().enumerate().map(of_rank).collect(),
            communicators,
            matchers: matchers.unwrap_or_default(),
        })
    }
}
