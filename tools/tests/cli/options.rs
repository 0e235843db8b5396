//! Every option of every command changes something that a user can see. `tables/options.toml` has a
//! row for each option that `--help` lists, so a new option without a row fails. In a mode each
//! other option is refused.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::tables::{file, in_parallel, run, words};
use super::{Output, Value, commands, help};

/// `tables/options.toml`, which explains its names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    groups: BTreeMap<String, BTreeSet<String>>,
    command: Vec<Checked>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Checked {
    name: String,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    base: Vec<Base>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Base {
    line: String,
    #[serde(default = "text_differs")]
    seen: String,
    #[serde(default)]
    rows: Vec<Change>,
    /// Options that this mode reads beside those of its rows, and groups of them. With them the
    /// base is a mode: it refuses all others.
    reads: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Change {
    Option(String),
    Seen {
        option: String,
        line: Option<String>,
        seen: Option<String>,
    },
}

fn text_differs() -> String {
    "text".to_owned()
}

/// What the two runs of a row must differ in: the words of the table.
#[derive(Clone, PartialEq, Debug)]
struct Seen(String);

struct Check {
    option: String,
    base: String,
    /// The arguments with the option.
    with: String,
    seen: Seen,
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

fn line<'out>(out: &'out str, first: &str) -> &'out str {
    let line = out.lines().find(|line| line.starts_with(first));
    line.unwrap_or_else(|| panic!("no line that begins with {first}: {out}"))
}

impl Seen {
    fn parts(&self) -> (&str, &str) {
        self.0.split_once(' ').unwrap_or((&self.0, ""))
    }

    /// The exit codes of the runs without and with the option.
    fn codes(&self) -> [i32; 2] {
        let code = |code: &str| code.parse().expect("an exit code");
        match self.parts() {
            ("exit", after) => [0, code(after)],
            ("mends", before) => [code(before), 0],
            _ => [0, 0],
        }
    }

    /// What a run shows.
    fn of(&self, output: &Output) -> String {
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        match self.parts() {
            ("text", "") => {
                let plain = out.lines().filter(|line| !line.starts_with('#'));
                // `explore` says how long it took.
                let timeless = plain.map(|line| line.split(" in ").next().expect("a part"));
                timeless.collect::<Vec<_>>().join("\n")
            }
            ("counter", name) => {
                let line = err
                    .lines()
                    .find(|line| line.split(' ').next() == Some(name));
                line.unwrap_or_else(|| panic!("no counter {name}: {err}"))
                    .to_owned()
            }
            ("messages", "") => err
                .lines()
                .filter_map(|line| line.split(' ').next())
                .collect(),
            ("form", "") => match serde_json::from_str::<Value>(out) {
                Ok(document) => {
                    let results = document["results"].as_object().expect("results");
                    format!("{:?}", results.keys())
                }
                _ => "no JSON object".to_owned(),
            },
            ("line", first) => line(out, first).to_owned(),
            ("column", names) => {
                let (first, name) = names.split_once(' ').expect("two columns");
                line(out, first).contains(&format!(" {name} ")).to_string()
            }
            ("exit" | "mends", _) => output.status.code().expect("no signal").to_string(),
            ("json", pointer) => {
                let document: Value = serde_json::from_str(out).expect("one JSON object");
                let part = document.pointer(pointer);
                part.unwrap_or_else(|| panic!("no {pointer}: {out}"))
                    .to_string()
            }
            _ => panic!("unknown: {self:?}"),
        }
    }
}

/// The rows of a command.
fn rows(bases: &[Base]) -> Vec<Check> {
    let row = |base: &Base, change: &Change| {
        let (option, line, seen) = match change {
            Change::Option(option) => (option, None, None),
            Change::Seen { option, line, seen } => (option, line.clone(), seen.clone()),
        };
        Check {
            with: line.unwrap_or_else(|| changed(&base.line, option)),
            option: option.split(' ').next().expect("a word").to_owned(),
            base: base.line.clone(),
            seen: Seen(seen.unwrap_or_else(|| base.seen.clone())),
        }
    };
    let all = bases
        .iter()
        .flat_map(|base| base.rows.iter().map(move |change| (base, change)));
    all.map(|(base, change)| row(base, change)).collect()
}

/// The arguments with this option and its value, in place of another value if there is one.
fn changed(base: &str, option: &str) -> String {
    let mut words: Vec<&str> = base.split_whitespace().collect();
    let (name, value) = option.split_once(' ').unwrap_or((option, ""));
    match words.iter().position(|word| *word == name) {
        Some(place) => {
            words[place + 1] = value;
            words.join(" ")
        }
        None => format!("{option} {base}"),
    }
}

/// The options that clap knows of this command, those of the NIC included.
fn known(command: &str) -> BTreeSet<String> {
    let help = help(command) + text(&run(&format!("{command} --help-nic")).stdout);
    let names = help
        .lines()
        .map(|line| line.trim_start().trim_start_matches("-h, "));
    let names = names.filter(|line| line.starts_with("--") && !line.starts_with("--help"));
    names
        .map(|line| line.split(' ').next().expect("a word").to_owned())
        .collect()
}

/// Each option as the rows write it, those of this command first.
fn examples(table: &Table, command: &str) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let help = help(command) + text(&run(&format!("{command} --help-nic")).stdout);
    let takes_value = |option: &str| {
        let mut lines = help.lines().map(str::trim_start);
        lines.any(|line| line.starts_with(&format!("{option} ")) && line.contains('<'))
    };
    let own = |it: &&Checked| it.name == command;
    let others = table.command.iter().filter(|it| !own(it));
    let in_order = table.command.iter().filter(own).chain(others);
    for Check { option, with, .. } in in_order.flat_map(|it| rows(&it.base)) {
        let words: Vec<String> = with.split_whitespace().map(str::to_owned).collect();
        let at = words.iter().position(|word| *word == option);
        let rest = &words[at.expect("the row's option")..];
        let is_value = |_: &&String| takes_value(&option);
        let value = rest.iter().skip(1).take(1).filter(is_value);
        let words: Vec<String> = rest.iter().take(1).chain(value).cloned().collect();
        all.entry(option).or_default().push(words.join(" "));
    }
    all
}

