//! Replays through the registry's engines, beside the engine that drives the statistics.

use rayon::prelude::*;

use super::order::Order;
use super::replay::{Agreement, RankView};
use super::report::{Question, ReportError};
use super::run::Run;
use dpamatch::engine::{Counter, Engine};
use dpamatch::registry::{EngineEntry, EngineOptions};

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct EngineReport {
    pub name: &'static str,
    /// Its pairs compared with the trace's.
    pub agreement: Agreement,
    /// Ranks at which its pairs differ from those of the driving engine: none, unless an engine is
    /// wrong.
    pub differs_at: Vec<u32>,
    /// Its counters summed over the ranks, or the maximum for names that end in `_max` or `_high`.
    pub counters: Vec<(String, u64)>,
}

impl EngineReport {
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters
            .iter()
            .find(|(known, _)| known == name)
            .map(|&(_, value)| value)
    }

    /// Steps of all searches for posted receives: compares plus inner nodes of the structure (S28).
    /// For the emulated NIC, the descriptors that its handlers visited.
    pub fn posted_steps(&self) -> Option<u64> {
        if let Some(compares) = self.counter("prq_attempts") {
            return Some(compares + self.counter("prq_hops").unwrap_or(0));
        }
        let walked = [
            "walked_exact",
            "walked_any_source",
            "walked_any_tag",
            "walked_any",
        ];
        walked.iter().map(|name| self.counter(name)).sum()
    }

    /// Steps of all searches for unexpected messages; the emulated NIC does not count them.
    pub fn unexpected_steps(&self) -> Option<u64> {
        Some(self.counter("umq_attempts")? + self.counter("umq_hops").unwrap_or(0))
    }
}

/// Runs one rank's order through an engine. Software engines also get the sizes of the
/// communicators.
fn replay_rank(
    view: RankView<'_>,
    order: &Order,
    entry: &EngineEntry,
    options: &EngineOptions,
) -> Result<(Vec<u32>, Vec<Counter>), ReportError> {
    let failed = |error| ReportError::Engine {
        engine: entry.name,
        rank: view.program.rank,
        error,
    };
    let mut matcher = match entry.engine(options) {
        Some(mut engine) => {
            tell_sizes(view, engine.as_mut());
            Box::new(dpamatch::stream::ByKind::new(engine))
        }
        None => entry.build(options)?,
    };
    let receives = view.run(matcher.as_mut(), order).map_err(failed)?;
    Ok((receives, matcher.counters()))
}

pub(crate) fn tell_sizes(view: RankView<'_>, engine: &mut dyn Engine) {
    let mut told = std::collections::BTreeSet::new();
    let comms = (0..view.program.comms.len()).map(|local| view.comms.global(view.at, local as u16));
    for comm in comms.filter(|&comm| told.insert(comm)) {
        let size = view.comms.all[comm as usize].members.len() as u32;
        engine.set_comm_size(dpamatch_vocabulary::CommId(comm), size);
    }
}

/// Runs every rank's order through an engine and compares with `pairs`, the result of the driving
/// engine.
pub(super) fn replay(
    run: &Run,
    orders: &[Order],
    entry: &'static EngineEntry,
    question: &Question,
    pairs: &[Vec<u32>],
) -> Result<EngineReport, ReportError> {
    let ranks: Result<Vec<_>, ReportError> = orders
        .par_iter()
        .enumerate()
        .map(|(at, order)| {
            let (receives, counters) = replay_rank(run.view(at), order, entry, &question.options)?;
            let differs = receives != pairs[at];
            Ok((run.view(at).compare(&receives), counters, differs))
        })
        .collect();
    let mut report = EngineReport {
        name: entry.name,
        agreement: Agreement::default(),
        differs_at: Vec::new(),
        counters: Vec::new(),
    };
    for (at, (agreement, counters, differs)) in ranks?.into_iter().enumerate() {
        report.agreement.add(&agreement);
        if differs {
            report.differs_at.push(run.programs[at].rank);
        }
        for (place, counter) in counters.into_iter().enumerate() {
            match report.counters.get_mut(place) {
                None => report
                    .counters
                    .push((counter.name.into_owned(), counter.value)),
                Some((name, value)) if name.ends_with("_max") || name.ends_with("_high") => {
                    *value = counter.value.max(*value);
                }
                Some((_, value)) => *value += counter.value,
            }
        }
    }
    Ok(report)
}
