//! A report as one self-contained page with embedded style and figures, without scripts.

use std::fmt::Write;

use super::report::Report;
use super::tables::{ALL, by_rank};
use crate::figure::Figure;
use crate::table::{Cell, Table, escaped};

/// Narrow screens scroll wide tables and figures and stack the advice. Page breaks split neither
/// figures nor rows.
const STYLE: &str = include_str!("report.css");

/// Tables that only the CSV files show: too many rows, or one for each column of a figure.
const NOT_SHOWN: [&str; 2] = ["advice", "depth"];
const WORDS: [&str; 5] = ["hints", "engines", "counters", "sites", "unmatched"];

/// The page of an application. `summary` is the report in words, `command` the command line. Equal
/// reports give equal bytes.
/// `measured` are tables of the run itself, beside which those of the report are a model's.
pub fn page(
    report: &Report,
    figures: &[(&str, Figure)],
    measured: &[Table],
    summary: &str,
    command: &str,
) -> String {
    let name = escaped(&report.name);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Matching of {name}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n<h1>Matching of {name}</h1>\n"
    );
    // Writing into memory cannot fail.
    let _ = write!(out, "<h2 id=\"summary\">Summary</h2>\n<pre>{}</pre>\n", escaped(summary));
    out += "<h2 id=\"advice\">Advice</h2>\n";
    let tables = by_rank(report);
    for advice in tables.iter().filter(|table| table.name == "advice" && !table.rows.is_empty()) {
        out += &advice.html("words advice");
    }
    out += "<h2 id=\"figures\">Figures</h2>\n";
    for (name, figure) in figures {
        if let Some(svg) = figure.svg() {
            let _ = write!(out, "<figure id=\"{name}\">\n{}</figure>\n", inline(&svg));
        }
    }
    out += match measured {
        [] => "<h2 id=\"tables\">Tables</h2>\n",
        _ => "<h2 id=\"measured\">Measured by the run</h2>\n",
    };
    for table in measured.iter().filter(|table| !table.rows.is_empty()) {
        let _ = write!(out, "<h3>{}</h3>\n{}", escaped(&table.title), table.html("numbers"));
    }
    if !measured.is_empty() {
        out += "<h2 id=\"tables\">Modelled from the order logs</h2>\n";
    }
    for table in tables.into_iter().map(totals) {
        let name = table.name.as_str();
        if table.rows.is_empty() || NOT_SHOWN.contains(&name) {
            continue;
        }
        let class = if WORDS.contains(&name) { "words" } else { "numbers" };
        let _ = write!(out, "<h3>{}</h3>\n{}", escaped(&table.title), table.html(class));
    }
    let _ = write!(
        out,
        "<h2 id=\"made\">How this was made</h2>\n<pre>{}</pre>\n<p>dpamatch {}. The numbers of every rank are in the CSV \
         files beside this page, all of them in <code>report.json</code>.</p>\n</body>\n</html>\n",
        escaped(command),
        crate::version::VERSION
    );
    out
}

/// The table without the rows and the column of single ranks, if it has rows for the application.
fn totals(mut table: Table) -> Table {
    let is_total = |row: &Vec<Cell>| row[0] == Cell::from(ALL);
    if table.rows.first().is_some_and(is_total) {
        table.rows.retain(is_total);
        return table.without(&["rank"]);
    }
    table
}

/// An SVG figure as part of a page, without its name space: pages do not need it, and it looks
/// like an external address.
fn inline(svg: &str) -> String {
    svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Bars};

    #[test]
    fn totals_stand_for_their_ranks() {
        let mut table = Table::new("traffic", "Messages", ["rank", "sends"]);
        table.push([ALL.into(), 3_u64.into()]);
        table.push(["0".into(), 1_u64.into()]);
        let all = totals(table);
        assert_eq!((all.columns, all.rows), (vec!["sends".to_owned()], vec![vec![3_u64.into()]]));
        let mut table = Table::new("lifetime", "View", ["bins"]);
        table.push([1_u64.into()]);
        assert_eq!(totals(table.clone()), table);
    }

    #[test]
    fn pictures_shrink_and_name_no_address() {
        let bars = Bars::new("b", "", Axis::linear("y"), ["<g>"]).with("s", [1.0]);
        let svg = Figure::new("f").with(bars).svg().expect("a picture");
        let inlined = inline(&svg);
        assert!(inlined.contains(" viewBox=\"0 0 ") && !inlined.contains("http"), "{inlined}");
        assert!(!inlined.contains("<g><") && inlined.contains("&lt;g&gt;"), "{inlined}");
    }
}
