//! What commands print and write, from tables of command lines and their results.
//!
//! A section `[WHAT]` of a table in `tables/shown` is a test. Its lines run in order:
//!
//! - `> WORDS < @FILE` runs the program, with the file as standard input. The lines below hold for
//!   it, and for the calls right above it.
//! - `exit CODE`: the exit code; 0 if nothing is said.
//! - `err TEXT` stands on standard error, which is empty if nothing is said.
//! - `| LINE` stands in the output, with the lines `|` below it in the lines below. The number of
//!   spaces does not matter. `all` says that these are all lines, and `...` separates groups.
//! - `~ TEXT` and `!~ TEXT` stand somewhere in the output, or nowhere.
//! - `lines COUNT` is the number of lines.
//! - `count COUNT TEXT` says how often a text stands in it.
//! - `json POINTER VALUE` is a part of the document's results. Real numbers may differ by 1e-6.
//! - `in @FILE`: the lines below are about this file in place of the output.
//!
//! `$NAME` is a recorded trace. A line `file NAME TEXT` before the first section makes `@NAME`.

use super::tables::{Part, Table, file, in_parallel, run_reads, words};
use super::*;

fn squeezed(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

fn near(found: &Value, expected: &Value) -> bool {
    match (found.as_f64(), expected.as_f64()) {
        (Some(found), Some(expected)) => (found - expected).abs() <= 1e-6 * expected.abs(),
        _ => found == expected,
    }
}

/// The expected lines, and whether they are all.
#[derive(Default)]
struct Block {
    lines: Vec<String>,
    all: bool,
}

impl Block {
    fn check(&mut self, at: &str, text: &str) {
        let Self { lines, all } = std::mem::take(self);
        let lines: Vec<String> = lines.iter().flat_map(|line| squeezed(line)).collect();
        let found = squeezed(text);
        if all {
            assert_eq!(found, lines, "{at}");
        } else if !lines.is_empty() {
            let there = found.windows(lines.len()).any(|window| window == lines);
            assert!(there, "{at}: no {lines:#?} in\n{text}");
        }
    }
}

/// Checks one call's output by the lines below it.
fn check(call: &str, checks: &[String]) {
    let output = run_reads(call);
    let (mut code, mut errors) = (0, Vec::new());
    let mut text = std::str::from_utf8(&output.stdout)
        .expect("text")
        .to_owned();
    let mut block = Block::default();
    for line in checks {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        if kind != "|" && kind != "all" {
            block.check(call, &text);
        }
        let squeezed = || squeezed(&text).join("\n");
        match kind {
            "exit" => code = rest.parse().expect("a code"),
            "err" => errors.push(rest),
            "all" => block.all = true,
            "|" => block.lines.push(if rest.is_empty() {
                " ".to_owned()
            } else {
                rest.to_owned()
            }),
            "~" => assert!(squeezed().contains(rest), "{call}: no {rest} in\n{text}"),
            "!~" => assert!(!squeezed().contains(rest), "{call}: {rest} in\n{text}"),
            "lines" => assert_eq!(text.lines().count().to_string(), rest, "{call}: {text}"),
            "count" => {
                let (count, what) = rest.split_once(' ').expect("a count and a text");
                assert_eq!(
                    text.matches(what).count().to_string(),
                    count,
                    "{call}: {what}"
                );
            }
            "..." => {}
            "json" => {
                let (pointer, value) = rest.split_once(' ').expect("a pointer and a value");
                let document: Value = serde_json::from_str(&text).expect("one JSON document");
                let found = document["results"].pointer(pointer).unwrap_or(&Value::Null);
                let expected = serde_json::from_str(value).expect("a value");
                assert!(
                    near(found, &expected),
                    "{call}: {pointer} is {found}, not {expected}"
                );
            }
            "in" => {
                let path = words(rest).remove(0);
                text = std::fs::read_to_string(&path).unwrap_or_else(|error| {
                    panic!("{call}: {path}: {error}: {}", said(&output));
                });
            }
            _ => panic!("unknown: {line}"),
        }
    }
    block.check(call, &text);
    // Warnings are about the machine, which may be busy.
    let lines = said(&output)
        .lines()
        .filter(|line| !line.contains(": WARNING: "));
    let said: String = lines.map(|line| format!("{line}\n")).collect();
    assert_eq!(output.status.code(), Some(code), "{call}: {said}");
    assert_eq!(errors.is_empty(), said.is_empty(), "{call}: {said}");
    let words = squeezed(&said).join(" ");
    assert!(
        errors.iter().all(|error| words.contains(error)),
        "{call}: {said}"
    );
}

fn test(part: &Part) {
    let mut lines = part.lines.as_slice();
    while !lines.is_empty() {
        let is_call = |line: &&String| line.starts_with("> ");
        let calls = lines.iter().take_while(is_call).count();
        let checks = lines[calls..]
            .iter()
            .take_while(|line| !is_call(line))
            .count();
        assert!(calls > 0, "{}: no call", part.name);
        lines[..calls]
            .iter()
            .for_each(|call| check(&call[2..], &lines[calls..calls + checks]));
        lines = &lines[calls + checks..];
    }
}

#[test]
fn commands_show_what_the_tables_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/tables/shown");
    let files = std::fs::read_dir(folder)
        .expect("tables")
        .map(|file| file.expect("a table").path());
    let text = |path| std::fs::read_to_string(path).expect("text");
    let tables: Vec<Table> = files.map(|path| Table::read(&text(path))).collect();
    assert!(tables.len() >= 14);
    for line in tables.iter().flat_map(|table| &table.head) {
        let named = line
            .strip_prefix("file ")
            .and_then(|file| file.split_once(' '));
        let (name, contents) = named.expect("a file");
        file(name, contents.replace("\\r", "\r").replace("\\n", "\n"));
    }
    let thousand: String = (0..1000).map(|tag| format!("0,16,8,{tag}\n")).collect();
    file("thousand", format!("src,dst,bytes,tag\n{thousand}"));
    let parts: Vec<&Part> = tables.iter().flat_map(|table| &table.parts).collect();
    in_parallel(&parts, |part| test(part));
}
