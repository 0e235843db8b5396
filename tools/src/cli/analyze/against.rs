//! `dpamatch analyze --against`: compares two runs.

use std::io::Write;
use std::path::Path;

use dpamatch_tools::analyze::{Report, tables};
use dpamatch_tools::counted;
use dpamatch_tools::results::{Change, Comparison, Document, Rule, Verdict, compare};
use dpamatch_tools::table::{Cell, Table};
use serde_json::{Value, json};

use super::super::interrupt::Interrupt;
use super::super::table::text;
use super::super::{BadInput, document, offload, output};
use super::{Args, Format};

struct Pair {
    reports: [Report; 2],
    /// Whether to offload to a card, with the reason, by likely gain.
    verdicts: [offload::Advice; 2],
    found: Comparison,
}

pub(super) fn run(args: &Args, other: &Path, interrupt: &Interrupt) -> anyhow::Result<()> {
    let [own] = &args.traces[..] else {
        return Err(BadInput("--against goes with one trace".to_owned()).into());
    };
    let question = offload::usual_question()?;
    let analyzed = |path: &Path| {
        let (run, report) = super::analyze(args, path)?;
        let advice = offload::advice(&run, path, &question)?;
        anyhow::Ok((run, report, advice))
    };
    let ((run, mut first, one), (_, mut second, two)) = (analyzed(own)?, analyzed(other)?);
    if first.name == second.name {
        first.name += " (1)";
        second.name += " (2)";
    }
    let found = side_by_side(&first, &second)?;
    let pair = Pair {
        reports: [first, second],
        verdicts: [one, two],
        found,
    };
    let whole = || pair.document();
    args.save.write(whole)?;
    let title = format!("Compared with {}", pair.reports[1].name);
    let tables = [pair.table(false)];
    let more = super::More {
        title: &title,
        prefix: "",
        tables: &tables,
    };
    super::write_files(args, &run, &pair.reports[0], Some(more), interrupt)?;
    let mut out = output::stdout();
    match args.format {
        Format::Json => document::write(&mut *out, &whole())?,
        Format::Csv => write!(out, "{}", pair.table(true).csv())?,
        Format::Table => write!(out, "{}", text(&tables[0], args.wide.width()))?,
    }
    Ok(out.flush()?)
}

/// The figures of both runs, as if they belonged to one application.
fn side_by_side(first: &Report, second: &Report) -> Result<Comparison, BadInput> {
    let document = |report: &Report| {
        let report = Report {
            name: String::new(),
            pairs: Vec::new(),
            ..report.clone()
        };
        let tables = tables(&[&report]);
        Document {
            command: "analyze".to_owned(),
            command_line: String::new(),
            options: serde_json::Map::new(),
            version: String::new(),
            commit: None,
            machine: serde_json::Map::new(),
            tables: tables.iter().map(Table::descriptor).collect(),
            results: tables
                .iter()
                .map(|table| (table.name.clone(), table.rows_json()))
                .collect(),
        }
    };
    // Both runs are exact counts: every difference is real, and neither run is better.
    let rule = Rule {
        confidence: 0.95,
        threshold: 0.0,
    };
    compare(&document(first), &document(second), &rule)
        .map_err(|mismatch| BadInput(mismatch.to_string()))
}

/// Describes a figure in words.
fn of(change: &Change) -> String {
    let space = if change.of.is_empty() { "" } else { ": " };
    format!("{}{space}{}", change.table, change.of)
}

/// The number of rows that only one of the runs has, if any.
fn rows_alone([before, after]: [usize; 2], [one, two]: [&str; 2]) -> Option<String> {
    (before + after > 0)
        .then(|| format!("rows of one run only: {before} of {one}, {after} of {two}"))
}

impl Pair {
    /// Figures that differ, or all figures.
    fn table(&self, all: bool) -> Table {
        let [first, second] = &self.reports;
        let (one, two) = (first.name.as_str(), second.name.as_str());
        let columns = ["figure", one, two, "change %", "of"];
        let differs = |change: &&Change| all || change.verdict != Verdict::NoChange;
        let same = self
            .found
            .changes
            .iter()
            .filter(|it| it.verdict == Verdict::NoChange)
            .count();
        let title = match self.found.changes.len() - same {
            0 => format!(
                "{one} and {two} do not differ: {} compared",
                counted(same, "figure")
            ),
            count => {
                format!(
                    "{one} and {two} differ in {count} of {}",
                    counted(count + same, "figure")
                )
            }
        };
        let mut table = Table::new("differences", title, columns);
        for change in self.found.changes.iter().filter(differs) {
            let number = |value: f64| match value.fract() == 0.0 {
                true => Cell::Count(value as u64),
                false => Cell::Real(value),
            };
            table.push([
                change.figure.as_str().into(),
                number(change.before),
                number(change.after),
                change.ratio.map(|ratio| 100.0 * (ratio - 1.0)).into(),
                of(change).into(),
            ]);
        }
        table = rows_alone(self.found.alone, [one, two])
            .into_iter()
            .fold(table, Table::note);
        let offload = self.reports.iter().zip(&self.verdicts);
        offload.fold(table, |table, (report, advice)| {
            table.note(advice.sentence(&report.name))
        })
    }

    fn document(&self) -> Value {
        let [first, second] = &self.reports;
        let reports = tables(&[first, second]);
        let change = |change: &Change| {
            json!({
                "of": change.table,
                "row": change.of,
                "figure": change.figure,
                "first": change.before,
                "second": change.after,
                "change_percent": change.ratio.map(|ratio| 100.0 * (ratio - 1.0)),
                "differs": change.verdict != Verdict::NoChange,
            })
        };
        let offload = self
            .reports
            .iter()
            .zip(&self.verdicts)
            .map(|(report, advice)| {
                json!({ "application": report.name, "advice": advice.whole(),
                "orders": advice.orders(), "remarks": advice.remarks() })
            });
        let [only_first, only_second] = self.found.alone;
        let more = json!({
            "applications_compared": [first.name, second.name],
            "differences": self.found.changes.iter().map(change).collect::<Vec<_>>(),
            "rows_only_first": only_first,
            "rows_only_second": only_second,
            "offload": offload.collect::<Vec<_>>(),
            "traces": self.reports,
        });
        document::of_tables(&reports.iter().collect::<Vec<_>>(), document::members(more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_run_only_are_told() {
        let told = |alone| rows_alone(alone, ["a", "b"]);
        assert_eq!(told([0, 0]), None);
        assert_eq!(
            told([1, 1]).as_deref(),
            Some("rows of one run only: 1 of a, 1 of b")
        );
        assert_eq!(
            told([2, 0]).as_deref(),
            Some("rows of one run only: 2 of a, 0 of b")
        );
        assert_eq!(
            told([0, 3]).as_deref(),
            Some("rows of one run only: 0 of a, 3 of b")
        );
    }
}
