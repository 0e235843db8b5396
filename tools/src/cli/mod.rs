//! The command line: arguments, exit codes, messages.
//!
//! Exit codes: 0 all went well (a reader of the output that goes away early counts as well), 1
//! something failed (input that cannot be read, an engine that cannot go on), 2 the arguments or
//! the input are wrong, 3 a matching is wrong (an explored schedule, a checked trace), 130 the user wanted to stop while
//! something was being written.

mod analyze;
mod bench;
mod calibrate;
mod channels;
mod compare;
mod cost;
mod engines;
mod explore;
mod footprint;
mod generate;
mod interrupt;
mod matching;
mod nic_args;
mod offload;
mod output;
mod predict;
mod staged;
mod table;
mod trace;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use dpamatch_tools::version::VERSION;

const EXAMPLES: &str = "\
Examples:
  dpamatch                                       the same as dpamatch bench
  dpamatch bench                                 measure message rates, in less than a minute
  dpamatch match events.txt                      match a stream of events
  dpamatch gen --seed 7 | dpamatch match         match a random stream
  dpamatch cost                                  what communication costs, and how much of it is matching
  dpamatch analyze traces/lulesh-27              what the matching of a recorded program looks like
  dpamatch offload traces/lulesh-27              does it pay to let a card match?
  dpamatch channels                              policies for polling several channels
  dpamatch engines                               list the engines
  dpamatch compare --all --out DIR               the papers' experiments on all engines
  dpamatch footprint --bins 128                  memory of the emulated NIC
  dpamatch predict                               what a real DPA would do, in virtual time
  dpamatch trace info run.tar.xz                 what is in a trace of MPI calls

dpamatch COMMAND --help shows more of each command.";

/// Emulator of a SmartNIC data-path accelerator that does MPI message matching.
#[derive(Debug, Parser)]
#[command(name = "dpamatch", version = VERSION, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Analyze(analyze::Args),
    Bench(bench::Args),
    Calibrate(calibrate::CalibrateArgs),
    Cost(cost::Args),
    Channels(channels::Args),
    Compare(compare::Args),
    Match(matching::Args),
    Explore(explore::Args),
    Engines(engines::Args),
    Footprint(footprint::Args),
    Gen(generate::Args),
    Offload(offload::Args),
    Predict(predict::Args),
    Trace(trace::Args),
}

/// Input that is wrong, as opposed to input that cannot be read: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct BadInput(String);

/// A schedule gave another result than the oracle: exit code 3. Everything about it has been
/// printed.
#[derive(Debug, thiserror::Error)]
#[error("a schedule gave another result than the oracle")]
struct Violated;

/// Pairs that break MPI's rules, or engines that do not agree: exit code 3.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct WrongMatching(String);

/// Runs the command and says how the process ends.
pub(crate) fn main() -> ExitCode {
    let result = match Cli::parse().command {
        None => bare(),
        Some(Command::Analyze(args)) => analyze::run(&args),
        Some(Command::Bench(args)) => bench::run(&args),
        Some(Command::Calibrate(args)) => calibrate::run(&args),
        Some(Command::Cost(args)) => cost::run(&args),
        Some(Command::Channels(args)) => channels::run(&args),
        Some(Command::Compare(args)) => compare::run(&args),
        Some(Command::Match(args)) => matching::run(&args),
        Some(Command::Explore(args)) => explore::run(&args),
        Some(Command::Engines(args)) => engines::run(&args),
        Some(Command::Footprint(args)) => footprint::run(&args),
        Some(Command::Gen(args)) => generate::run(&args),
        Some(Command::Offload(args)) => offload::run(&args),
        Some(Command::Predict(args)) => predict::run(&args),
        Some(Command::Trace(args)) => trace::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to be done if the message cannot be written either.
            let _ = writeln!(io::stderr(), "dpamatch: {error:#}");
            ExitCode::from(exit_code(&error))
        }
    }
}

fn exit_code(error: &anyhow::Error) -> u8 {
    match () {
        () if error.is::<BadInput>() => 2,
        () if error.is::<Violated>() || error.is::<WrongMatching>() => 3,
        () if error.is::<interrupt::Interrupted>() => 130,
        () => 1,
    }
}

/// This command as it was given.
fn command_line() -> String {
    let arguments = std::env::args().skip(1).map(quoted);
    std::iter::once("dpamatch".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// An argument as a shell would want it.
fn quoted(argument: String) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument;
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

/// Without a command: the bench with its defaults.
fn bare() -> anyhow::Result<()> {
    match Cli::parse_from(["dpamatch", "bench"]).command {
        Some(Command::Bench(args)) => bench::run(&args),
        _ => unreachable!("these arguments name the bench"),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;
    use dpamatch_tools::bench::{BenchError, PointError};

    use super::*;

    #[test]
    fn no_error_ends_well() {
        let wrong = BenchError::WrongMessage { receive: 1, message: 2 };
        let illegal = PointError { point: "NC".to_owned(), source: wrong };
        for (error, code) in [
            (BadInput("a line".to_owned()).into(), 2),
            (Violated.into(), 3),
            (WrongMatching("pairs".to_owned()).into(), 3),
            (interrupt::Interrupted.into(), 130),
            (illegal.into(), 1),
            (anyhow::anyhow!("anything else"), 1),
        ] {
            assert_eq!(exit_code(&error), code, "{error}");
            // What was being done when it happened does not change its kind.
            let error = Err::<(), _>(error).context("while matching").expect_err("an error");
            assert_eq!(exit_code(&error), code, "{error:#}");
        }
    }

    #[test]
    fn the_arguments_are_what_clap_asks_for() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