/// Checks that a mode refuses each option that it does not read, with a line that says why.
fn check_mode(command: &str, base: &Base, table: &Table) {
    let Some(reads) = &base.reads else { return };
    let of = |name: &String| match table.groups.get(name) {
        Some(group) => group.clone(),
        None => BTreeSet::from([name.clone()]),
    };
    let mut read: BTreeSet<String> = reads.iter().flat_map(of).collect();
    read.extend(
        rows(std::slice::from_ref(base))
            .into_iter()
            .map(|row| row.option),
    );
    let given: BTreeSet<&str> = base.line.split_whitespace().collect();
    let examples = examples(table, command);
    for option in known(command) {
        if read.contains(&option) || given.contains(option.as_str()) {
            continue;
        }
        let examples = examples.get(&option).map_or(&[][..], Vec::as_slice);
        // The flag `--nic` is made of others.
        if option == "--nic" {
            continue;
        }
        let why = ["has no effect", "cannot be used with", "were not provided"];
        // Another command's value may be none of this one's.
        let refused = examples.iter().find_map(|example| {
            let output = run(&format!("{command} {} {example}", base.line));
            let said = text(&output.stderr);
            let is_refusal = why.iter().any(|why| said.contains(why));
            (!said.contains("invalid value"))
                .then_some(is_refusal && output.status.code() == Some(2))
        });
        assert_eq!(refused, Some(true), "{command} {}: {option}", base.line);
    }
}

/// Checks a command's rows. Another command has a row for each option of the groups, so one row
/// here shows that this command reads them.
fn check(command: &str, groups: &[BTreeSet<String>], rows: &[Check]) {
    let mut with_row: BTreeSet<String> = rows.iter().map(|row| row.option.clone()).collect();
    let shared = rows.is_empty()
        || groups.is_empty()
        || groups.iter().any(|group| !group.is_disjoint(&with_row));
    assert!(shared, "`{command}`: no row of {groups:?}");
    with_row.extend(groups.iter().flatten().cloned());
    assert_eq!(
        with_row,
        known(command),
        "`{command}`: options with a row, and options of --help"
    );
    // Many rows have one base. It is run twice: what differs by itself says nothing of the option.
    let mut runs: BTreeMap<&str, [Output; 2]> = BTreeMap::new();
    let mut different: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for Check {
        option,
        base,
        with,
        seen,
    } in rows
    {
        assert!(
            words(with).contains(option),
            "{command} {with}: no {option}"
        );
        let run = |arguments: &str| run(&format!("{command} {arguments}"));
        let [first, again] = runs.entry(base).or_insert_with(|| [run(base), run(base)]);
        let second = run(with);
        for (line, output, code) in [
            (base, &*first, seen.codes()[0]),
            (with, &second, seen.codes()[1]),
        ] {
            let errors = text(&output.stderr);
            assert_eq!(
                output.status.code(),
                Some(code),
                "{command} {line}: {errors}"
            );
        }
        let (without_it, with_it) = (seen.of(first), seen.of(&second));
        assert_ne!(without_it, with_it, "{command} {with}: {seen:?}");
        assert_eq!(seen.of(again), without_it, "{command} {base}: {seen:?}");
        if seen.parts().0 == "text" || seen.0 == "json /results" {
            let others = different.entry((base, &seen.0)).or_default();
            assert!(
                !others.contains(&with_it),
                "{command} {with}: as with another option"
            );
            others.push(with_it);
        }
    }
}

