//! `dpamatch gen`.

use std::io::Write;

use anyhow::Context;
use dpamatch::stream::{Generator, Profile};
use dpamatch_tools::workload::{Order, Pattern, Workload};

use super::input::one_of;
use super::{BadInput, output};

const EXAMPLES: &str = "\
Profiles:
  mixed  some of everything, the largest rank, tag and communicator included
  hot    few keys in long bursts
  wild   half of the receives' sources and tags wild
  deep   many keys, long queues
  coll   collective operations in communicators of their own beside point-to-point traffic
  comms  thousands of communicators, each used for a while
  keys   keys chosen against hash tables: all in one bin, or different in high bits only

Patterns: what one receiver of a job sees. Options that are not given have the pattern's usual
values.
  senders      4D's micro-benchmark: messages of all ranks, each with its own tag
  depth        entries that never match, and one receive and message behind them in each round
  gather       all ranks send to one, which takes them in the order of ranks
  halo2d       eight neighbours on a torus
  halo3d       26 neighbours on a torus
  ring         n-body: all receives posted at once, messages nearly in order
  alltoall     radix sort: four receives at a time, unexpected messages pile up
  amr          adaptive mesh: changing neighbours, many blocks, an allreduce a round
  coll-gather  collective: a linear gather at its root
  allreduce    collective: recursive doubling
  iallgather   collective: linear allgather, all receives posted at once

Examples:
  dpamatch gen                                   2,000 events, mixed, seed 1
  dpamatch gen --seed 3 --events 100000 --profile wild > wild.txt
  dpamatch gen --profile deep | dpamatch match --engine bins --stats > results.txt
  dpamatch gen --pattern gather --ranks 4096 | dpamatch match --engine list --stats > results.txt
  dpamatch gen --pattern senders --ranks 64 --pending 10 --order reverse
  dpamatch gen --pattern ring --ranks 1048576 --rounds 1 | head";

/// Print a random stream of events, or that of a communication pattern; the same arguments give the
/// same stream on every machine.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Seed of the random numbers
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Number of events of a random stream
    #[arg(long, value_name = "E", default_value_t = 2000)]
    events: u64,
    /// What a random stream is like
    #[arg(long, value_name = "P", default_value_t = Profile::Mixed, hide_possible_values = true,
          value_parser = one_of::<Profile>(Profile::ALL.map(Profile::name)))]
    profile: Profile,
    /// The stream of this pattern, in place of a random one
    #[arg(long, value_name = "NAME", conflicts_with_all = ["events", "profile"], hide_possible_values = true,
          value_parser = one_of::<Pattern>(Pattern::ALL.map(Pattern::name)))]
    pattern: Option<Pattern>,
    #[command(flatten)]
    numbers: Numbers,
}

/// Numbers of a pattern.
#[derive(Debug, clap::Args)]
struct Numbers {
    /// Processes of the job, 2 to 1048576
    #[arg(long, value_name = "N", requires = "pattern")]
    ranks: Option<u32>,
    /// Rounds of the pattern
    #[arg(long, value_name = "R", requires = "pattern")]
    rounds: Option<u64>,
    /// Messages of a sender in a round
    #[arg(long, value_name = "P", requires = "pattern")]
    pending: Option<u32>,
    /// Communicators that do the same at the same time
    #[arg(long, value_name = "K", requires = "pattern")]
    comms: Option<u32>,
    /// Percentage of receives that take any source
    #[arg(long, value_name = "PERCENT", requires = "pattern")]
    any: Option<u32>,
    /// Percentage of messages that arrive before their round's receives are posted
    #[arg(long, value_name = "PERCENT", requires = "pattern")]
    early: Option<u32>,
    /// Order of arrival
    #[arg(long, value_name = "ORDER", requires = "pattern",
          value_parser = one_of::<Order>(Order::ALL.map(Order::name)))]
    order: Option<Order>,
    /// Length of a message
    #[arg(long, value_name = "BYTES", requires = "pattern")]
    bytes: Option<u64>,
}

impl Numbers {
    fn workload(&self, pattern: Pattern, seed: u64) -> Workload {
        let usual = pattern.usual();
        Workload {
            pattern,
            ranks: self.ranks.unwrap_or(usual.ranks),
            rounds: self.rounds.unwrap_or(usual.rounds),
            pending: self.pending.unwrap_or(usual.pending),
            comms: self.comms.unwrap_or(usual.comms),
            any: self.any.unwrap_or(usual.any),
            early: self.early.unwrap_or(usual.early),
            order: self.order.unwrap_or(usual.order),
            bytes: self.bytes.unwrap_or(usual.bytes),
            seed,
        }
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let mut out = output::stdout();
    let Args { seed, events, profile, .. } = args;
    if let Some(pattern) = args.pattern {
        let workload = args.numbers.workload(pattern, *seed);
        let events =
            workload.events().map_err(|error| BadInput(error.to_string())).context(pattern)?;
        let Workload { ranks, rounds, pending, comms, any, early, order, bytes, seed, .. } =
            workload;
        writeln!(
            out,
            "# dpamatch gen --pattern {pattern} --ranks {ranks} --rounds {rounds} --pending {pending} \
             --comms {comms} --any {any} --early {early} --order {order} --bytes {bytes} --seed {seed}"
        )?;
        for event in events {
            writeln!(out, "{event}")?;
        }
        return Ok(out.flush()?);
    }
    writeln!(out, "# dpamatch gen --seed {seed} --events {events} --profile {profile}")?;
    for event in Generator::new(*seed, *events, *profile) {
        writeln!(out, "{event}")?;
    }
    Ok(out.flush()?)
}
