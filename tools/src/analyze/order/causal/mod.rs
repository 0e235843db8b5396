//! The order of a simulated run: each rank runs until it blocks, and a simple network delays
//! messages.
//!
//! A rank's clock advances by the processor time that the trace shows between its calls. A blocking
//! receive, a wait or a probe waits for its message; a collective operation waits for the ranks
//! that it needs. A test or probe that found nothing is no event. One that found something waits
//! for it, since the program took that path. Only synchronous sends wait.
//!
//! At a rank with probes a message waits for others if the recorded pairs need that ([`Gate`]).
//! Elsewhere a receive of any source may take another message than in the recorded run, and the
//! program may then wait for one that never comes. The simulation releases such a rank and counts
//! the stall.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::iter::Peekable;

use dpamatch_vocabulary::CommId;
use foldhash::fast::RandomState as Fast;

use super::gate::Gate;
use super::{Dice, Order};
use crate::analyze::communicators::{Communicators, Translation};
use crate::analyze::inbound::{Messages, Way, Ways};
use crate::analyze::probes::Probes;
use crate::analyze::program::{Program, UNKNOWN};
use crate::analyze::run::Run;
use crate::analyze::steps::StepsIter;
use dpamatch::engine::OptimisticSeqEngine;

mod deliver;
mod network;
mod steps;

pub use network::{Load, Network, Stall};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wait {
    /// None: the rank is in the queue of due events.
    Nothing,
    Transfer(u32),
    /// The rest of a list of finished transfers.
    Finish {
        next: u32,
        end: u32,
    },
    Probe(u32),
    /// Other ranks in this collective operation of a communicator.
    Collective(u32, u32),
    /// The wait is over, and the next step is due.
    Woken,
    End,
}

#[derive(Debug, Default)]
struct Meeting {
    came: u32,
    latest_ns: u64,
    root_came: bool,
    root_ns: u64,
    waiting: Vec<u32>,
}

#[derive(Debug)]
struct RankState<'a> {
    /// The number of the current step.
    at: u32,
    /// The current step and those behind it.
    steps: Peekable<StepsIter<'a>>,
    now_ns: u64,
    wait: Wait,
    dice: Dice,
    /// Complete transfers: matched receives and synchronous sends.
    complete: Bits,
    /// Messages without recorded send that are under way, if there are such messages.
    made_up: Bits,
    /// Where its sends go, by kind of transfer.
    ways: Vec<Way>,
    order: Order,
    /// Only at a rank with probes.
    gate: Option<Gate<'a>>,
}

/// The messages of a rank to another one. They arrive in order.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// The receiver's number of the next message.
    next: u32,
    last_arrival_ns: u64,
}

/// The links before the first message.
fn links(run: &Run) -> HashMap<(u32, u32), Link, Fast> {
    let mut links = HashMap::default();
    for view in run.views() {
        let mut before = UNKNOWN;
        for (number, message) in (0..).zip(view.inbound.iter()) {
            if message.op == UNKNOWN || message.sender == before {
                continue;
            }
            before = message.sender;
            if let Some(sender) = run.program_of(message.sender) {
                let link = Link {
                    next: number,
                    last_arrival_ns: 0,
                };
                links.insert((sender as u32, view.at as u32), link);
            }
        }
    }
    links
}

