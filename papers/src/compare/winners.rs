//! Who wins where: a line for each usual situation, from the numbers of the experiments.

use super::experiment::{Experiment, Report};
use dpamatch_tools::table::{Cell, Table};

/// A situation, and where an experiment shows it.
struct Situation {
    name: &'static str,
    experiment: Experiment,
    /// Columns and their values. The last of such cases is taken.
    keys: &'static [(&'static str, &'static str)],
    /// The column that decides.
    figure: &'static str,
}

const STEPS: &str = "steps_per_match";

#[rustfmt::skip]
const SITUATIONS: [Situation; 10] = {
    use Experiment::{Any, Depth, Memory, Patterns, Rate, Search};
    [
        Situation { name: "long queue, in order", experiment: Rate, keys: &[("senders", "many"), ("queue", "PRQ"), ("order", "forward")], figure: STEPS },
        Situation { name: "long queue, many senders, reverse", experiment: Rate, keys: &[("senders", "many"), ("queue", "PRQ"), ("order", "reverse")], figure: STEPS },
        Situation { name: "long queue, one sender, reverse", experiment: Rate, keys: &[("senders", "one"), ("queue", "PRQ"), ("order", "reverse")], figure: STEPS },
        Situation { name: "a tenth of receives from any source", experiment: Any, keys: &[("queue", "PRQ"), ("any_percent", "10")], figure: STEPS },
        Situation { name: "all receives from any source", experiment: Any, keys: &[("queue", "PRQ"), ("any_percent", "100")], figure: STEPS },
        Situation { name: "unexpected, reverse, largest job", experiment: Search, keys: &[("queue", "UMQ"), ("order", "reverse")], figure: STEPS },
        Situation { name: "behind the deepest entries that stay", experiment: Depth, keys: &[("queue", "PRQ"), ("senders", "one")], figure: STEPS },
        Situation { name: "gather at a root", experiment: Patterns, keys: &[("pattern", "gather")], figure: STEPS },
        Situation { name: "halo exchange", experiment: Patterns, keys: &[("pattern", "halo3d")], figure: STEPS },
        Situation { name: "bytes: one request, a million ranks", experiment: Memory, keys: &[("communicator", "1048576"), ("requests", "1")], figure: "bytes" },
    ]
};

/// Engines within this factor of the best are as good.
const AS_GOOD: f64 = 1.05;
/// Engines by name in a cell.
const NAMES_MAX: usize = 3;

/// The engines of a situation with their figures, best first; equal ones in the order of the data.
fn ranked<'a>(situation: &Situation, report: &'a Report) -> Vec<(&'a str, f64)> {
    let Situation { keys, figure, .. } = situation;
    let place = |table: &Table, name: &str| table.columns.iter().position(|it| it == name);
    let tables = report.data.iter();
    let Some((table, figure, engine)) = tables
        .filter_map(|table| Some((table, place(table, figure)?, place(table, "engine")?)))
        .next()
    else {
        return Vec::new();
    };
    let has = |row: &[Cell], (name, value): &(&str, &str)| {
        place(table, name).is_some_and(|at| row[at].csv() == *value)
    };
    let fits = |row: &&Vec<Cell>| keys.iter().all(|key| has(row, key));
    let rows: Vec<&Vec<Cell>> = table.rows.iter().filter(fits).collect();
    let of_last = rows
        .iter()
        .filter(|row| rows.last().is_some_and(|it| it[..engine] == row[..engine]));
    let named = of_last.filter_map(|row| match (&row[engine], &row[figure]) {
        (Cell::Text(name), Cell::Real(value)) => Some((name.as_str(), *value)),
        (Cell::Text(name), Cell::Count(value)) => Some((name.as_str(), *value as f64)),
        _ => None,
    });
    let mut engines: Vec<(&str, f64)> = named.collect();
    engines.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    engines
}

/// The table of all situations whose experiments are among the reports.
pub fn winners(reports: &[(Experiment, Report)]) -> Table {
    let mut table = Table::open("winners", "Who wins where: steps per message, or bytes").keyed(1);
    for situation in &SITUATIONS {
        let report = reports
            .iter()
            .find(|(experiment, _)| *experiment == situation.experiment);
        let engines = report
            .map(|(_, report)| ranked(situation, report))
            .unwrap_or_default();
        let (Some(&(_, best)), Some(&(worst, most))) = (engines.first(), engines.last()) else {
            continue;
        };
        let good = engines
            .iter()
            .take_while(|(_, value)| *value <= AS_GOOD * best)
            .count();
        let mut names: Vec<&str> = engines[..good].iter().map(|(name, _)| *name).collect();
        let more = format!("+{}", good.saturating_sub(NAMES_MAX));
        if good > NAMES_MAX {
            names.splice(NAMES_MAX.., [more.as_str()]);
        }
        let list = engines
            .iter()
            .find(|(name, _)| *name == "list")
            .map(|(_, value)| *value);
        table.row([
            ("situation", situation.name.into()),
            ("best", names.join(", ").into()),
            ("value", best.into()),
            ("list", list.into()),
            ("worst", worst.into()),
            ("its value", most.into()),
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
            ("gather", 128, "grid", 2.05),
            ("halo3d", 128, "a", 4.0),
            ("halo3d", 128, "b", 4.0),
            ("halo3d", 128, "c", 4.0),
            ("halo3d", 128, "d", 4.19),
            ("halo3d", 128, "e", 4.21),
        ] {
            data.push([pattern.into(), ranks.into(), engine.into(), steps.into()]);
        }
        let report = Report {
            data: vec![data],
            ..Report::default()
        };
        let table = winners(&[(Experiment::Patterns, report)]);
        let csv = "situation,best,value,list,worst,its_value\n\
                   gather at a root,\"ucx, grid, simd\",2,30,list,30\nhalo exchange,\"a, b, c, +1\",4,,e,4.21\n";
        assert_eq!(table.csv(), csv);
    }
}
