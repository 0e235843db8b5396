use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use dpamatch_tools::counted;
use dpamatch_tools::results::{Change, Comparison, Document, Interval, Rule, Verdict, compare};
use dpamatch_tools::table::{Cell, Table};

use super::document;
use super::table::{Format, Wide, text};
use super::{BadInput, output};

/// Show what changed between two results of bench, analyze, predict or compare.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/diff.txt").trim_end())]
pub(super) struct Args {
    /// Results before, from --save or --format json
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// Results after
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// Per cent by which a figure may be worse before the exit code is 1
    #[arg(
        long,
        value_name = "PERCENT",
        default_value_t = 5.0,
        value_parser = |text: &str| percent(text, 0)
    )]
    threshold: f64,
    /// Confidence of the intervals in per cent
    #[arg(
        long,
        value_name = "PERCENT",
        default_value_t = 95.0,
        value_parser = |text: &str| percent(text, 50)
    )]
    confidence: f64,
    /// Also show the figures that did not change
    #[arg(long)]
    all: bool,
    /// Form of the results; other forms than the table have all figures
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    wide: Wide,
}

/// Parses a percentage from `least` to less than 100.
fn percent(text: &str, least: u8) -> Result<f64, String> {
    match text.parse() {
        Ok(percent) if (f64::from(least)..100.0).contains(&percent) => Ok(percent),
        _ => Err(format!("a number from {least} to less than 100 is needed")),
    }
}

/// Figures are worse by more than the threshold: exit code 1.
#[derive(Debug, thiserror::Error)]
#[error(
    "worse by more than {threshold} %: {count} of {}",
    counted(all, "figure")
)]
struct Worse {
    count: usize,
    all: usize,
    threshold: f64,
}

fn read(path: &Path) -> anyhow::Result<Document> {
    let text = super::input::text(path)?;
    Document::parse(&text).map_err(|error| BadInput(format!("{}: {error}", path.display())).into())
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    let rule = Rule {
        confidence: args.confidence / 100.0,
        threshold: args.threshold / 100.0,
    };
    let found =
        compare(&before, &after, &rule).map_err(|mismatch| BadInput(mismatch.to_string()))?;
    let mut out = output::stdout();
    match args.format {
        Format::Json => document::write(&mut *out, &whole(&found))?,
        Format::Csv => write!(out, "{}", table(&found).csv())?,
        Format::Table => {
            let shown = words(&found, args.confidence)
                .into_iter()
                .fold(shown(&found, args.all), Table::note);
            write!(out, "{}", text(&shown, args.wide.width()))?;
        }
    }
    out.flush().context("standard output")?;
    let count = found.changes.iter().filter(|change| change.beyond).count();
    match count {
        0 if !found.decides() => Err(BadInput(
            "nothing could be compared: each figure is unclear or of two placements".to_owned(),
        )
        .into()),
        0 => Ok(()),
        _ => Err(Worse {
            count,
            all: found.changes.len(),
            threshold: args.threshold,
        }
        .into()),
    }
}

fn percent_of(ratio: f64) -> f64 {
    100.0 * (ratio - 1.0)
}

fn cells(change: &Change) -> [Cell; 6] {
    let end = |pick: fn(Interval) -> f64| {
        Cell::from(change.interval.map(|interval| percent_of(pick(interval))))
    };
    [
        number(change.before),
        number(change.after),
        change.ratio.map(percent_of).into(),
        end(|interval| interval.low),
        end(|interval| interval.high),
        change.verdict.name().into(),
    ]
}

fn table(found: &Comparison) -> Table {
    let columns = [
        "table", "row", "figure", "before", "after", "change %", "from %", "to %", "verdict",
    ];
    let mut table = Table::new("changes", title(found), columns).keyed(3);
    for change in &found.changes {
        let keys = [&change.table, &change.of, &change.figure].map(|key| Cell::from(key.as_str()));
        table.push(keys.into_iter().chain(cells(change)));
    }
    table
}

