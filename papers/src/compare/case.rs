//! Cases of an experiment with each engine's results.

use super::Measurement;
use dpamatch_tools::figure::Series;
use dpamatch_tools::table::{Cell, Table};
use dpamatch_tools::workload::Workload;

#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    pub keys: Vec<Cell>,
    pub workload: Workload,
}

#[derive(Clone, Debug, Default)]
pub struct Sheet {
    /// Columns that identify a case.
    pub keys: Vec<&'static str>,
    /// What holds for all tables of the sheet.
    pub notes: Vec<String>,
    /// Cases with the engines' results, the baseline's first.
    pub rows: Vec<(Case, Vec<Measurement>)>,
}

/// A number of an engine, possibly relative to the baseline.
pub(super) type Metric = fn(own: &Measurement, baseline: &Measurement) -> Option<f64>;

pub(super) const STEPS: Metric = |own, _| own.steps_per_match();
pub(super) const FEWER_STEPS: Metric = |own, list| own.fewer_steps_than(list);
pub(super) const FASTER: Metric = |own, list| own.faster_than(list);
pub(super) const NANOSECONDS: Metric = |own, _| own.ns_per_match();
pub(super) const MEMORY: Metric =
    |own, _| own.counter("memory_bytes_max").map(|bytes| bytes as f64);

impl Sheet {
    pub fn new(keys: &[&'static str]) -> Self {
        Self {
            keys: keys.to_vec(),
            notes: Vec::new(),
            rows: Vec::new(),
        }
    }

    pub fn engines(&self) -> Vec<&str> {
        let first = self.rows.first().map_or(&[][..], |(_, all)| all);
        first
            .iter()
            .map(|measurement| measurement.engine.as_str())
            .collect()
    }

    /// All results, one row per case and engine.
    pub fn data(&self, name: &str, title: &str) -> Table {
        let mut table = Table::open(name, title)
            .keyed(self.keys.len() + 1)
            .measured(["ns_per_match", "faster_than_list"]);
        for (case, all) in &self.rows {
            for own in all {
                let of = |name| Cell::from(own.counter(name));
                let rise = |name| Cell::from(own.rise(name));
                let keys = self.keys.iter().copied().zip(case.keys.clone());
                let mut row: Vec<(&str, Cell)> = keys.collect();
                row.extend([
                    ("engine", own.engine.as_str().into()),
                    ("matches", own.matches.into()),
                    ("prq_attempts", rise("prq_attempts")),
                    ("prq_hops", rise("prq_hops")),
                    ("umq_attempts", rise("umq_attempts")),
                    ("umq_hops", rise("umq_hops")),
                    ("steps", own.steps().into()),
                    ("steps_per_match", own.steps_per_match().into()),
                    ("prq_depth_max", of("prq_depth_max")),
                    ("umq_depth_max", of("umq_depth_max")),
                    ("prq_length_max", of("prq_length_max")),
                    ("umq_length_max", of("umq_length_max")),
                    ("conversions", of("conversions")),
                    ("memory_bytes_max", of("memory_bytes_max")),
                    (
                        "fewer_steps_than_list",
                        own.fewer_steps_than(&all[0]).into(),
                    ),
                    ("ns_per_match", own.ns_per_match().into()),
                    ("faster_than_list", own.faster_than(&all[0]).into()),
                ]);
                table.row(row);
                table.rounds("ns_per_match", &own.ns);
            }
        }
        self.notes
            .iter()
            .fold(table, |table, note| table.note(note.as_str()))
    }

    pub(super) fn filtered(&self, keep: impl Fn(&Case) -> bool) -> Self {
        let rows = self
            .rows
            .iter()
            .filter(|(case, _)| keep(case))
            .cloned()
            .collect();
        Self {
            keys: self.keys.clone(),
            notes: self.notes.clone(),
            rows,
        }
    }

    /// One metric: a row per case, a column per engine.
    pub(super) fn pivot(&self, name: &str, title: impl Into<String>, metric: Metric) -> Table {
        let columns = self.keys.iter().copied().chain(self.engines());
        let mut table = Table::new(name, title, columns);
        for (case, all) in &self.rows {
            let numbers = all.iter().map(|own| Cell::from(metric(own, &all[0])));
            table.push(case.keys.iter().cloned().chain(numbers));
        }
        self.notes
            .iter()
            .fold(table, |table, note| table.note(note.as_str()))
    }

    /// One line per engine over the cases with an `x`.
    pub(super) fn series(&self, x: impl Fn(&Case) -> Option<f64>, metric: Metric) -> Vec<Series> {
        let line = |i: usize, name: &str| {
            let point = |(case, all): &(Case, Vec<Measurement>)| {
                Some((x(case)?, metric(all.get(i)?, &all[0])?))
            };
            Series::line(name, self.rows.iter().filter_map(point))
        };
        let lines = self
            .engines()
            .into_iter()
            .enumerate()
            .map(|(i, name)| line(i, name));
        lines.filter(|series| !series.points.is_empty()).collect()
    }

    pub(super) fn timed(&self) -> bool {
        self.rows
            .iter()
            .flat_map(|(_, all)| all)
            .any(|measurement| !measurement.ns.is_empty())
    }
}
