//! A report as one self-contained page: style, script and figures are parts of it.

use std::fmt::Write;

use indicatif::{HumanBytes, HumanCount};

use super::rank_classes::RANKS_TOLD;
use super::report::Report;
use super::tables::{ALL, by_rank, worst_ranks};
use crate::counted;
use crate::figure::Figure;
use crate::table::{Cell, Table, escaped};

/// Narrow screens scroll wide tables and figures and stack the advice. Page breaks split neither
/// figures nor rows. A dark page has dark figures.
const STYLE: &str = include_str!("report.css");
/// Sorts and folds.
const SCRIPT: &str = include_str!("report.js");

/// Tables that only the CSV files show: too many rows, or one for each column of a figure.
const NOT_SHOWN: [&str; 2] = ["advice", "depth"];
const WORDS: [&str; 6] = [
    "advice",
    "hints",
    "engines",
    "counters",
    "sites",
    "unmatched",
];
/// Rows of a table that begins folded.
const FOLDED: usize = 24;

/// What a command knows besides the report.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The report in words.
    pub summary: &'a str,
    /// The command line.
    pub command: &'a str,
    /// A section before the figures: its heading and tables.
    pub more: Option<(&'a str, &'a [Table])>,
    /// Heading of the report's own tables.
    pub tables: &'a str,
}

/// A part of a page that the list of contents names.
struct Part {
    id: String,
    title: String,
    body: String,
    parts: Vec<Self>,
}

impl Part {
    fn new(id: &str, title: &str, body: String) -> Self {
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
            body,
            parts: Vec::new(),
        }
    }

    /// A table that folds.
    fn table(prefix: &str, table: &Table) -> Self {
        let class = match table.name.as_str() {
            "advice" => "words advice",
            name if WORDS.contains(&name) => "words",
            _ => "numbers",
        };
        let notes = table
            .notes
            .iter()
            .map(|note| format!("<p>{}</p>\n", escaped(note)));
        let body = table.html(class) + &notes.collect::<String>();
        let open = if table.rows.len() > FOLDED {
            ""
        } else {
            " open"
        };
        let id = format!("{prefix}-{}", table.name);
        let title = escaped(&table.title);
        let body = format!(
            "<details id=\"{id}\"{open}><summary><h3>{title}</h3></summary>\n{body}</details>\n"
        );
        Self::new(&id, &table.title, body)
    }

    fn figure(name: &str, figure: &Figure) -> Option<Self> {
        let picture = figure.inline()?;
        let body = format!("<figure id=\"{name}\">\n{picture}</figure>\n");
        Some(Self::new(name, &figure.title, body))
    }

    fn with(mut self, parts: impl IntoIterator<Item = Self>) -> Self {
        self.parts.extend(parts);
        self
    }

    fn contents(parts: &[Self]) -> String {
        let entry = |part: &Self| {
            let inner = if part.parts.is_empty() {
                String::new()
            } else {
                Self::contents(&part.parts)
            };
            format!(
                "<li><a href=\"#{}\">{}</a>{inner}</li>\n",
                part.id,
                escaped(&part.title)
            )
        };
        format!(
            "<ol>\n{}</ol>\n",
            parts.iter().map(entry).collect::<String>()
        )
    }

    fn section(&self) -> String {
        let parts: String = self.parts.iter().map(|part| part.body.as_str()).collect();
        let title = escaped(&self.title);
        format!("<h2 id=\"{}\">{title}</h2>\n{}{parts}", self.id, self.body)
    }
}

/// The page of an application: its main numbers, the advice, figures and tables. Equal reports give
/// equal bytes.
pub fn page(report: &Report, figures: &[(&str, Figure)], context: &Context<'_>) -> String {
    let tables = by_rank(report);
    let advice = tables
        .iter()
        .find(|table| table.name == "advice" && !table.rows.is_empty());
    let advice = advice
        .map(|table| table.html("words advice"))
        .unwrap_or_default();
    let figures = figures
        .iter()
        .filter_map(|(name, figure)| Part::figure(name, figure));
    let shown = |table: &Table| !table.rows.is_empty() && !NOT_SHOWN.contains(&&*table.name);
    let own = std::iter::once(worst_ranks(report)).chain(tables.into_iter().map(totals));
    let own: Vec<_> = own
        .filter(shown)
        .map(|table| Part::table("table", &table))
        .collect();
    let more = context.more.map(|(title, tables)| {
        let tables = tables
            .iter()
            .filter(|table| !table.rows.is_empty() || !table.notes.is_empty());
        let tables = tables.map(|table| Part::table("more", table));
        Part::new("more", title, String::new()).with(tables)
    });
    let files = match report.ranks_left_out {
        0 => "The numbers of every rank are in the CSV files beside this page, all of them in \
              <code>report.json</code>."
            .to_owned(),
        left_out => format!(
            "The CSV files beside this page and <code>report.json</code> have the numbers of the \
             {RANKS_TOLD} ranks with the most unexpected messages, without {}. \
             <code>--matches</code> writes the matches of all ranks.",
            counted(left_out, "other rank")
        ),
    };
    let made = format!(
        "<pre>{}</pre>\n<p>dpamatch {}. {files}</p>\n",
        escaped(context.command),
        crate::version::VERSION
    );
    let summary = format!("<pre>{}</pre>\n", escaped(context.summary));
    let first = [
        Part::new("advice", "Advice", advice),
        Part::new("summary", "Summary", summary),
    ];
    let last = [
        Part::new("figures", "Figures", String::new()).with(figures),
        Part::new("tables", context.tables, String::new()).with(own),
        Part::new("made", "How this was made", made),
    ];
    let parts: Vec<Part> = first.into_iter().chain(more).chain(last).collect();

    let name = escaped(&report.name);
    let sections: String = parts.iter().map(Part::section).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Matching of {name}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>Matching of {name}</h1>\n{}<nav aria-label=\"Contents\">\n{}</nav>\n\
         <p><button data-open=\"true\" hidden>Open all tables</button> \
         <button data-open=\"false\" hidden>Fold all tables</button></p>\n\
         {sections}<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        tiles(report),
        Part::contents(&parts),
    )
}

