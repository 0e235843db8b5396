//! A rank's recorded posts and arrivals as the workload.

use std::array;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use dpamatch::Rank;
use dpamatch_predict::{Offer, Sequence};
use dpamatch_tools::analyze::Run;
use dpamatch_tools::analyze::order::Network;
use dpamatch_tools::counted;
use dpamatch_tools::sequence;
use dpamatch_traces::OpenOptions;
use dpamatch_vocabulary::Operation;

use super::super::BadInput;
use super::super::analyze::{Order, name_of};
use super::super::trace::{CollectivesArgs, load};
use super::{Common, Workload};

/// A trace in place of the synthetic workloads.
#[derive(Debug, clap::Args)]
#[command(
    next_help_heading = "A recorded program in place of scenarios",
    mut_arg("collectives", |it| it.requires("trace"))
)]
pub struct RecordedArgs {
    /// A trace of MPI calls: folder, archive or file; or a folder with order logs
    #[arg(long, value_name = "TRACE")]
    trace: Option<PathBuf>,
    /// The rank to run [default: the one with the most messages]
    #[arg(long, value_name = "R", requires = "trace")]
    rank: Option<u32>,
    /// Order of posts and arrivals, as for `dpamatch analyze`
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = Order::Causal, requires = "trace")]
    order: Order,
    /// Read the intact part of broken files
    #[arg(long, requires = "trace")]
    salvage: bool,
    /// Arrival times
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Times::Fast, requires = "trace")]
    times: Times,
    #[command(flatten)]
    collectives: CollectivesArgs,
    #[command(flatten)]
    posts: PostArgs,
}

/// The cost of a sequence besides its messages.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct PostArgs {
    /// Posts, probes and cancels of a recording take no time
    #[arg(long)]
    free_posts: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Times {
    /// As fast as the profile's wire
    Fast,
    /// No earlier than the order's times, from the recorded clocks or the simulated network
    Recorded,
}

/// Maximum communicators of a sequence, since each takes tables in memory.
const COMMUNICATORS_MAX: u32 = 256;

impl PostArgs {
    pub fn workload(self, name: String, sequence: Sequence) -> Result<Workload, BadInput> {
        if sequence.comms() > COMMUNICATORS_MAX {
            return Err(BadInput(format!(
                "{name}: more than {COMMUNICATORS_MAX} communicators"
            )));
        }
        if sequence.messages() == 0 {
            return Err(BadInput(format!("{name}: no messages arrive")));
        }
        let offer = Offer::Sequence(sequence);
        Ok(Workload {
            name,
            offer,
            paper: None,
            charge_commands: !self.free_posts,
        })
    }
}

impl RecordedArgs {
    pub fn is_given(&self) -> bool {
        self.trace.is_some()
    }

    /// Loads the sequence of `--rank` or of the rank with the most messages, if a trace is given.
    pub fn load(&self, common: &Common) -> anyhow::Result<Option<Workload>> {
        let Some(path) = &self.trace else {
            return Ok(None);
        };
        let one = self.sequences(path, common, |run| match self.rank {
            Some(rank) => run.programs.iter().position(|program| program.rank == rank),
            None => {
                (0..run.programs.len()).max_by_key(|&at| (run.inbound[at].len(), usize::MAX - at))
            }
        })?;
        let none = || BadInput(format!("{}: no trace of this rank", path.display()));
        Ok(Some(one.into_iter().next().ok_or_else(none)?))
    }

    /// Loads the sequences of the ranks of `path` that `choose` names.
    fn sequences<I: IntoIterator<Item = usize>>(
        &self,
        path: &Path,
        common: &Common,
        choose: impl FnOnce(&Run) -> I,
    ) -> anyhow::Result<Vec<Workload>> {
        let bad = |what: String| BadInput(format!("{}: {what}", path.display()));
        let rank = self
            .rank
            .map(Rank::new)
            .transpose()
            .map_err(|error| BadInput(format!("--rank: {error}")))?;
        let options = OpenOptions {
            salvage: self.salvage,
            rank,
        };
        let run = load(path, options, self.collectives, "ranks read")?;
        let network = Network {
            seed: common.seed,
            ..Network::default()
        };
        let (orders, ..) = run
            .orders(self.order.choice(common.seed), network)
            .ok_or_else(|| {
                bad("--order time: some ranks of the trace have no wall times".to_owned())
            })?;
        let sequence =
            |at: usize| {
                let order = &orders[at];
                let name = format!("rank {} of {}", run.programs[at].rank, name_of(path));
                let mut events = sequence(run.view(at).events(order));
                if self.times == Times::Recorded {
                    let times: Option<Vec<u64>> =
                        (0..order.len()).map(|place| order.time_ns(place)).collect();
                    let times = times.ok_or_else(|| {
                    bad("--times recorded goes with --order causal or time: other orders have no \
                         times"
                        .to_owned())
                })?;
                    events = events.at(times);
                }
                Ok(self.posts.workload(name, events)?)
            };
        choose(&run).into_iter().map(sequence).collect()
    }
}

/// The sequences of all ranks to which messages come, by name of the trace.
pub fn all_ranks(
    path: &Path,
    posts: PostArgs,
    common: &Common,
) -> anyhow::Result<(String, Vec<Workload>)> {
    let args = RecordedArgs {
        collectives: CollectivesArgs::default(),
        trace: None,
        rank: None,
        order: Order::Causal,
        salvage: false,
        times: Times::Fast,
        posts,
    };
    let some = |run: &Run| {
        let ranks = run
            .inbound
            .iter()
            .enumerate()
            .filter(|(_, inbound)| !inbound.is_empty());
        ranks.map(|(at, _)| at).collect::<Vec<_>>()
    };
    Ok((name_of(path), args.sequences(path, common, some)?))
}

pub fn describe(sequence: &Sequence) -> String {
    let mut counts = [0_u64; 4];
    for operation in sequence.operations() {
        counts[match operation {
            Operation::Arrive { .. } => 0,
            Operation::Post { .. } => 1,
            Operation::Probe { .. } => 2,
            _ => 3,
        }] += 1;
    }
    let when = if sequence.is_timed() {
        "at their times"
    } else {
        "as fast as the wire brings them"
    };
    let nouns = ["message", "post", "probe", "cancel"];
    let [messages, posts, probes, cancels] = array::from_fn(|at| counted(counts[at], nouns[at]));
    format!("{messages} {when}, {posts}, {probes}, {cancels}")
}

#[cfg(test)]
mod tests {
    use dpamatch_vocabulary::{CommId, Envelope, MsgId, Tag};

    use super::*;

    #[test]
    fn a_sequence_has_up_to_256_communicators() {
        for (comms, fits) in [(255, true), (256, true), (257, false)] {
            let arrive = |number: u32| Operation::Arrive {
                msg: MsgId(number.into()),
                envelope: Envelope {
                    comm: CommId(number),
                    source: Rank::default(),
                    tag: Tag::default(),
                },
                bytes: 8,
            };
            let sequence = Sequence::new((0..comms).map(arrive).collect());
            let args = PostArgs { free_posts: false };
            let made = args.workload("it".to_owned(), sequence);
            let wrong = made.err().map(|BadInput(what)| what);
            let expected = (!fits).then_some("it: more than 256 communicators");
            assert_eq!(wrong.as_deref(), expected, "{comms}");
        }
    }
}
