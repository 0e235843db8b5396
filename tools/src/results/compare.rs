//! Compares the figures of two documents.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use dpamatch_vocabulary::choices;
use serde_json::{Map, Value};

use super::direction::Better;
use super::document::{Descriptor, Document, Figure, Mismatch};
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
    /// The rows differ in their placement, which may be the cause of the change.
    pub over_placements: bool,
    /// Whether it is worse by more than the threshold, for every ratio in the interval.
    pub beyond: bool,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Comparison {
    /// Common figures, in the order of the first document.
    pub changes: Vec<Change>,
    /// Number of figures with intervals, of which some seem to change by chance.
    pub with_intervals: usize,
    /// Rows that only the first or only the second document has.
    pub alone: [usize; 2],
    /// Those of them that the other document has with another placement, where it is compared
    /// already.
    pub elsewhere: [usize; 2],
    /// Figures of compared rows that have a value in the first document only, or in the second.
    pub valueless: [usize; 2],
    /// Pairs of rows of different placements, with both placements.
    pub over_placements: BTreeMap<[String; 2], usize>,
    /// Other differences: name, value in the first, value in the second.
    pub differs: Vec<(String, String, String)>,
}

/// Options for the place or look of results.
const OUTPUT: [&str; 5] = ["format", "save", "out", "pairs", "wide"];

/// The key of a row that says where it was measured.
const PLACEMENT: &str = "placement";

impl Comparison {
    /// Whether a change of any figure would be noticed: one has a verdict that is not unclear, and
    /// is of one placement.
    pub fn decides(&self) -> bool {
        let decides =
            |change: &Change| !change.over_placements && change.verdict != Verdict::Unclear;
        self.changes.iter().any(decides)
    }
}

/// Compares documents of one command, row by row by their keys, figure by figure. A row whose
/// placement the other document does not have is compared with its first row of another placement.
///
/// # Errors
/// [`Mismatch`] if nothing can be compared.
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
    let of_both = |table: &&Descriptor| before.tables.iter().any(|held| held.name == table.name);
    for table in after.tables.iter().filter(|table| !of_both(table)) {
        found.alone[1] += after.rows(&table.name).count();
    }
    for table in &before.tables {
        let theirs = after.tables.iter().find(|held| held.name == table.name);
        let theirs = theirs.map_or(&[][..], |held| &held.figures);
        let ours = |figure: &&Figure| table.figures.iter().any(|held| held.name == figure.name);
        let more = theirs.iter().filter(|figure| !ours(figure));
        for pair in pairs(before, after, table, &mut found) {
            for figure in table.figures.iter().chain(more.clone()) {
                match change(&pair, figure, rule) {
                    Compared::Change(change) => {
                        found.with_intervals += usize::from(change.interval.is_some());
                        let table = table.name.clone();
                        found.changes.push(Change { table, ..*change });
                    }
                    Compared::Alone(document) => found.valueless[document] += 1,
                    Compared::Neither => {}
                }
            }
        }
    }
    if found.changes.is_empty() {
        Err(Mismatch::NothingInCommon)
    } else {
        Ok(found)
    }
}

/// Rows to compare.
struct Pair<'a> {
    of: String,
    rows: [&'a Map<String, Value>; 2],
    over_placements: bool,
}

/// The pairs of a table's rows, in the order of the first document. Notes the other rows.
fn pairs<'a>(
    before: &'a Document,
    after: &'a Document,
    table: &Descriptor,
    found: &mut Comparison,
) -> Vec<Pair<'a>> {
    let first = numbered(before.rows(&table.name), &table.keys);
    let second = numbered(after.rows(&table.name), &table.keys);
    let anywhere: Vec<String> = table
        .keys
        .iter()
        .filter(|&key| key != PLACEMENT)
        .cloned()
        .collect();
    let described = |row: &Map<String, Value>| description(row, &anywhere);
    let has_places = anywhere.len() < table.keys.len();
    let mut others: HashMap<_, _> = second.iter().cloned().collect();
    let exact: Vec<_> = first.iter().map(|(key, _)| others.remove(key)).collect();
    let mut left = HashMap::<String, VecDeque<_>>::new();
    for (_, row) in second.iter().filter(|(key, _)| others.contains_key(key)) {
        left.entry(described(row)).or_default().push_back(*row);
    }
    let mut pairs = Vec::new();
    let mut alone = Vec::new();
    for (((of, _), row), other) in first.iter().zip(exact) {
        if let Some(other) = other {
            pairs.push(Pair {
                of: of.clone(),
                rows: [row, other],
                over_placements: false,
            });
            continue;
        }
        let like = left.get_mut(&described(row)).filter(|_| has_places);
        let Some(other) = like.and_then(VecDeque::pop_front) else {
            alone.push(*row);
            continue;
        };
        let places = [*row, other].map(|row| shown(row.get(PLACEMENT)));
        let of = format!("{}, then {}, {}", places[0], places[1], described(row));
        *found.over_placements.entry(places).or_default() += 1;
        pairs.push(Pair {
            of,
            rows: [row, other],
            over_placements: true,
        });
    }
    let left = left.into_values().flatten().collect();
    for (document, (alone, theirs)) in [(alone, &second), (left, &first)].into_iter().enumerate() {
        let theirs: HashSet<String> = theirs.iter().map(|(_, row)| described(row)).collect();
        let elsewhere = |row: &&Map<String, Value>| has_places && theirs.contains(&described(row));
        found.alone[document] += alone.len();
        found.elsewhere[document] += alone.into_iter().filter(elsewhere).count();
    }
    pairs
}

/// The values of a row's keys.
fn description(row: &Map<String, Value>, keys: &[String]) -> String {
    let words = keys.iter().filter_map(|key| match row.get(key)? {
        Value::Null | Value::Bool(false) => None,
        Value::String(text) if text.is_empty() => None,
        Value::Bool(true) => Some(key.clone()),
        Value::String(text) => Some(text.clone()),
        // A number needs its key's name.
        other => Some(format!("{} {other}", key.replace('_', " "))),
    });
    words.collect::<Vec<_>>().join(", ")
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
        let of = description(row, keys);
        let before = seen.entry(of.clone()).or_default();
        *before += 1;
        ((of, *before), row)
    };
    rows.map(number).collect()
}

/// What a figure of two rows shows.
enum Compared {
    Change(Box<Change>),
    /// Only the first row, 0, or only the second, 1, has a value.
    Alone(usize),
    Neither,
}

fn change(pair: &Pair<'_>, figure: &Figure, rule: &Rule) -> Compared {
    let [before, after] = pair.rows;
    let number = |row: &Map<String, Value>| row.get(&figure.name).and_then(Value::as_f64);
    let (one, two) = match (number(before), number(after)) {
        (Some(one), Some(two)) => (one, two),
        (Some(_), None) => return Compared::Alone(0),
        (None, Some(_)) => return Compared::Alone(1),
        (None, None) => return Compared::Neither,
    };
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
        of: pair.of.clone(),
        over_placements: pair.over_placements,
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
        return Compared::Change(Box::new(change));
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
    change.beyond &= !change.over_placements;
    Compared::Change(Box::new(change))
}

/// Relative worsening of a figure; negative for an improvement.
fn worse_by(ratio: f64, better: Option<Better>) -> f64 {
    match better {
        Some(Better::Higher) => 1.0 - ratio,
        Some(Better::Lower) => ratio - 1.0,
        None => 0.0,
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "none".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn differs(before: &Document, after: &Document) -> Vec<(String, String, String)> {
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
