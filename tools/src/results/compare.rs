//! Compares the figures of two documents.

use std::collections::HashMap;

use dpamatch_vocabulary::choices;
use serde_json::{Map, Value};

use super::direction::Better;
use super::document::{Document, Figure, Mismatch};
use super::rank_sum::{Interval, ratio};

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rule {
    /// Confidence of the intervals, 0 to 1.
    pub confidence: f64,
    /// Permitted worsening, as a part of a figure.
    pub threshold: f64,
}

choices! {
    /// What became of a figure, the most urgent first.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Verdict, by default NoChange {
        /// Differs, in the worse direction.
        Worse = "worse",
        /// Differs, without a better direction.
        Changed = "changed",
        /// Differs, in the better direction.
        Better = "better",
        /// Measured too few times.
        Unclear = "unclear",
        /// Equal, or the interval contains equality.
        NoChange = "no change",
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    pub table: String,
    pub of: String,
    pub figure: String,
    /// Value in the first document; a median if there are rounds.
    pub before: f64,
    pub after: f64,
    /// The second value over the first; `None` if either is 0.
    pub ratio: Option<f64>,
    /// The ratio's interval, if both documents have enough rounds.
    pub interval: Option<Interval>,
    pub verdict: Verdict,
    /// Whether it is worse by more than the threshold, for every ratio in the interval.
    pub beyond: bool,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Comparison {
    /// Common figures, in the order of the first document.
    pub changes: Vec<Change>,
    /// Number of figures with intervals, of which some seem to change by chance.
    pub with_intervals: usize,
    pub alone: [usize; 2],
    /// Other differences: name, value in the first, value in the second.
    pub differs: Vec<(String, String, String)>,
}

/// Options for the place or look of results.
const OUTPUT: [&str; 5] = ["format", "save", "out", "pairs", "wide"];

/// Compares documents of one command, row by row by their keys, figure by figure.
pub fn compare(before: &Document, after: &Document, rule: &Rule) -> Result<Comparison, Mismatch> {
    if before.command != after.command {
        return Err(Mismatch::Commands(
            before.command.clone(),
            after.command.clone(),
        ));
    }
    if before.tables.iter().all(|table| table.figures.is_empty()) {
        return Err(Mismatch::NoFigures(before.command.clone()));
    }
    let mut found = Comparison {
        differs: differs(before, after),
        ..Comparison::default()
    };
    for table in &before.tables {
        let mut others: HashMap<_, _> = numbered(after.rows(&table.name), &table.keys)
            .into_iter()
            .collect();
        for (key, row) in numbered(before.rows(&table.name), &table.keys) {
            let Some(other) = others.remove(&key) else {
                found.alone[0] += 1;
                continue;
            };
            for figure in &table.figures {
                let Some(change) = change(row, other, figure, rule) else {
                    continue;
                };
                let (table, of) = (table.name.clone(), key.0.clone());
                found.with_intervals += usize::from(change.interval.is_some());
                found.changes.push(Change {
                    table,
                    of,
                    ..change
                });
            }
        }
        found.alone[1] += others.len();
    }
    if found.changes.is_empty() {
        Err(Mismatch::NothingInCommon)
    } else {
        Ok(found)
    }
}

/// A row's description, its number among equal ones, and the row.
type NumberedRow<'a> = ((String, usize), &'a Map<String, Value>);

/// Rows by description; a number distinguishes equal ones.
fn numbered<'a>(
    rows: impl Iterator<Item = &'a Map<String, Value>>,
    keys: &[String],
) -> Vec<NumberedRow<'a>> {
    let mut seen = HashMap::<String, usize>::new();
    let number = |row: &'a Map<String, Value>| {
        let words = keys.iter().filter_map(|key| match row.get(key)? {
            Value::Null | Value::Bool(false) => None,
            Value::String(text) if text.is_empty() => None,
            Value::Bool(true) => Some(key.clone()),
            Value::String(text) => Some(text.clone()),
            // A number needs its key's name.
            other => Some(format!("{} {other}", key.replace('_', " "))),
        });
        let of = words.collect::<Vec<_>>().join(", ");
        let before = seen.entry(of.clone()).or_default();
        *before += 1;
        ((of, *before), row)
    };
    rows.map(number).collect()
}

