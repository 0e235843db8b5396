//! Options without effect are errors: a user who gives one expects something of it. `idle.txt`
//! lists what each mode of a command leaves aside.

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use super::BadInput;

/// A line of `idle.txt`.
struct Rule {
    command: &'static str,
    when: Vec<Condition>,
    options: Vec<&'static str>,
}

/// What the command line must be for a rule to hold.
struct Condition {
    option: &'static str,
    holds: Holds,
}

enum Holds {
    /// The option is there.
    Given,
    /// The option is not there.
    Absent,
    /// The option has values, its default's included, and all of them are among these.
    Among(Vec<&'static str>),
    /// None of the option's values is among these.
    Not(Vec<&'static str>),
}

fn rules() -> impl Iterator<Item = Rule> {
    let lines = include_str!("idle.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let mut fields = line.split('|').map(str::trim);
        let mut field = || fields.next().unwrap_or_default();
        let (command, when, options) = (field(), field(), field());
        let when = when.split(';').map(str::trim).filter(|it| !it.is_empty());
        Rule {
            command,
            when: when.map(condition).collect(),
            options: options.split_whitespace().collect(),
        }
    })
}

fn condition(text: &'static str) -> Condition {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let rest: Vec<_> = words.collect();
    let list = |values: &'static str| values.split(',').collect();
    let (option, holds) = match (first, &rest[..]) {
        ("without", [option]) => (*option, Holds::Absent),
        (option, []) => (option, Holds::Given),
        (option, ["not", values]) => (option, Holds::Not(list(values))),
        (option, [values, ..]) => (option, Holds::Among(list(values))),
    };
    Condition {
        option: option.trim_start_matches("--"),
        holds,
    }
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

    /// Says how the condition holds.
    fn holds(&self, condition: &Condition) -> Option<String> {
        let option = condition.option;
        let values = self.values(option);
        let among = |known: &[&str], value: &String| known.contains(&value.as_str());
        let with = || format!("with {} {}", self.name(option), values.join(","));
        match &condition.holds {
            Holds::Given if self.has(option) => Some(format!("with --{option}")),
            Holds::Absent if !self.has(option) => Some(format!("without --{option}")),
            Holds::Among(known) => {
                let all = !values.is_empty() && values.iter().all(|value| among(known, value));
                all.then(with)
            }
            Holds::Not(known) => {
                let none = !values.iter().any(|value| among(known, value));
                let said = || match values.is_empty() {
                    true => format!("without --{option} {}", known.join(" or ")),
                    false => with(),
                };
                none.then(said)
            }
            _ => None,
        }
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
    for rule in rules().filter(|rule| rule.command == name) {
        let when: Option<Vec<String>> = rule.when.iter().map(|it| given.holds(it)).collect();
        let idle = rule.options.iter().find(|option| given.has(option));
        if let (Some(when), Some(option)) = (when, idle) {
            let place = match when.is_empty() {
                true => format!("in `{name}`"),
                false => when.join(" and "),
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
    for rule in rules() {
        let inner = rule
            .command
            .split(' ')
            .try_fold(program, |command, word| command.find_subcommand(word));
        let Some(command) = inner else { continue };
        let matches = &ArgMatches::default();
        let given = Given { command, matches };
        let names = rule.when.iter().map(|it| it.option);
        for option in names.chain(rule.options.iter().copied()) {
            assert!(given.id(option).is_some(), "{}: no {option}", rule.command);
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}
