//! The command line: arguments, exit codes, messages.
//!
//! Exit codes: 0 success (also if a reader of the output closes it early), 1 failure (a full disk,
//! an engine that cannot continue), 2 invalid arguments or input (a missing file, too), 3 a wrong
//! matching (an explored schedule, a checked trace), 130 an interrupt during a write.

mod analyze;
mod bench;
mod calibrate;
mod channels;
mod compare;
mod completions;
mod cost;
mod diff;
mod document;
mod engines;
mod explore;
mod failure;
mod footprint;
mod generate;
mod guard;
mod input;
mod interrupt;
mod man;
mod matching;
mod nic_args;
mod offload;
mod output;
mod predict;
mod progress;
mod run;
mod staged;
mod study;
mod table;
mod trace;
mod waits;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use dpamatch_tools::version::VERSION;

use failure::{BadInput, NoVerdict, Violated, WrongMatching};

/// Columns of a line without a terminal.
const WIDTH: usize = 100;

/// Emulator of a SmartNIC data-path accelerator that does MPI message matching.
#[derive(Debug, Parser)]
#[command(name = "dpamatch", version = VERSION, max_term_width = WIDTH, after_help = include_str!("help/dpamatch.txt").trim_end())]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

macro_rules! commands {
    ($($(#[$attribute:meta])* $name:ident: $module:ident::$args:ident,)*) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $($(#[$attribute])* $name($module::$args),)*
        }

        impl Command {
            fn run(&self) -> anyhow::Result<()> {
                match self {
                    $(Self::$name(args) => $module::run(args),)*
                }
            }
        }
    };
}

commands! {
    Analyze: analyze::Args,
    Bench: bench::Args,
    Calibrate: calibrate::CalibrateArgs,
    // The names of `study`'s parts from before there was `study`.
    #[command(hide = true)]
    Cost: cost::Args,
    #[command(hide = true)]
    Channels: channels::Args,
    #[command(hide = true)]
    Compare: compare::Args,
    Diff: diff::Args,
    Completions: completions::Args,
    Match: matching::Args,
    Explore: explore::Args,
    Engines: engines::Args,
    Footprint: footprint::Args,
    Gen: generate::Args,
    // For `cargo xtask mpi`.
    #[command(hide = true)]
    Guard: guard::Args,
    Man: man::Args,
    Offload: offload::Args,
    Predict: predict::Args,
    Run: run::Args,
    Study: study::Args,
    Trace: trace::Args,
}

/// glibc returns the end of its heap to the system as soon as it is free, so each simulated card
/// pays for new pages again. Freeing one large block raises that limit.
fn keep_freed_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(31 << 20)));
}

/// Runs the command; returns the process's exit code.
pub(crate) fn main() -> ExitCode {
    keep_freed_memory();
    let result = survive_file_limit().and_then(|()| parse(std::env::args_os().collect()));
    let result = result.and_then(|cli| match cli.command {
        None => bare(),
        Some(command) => command.run(),
    });
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
            let _ = writeln!(io::stderr(), "dpamatch: {}", failure::message(&error));
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

fn command_line() -> String {
    let arguments = std::env::args().skip(1).map(quoted);
    std::iter::once("dpamatch".to_owned())
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
/// A path to write to cannot be written.
fn parse(words: Vec<OsString>) -> anyhow::Result<Cli> {
    // Without a subcommand the command is `bench` with its defaults, which documents then record.
    let mut command = Cli::command();
    let words = nic_args::expanded(words)?;
    if let Some(at) = words
        .iter()
        .take_while(|word| *word != "--")
        .position(|it| it == "--help-nic")
    {
        help_nic(command, &words[1..at]);
    }
    let matches = command
        .try_get_matches_from_mut(words)
        .unwrap_or_else(|error| error.exit());
    if matches.subcommand().is_some() {
        document::remember(&command, &matches);
    }
    staged::try_outputs(&command, &matches)?;
    Ok(Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()))
}

/// Prints the options of the NIC of the command that these words name.
fn help_nic(mut command: clap::Command, words: &[OsString]) -> ! {
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

fn bare() -> anyhow::Result<()> {
    match parse(vec!["dpamatch".into(), "bench".into()])?.command {
        Some(Command::Bench(args)) => bench::run(&args),
        _ => unreachable!("these arguments name the bench"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_what_clap_asks_for() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
