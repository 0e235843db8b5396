//! The command line: arguments, exit codes, messages.
//!
//! Exit codes: 0 success (also if a reader of the output closes it early), 1 failure (a full disk,
//! an engine that cannot continue), 2 invalid arguments or input (a missing file, too), 3 a wrong
//! matching (an explored schedule, a checked trace), 130 an interrupt during a write.

mod analyze;
mod bench;
pub mod completions;
mod diff;
pub mod document;
pub mod engines;
mod explore;
pub mod failure;
mod footprint;
mod generate;
pub mod guard;
mod idle;
pub mod input;
pub mod interrupt;
pub mod man;
mod matching;
pub mod merge;
pub mod nic_args;
mod offload;
pub mod output;
pub mod predict;
pub mod program;
pub mod progress;
mod run;
pub mod staged;
pub mod table;
pub mod trace;
mod waits;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use dpamatch_tools::version::VERSION;

pub use failure::BadInput;
use failure::{NoVerdict, Violated, WrongMatching};
use program::command_line;

/// Columns of a line without a terminal.
pub const WIDTH: usize = 100;

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
    Diff: diff::Args,
    Completions: completions::Args,
    Match: matching::Args,
    Explore: explore::Args,
    Engines: engines::Args,
    Footprint: footprint::Args,
    Gen: generate::Args,
    Man: man::Args,
    Merge: merge::Args,
    Offload: offload::Args,
    Predict: predict::Args,
    Run: run::Args,
    Trace: trace::Args,
}

/// Runs `dpamatch` with the process's arguments; returns the exit code.
pub fn main() -> ExitCode {
    program::main(|cli: Cli| match cli.command {
        None => bare(),
        Some(command) => command.run(),
    })
}

/// Without a subcommand the command is `bench` with its defaults, which documents then record.
fn bare() -> anyhow::Result<()> {
    match program::parse::<Cli>(vec!["dpamatch".into(), "bench".into()])?.command {
        Some(Command::Bench(args)) => bench::run(&args),
        _ => unreachable!("these arguments name the bench"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_what_clap_asks_for() {
        let mut command = <Cli as clap::CommandFactory>::command();
        command.build();
        idle::check(&command);
        command.debug_assert();
    }
}
