//! Who wins where: one line for each usual situation, from the experiments' numbers.

use super::experiment::{Experiment, Report};
use crate::table::{Cell, Table};

/// A situation: the rows of an experiment's data that show it, and the figure that decides.
struct Situation {
    what: &'static str,
    experiment: Experiment,
    /// Columns and the values that they must have; of several cases that fit, the last counts.
    rows: &'static [(&'static str, &'static str)],
    figure: &'static str,
}

const STEPS: &str = "steps_per_match";

#[rustfmt::skip]
const SITUATIONS: [Situation; 10] = [
    Situation { what: "long queue, in order", experiment: Experiment::Rate, rows: &[("senders", "many"), ("queue", "PRQ"), ("order", "forward")], figure: STEPS },
    Situation { what: "long queue, many senders, reverse", experiment: Experiment::Rate, rows: &[("senders", "many"), ("queue", "PRQ"), ("order", "reverse")], figure: STEPS },
    Situation { what: "long queue, one sender, reverse", experiment: Experiment::Rate, rows: &[("senders", "one"), ("queue", "PRQ"), ("order", "reverse")], figure: STEPS },
    Situation { what: "a tenth of receives from any source", experiment: Experiment::Any, rows: &[("queue", "PRQ"), ("any_percent", "10")], figure: STEPS },
    Situation { what: "all receives from any source", experiment: Experiment::Any, rows: &[("queue", "PRQ"), ("any_percent", "100")], figure: STEPS },
    Situation { what: "unexpected, reverse, largest job", experiment: Experiment::Search, rows: &[("queue", "UMQ"), ("order", "reverse")], figure: STEPS },
    Situation { what: "behind the deepest entries that stay", experiment: Experiment::Depth, rows: &[("queue", "PRQ"), ("senders", "one")], figure: STEPS },
    Situation { what: "gather at a root", experiment: Experiment::Patterns, rows: &[("pattern", "gather")], figure: STEPS },
    Situation { what: "halo exchange", experiment: Experiment::Patterns, rows: &[("pattern", "halo3d")], figure: STEPS },
    Situation { what: "memory: one request, a million ranks", experiment: Experiment::Memory, rows: &[("communicator", "1048576"), ("requests", "1")], figure: "bytes" },
];

/// Engines within this factor of the best are as good.
const AS_GOOD: f64 = 1.05;
/// Names in a cell.
const NAMES_MAX: usize = 3;

/// The names, and how many there are beyond the first few.
fn named(engines: &[(&str, f64)]) -> String {
    let names: Vec<&str> = engines.iter().take(NAMES_MAX).map(|(name, _)| *name).collect();
    match engines.len().saturating_sub(NAMES_MAX) {
        0 => names.join(", "),
        more => format!("{} +{more}", names.join(", ")),
    }
}

/// The engines of a situation with their figures, best first; equal ones in the order of the data.
fn ranked<'a>(situation: &Situation, report: &'a Report) -> Vec<(&'a str, f64)> {
    let has = |table: &&Table| table.columns.iter().any(|name| *name == situation.figure);
    let Some(table) = report.data.iter().find(has) else { return Vec::new() };
    let place = |name: &str| table.columns.iter().position(|column| *column == name);
    let fits = |row: &Vec<Cell>| {
        situation
            .rows
            .iter()
            .all(|(name, value)| place(name).is_some_and(|place| row[place].csv() == *value))
    };
    let (Some(engine), Some(figure)) = (place("engine"), place(situation.figure)) else {
        return Vec::new();
    };
    let rows: Vec<&Vec<Cell>> = table.rows.iter().filter(|row| fits(row)).collect();
    let Some(case) = rows.last().map(|row| &row[..engine]) else { return Vec::new() };
    let of_case = rows.iter().filter(|row| &row[..engine] == case);
    let mut engines: Vec<(&str, f64)> = of_case
        .filter_map(|row| match (&row[engine], &row[figure]) {
            (Cell::Text(name), Cell::Real(value)) => Some((name.as_str(), *value)),
            (Cell::Text(name), Cell::Count(value)) => Some((name.as_str(), *value as f64)),
            _ => None,
        })
        .collect();
    engines.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    engines
}

/// The table of all situations whose experiments are among the reports.
pub fn winners(reports: &[(Experiment, Report)]) -> Table {
    let columns = ["situation", "best", "value", "list", "worst", "its value"];
    let title = "Who wins where: steps per message, or bytes";
    let mut table = Table::new("winners", title, columns).keyed(1);
    for situation in &SITUATIONS {
        let report = reports.iter().find(|(experiment, _)| *experiment == situation.experiment);
        let engines = report.map(|(_, report)| ranked(situation, report)).unwrap_or_default();
        let (Some(&(_, best)), Some(&(worst, most))) = (engines.first(), engines.last()) else {
            continue;
        };
        let good = engines.iter().take_while(|(_, value)| *value <= AS_GOOD * best).count();
        let list = engines.iter().find(|(name, _)| *name == "list").map(|(_, value)| *value);
        table.push([
            situation.what.into(),
            named(&engines[..good]).into(),
            best.into(),
            list.into(),
            worst.into(),
            most.into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_case_counts_and_near_equals_share_the_place() {
        let mut data = Table::new("patterns", "", ["pattern", "ranks", "engine", STEPS]);
        for (pattern, ranks, engine, steps) in [
            ("gather", 64_u64, "list", 1.0),
            ("gather", 128, "list", 30.0),
            ("gather", 128, "simd", 2.1),
            ("gather", 128, "ucx", 2.0),
            ("gather", 128, "bins", 9.0),
            ("halo3d", 128, "list", 4.0),
        ] {
            data.push([pattern.into(), ranks.into(), engine.into(), steps.into()]);
        }
        let report = Report { data: vec![data], ..Report::default() };
        let table = winners(&[(Experiment::Patterns, report)]);
        assert_eq!(table.rows.len(), 2, "no line without its experiment");
        let shown: Vec<String> = table.rows[0].iter().map(Cell::csv).collect();
        assert_eq!(shown, ["gather at a root", "ucx, simd", "2", "30", "list", "30"]);
        assert_eq!(named(&[("a", 1.0), ("b", 1.0), ("c", 1.0), ("d", 1.0)]), "a, b, c +1");
    }

    #[test]
    fn every_situation_is_one_of_the_experiments() {
        let names: Vec<&str> = SITUATIONS.iter().map(|situation| situation.what).collect();
        assert!((1..10).all(|place| !names[..place].contains(&names[place])), "{names:?}");
    }
}
