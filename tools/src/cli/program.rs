//! What the command lines of all programs have in common: from the words to the exit code.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{Command, Parser};

use super::{document, failure, idle, nic_args, output, staged};

static NAME: OnceLock<String> = OnceLock::new();

/// The program's name, for messages.
pub fn name() -> &'static str {
    NAME.get().map_or("dpamatch", |name| name)
}

/// glibc returns the end of its heap to the system as soon as it is free, so each simulated card
/// pays for new pages again. Freeing one large block raises that limit.
fn keep_freed_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(31 << 20)));
}

/// Parses the process's arguments and runs the command; returns the exit code.
pub fn main<C: Parser>(run: impl FnOnce(C) -> anyhow::Result<()>) -> ExitCode {
    keep_freed_memory();
    // `main` runs once.
    let _ = NAME.set(C::command().get_name().to_owned());
    let result = survive_file_limit().and_then(|()| parse(std::env::args_os().collect()));
    let result = result.and_then(run);
    // Whatever else went wrong, a lying library is the cause; without an error its results would
    // be believed.
    let result = match dpamatch::plugin::fault() {
        Some(fault) => Err(anyhow::anyhow!(fault)),
        None => result,
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // If the message cannot be written either, nothing is left to do.
            let _ = writeln!(io::stderr(), "{}: {}", name(), failure::message(&error));
            ExitCode::from(failure::exit_code(&error))
        }
    }
}

/// Makes a write beyond the file size limit fail with an error. By default its signal ends the
/// process without a word. Programs that this one starts get the default again.
#[cfg(unix)]
fn survive_file_limit() -> anyhow::Result<()> {
    let seen = std::sync::Arc::default();
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen)?;
    Ok(())
}

#[cfg(not(unix))]
fn survive_file_limit() -> anyhow::Result<()> {
    Ok(())
}

/// The command line as typed in a shell.
pub fn command_line() -> String {
    let arguments = std::env::args().skip(1).map(quoted);
    std::iter::once(name().to_owned())
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}

fn quoted(argument: String) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument;
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

/// Parses the command line; an invalid one ends the process.
///
/// # Errors
/// An option has no effect, or a path to write to cannot be written.
pub(super) fn parse<C: Parser>(words: Vec<OsString>) -> anyhow::Result<C> {
    let mut command = C::command();
    let words = nic_args::expanded(words)?;
    if let Some(at) = words
        .iter()
        .take_while(|word| *word != "--")
        .position(|it| it == nic_args::HELP)
    {
        help_nic(command, &words[1..at]);
    }
    let matches = command
        .try_get_matches_from_mut(words)
        .unwrap_or_else(|error| error.exit());
    if matches.subcommand().is_some() {
        document::remember(&command, &matches);
    }
    idle::refuse(&command, &matches)?;
    staged::try_outputs(&command, &matches)?;
    Ok(C::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()))
}

/// Prints the options of the NIC of the command that these words name.
fn help_nic(mut command: Command, words: &[OsString]) -> ! {
    command.build();
    let mut inner = &command;
    for word in words {
        inner = word
            .to_str()
            .and_then(|word| inner.find_subcommand(word))
            .unwrap_or(inner);
    }
    let mut help = nic_args::help(inner.clone());
    // Like other help it fails quietly.
    let _ = help.print_long_help();
    std::process::exit(0)
}
