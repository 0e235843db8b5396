//! The document of `--format json`, with one form for all commands. `docs/results.md` describes it,
//! and `docs/schema/results-1.json` is its schema.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Context;
use clap::{ArgAction, ArgMatches, Command, ValueEnum};
use dpamatch_tools::bench::Machine;
use dpamatch_tools::results::{Descriptor, SCHEMA};
use dpamatch_tools::table::Table;
use dpamatch_tools::version::{MODIFIED, NUMBER, commit};
use serde_json::{Map, Value, json};

use super::program::command_line;
use super::staged::StagedFile;

static INVOCATION: OnceLock<Invocation> = OnceLock::new();

#[derive(Debug, Default)]
struct Invocation {
    command: String,
    options: Map<String, Value>,
}

/// Form of results other than tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Form {
    /// For people
    Text,
    /// One document: see docs/results.md
    Json,
}

/// Form of results of which each is a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Lines {
    /// A line each
    Text,
    /// An object a line
    Jsonl,
    /// One document with all of them: see docs/results.md
    Json,
}

#[derive(Clone, Debug, Default, clap::Args)]
pub struct Save {
    /// Also write the results into this file, as --format json prints them, for `dpamatch diff`
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

pub fn remember(command: &Command, matches: &ArgMatches) {
    let mut invocation = Invocation::default();
    let (mut command, mut matches) = (command, matches);
    loop {
        for argument in command.get_arguments() {
            let name = argument.get_long().unwrap_or(argument.get_id().as_str());
            let is_output = matches!(
                argument.get_action(),
                ArgAction::Help | ArgAction::Version | ArgAction::HelpShort | ArgAction::HelpLong
            );
            if is_output {
                continue;
            }
            let raw = matches
                .try_get_raw(argument.get_id().as_str())
                .ok()
                .flatten();
            let raw = raw.map(|raw| raw.map(|value| scalar(&value.to_string_lossy())));
            let many = argument.get_value_delimiter().is_some()
                || matches!(argument.get_action(), ArgAction::Append)
                || argument
                    .get_num_args()
                    .is_some_and(|range| range.max_values() > 1);
            let value = match raw {
                Some(values) if many => values.collect(),
                Some(mut values) => values.next().unwrap_or(Value::Null),
                None if many => Value::Array(Vec::new()),
                None => Value::Null,
            };
            invocation.options.insert(name.replace('-', "_"), value);
        }
        let Some((name, inner)) = matches.subcommand() else {
            break;
        };
        let Some(next) = command.find_subcommand(name) else {
            break;
        };
        (command, matches) = (next, inner);
        let space = if invocation.command.is_empty() {
            ""
        } else {
            " "
        };
        invocation.command += &format!("{space}{name}");
    }
    // A second call would have the same command line.
    let _ = INVOCATION.set(invocation);
}

/// Parses a number, a boolean, or else a text.
fn scalar(text: &str) -> Value {
    if let Ok(number) = text.parse::<i64>() {
        return number.into();
    }
    let is_decimal = text.contains('.') && text.starts_with(|c: char| c.is_ascii_digit());
    match text.parse::<f64>() {
        Ok(number) if is_decimal => number.into(),
        _ => text
            .parse::<bool>()
            .map_or_else(|_| text.into(), Value::from),
    }
}

/// A document with these tables, and further results beside them.
pub fn of_tables(tables: &[&Table], mut results: Map<String, Value>) -> Value {
    let mut descriptors = Vec::new();
    for &table in tables {
        let descriptor = table.descriptor();
        results.insert(descriptor.name.clone(), table.rows_json());
        descriptors.push(descriptor);
    }
    document(&descriptors, results)
}

pub fn document(tables: &[Descriptor], results: Map<String, Value>) -> Value {
    let none = Invocation::default();
    let Invocation { command, options } = INVOCATION.get().unwrap_or(&none);
    let Machine {
        cpu,
        processors,
        kernel,
        ..
    } = Machine::this();
    json!({
        "schema": SCHEMA,
        "command": command,
        "command_line": command_line(),
        "options": options,
        "seed": options.get("seed"),
        "version": NUMBER,
        "commit": commit(),
        "modified": MODIFIED,
        "machine": { "cpu_model": cpu, "processors": processors, "kernel": kernel },
        "tables": tables,
        "results": results,
    })
}

/// A document whose only result is a file of parameters.
pub fn of_toml(name: &str, text: &str) -> anyhow::Result<Value> {
    let value: Value = toml::from_str(text)?;
    Ok(document(&[], Map::from_iter([(name.to_owned(), value)])))
}

pub fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => unreachable!("results are objects"),
    }
}

pub fn write(out: &mut dyn Write, document: &Value) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    writeln!(out)
}

impl Save {
    /// Writes the document that `make` returns into the file, if `--save` was given.
    pub fn write(&self, make: impl FnOnce() -> Value) -> anyhow::Result<()> {
        self.save
            .as_deref()
            .map_or(Ok(()), |path| save(path, &make()))
    }

    pub fn is_wanted(&self) -> bool {
        self.save.is_some()
    }
}

/// Writes a document into a file, completely or not at all.
pub fn save(path: &Path, document: &Value) -> anyhow::Result<()> {
    let failed = || format!("cannot write {}", path.display());
    let mut file = StagedFile::new(path).with_context(failed)?;
    file.fill(|out| write(out, document)).with_context(failed)?;
    file.commit().with_context(failed)
}
