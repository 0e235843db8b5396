//! Puts the documents of shards together: the document of the whole work.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use dpamatch_explore::{Report, Shard};
use dpamatch_tools::counted;
use serde_json::{Map, Value, json};

use super::document::{self, Save};
use super::{BadInput, Violated, explore, output};

/// Put the results of all shards of a command together.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/merge.txt").trim_end())]
pub(super) struct Args {
    /// Results of all shards, in any order, from --format json or --save
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    save: Save,
}

/// In a shard of `compare`, the number of tables of each of its experiments.
pub const TABLES_OF_EXPERIMENTS: &str = "tables_of_experiments";

/// Options that may differ: for the place or look of results, and the shard itself.
const FREE: [&str; 5] = ["format", "out", "save", "shard", "wide"];

/// A shard's document, and where it came from.
struct Part<'a> {
    path: &'a Path,
    shard: Shard,
    document: Map<String, Value>,
}

impl Part<'_> {
    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let parts: Result<Vec<_>, _> = args.files.iter().map(|path| read(path)).collect();
    let merged = merge(parts?).map_err(BadInput)?;
    let is_violated = merged["command"] == "explore" && merged["results"]["violations"] != json!(0);
    args.save.write(|| merged.clone())?;
    let mut out = output::stdout();
    document::write(&mut *out, &merged)?;
    out.flush()?;
    if is_violated {
        return Err(Violated.into());
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Part<'_>> {
    let wrong = |what: &dyn std::fmt::Display| BadInput(format!("{}: {what}", path.display()));
    let text = super::input::text(path)?;
    // Checks the form; all members are kept.
    dpamatch_tools::results::Document::parse(&text).map_err(|error| wrong(&error))?;
    let document: Map<String, Value> =
        serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    let shard = document
        .get("options")
        .and_then(|options| options.get("shard"));
    let shard = shard.and_then(Value::as_str).map(str::parse::<Shard>);
    match shard {
        Some(Ok(shard)) => Ok(Part {
            path,
            shard,
            document,
        }),
        Some(Err(error)) => Err(wrong(&format!("option shard: {error}")).into()),
        None => Err(wrong(&"is no shard: it was made without --shard").into()),
    }
}

/// The document of the whole work.
///
/// # Errors
/// Parts of different works, twice the same part, or not all parts.
fn merge(mut parts: Vec<Part<'_>>) -> Result<Value, String> {
    parts.sort_by_key(|part| part.shard.index);
    for pair in parts.windows(2) {
        let [one, other] = pair else { continue };
        alike(one, other)?;
        if one.shard == other.shard {
            let (one, other, shard) = (one.name(), other.name(), one.shard);
            return Err(format!("{one} and {other} are both shard {shard}"));
        }
    }
    let Some(first) = parts.first() else {
        return Err("no shards".to_owned());
    };
    let of = first.shard.of;
    let there = |index: &u64| {
        parts
            .binary_search_by_key(index, |part| part.shard.index)
            .is_ok()
    };
    let missing: Vec<u64> = (1..=of).filter(|index| !there(index)).take(9).collect();
    if let Some((last, others)) = missing.split_last() {
        let more = of - parts.len() as u64;
        let mut names: Vec<String> = others.iter().map(u64::to_string).collect();
        names.push(last.to_string());
        let rest = match more - missing.len() as u64 {
            0 => String::new(),
            rest => format!(" and {rest} more"),
        };
        let are = if more == 1 { "is" } else { "are" };
        let shards = if more == 1 { "shard" } else { "shards" };
        return Err(format!(
            "{shards} {}{rest} of {of} {are} missing",
            names.join(", ")
        ));
    }
    let mut whole = first.document.clone();
    if whole["command"] == "explore" {
        let results = parts.iter().map(|part| part.document.get("results"));
        let results: Option<Vec<_>> = results.map(|it| it.and_then(Value::as_object)).collect();
        let results = results.ok_or("results are no object")?;
        whole.insert("results".to_owned(), explored(&results, &whole)?.into());
    } else if whole["command"] == "compare" {
        let (tables, results) = experiments(&parts)?;
        whole.insert("tables".to_owned(), tables);
        whole.insert("results".to_owned(), results);
    } else {
        let (tables, results) = tables(&parts)?;
        whole.insert("tables".to_owned(), tables);
        whole.insert("results".to_owned(), results);
    }
    if let Some(options) = whole.get_mut("options").and_then(Value::as_object_mut) {
        for option in ["shard", "save", "out"] {
            if let Some(value) = options.get_mut(option) {
                *value = Value::Null;
            }
        }
    }
    let line = whole["command_line"].as_str().unwrap_or_default();
    let line = without(line, &first.shard.to_string());
    whole.insert("command_line".to_owned(), line.into());
    Ok(whole.into())
}