/// Results of two cards, and rates of one bench and of one that is one per cent faster: rates of
/// two runs may be far apart on a busy machine.
fn documents() {
    let quick = "predict --handlers 4 --scenario nc --save";
    let bench = "bench --scenario NC --windows 4 --rounds 9 --reps 3 --keep disturbed,placements --baseline none";
    for line in [
        format!("{quick} @base.json"),
        format!("{quick} @slow.json --set memory.l2_ns=60"),
        format!("{quick} @part.json --shard 1/1"),
        format!("{bench} --save @one.json"),
    ] {
        assert_eq!(run(&line).status.code(), Some(0), "{line}");
    }
    let one = std::fs::read_to_string(words("@one.json").remove(0)).expect("the file");
    let mut faster: Value = serde_json::from_str(&one).expect("a document");
    let rows = faster["results"]["rates"].as_array_mut().expect("rows");
    for rounds in rows
        .iter_mut()
        .map(|row| &mut row["rate_msgs_per_s_rounds"])
    {
        for round in rounds.as_array_mut().expect("rounds") {
            *round = (round.as_f64().expect("a rate") * 1.01).into();
        }
    }
    file("two.json", faster.to_string());
}

fn files() {
    // Eight ranks send to one, which sends, too, so that it is the slowest.
    let to_one: String = (1..9).map(|rank| format!("0,{rank},0,100\n")).collect();
    file(
        "list",
        format!("phase,src,dst,bytes\n{to_one}0,0,17,500\n1,0,1,9\n"),
    );
    let entries: String = (0..64)
        .map(|at| format!("{} {} 1\n", at / 8 + 1, at % 8 + 1))
        .collect();
    file(
        "matrix",
        format!("%%MatrixMarket matrix coordinate real general\n8 8 64\n{entries}"),
    );
    file("measured", "series,threads,rate\nNC,1,0.4\nNC,2,0.75\n");
    file(
        "stream",
        "post,0,0,*,7\narrive,0,0,3,7\narrive,1,0,3,8\npost,1,0,3,9\n",
    );
    file(
        "five",
        "post,0,0,*,7\npost,1,0,3,8\npost,2,0,3,9\npost,3,0,3,7\npost,4,0,3,6\n\
         arrive,0,0,3,7\narrive,1,0,3,8\narrive,2,0,3,9\narrive,3,0,3,7\narrive,4,0,3,6\n",
    );
    let run_of = |n: u32| format!("{}e-6,{n},{},{n}\n", 2 * n + n % 3, 8 * n);
    let runs: String = [5, 20, 100, 301].map(run_of).concat();
    file("runs", format!("seconds,messages,bytes,steps\n{runs}"));
    file(
        "mixed",
        run("gen --seed 7 --events 1000 --kind mixed").stdout,
    );
    documents();
}

#[test]
fn every_option_of_every_command() {
    files();
    let table: Table = toml::from_str(include_str!("tables/options.toml")).expect("a table");
    let with_rows: BTreeSet<&str> = table.command.iter().map(|row| row.name.as_str()).collect();
    // These have no options but those of their subcommands, or none.
    let without = ["cost", "trace", "completions"];
    let commands = commands();
    let commands = commands.iter().map(String::as_str);
    assert_eq!(
        with_rows,
        commands.filter(|name| !without.contains(name)).collect()
    );
    let idle = include_str!("../../src/cli/idle.toml");
    let idle: toml::Table = toml::from_str(idle).expect("a table");
    for rule in idle["rule"].as_array().expect("rules") {
        let command = rule["command"].as_str().expect("a name");
        assert!(with_rows.contains(command), "idle.toml: {command}");
    }
    in_parallel(&table.command, |Checked { name, groups, base }| {
        base.iter().for_each(|base| check_mode(name, base, &table));
        let groups: Vec<_> = groups
            .iter()
            .map(|name| table.groups[name].clone())
            .collect();
        check(name, &groups, &rows(base));
    });
}
