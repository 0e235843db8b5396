use clap::Subcommand;

use super::{channels, compare, cost};

const EXAMPLES: &str = "\
Examples:
  dpamatch study compare --all --out results     every engine on the papers' experiments
  dpamatch study cost                            moving, matching and contention of messages
  dpamatch study channels --out figures          policies for polling several channels

The same commands without the word 'study' work, too.";

/// Reproduce the papers' experiments: matching engines, the cost model, polling.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
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
