//! Options without effect are errors: a user who gives one expects something of it. `idle.toml`
//! lists what each mode of a command leaves aside.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use serde::Deserialize;

use super::BadInput;

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let table: Table = toml::from_str(include_str!("idle.toml")).expect("a table of the program");
    table.rule
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    rule: Vec<Rule>,
}

/// `idle.toml` explains the fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Rule {
    command: String,
    #[serde(default)]
    given: Vec<String>,
    #[serde(default)]
    absent: Vec<String>,
    #[serde(default)]
    among: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    none_of: BTreeMap<String, Vec<String>>,
    idle: Vec<String>,
}

/// Whether the command line has this argument. Parsers do not know those of other commands.
fn is_given(matches: &ArgMatches, id: &str) -> bool {
    let is_there = matches.try_contains_id(id).unwrap_or(false);
    is_there && matches.value_source(id) == Some(ValueSource::CommandLine)
}

/// A command and what its command line gives.
struct Given<'a> {
    command: &'a Command,
    matches: &'a ArgMatches,
}

impl Given<'_> {
    /// The argument's name inside the parser; a positional argument has no other.
    fn id(&self, option: &str) -> Option<&str> {
        let is_it = |it: &&clap::Arg| it.get_long() == Some(option) || it.get_id() == option;
        Some(self.command.get_arguments().find(is_it)?.get_id().as_str())
    }

    /// The argument as a user knows it.
    fn name(&self, option: &str) -> String {
        let is_it = |it: &&clap::Arg| it.is_positional() && it.get_id() == option;
        let argument = self.command.get_arguments().find(is_it);
        let names = argument.and_then(clap::Arg::get_value_names);
        match names.unwrap_or_default().first() {
            Some(name) => name.to_string(),
            None => format!("--{option}"),
        }
    }

    fn has(&self, option: &str) -> bool {
        self.id(option).is_some_and(|id| is_given(self.matches, id))
    }

    fn values(&self, option: &str) -> Vec<String> {
        let raw = self.id(option).map(|id| self.matches.try_get_raw(id));
        let values = raw.and_then(Result::ok).flatten().into_iter().flatten();
        values
            .map(|it| it.to_string_lossy().to_lowercase())
            .collect()
    }

    /// How the conditions of a rule hold; `None` if one does not.
    fn mode(&self, rule: &Rule) -> Option<Vec<String>> {
        let with = |option: &str, values: &[String]| {
            format!("with {} {}", self.name(option), values.join(","))
        };
        let given = rule.given.iter().map(|option| {
            let said = || format!("with --{option}");
            self.has(option).then(said)
        });
        let absent = rule.absent.iter().map(|option| {
            let said = || format!("without --{option}");
            (!self.has(option)).then(said)
        });
        let among = rule.among.iter().map(|(option, known)| {
            let values = self.values(option);
            let all = !values.is_empty() && values.iter().all(|value| known.contains(value));
            all.then(|| with(option, &values))
        });
        let none_of = rule.none_of.iter().map(|(option, known)| {
            let values = self.values(option);
            let said = || match values.is_empty() {
                true => format!("without --{option} {}", known.join(" or ")),
                false => with(option, &values),
            };
            let none = !values.iter().any(|value| known.contains(value));
            none.then(said)
        });
        given.chain(absent).chain(among).chain(none_of).collect()
    }
}

/// # Errors
/// An option of the command line has no effect in the mode that the others choose, or stands before
/// the name of a subcommand that does not read it.
pub(super) fn refuse(command: &Command, matches: &ArgMatches) -> Result<(), BadInput> {
    let mut name = String::new();
    let mut given = Given { command, matches };
    while let Some((inner, matches)) = given.matches.subcommand() {
        let mut arguments = given.command.get_arguments();
        let early = arguments
            .find(|it| !it.is_global_set() && is_given(given.matches, it.get_id().as_str()));
        if let Some(option) = early.and_then(clap::Arg::get_long) {
            let what = format!("--{option} before `{inner}` has no effect: it goes behind it");
            return Err(BadInput(what));
        }
        let Some(command) = given.command.find_subcommand(inner) else {
            return Ok(());
        };
        let space = if name.is_empty() { "" } else { " " };
        name += &format!("{space}{inner}");
        given = Given { command, matches };
    }
    for rule in RULES.iter().filter(|rule| rule.command == name) {
        let idle = rule.idle.iter().find(|option| given.has(option));
        if let (Some(mode), Some(option)) = (given.mode(rule), idle) {
            let place = match mode.is_empty() {
                true => format!("in `{name}`"),
                false => mode.join(" and "),
            };
            let name = given.name(option);
            return Err(BadInput(format!("{name} has no effect {place}")));
        }
    }
    Ok(())
}

/// Panics unless the rules of this program's commands name arguments that exist.
#[cfg(test)]
pub(super) fn check(program: &Command) {
    let mut count = 0;
    for rule in RULES.iter() {
        let inner = rule
            .command
            .split(' ')
            .try_fold(program, |command, word| command.find_subcommand(word));
        let Some(command) = inner else { continue };
        let matches = &ArgMatches::default();
        let given = Given { command, matches };
        let values = rule.among.keys().chain(rule.none_of.keys());
        let names = rule.given.iter().chain(&rule.absent).chain(values);
        for option in names.chain(&rule.idle) {
            assert!(given.id(option).is_some(), "{}: no {option}", rule.command);
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}