/// The numbers that most readers want first.
fn tiles(report: &Report) -> String {
    let all = &report.application;
    let (traffic, needs) = (&all.traffic, &all.needs);
    let share = |part: u64, all: u64| match all {
        0 => "-".to_owned(),
        all => format!("{:.1} %", 100.0 * part as f64 / all as f64),
    };
    let mut tiles = vec![
        (
            "Ranks",
            report.ranks.len().to_string(),
            format!("of {}", report.processes),
        ),
        (
            "Messages",
            HumanCount(traffic.messages()).to_string(),
            format!("{} sent", HumanBytes(traffic.bytes_sent)),
        ),
        (
            "Unexpected messages",
            share(traffic.unexpected, traffic.messages()),
            format!(
                "{} before their receive in this order{}",
                HumanCount(traffic.unexpected),
                report
                    .unexpected_by_order
                    .words()
                    .map_or(String::new(), |range| format!("; {range}"))
            ),
        ),
        (
            "Receives with a wildcard",
            share(traffic.wildcards(), traffic.all_receives()),
            format!(
                "{} of {}",
                HumanCount(traffic.wildcards()),
                HumanCount(traffic.all_receives())
            ),
        ),
        (
            "Longest queues",
            HumanCount(needs.descriptors).to_string(),
            format!(
                "posted receives; {}",
                counted(HumanCount(needs.unexpected), "unexpected message")
            ),
        ),
    ];
    if let Some(block) = all.blocks.last() {
        tiles.push((
            "On the fast or slow path",
            share(block.fast + block.slow, block.messages),
            format!("with {}", counted(block.handlers, "handler")),
        ));
    }
    tiles.push(match &needs.fallback {
        None => ("Fits the NIC", "yes".to_owned(), String::new()),
        Some(first) => {
            let what = first.shortage.option().1;
            (
                "Fits the NIC",
                "no".to_owned(),
                format!("rank {} runs out of {what}", first.rank),
            )
        }
    });
    // The share `% of run` of the table of times is of the same length.
    let length_ns = report.ranks.iter().map(|it| it.totals.run_ns).max();
    if let Some(ns @ 1..) = length_ns {
        tiles.push((
            "Length of the run",
            format!("{:.1} ms", ns as f64 / 1e6),
            "of the slowest rank, from its first call to its last".to_owned(),
        ));
    }
    let mut out = "<dl class=\"tiles\">\n".to_owned();
    for (what, value, more) in tiles {
        // Writing into memory cannot fail.
        let _ = write!(out, "<div><dt>{what}</dt><dd>{value}</dd>");
        out += &if more.is_empty() {
            String::new()
        } else {
            format!("<dd>{more}</dd>")
        };
        out += "</div>\n";
    }
    out + "</dl>\n"
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_stand_for_their_ranks() {
        let mut table = Table::new("traffic", "Messages", ["rank", "sends"]);
        table.push([ALL.into(), 3_u64.into()]);
        table.push(["0".into(), 1_u64.into()]);
        let all = totals(table);
        assert_eq!(
            (all.columns, all.rows),
            (vec!["sends".to_owned()], vec![vec![3_u64.into()]])
        );
        let mut table = Table::new("lifetime", "View", ["bins"]);
        table.push([1_u64.into()]);
        assert_eq!(totals(table.clone()), table);
    }

    #[test]
    fn long_tables_begin_folded() {
        let body = |rows| {
            let mut table = Table::new("ranks", "<Ranks>", ["rank"]).note("<note>");
            (0..rows as u64).for_each(|row| table.push([row.into()]));
            Part::table("table", &table).body
        };
        let open = "<details id=\"table-ranks\" open><summary><h3>&lt;Ranks&gt;</h3></summary>";
        assert!(body(FOLDED).starts_with(open), "{}", body(FOLDED));
        assert!(body(FOLDED + 1).starts_with("<details id=\"table-ranks\"><summary>"));
        assert!(
            body(1).ends_with("<p>&lt;note&gt;</p>\n</details>\n"),
            "{}",
            body(1)
        );
    }
}
