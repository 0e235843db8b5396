//! The ranges of options, at their ends and one beyond: `tables/ranges.toml`. A parser's range is
//! one stretch of numbers, so its ends say all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::said;
use super::tables::{in_parallel, run};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    source: Vec<Source>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    file: PathBuf,
    ranges: Vec<Range>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    command: String,
    option: String,
    least: i64,
    most: i64,
}

fn table() -> Table {
    toml::from_str(include_str!("tables/ranges.toml")).expect("a table")
}

/// Whether the parser takes the value. The line has an unknown option behind it, of which the
/// parser complains otherwise, so nothing runs.
fn takes(command: &str, option: &str, value: i64) -> bool {
    let output = run(&format!("{command} {option}={value} --no-option-of-any"));
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{command} {option}={value}");
    if said.starts_with("error: unexpected argument '--no-option-of-any'") {
        return true;
    }
    let refused = said.starts_with(&format!("error: invalid value '{value}' for '{option} "));
    assert!(refused, "{command} {option}={value}: {said}");
    false
}

#[test]
fn each_range_of_an_option_ends_where_the_table_says() {
    let sources = table().source;
    let ranges: Vec<&Range> = sources.iter().flat_map(|source| &source.ranges).collect();
    in_parallel(&ranges, |range| {
        let Range {
            command,
            option,
            least,
            most,
        } = range;
        for (value, taken) in [
            (least - 1, false),
            (*least, true),
            (*most, true),
            (most + 1, false),
        ] {
            assert_eq!(takes(command, option, value), taken, "{option}={value}");
        }
    });
}

/// The number of parsers with a range in each source below a folder.
fn parsers(folder: &Path, found: &mut BTreeMap<PathBuf, usize>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            parsers(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = std::fs::read_to_string(&path).expect("text");
            let parsers = text.split("value_parser!(").skip(1);
            let ranges = parsers.filter(|it| {
                let behind = it.split_once(')').map(|(_, behind)| behind);
                behind.is_some_and(|behind| behind.starts_with(".range("))
            });
            let count = ranges.count();
            if count > 0 {
                found.insert(path, count);
            }
        }
    }
}

#[test]
fn every_option_with_a_range_has_a_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeMap::new();
    for folder in ["tools/src/cli", "papers/src/cli"] {
        parsers(&root.join(folder), &mut found);
    }
    let rows: BTreeMap<PathBuf, usize> = table()
        .source
        .into_iter()
        .map(|source| (root.join(source.file), source.ranges.len()))
        .collect();
    assert_eq!(rows, found, "rows of each source, and its ranges");
}
