//! Wall time in MPI calls: by rank, and by function and call site.

use std::collections::BTreeMap;

use super::program::Program;
use super::report::Report;
use super::run::Run;
use super::sites::Places;
use super::stats::RankStats;
use super::tables::{cut, percent};
use crate::table::{Cell, Table};
use dpamatch_traces::{Function, Site};

const CALLS_SHOWN: usize = 8;
const RANKS_NAMED: usize = 3;

/// Calls of one function at one place, and their time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spent {
    pub calls: u64,
    pub ns: u64,
    pub ns_max: u64,
}

/// Calls of one function at one place, over all ranks.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CallTime {
    pub function: &'static str,
    /// File and line, or program and address; `None` if the trace has no call sites.
    pub place: Option<String>,
    pub calls: u64,
    pub ns: u64,
    /// The longest call.
    pub ns_max: u64,
    /// The rank with the most of this time, and its part.
    pub worst_rank: u32,
    pub worst_ns: u64,
}

/// Times by function and place in falling order; empty without wall times.
pub(super) fn times(run: &Run) -> Vec<CallTime> {
    let mut all = BTreeMap::<(u16, Option<&Site>), CallTime>::new();
    for Program {
        rank, spent, sites, ..
    } in &run.programs
    {
        for (&(function, site), spent) in spent {
            let site = site
                .zip(sites.as_ref())
                .and_then(|(site, sites)| sites.get(site));
            let name = Function::from_number(function).map_or("?", Function::name);
            let time = all.entry((function, site)).or_insert_with(|| CallTime {
                function: name,
                place: None,
                calls: 0,
                ns: 0,
                ns_max: 0,
                worst_rank: *rank,
                worst_ns: 0,
            });
            time.calls += spent.calls;
            time.ns += spent.ns;
            time.ns_max = time.ns_max.max(spent.ns_max);
            if spent.ns > time.worst_ns {
                (time.worst_rank, time.worst_ns) = (*rank, spent.ns);
            }
        }
    }
    let mut places = Places::default();
    let named = all.into_iter().map(|((_, site), time)| CallTime {
        place: site.map(|site| places.of(site).0),
        ..time
    });
    let mut times: Vec<CallTime> = named.collect();
    times.sort_by(|a, b| (b.ns, a.function, &a.place).cmp(&(a.ns, b.function, &b.place)));
    times
}

fn ms(ns: u64) -> Cell {
    Cell::Fixed(ns as f64 / 1e6)
}

pub(super) fn table(report: &Report) -> Table {
    let rows = report
        .times
        .iter()
        .map(|it| (it, report.application.run_ns));
    Table::with_rows("times", "Time in MPI calls", rows)
        .columns(&[
            ("function", |it| it.0.function.into()),
            ("place", |it| it.0.place.as_deref().into()),
            ("calls", |it| it.0.calls.into()),
            ("total ms", |it| ms(it.0.ns)),
            ("% of run", |it| Cell::Fixed(percent(it.0.ns, it.1))),
            ("mean us", |it| {
                Cell::Fixed(it.0.ns as f64 / 1e3 / it.0.calls as f64)
            }),
            ("longest ms", |it| ms(it.0.ns_max)),
            ("worst rank", |it| it.0.worst_rank.into()),
            ("its ms", |it| ms(it.0.worst_ns)),
        ])
        .keyed(2)
        .named(&[("% of run", "run_percent"), ("its ms", "worst_rank_ms")])
}

/// The functions and places with the most time, and the ranks that spend most and least.
pub(super) fn longest(report: &Report) -> Option<Table> {
    let share = |it: &RankStats| percent(it.totals.communicating_ns(), it.totals.run_ns);
    let mut ranks: Vec<&RankStats> = report.ranks.iter().collect();
    ranks.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let named = |it: &&RankStats| format!("rank {} {:.1} %", it.rank, share(it));
    let most = ranks
        .iter()
        .take(RANKS_NAMED)
        .map(named)
        .collect::<Vec<_>>()
        .join(", ");
    let table = cut(table(report), CALLS_SHOWN).note(format!(
        "in communication calls: {:.1} % of the run; most: {most}; least: {}",
        percent(
            report.application.communicating_ns(),
            report.application.run_ns
        ),
        ranks.last().map(named)?,
    ));
    let placed = report.times.iter().any(|it| it.place.is_some());
    let table = if placed {
        table
    } else {
        table.without(&["place"])
    };
    (!report.times.is_empty()).then_some(table)
}
