//! Every option of every command changes something that a user can see. The rows stand against the
//! options that `--help` lists, so a new option without a row fails.

mod analysis;
mod costs;
mod exploration;
mod others;
mod prediction;
mod rates;
mod streams;

use std::collections::{BTreeMap, BTreeSet};

use super::{Output, Value, dpamatch_reads as dpamatch};

/// What the two runs of a row must differ in.
#[derive(Clone, Copy, Debug)]
enum Seen {
    /// The results; comments and times are left out.
    Results,
    /// This line of standard error, `NAME VALUE`.
    Counter(&'static str),
    /// The names, or first words, of the lines on standard error.
    Messages,
    /// Whether the results are JSON, and the names in it.
    Form,
    /// The second run ends with this exit code.
    Exit(i32),
    /// The first run ends with this exit code.
    Mends(i32),
    /// The line that begins with this.
    Line(&'static str),
    /// Whether the table whose columns begin with the first has the second. Which of the optional
    /// columns fit, and how wide they are, depends on the numbers in them.
    Column(&'static str, &'static str),
    /// This part of the JSON form.
    Json(&'static str),
}

use Seen::{Column, Counter, Exit, Form, Json, Line, Mends, Messages, Results};

/// Option, arguments without it, arguments with it, and what differs. An option may have several
/// rows.
type Row = (&'static str, &'static str, &'static str, Seen);

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// The options that clap knows of this command.
fn options(command: &str) -> BTreeSet<String> {
    let arguments: Vec<&str> = command.split(' ').chain(["--help"]).collect();
    let help = dpamatch(&arguments, b"");
    let names = text(&help.stdout).lines().filter_map(|line| {
        let option = line.trim_start().trim_start_matches("-h, ");
        option.starts_with("--").then(|| option.split(' ').next().expect("a word").to_owned())
    });
    names.filter(|name| name != "--help").collect()
}

fn line<'out>(out: &'out str, first: &str) -> &'out str {
    let line = out.lines().find(|line| line.starts_with(first));
    line.unwrap_or_else(|| panic!("no line that begins with {first}: {out}"))
}

/// What a row's run shows of what is looked at.
fn shown(output: &Output, seen: Seen) -> String {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    match seen {
        Results => {
            let plain = out.lines().filter(|line| !line.starts_with('#'));
            // `explore` says how long it took.
            plain
                .map(|line| line.split(" in ").next().expect("a part"))
                .collect::<Vec<_>>()
                .join("\n")
        }
        Counter(name) => {
            let line = err.lines().find(|line| line.split(' ').next() == Some(name));
            line.unwrap_or_else(|| panic!("no counter {name}: {err}")).to_owned()
        }
        Messages => err.lines().filter_map(|line| line.split(' ').next()).collect(),
        Form => match serde_json::from_str::<Value>(out) {
            Ok(document) => {
                let results = document["results"].as_object().expect("results");
                format!("{:?}", results.keys())
            }
            _ => "no JSON object".to_owned(),
        },
        Line(first) => line(out, first).to_owned(),
        Column(first, name) => line(out, first).contains(name).to_string(),
        Exit(_) | Mends(_) => output.status.code().expect("no signal").to_string(),
        Json(pointer) => {
            let document: Value = serde_json::from_str(out).expect("one JSON object");
            document.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}: {out}")).to_string()
        }
    }
}

fn check(command: &str, rows: &[Row], input: &[u8]) {
    check_all(command, rows, &[], input);
}

/// Options that several commands have in common: another command has a row for each of them, so
/// that one row shows that they are listened to.
fn check_all(command: &str, rows: &[Row], common: &[&str], input: &[u8]) {
    let known = options(command);
    let mut rows_for: BTreeSet<String> = rows.iter().map(|row| row.0.to_owned()).collect();
    if !common.is_empty() {
        let of_common = common.iter().filter(|option| rows_for.contains(**option));
        assert!(of_common.count() > 0, "`{command}`: none of the common options has a row");
        rows_for.extend(common.iter().map(|&option| option.to_owned()));
    }
    assert_eq!(rows_for, known, "`{command}`: the options with a row, and those of --help");
    // Many rows have the same first line. It is run twice: what differs by itself says nothing
    // about the option.
    let mut runs: BTreeMap<&str, [Output; 2]> = BTreeMap::new();
    for &(option, without, with, seen) in rows {
        assert!(with.contains(option) || with.contains("--peers"), "{command} {with}: no {option}");
        let run = |line: &str| {
            let arguments = command.split(' ').chain(line.split_whitespace());
            dpamatch(&arguments.collect::<Vec<_>>(), input)
        };
        let [first, again] = runs.entry(without).or_insert_with(|| [run(without), run(without)]);
        let errors = text(&first.stderr);
        let expected = if let Mends(code) = seen { code } else { 0 };
        assert_eq!(first.status.code(), Some(expected), "{command} {without}: {errors}");
        let second = run(with);
        let expected = if let Exit(code) = seen { code } else { 0 };
        let errors = text(&second.stderr);
        assert_eq!(second.status.code(), Some(expected), "{command} {with}: {errors}");
        let (without_it, with_it) = (shown(first, seen), shown(&second, seen));
        assert!(without_it != with_it, "{command} {with}: {seen:?} is {with_it:?} without, too");
        assert_eq!(shown(again, seen), without_it, "{command} {without}: {seen:?}");
    }
}

/// Rows whose second line is the first with the option and its value behind it.
fn rows(base: &'static str, options: &[(&'static str, Seen)]) -> Vec<Row> {
    let row = |&(option, seen): &(&'static str, Seen)| -> Row {
        let name = option.split(' ').next().expect("a name");
        (name, base, format!("{base} {option}").leak(), seen)
    };
    options.iter().map(row).collect()
}

/// Options of the emulated NIC; `match` has a row for each.
const OF_THE_NIC: &[&str] = &[
    "--handlers",
    "--workers",
    "--receives",
    "--communicators",
    "--unexpected",
    "--unexpected-buffers",
    "--eager-limit",
    "--slice-min",
    "--fast-path",
    "--early-check",
    "--removal",
    "--repost",
    "--hashes",
    "--hint",
];

/// Nothing can be written there.
const NO_ROOM: i32 = 2;
