use clap::Subcommand;

use super::{channels, compare, cost};

/// Reproduce the papers' experiments: matching engines, the cost model, polling.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/study.txt").trim_end())]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Compare(compare::Args),
    Cost(cost::Args),
    Channels(channels::Args),
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    match &args.what {
        What::Compare(args) => compare::run(args),
        What::Cost(args) => cost::run(args),
        What::Channels(args) => channels::run(args),
    }
}
