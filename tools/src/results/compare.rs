//! Which figures of two documents differ.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::direction::Better;
use super::document::{Document, Figure, Mismatch};
use super::rank_sum::{Interval, ratio};

/// When a difference is one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rule {
    /// Of the intervals, 0 to 1.
    pub confidence: f64,
    /// Part of a figure that it may be worse by without being called worse than is allowed.
    pub threshold: f64,
}

/// What became of a figure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Verdict {
    /// It got worse.
    Worse,
    /// It is another one, and nobody can say which is better.
    Changed,
    /// It got better.
    Better,
    /// It was measured too seldom to say.
    Unclear,
    /// It is the same, or the interval holds "the same".
    NoChange,
}

impl Verdict {
    /// All of them, the most urgent first.
    pub const ALL: [Self; 5] =
        [Self::Worse, Self::Changed, Self::Better, Self::Unclear, Self::NoChange];

    /// In a word or two.
    pub fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Changed => "changed",
            Self::Better => "better",
            Self::Unclear => "unclear",
            Self::NoChange => "no change",
        }
    }
}

/// A figure in both documents.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// The table.
    pub table: String,
    /// What the row is of.
    pub of: String,
    /// The figure's name.
    pub figure: String,
    /// In the first document; a median if there are rounds.
    pub before: f64,
    /// In the second.
    pub after: f64,
    /// How many times larger the second is; none of a figure that is 0 somewhere.
    pub ratio: Option<f64>,
    /// Its interval, if the figure was measured in enough rounds.
    pub interval: Option<Interval>,
    /// What became of it.
    pub verdict: Verdict,
    /// Worse, and by more than the threshold whatever in the interval is true.
    pub beyond: bool,
}

/// Two documents side by side.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Comparison {
    /// Figures in both, in the order of the first document.
    pub changes: Vec<Change>,
    /// How many of them were measured in rounds, so that some seem to move by chance.
    pub with_intervals: usize,
    /// Rows that only one of them has.
    pub alone: [usize; 2],
    /// What else differs: name, value in the first, value in the second.
    pub differs: Vec<(String, String, String)>,
}

/// Options that say where results go, or how they look.
const OUTPUT: [&str; 5] = ["format", "save", "out", "pairs", "wide"];

/// Compares documents of one command: rows with the same keys, figure by figure.
///
/// # Errors
/// [`Mismatch`].
pub fn compare(before: &Document, after: &Document, rule: &Rule) -> Result<Comparison, Mismatch> {
    if before.command != after.command {
        return Err(Mismatch::Commands(before.command.clone(), after.command.clone()));
    }
    if before.tables.iter().all(|table| table.figures.is_empty()) {
        return Err(Mismatch::NoFigures(before.command.clone()));
    }
    let mut found = Comparison { differs: differs(before, after), ..Comparison::default() };
    for table in &before.tables {
        let mut others: HashMap<_, _> =
            numbered(after.rows(&table.name), &table.keys).into_iter().collect();
        for (key, row) in numbered(before.rows(&table.name), &table.keys) {
            let Some(other) = others.remove(&key) else {
                found.alone[0] += 1;
                continue;
            };
            for figure in &table.figures {
                let Some(change) = change(row, other, figure, rule) else { continue };
                let (table, of) = (table.name.clone(), key.0.clone());
                found.with_intervals += usize::from(change.interval.is_some());
                found.changes.push(Change { table, of, ..change });
            }
        }
        found.alone[1] += others.len();
    }
    if found.changes.is_empty() { Err(Mismatch::NothingInCommon) } else { Ok(found) }
}

/// What a row is of, in words, and its number among equal ones; the row.
type NumberedRow<'a> = ((String, usize), &'a Map<String, Value>);

/// Rows by what they are of; equal ones are told apart by their number.
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
            // A number alone would not say what it is.
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
        Some(rounds.iter().filter_map(Value::as_f64).collect::<Vec<f64>>())
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
        // Counted, or computed without chance: any difference is one.
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

/// By which part of itself a figure got worse; negative if it got better.
fn worse_by(ratio: f64, better: Option<Better>) -> f64 {
    match better {
        Some(Better::Higher) => 1.0 - ratio,
        Some(Better::Lower) => ratio - 1.0,
        None => 0.0,
    }
}

/// Version, machine and options that are not the same.
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
    for name in names.into_iter().filter(|name| !OUTPUT.contains(&name.as_str())) {
        let of = |document: &Document| shown(document.options.get(name));
        all.push((name.clone(), of(before), of(after)));
    }
    all.retain(|(_, one, two)| one != two);
    all
}

#[cfg(test)]
mod tests;
