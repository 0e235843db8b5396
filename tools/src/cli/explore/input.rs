//! The subject of the exploration: a stream, a worked example, or a block of a recorded trace.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use dpamatch::Rank;
use dpamatch::engine::Oracle;
use dpamatch::stream::{Event, Outcome, Reader, StreamMatcher};
use dpamatch_explore::Ending;
use dpamatch_tools::analyze::Run;
use dpamatch_tools::analyze::order::Network;
use dpamatch_traces::OpenOptions;
use dpamatch_vocabulary::{CommId, Operation};

use super::super::BadInput;
use super::super::analyze::{Order, name_of};
use super::super::input::{file_or_stdin, unreadable};
use super::super::trace::{bad_input, open};

/// The source of the stream.
#[derive(Debug, clap::Args)]
pub(super) struct InputArgs {
    /// A worked example in place of a stream
    #[arg(long, value_enum, value_name = "NAME", conflicts_with = "file")]
    example: Option<Example>,
    /// The stream; - or nothing for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// A trace of MPI calls in place of a stream: one block of one rank
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["file", "example"])]
    trace: Option<PathBuf>,
    /// The rank [default: the one with the most messages]
    #[arg(long, value_name = "R", requires = "trace")]
    rank: Option<u32>,
    /// The block, counted from 0: up to N messages with no post between them [default: the one
    /// with the most equal messages; of these, the first of the widest]
    #[arg(long, value_name = "B", requires = "trace")]
    block: Option<usize>,
    /// Order of posts and arrivals, as for `dpamatch analyze`
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = Order::Causal, requires = "trace")]
    order: Order,
    /// Read the intact part of broken files
    #[arg(long, requires = "trace")]
    salvage: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) name: String,
    pub(super) operations: Vec<Operation>,
    /// Blocks before the requested one.
    pub(super) skip: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Example {
    /// Four equal messages, four equal receives
    X1,
    /// Like x1, with a wildcard receive among them
    X2,
    /// Four equal messages, two receives
    X3,
    /// A forced handler that keeps its receive
    X4,
    /// A forced handler that loses its receive
    X5,
    /// A conflict in which the next two messages have no part
    X6,
    /// The paper's Figure 2: six messages, of which the second and third want one receive
    Fig2,
    /// The paper's Figure 4: the example x1
    Fig4,
}

impl Example {
    /// Its events, one a line.
    fn events(self) -> String {
        let events = match self {
            Self::X1 | Self::Fig4 => {
                "post,0,0,0,7 post,1,0,0,7 post,2,0,0,7 post,3,0,0,7 arrive,0,0,0,7 \
                 arrive,1,0,0,7 arrive,2,0,0,7 arrive,3,0,0,7"
            }
            Self::X2 => {
                "post,0,0,0,7 post,1,0,0,7 post,2,0,*,7 post,3,0,0,7 arrive,0,0,0,7 \
                 arrive,1,0,0,7 arrive,2,0,0,7 arrive,3,0,0,7"
            }
            Self::X3 => {
                "post,0,0,0,7 post,1,0,0,7 arrive,0,0,0,7 arrive,1,0,0,7 arrive,2,0,0,7 \
                 arrive,3,0,0,7"
            }
            Self::X4 => {
                "post,0,0,0,7 post,1,0,1,9 post,2,0,*,* arrive,0,0,0,7 arrive,1,0,0,7 \
                 arrive,2,0,1,9 arrive,3,0,0,7"
            }
            Self::X5 => "post,0,0,0,7 post,1,0,*,7 arrive,0,0,0,7 arrive,1,0,0,7 arrive,2,0,1,7",
            Self::X6 => {
                "post,0,0,0,7 post,1,0,1,8 post,2,0,0,7 post,3,0,2,9 arrive,0,0,0,7 \
                 arrive,1,0,0,7 arrive,2,0,1,8 arrive,3,0,2,9"
            }
            Self::Fig2 => {
                "post,0,0,0,1 post,1,0,1,2 post,2,0,2,3 post,3,0,3,4 post,4,0,4,5 \
                 arrive,0,0,0,1 arrive,1,0,1,2 arrive,2,0,1,2 arrive,3,0,2,3 arrive,4,0,3,4 \
                 arrive,5,0,4,5"
            }
        };
        events.replace(' ', "\n")
    }
}

/// Maximum events of a stream: a longer story is unreadable.
const EVENTS_MAX: usize = 10_000;