/// One bit for each transfer or message.
#[derive(Clone, Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(bits: usize) -> Self {
        Self(vec![0; bits.div_ceil(64)])
    }

    #[inline]
    fn has(&self, at: u32) -> bool {
        self.0[at as usize / 64] >> (at % 64) & 1 == 1
    }

    /// Sets a bit; returns whether it was not set before.
    #[inline]
    fn set(&mut self, at: u32) -> bool {
        let (word, bit) = (&mut self.0[at as usize / 64], 1 << (at % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

impl RankState<'_> {
    fn go_on(&mut self) {
        self.at += 1;
        self.steps.next();
    }
}

/// The simulation, whose result is an order for each rank.
#[derive(Debug)]
pub struct Causal<'a> {
    run: &'a Run,
    programs: &'a [Program],
    comms: &'a Communicators,
    inbound: &'a [Messages],
    probes: &'a [Probes],
    network: Network,
    load: Load,
    ranks: Vec<RankState<'a>>,
    engine: OptimisticSeqEngine,
    /// The engine's number of each rank's communicators, by rank and communicator.
    engine_comms: HashMap<(u32, u32), CommId, Fast>,
    /// Due events: time, number, and the rank to step or the (receiver, message) to arrive.
    due: BinaryHeap<Reverse<(u64, u64, u32, u32)>>,
    number: u64,
    /// By sender and receiver.
    links: HashMap<(u32, u32), Link, Fast>,
    meetings: HashMap<(u32, u32), Meeting, Fast>,
    met: HashMap<(u32, u32), u32, Fast>,
    /// Ranks with a trace in each communicator; 0 if its members are uncertain, so that no rank
    /// waits.
    present: Vec<u32>,
    /// Ranks that may hold messages behind others.
    holding: BTreeSet<u32>,
    /// From the first stall on: every rank that is not done, by a time that its clock has reached.
    stalled: Option<BinaryHeap<Reverse<(u64, u32)>>>,
    stalls: u64,
    first_stalls: Vec<Stall>,
}

/// Maximum stalls to list one by one.
const STALLS_TOLD: usize = 8;
/// In place of a message: the rank's next step.
const STEP: u32 = u32::MAX;

impl<'a> Causal<'a> {
    pub fn new(run: &'a Run, network: Network) -> Self {
        let Run {
            programs,
            comms,
            inbound,
            probes,
            ..
        } = run;
        let index: HashMap<u32, usize> = programs
            .iter()
            .enumerate()
            .map(|(at, program)| (program.rank, at))
            .collect();
        let ways = Ways::new(programs, comms);
        let ranks = programs
            .iter()
            .zip(run.views())
            .map(|(program, view)| RankState {
                at: 0,
                steps: program.steps.iter().peekable(),
                now_ns: 0,
                wait: Wait::Nothing,
                dice: Dice::new(network.seed, program.rank),
                complete: Bits::new(program.transfers.len()),
                made_up: match view.inbound.has_assumed() {
                    true => Bits::new(view.inbound.len()),
                    false => Bits::default(),
                },
                ways: ways.of(view.at),
                order: Order::with_times(program.transfers.len() / 2 + view.inbound.len()),
                gate: Gate::new(view, true),
            });
        let ranks = ranks.collect();
        let present = comms.all.iter().map(|comm| {
            let everyone = || {
                comm.members
                    .iter()
                    .chain(comm.remote.iter().flat_map(|remote| remote.iter()))
            };
            let here = everyone().filter(|world| index.contains_key(world)).count();
            if comm.translation == Translation::Exact && here == everyone().count() {
                here as u32
            } else {
                0
            }
        });
        let present = present.collect();
        Self {
            run,
            programs,
            comms,
            inbound,
            probes,
            network,
            load: Load::default(),
            ranks,
            // One engine for all ranks, whose chains must not grow with their number.
            engine: OptimisticSeqEngine::new(),
            engine_comms: HashMap::default(),
            due: (0..programs.len())
                .map(|rank| Reverse((0, rank as u64, rank as u32, STEP)))
                .collect(),
            number: programs.len() as u64,
            links: links(run),
            meetings: HashMap::default(),
            met: HashMap::default(),
            present,
            holding: BTreeSet::new(),
            stalled: None,
            stalls: 0,
            first_stalls: Vec::new(),
        }
    }

    /// Runs to the end. Returns the order at each rank, the number of stalls and the first of them.
    ///
    /// # Complexity
    /// A few hash and heap operations for each step, message and stall.
    pub fn run(mut self) -> (Vec<Order>, u64, Vec<Stall>) {
        self.run_all();
        (
            self.ranks.into_iter().map(|rank| rank.order).collect(),
            self.stalls,
            self.first_stalls,
        )
    }

    /// Runs to the end with the matching cost `load`: when each rank is done, in nanoseconds.
    ///
    /// # Complexity
    /// A few hash and heap operations for each step, message and stall.
    pub fn ends(mut self, load: Load) -> Vec<u64> {
        self.load = load;
        self.run_all();
        self.ranks.into_iter().map(|rank| rank.now_ns).collect()
    }

    fn run_all(&mut self) {
        loop {
            while let Some(Reverse((time_ns, _, rank, message))) = self.due.pop() {
                if message == STEP {
                    let state = &mut self.ranks[rank as usize];
                    state.now_ns = state.now_ns.max(time_ns);
                    self.go(rank);
                } else {
                    self.arrive(rank, message, time_ns);
                }
            }
            if !self.let_one_go() {
                break;
            }
        }
    }

    fn push_due(&mut self, time_ns: u64, rank: u32, message: u32) {
        self.number += 1;
        self.due
            .push(Reverse((time_ns, self.number, rank, message)));
    }

    /// The ranks' communicators share one engine, so each gets its own number there.
    fn engine_comm(&mut self, rank: u32, comm: u32) -> CommId {
        let next = self.engine_comms.len() as u32;
        *self
            .engine_comms
            .entry((rank, comm))
            .or_insert(CommId(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::by_hand::program;

    /// Products of rank and number of communicators would wrap in 32 bits here.
    #[test]
    fn every_rank_has_keys_of_its_own() {
        let ranks = 131_071;
        let programs = (0..ranks).map(|rank| program(rank, &[])).collect();
        let run = Run::new(programs, Some(ranks));
        let mut causal = Causal::new(&run, Network::default());
        let mut keys: Vec<CommId> = (0..ranks)
            .flat_map(|rank| [(rank, 0), (rank, rank + 1)])
            .map(|(rank, comm)| causal.engine_comm(rank, comm))
            .collect();
        let again = causal.engine_comm(98_304, 0);
        assert_eq!(again, keys[2 * 98_304]);
        keys.sort_unstable_by_key(|key| key.0);
        keys.dedup();
        assert_eq!(keys.len(), 2 * ranks as usize);
    }
}