fn change(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    figure: &Figure,
    rule: &Rule,
) -> Option<Change> {
    let number = |row: &Map<String, Value>| row.get(&figure.name).and_then(Value::as_f64);
    let (one, two) = (number(before)?, number(after)?);
    let rounds = |row: &Map<String, Value>| {
        let rounds = row.get(&format!("{}_rounds", figure.name))?.as_array()?;
        Some(
            rounds
                .iter()
                .filter_map(Value::as_f64)
                .collect::<Vec<f64>>(),
        )
    };
    let defined = one > 0.0 && two > 0.0;
    let mut change = Change {
        table: String::new(),
        of: String::new(),
        figure: figure.name.clone(),
        before: one,
        after: two,
        ratio: defined.then_some(two / one),
        interval: None,
        verdict: Verdict::NoChange,
        beyond: false,
    };
    let moved = |up: bool| match figure.better {
        None => Verdict::Changed,
        Some(Better::Higher) if up => Verdict::Better,
        Some(Better::Lower) if !up => Verdict::Better,
        Some(_) => Verdict::Worse,
    };
    let Some((first, second)) = rounds(before).zip(rounds(after)) else {
        // Counts and computed values: any difference is real.
        if one != two {
            change.verdict = moved(two > one);
            let beyond = |ratio: f64| worse_by(ratio, figure.better) > rule.threshold;
            change.beyond = change.verdict == Verdict::Worse && change.ratio.is_none_or(beyond);
        }
        return Some(change);
    };
    let positive = |rounds: &[f64]| rounds.iter().all(|&value| value > 0.0);
    let found = if positive(&first) && positive(&second) {
        ratio(&first, &second, rule.confidence)
    } else {
        Err(f64::NAN)
    };
    match found {
        Err(likely) => {
            change.ratio = Some(likely).filter(|likely| likely.is_finite());
            change.verdict = Verdict::Unclear;
        }
        Ok(interval) => {
            let Interval { low, likely, high } = interval;
            (change.ratio, change.interval) = (Some(likely), Some(interval));
            if low > 1.0 || high < 1.0 {
                change.verdict = moved(low > 1.0);
                let least = [low, high].map(|ratio| worse_by(ratio, figure.better));
                let least = least[0].min(least[1]);
                change.beyond = change.verdict == Verdict::Worse && least > rule.threshold;
            }
        }
    }
    Some(change)
}

/// Relative worsening of a figure; negative for an improvement.
fn worse_by(ratio: f64, better: Option<Better>) -> f64 {
    match better {
        Some(Better::Higher) => 1.0 - ratio,
        Some(Better::Lower) => ratio - 1.0,
        None => 0.0,
    }
}

fn differs(before: &Document, after: &Document) -> Vec<(String, String, String)> {
    let shown = |value: Option<&Value>| match value {
        None | Some(Value::Null) => "none".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let version = |document: &Document| match &document.commit {
        Some(commit) => format!("{} ({commit})", document.version),
        None => document.version.clone(),
    };
    let mut all = vec![("version".to_owned(), version(before), version(after))];
    for name in ["cpu_model", "processors"] {
        let of = |document: &Document| shown(document.machine.get(name));
        all.push((name.to_owned(), of(before), of(after)));
    }
    let mut names: Vec<&String> = before.options.keys().chain(after.options.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names
        .into_iter()
        .filter(|name| !OUTPUT.contains(&name.as_str()))
    {
        let of = |document: &Document| shown(document.options.get(name));
        all.push((name.clone(), of(before), of(after)));
    }
    all.retain(|(_, one, two)| one != two);
    all
}