impl InputArgs {
    pub(super) fn load(&self, handlers: usize) -> anyhow::Result<Input> {
        if let Some(trace) = &self.trace {
            return self.block_of(trace, handlers);
        }
        let (name, operations) = if let Some(example) = self.example {
            let value = example.to_possible_value();
            let name = value.expect("every example has a name");
            let name = format!("example {}", name.get_name());
            let operations = read(&name, example.events().as_bytes())?;
            (name, operations)
        } else {
            let (name, input) = file_or_stdin(&self.file)?;
            let operations = read(&name, input)?;
            (name, operations)
        };
        if operations.is_empty() {
            return Err(BadInput(format!("{name}: the stream is empty")).into());
        }
        Ok(Input {
            name,
            operations,
            skip: 0,
        })
    }

    fn block_of(&self, path: &Path, handlers: usize) -> anyhow::Result<Input> {
        let bad = |what: String| BadInput(format!("{}: {what}", path.display()));
        let rank = self.rank.map(Rank::new).transpose();
        let rank = rank.map_err(|error| BadInput(format!("--rank: {error}")))?;
        let options = OpenOptions {
            salvage: self.salvage,
            rank,
        };
        let source = open(path, options)?;
        let run = Run::load(source.as_ref(), |_| {});
        let run = run.map_err(|error| bad_input(error, !self.salvage))?;
        let places = 0..run.programs.len();
        let at = match self.rank {
            Some(rank) => places
                .into_iter()
                .find(|&place| run.programs[place].rank == rank),
            None => places.max_by_key(|&at| (run.inbound[at].len(), usize::MAX - at)),
        };
        let at = at.ok_or_else(|| bad("no trace of this rank".to_owned()))?;
        let (orders, ..) = run
            .orders(self.order.choice(1), Network::default())
            .ok_or_else(|| {
                bad("--order time: some ranks of the trace have no wall times".to_owned())
            })?;
        let events: Vec<Event> = run.view(at).events(&orders[at]).collect();
        let blocks = blocks(&events, handlers);
        let most = || {
            (0..blocks.len())
                .rev()
                .max_by_key(|&at| equal(&events[blocks[at].clone()]))
        };
        let Some(number) = self.block.or_else(most) else {
            return Err(bad("no messages arrive".to_owned()).into());
        };
        let Some(block) = blocks.get(number) else {
            let last = blocks.len().saturating_sub(1);
            return Err(BadInput(format!("--block {number}: the last block is {last}")).into());
        };
        let rank = run.programs[at].rank;
        let name = format!(
            "block {number} of {} of rank {rank} of {}",
            blocks.len(),
            name_of(path)
        );
        Ok(Input::of_block(name, &events, block.clone(), handlers)?)
    }
}

/// Messages of a block that are like an earlier one, which find one receive, and all of them.
fn equal(block: &[Event]) -> (usize, usize) {
    let kinds = block.iter().map(|event| match event {
        Event::Arrive { envelope, .. } => Some(*envelope),
        _ => None,
    });
    let kinds: std::collections::HashSet<_> = kinds.collect();
    (block.len() - kinds.len(), block.len())
}

/// The blocks of a rank, each of up to `handlers` consecutive messages.
fn blocks(events: &[Event], handlers: usize) -> Vec<std::ops::Range<usize>> {
    let arrives = |event: &Event| matches!(event, Event::Arrive { .. });
    let mut blocks = Vec::new();
    let mut from = 0;
    for run in events.chunk_by(|a, b| arrives(a) && arrives(b)) {
        let end = from + run.len();
        if arrives(&run[0]) {
            blocks.extend(
                (from..end)
                    .step_by(handlers)
                    .map(|at| at..(at + handlers).min(end)),
            );
        }
        from = end;
    }
    blocks
}

impl Input {
    /// The messages of a block, with the receives and the unexpected messages that wait when it
    /// begins.
    fn of_block(
        name: String,
        events: &[Event],
        block: std::ops::Range<usize>,
        handlers: usize,
    ) -> Result<Self, BadInput> {
        let before = &events[..block.start];
        let mut left = Vec::new();
        let left_over = Oracle::new().run(&mut before.iter().copied(), &mut |outcome| {
            if matches!(outcome, Outcome::Posted { .. } | Outcome::Unexpected { .. }) {
                left.push(outcome);
            }
        });
        left_over.map_err(|error| BadInput(error.to_string()))?;
        let held: std::collections::HashSet<Outcome> = left.into_iter().collect();
        let is_held = |event: &&Event| match **event {
            Event::Arrive { msg, .. } => held.contains(&Outcome::Unexpected { msg }),
            Event::Post { recv, .. } => held.contains(&Outcome::Posted { recv }),
            _ => false,
        };
        // No waiting receive accepts a waiting message, so all messages may come first.
        let (messages, receives): (Vec<&Event>, Vec<&Event>) = before
            .iter()
            .filter(is_held)
            .partition(|event| matches!(event, Event::Arrive { .. }));
        let skip = messages.len().div_ceil(handlers);
        let all = messages.into_iter().chain(receives).chain(&events[block]);
        let mut operations = all.map(operation).collect::<Result<Vec<_>, _>>()?;
        if operations.len() > EVENTS_MAX {
            return Err(BadInput(format!(
                "{name}: more than {EVENTS_MAX} receives and messages wait when it begins"
            )));
        }
        let mut numbers = HashMap::new();
        for comm in operations.iter_mut().filter_map(Operation::comm_mut) {
            let next = CommId(numbers.len() as u32);
            *comm = *numbers.entry(*comm).or_insert(next);
        }
        Ok(Self {
            name,
            operations,
            skip,
        })
    }

