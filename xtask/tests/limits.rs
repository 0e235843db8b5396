//! Each constant that names a limit has tests at the limit and beyond it, or a reason why it has
//! none: `limits.toml`. Ranges of options are in tools/tests/cli/tables/ranges.toml.

mod sources;

use std::collections::{BTreeMap, BTreeSet};

use sources::{grep, root, tests};
use toml::Value;

/// Words of the names of limits.
const WORDS: [&str; 8] = [
    "MAX", "MIN", "MOST", "LEAST", "LIMIT", "LONGEST", "MINIMUM", "WIDEST",
];
/// What is no part of a product.
const ASIDE: [&str; 6] = [
    "tests/",
    "xtask/",
    "loom_tests/",
    "examples/",
    "tests.rs",
    "port/rehearsal/",
];

/// The limits of a source before its tests.
fn limits(file: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join(file)).expect("a source");
    let product = text.split("#[cfg(test)]\nmod tests {").next();
    let names = product.unwrap_or_default().lines().filter_map(|line| {
        let (_, rest) = line.split_once("const ")?;
        Some(rest.split_once(':')?.0)
    });
    let is_limit = |name: &&str| name.split('_').any(|word| WORDS.contains(&word));
    names.filter(is_limit).map(str::to_owned).collect()
}

#[test]
fn each_limit_has_its_tests() {
    let table: toml::Table = toml::from_str(include_str!("limits.toml")).expect("a table");
    let files = grep(&["-l", "const "]);
    let product = |file: &&str| !ASIDE.iter().any(|aside| file.contains(aside));
    let all = files.lines().filter(product);
    let found: BTreeMap<&str, BTreeSet<String>> = all
        .map(|file| (file, limits(file)))
        .filter(|(_, limits)| !limits.is_empty())
        .collect();
    let tests = tests();
    let mut rows: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (file, limits) in &table {
        for (limit, held) in limits.as_table().expect("limits of a source") {
            rows.entry(file).or_default().insert(limit.clone());
            match held {
                Value::String(reason) => assert!(reason.len() > 20, "{file}: {limit}: {reason}"),
                held => {
                    let names = held.as_array().expect("tests, or a reason");
                    assert!(!names.is_empty(), "{file}: {limit}");
                    for name in names {
                        let name = name.as_str().expect("a name");
                        assert!(tests.contains(name), "{file}: {limit}: no test {name}");
                    }
                }
            }
        }
    }
    let flat = |all: &BTreeMap<&str, BTreeSet<String>>| -> BTreeSet<String> {
        let each = all
            .iter()
            .flat_map(|(file, limits)| limits.iter().map(move |limit| format!("{file}: {limit}")));
        each.collect()
    };
    let (rows, found) = (flat(&rows), flat(&found));
    let without: Vec<&String> = found.difference(&rows).collect();
    let gone: Vec<&String> = rows.difference(&found).collect();
    assert!(
        without.is_empty() && gone.is_empty(),
        "no row: {without:?}, no such limit: {gone:?}"
    );
}