/// Changed or all figures, for people: worst first, long columns at the right.
fn shown(found: &Comparison, all: bool) -> Table {
    let columns = [
        "verdict", "figure", "before", "after", "change %", "from %", "to %", "of",
    ];
    let shown =
        |change: &&Change| all || !matches!(change.verdict, Verdict::NoChange | Verdict::Unclear);
    let mut shown: Vec<&Change> = found.changes.iter().filter(shown).collect();
    if !all {
        shown.sort_by_key(|change| (!change.beyond, change.verdict));
    }
    let mut table = Table::new("changes", title(found), columns).extra(["before", "after"]);
    for change in shown {
        let [before, after, moved, from, to, verdict] = cells(change);
        let of = format!("{}: {}", change.table, change.of);
        let row = [
            verdict,
            change.figure.as_str().into(),
            before,
            after,
            moved,
            from,
            to,
        ];
        table.push(row.into_iter().chain([of.into()]));
    }
    table
}

/// Counts have no decimal point.
fn number(value: f64) -> Cell {
    if value.fract() == 0.0 && (0.0..1e15).contains(&value) {
        Cell::Count(value as u64)
    } else {
        Cell::Real(value)
    }
}

fn title(found: &Comparison) -> String {
    let all = found.changes.len();
    let of = |verdict: Verdict| {
        found
            .changes
            .iter()
            .filter(|it| it.verdict == verdict)
            .count()
    };
    if of(Verdict::NoChange) == all {
        return format!("No change: {} compared.", counted(all, "figure"));
    }
    let parts = Verdict::ALL.iter().filter(|&&verdict| of(verdict) > 0);
    let parts: Vec<_> = parts
        .map(|&verdict| format!("{} {}", of(verdict), verdict.name()))
        .collect();
    format!("{} compared: {}.", counted(all, "figure"), parts.join(", "))
}

fn words(found: &Comparison, confidence: f64) -> Vec<String> {
    let mut words = Vec::new();
    for (name, before, after) in &found.differs {
        words.push(format!("{name}: {before}, then {after}"));
    }
    for (places, count) in &found.over_placements {
        words.push(format!(
            "{} measured {}, then {}: the change may come from the placement, so the threshold does \
             not hold for {}",
            counted(*count, "row"),
            places[0],
            places[1],
            if *count == 1 { "it" } else { "them" },
        ));
    }
    let [before, after] = found.alone;
    if before + after > 0 {
        let before = counted(before, "row");
        let elsewhere = found.elsewhere.iter().sum::<usize>();
        let elsewhere = match elsewhere {
            0 => String::new(),
            _ => format!("; {elsewhere} of them for another placement"),
        };
        words.push(format!(
            "not compared: {before} only before, {after} only after{elsewhere}"
        ));
    }
    let [before, after] = found.valueless;
    if before + after > 0 {
        let before = counted(before, "figure");
        words.push(format!(
            "not compared: {before} with a value only before, {after} only after"
        ));
    }
    let moved = |change: &&Change| change.interval.is_some() && change.verdict != Verdict::NoChange;
    let moved = found.changes.iter().filter(moved).count();
    if moved > 0 {
        let by_chance = found.with_intervals as f64 * (1.0 - confidence / 100.0);
        words.push(format!(
            "{moved} of {} with intervals moved; by chance alone about {by_chance:.1} would",
            counted(found.with_intervals, "figure")
        ));
    }
    if found
        .changes
        .iter()
        .any(|change| change.verdict == Verdict::Unclear)
    {
        words.push("unclear: too few rounds, see bench --rounds".to_owned());
    }
    words
}

fn whole(found: &Comparison) -> serde_json::Value {
    let differs = |(name, before, after): &(String, String, String)| serde_json::json!({ "name": name, "before": before, "after": after });
    let count = |verdict: Verdict| {
        let count = found
            .changes
            .iter()
            .filter(|change| change.verdict == verdict)
            .count();
        (verdict.name().replace(' ', "_"), count)
    };
    let [before, after] = found.alone;
    let more = serde_json::json!({
        "verdicts": Verdict::ALL.iter().copied().map(count).collect::<std::collections::BTreeMap<_, _>>(),
        "worse_beyond_threshold": found.changes.iter().filter(|change| change.beyond).count(),
        "rows_only_before": before,
        "rows_only_after": after,
        "rows_of_another_placement": found.elsewhere,
        "rows_over_placements": found
            .over_placements
            .iter()
            .map(|([before, after], rows)| serde_json::json!({ "before": before, "after": after, "rows": rows }))
            .collect::<Vec<_>>(),
        "figures_only_before": found.valueless[0],
        "figures_only_after": found.valueless[1],
        "differs": found.differs.iter().map(differs).collect::<Vec<_>>(),
    });
    document::of_tables(&[&table(found)], document::members(more))
}
