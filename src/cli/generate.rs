//! `dpamatch gen`.

use std::io::Write;

use dpamatch::stream::{Generator, Profile};

use super::output;

const EXAMPLES: &str = "\
Profiles:
  mixed  some of everything, the largest rank, tag and communicator included
  hot    few keys in long bursts
  wild   half of the receives' sources and tags wild
  deep   many keys, long queues
  coll   collective operations in communicators of their own beside point-to-point traffic

Examples:
  dpamatch gen                                   2,000 events, mixed, seed 1
  dpamatch gen --seed 3 --events 100000 --profile wild > wild.txt
  dpamatch gen --profile deep | dpamatch match --engine bins --stats > results.txt";

/// Print a random stream of events; the same arguments give the same stream on every machine.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Seed of the random numbers
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Number of events
    #[arg(long, value_name = "E", default_value_t = 2000)]
    events: u64,
    /// What the stream is like
    #[arg(long, value_name = "P", default_value_t = Profile::Mixed)]
    profile: Profile,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let mut out = output::stdout();
    let Args { seed, events, profile } = args;
    writeln!(out, "# dpamatch gen --seed {seed} --events {events} --profile {profile}")?;
    for event in Generator::new(*seed, *events, *profile) {
        writeln!(out, "{event}")?;
    }
    Ok(out.flush()?)
}