/// The command line without its shard.
fn without(line: &str, shard: &str) -> String {
    [format!(" --shard {shard}"), format!(" --shard={shard}")]
        .iter()
        .fold(line.to_owned(), |line, words| line.replacen(words, "", 1))
}

/// # Errors
/// They are no shards of the same work.
fn alike(one: &Part<'_>, other: &Part<'_>) -> Result<(), String> {
    let names = format!("{} and {}", one.name(), other.name());
    let member = |part: &Part<'_>, name: &str| part.document.get(name).cloned().unwrap_or_default();
    let unlike = |what: &str, one: &Value, other: &Value| {
        Err(format!("{names} are unlike: {what} {one} and {other}"))
    };
    for name in ["command", "version", "commit", "modified", "seed"] {
        let (one, other) = (member(one, name), member(other, name));
        if one != other {
            return unlike(name, &one, &other);
        }
    }
    let (ours, theirs) = (member(one, "options"), member(other, "options"));
    let names_of = |value: &Value| {
        let members = value.as_object();
        members.map_or(Vec::new(), |it| it.keys().cloned().collect())
    };
    for name in names_of(&ours).into_iter().chain(names_of(&theirs)) {
        if !FREE.contains(&name.as_str()) && ours.get(&name) != theirs.get(&name) {
            let (one, other) = (&ours[&name], &theirs[&name]);
            return unlike(&format!("option {name}"), one, other);
        }
    }
    if one.shard.of != other.shard.of {
        let (one, other) = (one.shard, other.shard);
        return Err(format!(
            "{names} are of different splits: {one} and {other}"
        ));
    }
    Ok(())
}

fn list<'a>(part: &'a Part<'_>, member: &str) -> &'a [Value] {
    part.document
        .get(member)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// # Errors
/// A part with `len` things has not every n-th of all `count`. `found` is what it has in words.
fn every_nth(part: &Part<'_>, found: &str, len: usize, count: usize) -> Result<(), String> {
    let Shard { index, of: parts } = part.shard;
    let due = (count as u64 + parts - index) / parts;
    if len as u64 == due {
        return Ok(());
    }
    let (name, shard) = (part.name(), part.shard);
    Err(format!(
        "{name} has {found}, where shard {shard} of {count} has {due}"
    ))
}

/// The tables and results of all experiments in the order of the whole: each part has every n-th
/// experiment.
fn experiments(parts: &[Part<'_>]) -> Result<(Value, Value), String> {
    let members = |part: &Part<'_>| {
        let results = part.document.get("results").and_then(Value::as_object);
        results.cloned().unwrap_or_default()
    };
    let names = |part: &Part<'_>| {
        let names = members(part).get("experiments").cloned();
        names
            .and_then(|it| it.as_array().cloned())
            .unwrap_or_default()
    };
    let all: Vec<Vec<Value>> = parts.iter().map(names).collect();
    let count = all.iter().map(Vec::len).sum();
    for (part, names) in parts.iter().zip(&all) {
        let found = counted(names.len(), "experiment");
        every_nth(part, &found, names.len(), count)?;
    }
    let mut tables = Vec::new();
    let mut results = Map::new();
    let mut shared: Option<Map<String, Value>> = None;
    // What is left of each part: its tables and its results.
    let mut left = Vec::new();
    for (part, names) in parts.iter().zip(&all) {
        let mut members = members(part);
        let sizes = members.remove(TABLES_OF_EXPERIMENTS);
        let sizes = sizes.as_ref().and_then(Value::as_array);
        let sizes = sizes.map_or_else(Vec::new, |sizes| {
            sizes.iter().filter_map(Value::as_u64).collect()
        });
        let own = list(part, "tables");
        if sizes.len() != names.len() || sizes.iter().sum::<u64>() != own.len() as u64 {
            let name = part.name();
            return Err(format!(
                "{name} has other tables than {TABLES_OF_EXPERIMENTS} says"
            ));
        }
        left.push((own.iter(), sizes.into_iter(), members));
    }
    for at in 0..count {
        let place = at % parts.len();
        let (tables_left, sizes, members) = &mut left[place];
        for _ in 0..sizes.next().unwrap_or(0) {
            let Some(table) = tables_left.next() else {
                break;
            };
            let name = table["name"].as_str().unwrap_or_default().to_owned();
            let rows = members.remove(&name).unwrap_or_default();
            if results.insert(name.clone(), rows).is_some() {
                return Err(format!("{} has another table {name}", parts[place].name()));
            }
            tables.push(table.clone());
        }
    }
    let names = (0..count).map(|at| all[at % parts.len()][at / parts.len()].clone());
    let names: Value = names.collect();
    // Beside their tables all parts say the same.
    for (part, (_, _, mut members)) in parts.iter().zip(left) {
        members.insert("experiments".to_owned(), names.clone());
        if shared.get_or_insert_with(|| members.clone()) != &members {
            let first = parts.first().map(Part::name).unwrap_or_default();
            return Err(format!("{first} and {} are unlike: results", part.name()));
        }
    }
    results.extend(shared.unwrap_or_default());
    Ok((tables.into(), results.into()))
}