    /// The oracle's result for the stream.
    pub(super) fn expected(&self) -> anyhow::Result<Ending> {
        let mut ending = Ending::default();
        let comms: HashMap<_, _> = self
            .operations
            .iter()
            .filter_map(|operation| match operation {
                Operation::Arrive { msg, envelope, .. } => Some((*msg, envelope.comm)),
                _ => None,
            })
            .collect();
        let mut unexpected = Vec::new();
        let mut events = self.operations.iter().filter_map(event);
        Oracle::new().run(&mut events, &mut |outcome| match outcome {
            Outcome::Matched { recv, msg } => ending.matches.push((recv.0, msg.0)),
            Outcome::Posted { recv } => ending.posted.push(recv.0),
            Outcome::Unexpected { msg } => unexpected.push((comms.get(&msg).copied(), msg.0)),
            _ => {}
        })?;
        // The oracle's order: by communicator, then by arrival.
        unexpected.sort_by_key(|&(comm, _)| comm);
        ending.unexpected = unexpected.into_iter().map(|(_, msg)| msg).collect();
        ending.matches.sort_unstable();
        ending.posted.sort_unstable();
        Ok(ending)
    }
}

/// Largest communicator of a stream: each schedule makes all up to the largest.
const COMM_MAX: u32 = 4095;

fn read(name: &str, input: impl io::BufRead) -> anyhow::Result<Vec<Operation>> {
    let mut events = Reader::new(input);
    let mut operations = Vec::new();
    while let Some(event) = events.next() {
        let event = event.map_err(|error| unreadable(name, error))?;
        if operations.len() == EVENTS_MAX {
            return Err(BadInput(format!("{name}: more than {EVENTS_MAX} events")).into());
        }
        let at = || format!("{name}:{}", events.line());
        let operation =
            operation(&event).map_err(|BadInput(what)| BadInput(format!("{}: {what}", at())))?;
        if let Some(CommId(comm)) = operation.comm()
            && comm > COMM_MAX
        {
            return Err(BadInput(format!(
                "{}: communicator {comm}: explore takes communicators from 0 to {COMM_MAX}",
                at()
            ))
            .into());
        }
        operations.push(operation);
    }
    Ok(operations)
}

fn operation(event: &Event) -> Result<Operation, BadInput> {
    if event.lie() != 0 {
        let what = "only match runs senders that lie";
        return Err(BadInput(format!("{event}: {what}")));
    }
    match event.operation(0, 0) {
        Operation::Probe { .. } => Err(BadInput(format!(
            "{event}: probes cannot be explored, only posts, arrivals and cancels"
        ))),
        other => Ok(other),
    }
}

/// Converts an operation for the oracle.
fn event(operation: &Operation) -> Option<Event> {
    Some(match *operation {
        Operation::Post {
            recv,
            comm,
            selector,
            ..
        } => Event::Post {
            recv,
            comm,
            selector,
            size: None,
            coll: None,
        },
        Operation::Arrive { msg, envelope, .. } => Event::Arrive {
            msg,
            envelope,
            bytes: None,
            coll: None,
            lie: 0,
        },
        Operation::Cancel { recv } => Event::Cancel { recv },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_end_at_their_limits() {
        let count = |text: &str| read("s", text.as_bytes()).map(|it| it.len());
        let told = |text: &str| count(text).map_err(|error| error.to_string());
        for comm in [4_094, 4_095] {
            assert_eq!(told(&format!("post,0,{comm},0,1\n")), Ok(1), "{comm}");
        }
        let what = "s:1: communicator 4096: explore takes communicators from 0 to 4095";
        assert_eq!(told("post,0,4096,0,1\n"), Err(what.to_owned()));
        let mut text: String = (0..9_999).map(|id| format!("post,{id},0,0,1\n")).collect();
        assert_eq!(told(&text), Ok(9_999));
        text += "post,9999,0,0,1\n";
        assert_eq!(told(&text), Ok(10_000));
        text += "post,10000,0,0,1\n";
        assert_eq!(told(&text), Err("s: more than 10000 events".to_owned()));
    }
}
