//! The command line.

mod ablation;
mod accuracy;
mod calibrate;
mod channels;
mod compare;
mod cost;
mod sensitivity;
mod what_if;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use dpamatch_tools::cli::predict::Common;
use dpamatch_tools::cli::{WIDTH, completions, man, program};
use dpamatch_tools::version::VERSION;

/// Repeats the experiments of five papers on MPI message matching.
#[derive(Debug, Parser)]
#[command(name = "dpamatch-papers", version = VERSION, max_term_width = WIDTH, arg_required_else_help = true, after_help = include_str!("help/dpamatch-papers.txt").trim_end())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Ablation(ablation::Args),
    /// Compare predicted rates with the paper's measured Figure 8
    Accuracy(Common),
    Calibrate(calibrate::Args),
    Channels(channels::Args),
    Compare(compare::Args),
    Completions(completions::Args),
    Cost(cost::Args),
    Man(man::Args),
    Sensitivity(sensitivity::Args),
    WhatIf(what_if::Args),
}

pub(crate) fn main() -> ExitCode {
    program::main(|cli: Cli| match &cli.command {
        Command::Ablation(args) => ablation::run(args),
        Command::Accuracy(args) => accuracy::run(args),
        Command::Calibrate(args) => calibrate::run(args),
        Command::Channels(args) => channels::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Completions(args) => completions::write(args, Cli::command()),
        Command::Cost(args) => cost::run(args),
        Command::Man(args) => man::write(args, Cli::command()),
        Command::Sensitivity(args) => sensitivity::run(args),
        Command::WhatIf(args) => what_if::run(args),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_what_clap_asks_for() {
        Cli::command().debug_assert();
    }
}