/// Tables with the rows of all parts in the order of the whole: each part has every n-th row.
fn tables(parts: &[Part<'_>]) -> Result<(Value, Value), String> {
    let mut tables: Vec<Value> = Vec::new();
    let mut results = Map::new();
    let Some(first) = parts.first() else {
        return Err("no shards".to_owned());
    };
    for table in list(first, "tables") {
        let name = table["name"].as_str().unwrap_or_default();
        let mut whole = table.clone();
        let mut figures: Vec<Value> = Vec::new();
        let mut rows: Vec<std::slice::Iter<'_, Value>> = Vec::new();
        for part in parts {
            let theirs = list(part, "tables").iter().find(|it| it["name"] == name);
            let theirs = theirs.ok_or_else(|| format!("{} has no table {name}", part.name()))?;
            for member in ["title", "notes", "keys"] {
                if theirs[member] != table[member] {
                    let (one, other) = (&table[member], &theirs[member]);
                    let names = format!("{} and {}", first.name(), part.name());
                    return Err(format!(
                        "{names} are unlike: {member} of {name}: {one} and {other}"
                    ));
                }
            }
            join(
                &mut figures,
                theirs["figures"].as_array().map_or(&[], Vec::as_slice),
            );
            let found = part.document["results"].get(name).and_then(Value::as_array);
            rows.push(found.map_or(&[][..], Vec::as_slice).iter());
        }
        let count: usize = rows.iter().map(ExactSizeIterator::len).sum();
        for (part, rows) in parts.iter().zip(&rows) {
            let found = format!("{} of {name}", counted(rows.len(), "row"));
            every_nth(part, &found, rows.len(), count)?;
        }
        let next = |row: usize| {
            let at = row % rows.len();
            rows[at].next().cloned()
        };
        let all: Vec<Value> = (0..count).filter_map(next).collect();
        whole["figures"] = figures.into();
        results.insert(name.to_owned(), all.into());
        tables.push(whole);
    }
    Ok((tables.into(), results.into()))
}

/// Adds figures that are not there, each behind the one before it.
fn join(all: &mut Vec<Value>, more: &[Value]) {
    let mut at = 0;
    for figure in more {
        match all.iter().position(|held| held["name"] == figure["name"]) {
            Some(place) => at = place + 1,
            None => {
                all.insert(at, figure.clone());
                at += 1;
            }
        }
    }
}

/// Counts of the schedules of one number of preemptions.
#[derive(Debug, Default)]
struct Counts {
    numbers: BTreeMap<&'static str, u64>,
    steps_max: u64,
    cut_short: bool,
    paths: BTreeMap<String, u64>,
    violation: Value,
}

const NUMBERS: [&str; 6] = [
    "schedules",
    "violations",
    "stopped",
    "runs",
    "known_states",
    "forgotten_states",
];

impl Counts {
    fn add(&mut self, part: &Value) {
        let number = |name: &str| part[name].as_u64().unwrap_or(0);
        for name in NUMBERS {
            let sum = self.numbers.entry(name).or_default();
            *sum = sum.saturating_add(number(name));
        }
        self.steps_max = self.steps_max.max(number("steps_max"));
        self.cut_short |= part["cut_short"] == json!(true);
        for path in part["paths"].as_array().into_iter().flatten() {
            let name = path["path"].as_str().unwrap_or_default().to_owned();
            let sum = self.paths.entry(name).or_default();
            *sum = sum.saturating_add(path["schedules"].as_u64().unwrap_or(0));
        }
        let length = |violation: &Value| {
            let turns = violation["turns"].as_str().map(|it| it.split(' ').count());
            (turns, violation["steps"].as_u64())
        };
        let found = &part["violation"];
        if !found.is_null() && (self.violation.is_null() || length(found) < length(&self.violation))
        {
            self.violation = found.clone();
        }
    }

    fn number(&self, name: &str) -> u64 {
        self.numbers.get(name).copied().unwrap_or(0)
    }

    fn report(&self, bounds: Vec<u64>) -> Report {
        Report {
            schedules: self.number("schedules"),
            violations: self.number("violations"),
            stopped: self.number("stopped"),
            steps_max: self.steps_max as usize,
            cut_short: self.cut_short,
            bounds,
            ..Report::default()
        }
    }

    fn json(&self) -> Map<String, Value> {
        let paths = self.paths.iter();
        let paths = paths.map(|(path, count)| json!({ "path": path, "schedules": count }));
        let mut all = document::members(json!({
            "steps_max": self.steps_max,
            "cut_short": self.cut_short,
            "paths": paths.collect::<Vec<_>>(),
            "violation": self.violation,
        }));
        for name in NUMBERS {
            all.insert(name.to_owned(), self.number(name).into());
        }
        all
    }
}

/// The results of `explore` from those of its parts.
fn explored(
    parts: &[&Map<String, Value>],
    whole: &Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    // Each part's reports, by number of preemptions if there are such.
    let mut by_bound = Vec::new();
    for part in parts {
        let before = part.get("by_preemptions").and_then(Value::as_array);
        let before = before.ok_or("results without by_preemptions")?;
        let last = Value::Object((*part).clone());
        by_bound.push(before.iter().cloned().chain([last]).collect::<Vec<_>>());
    }
    let is_exhaustive = !whole["options"]["bound"].is_null();
    // All schedules of a bound are known up to the first bound that ended a part.
    let common = by_bound.iter().map(Vec::len).min().unwrap_or(0);
    let mut sums: Vec<Counts> = (0..common).map(|_| Counts::default()).collect();
    for part in &by_bound {
        for (sum, part) in sums.iter_mut().zip(part) {
            sum.add(part);
        }
        // Seeds behind the first failing schedule are not looked at.
        let ends = !whole["options"]["fault"].is_null() && !is_exhaustive;
        if ends && sums.iter().any(|sum| !sum.violation.is_null()) {
            break;
        }
    }
    let last = sums.pop().unwrap_or_default();
    let mut bounds: Vec<u64> = sums.iter().map(|sum| sum.number("schedules")).collect();
    bounds.push(last.number("schedules"));
    if !is_exhaustive {
        bounds.clear();
    }
    let text = match &last.violation {
        Value::Null => format!("{}\n", explore::verdict(&last.report(bounds.clone()))),
        found => format!(
            "{} of {} broke the rules; the shortest, turns {}:\n{}\n",
            last.number("violations"),
            counted(last.number("schedules"), "schedule"),
            found["turns"].as_str().unwrap_or_default(),
            found["what"].as_str().unwrap_or_default(),
        ),
    };
    let mut results = last.json();
    results.insert("schedules_by_preemptions".to_owned(), bounds.into());
    let before: Vec<Value> = sums.iter().map(|sum| sum.json().into()).collect();
    results.insert("by_preemptions".to_owned(), before.into());
    results.insert("text".to_owned(), text.into());
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_the_order_of_the_columns() {
        let figures = |names: &str| -> Vec<Value> {
            names
                .split(' ')
                .map(|name| json!({ "name": name }))
                .collect()
        };
        let mut all = Vec::new();
        for part in ["b d", "a b c d", "d e"] {
            join(&mut all, &figures(part));
        }
        assert_eq!(all, figures("a b c d e"));
    }

    #[test]
    fn a_command_line_is_the_wholes() {
        assert_eq!(
            without("dpamatch predict --shard 1/8 --bins 4", "1/8"),
            "dpamatch predict --bins 4"
        );
        assert_eq!(
            without("dpamatch predict --shard=1/8", "1/8"),
            "dpamatch predict"
        );
    }
}
