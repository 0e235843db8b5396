//! The order that comes about when the ranks run: each until it blocks, messages under way for as
//! long as a simple network takes them.
//!
//! A rank's clock moves by the processor time that the trace shows between its calls. A blocking
//! receive, a wait or a probe waits for its message, a collective operation for the ranks that it
//! needs; a test or probe that found nothing is no event, one that found something waits for it,
//! since the program went that way. Sends do not wait unless they are synchronous. Where a receive
//! of any source takes another message than it did in reality, the recorded program may ask for one
//! that never comes: then the rank is let go, and the stall is counted.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use dpamatch_vocabulary::CommId;
use foldhash::fast::RandomState as Fast;

use super::{Dice, Order};
use crate::analyze::communicators::{Communicators, Translation};
use crate::analyze::inbound::Inbound;
use crate::analyze::program::{Program, UNKNOWN};
use dpamatch::engine::{BinCount, BinEngine};

mod deliver;
mod network;
mod steps;

pub use network::{Load, Network, Stall};

/// What a rank waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wait {
    /// Nothing: it has an entry in the queue of times.
    Nothing,
    /// A transfer that it began.
    Transfer(u32),
    /// The rest of a list of finished transfers.
    Finish { next: u32, end: u32 },
    /// A message for a probe.
    Probe(u32),
    /// Others in this collective operation of this communicator.
    Collective(u32, u32),
    /// Nothing any more: its next step is due.
    Woken,
    /// It is at its end.
    End,
}

/// The k-th collective operation on a communicator.
#[derive(Debug, Default)]
struct Meeting {
    came: u32,
    latest_ns: u64,
    root_came: bool,
    root_ns: u64,
    waiting: Vec<u32>,
}

#[derive(Debug)]
struct RankState {
    step: u32,
    now_ns: u64,
    wait: Wait,
    dice: Dice,
    /// Transfers that are complete: received, or a synchronous send taken.
    complete: Vec<bool>,
    order: Order,
}

/// The simulation. Orders are its result.
#[derive(Debug)]
pub struct Causal<'a> {
    programs: &'a [Program],
    comms: &'a Communicators,
    inbound: &'a [Vec<Inbound>],
    network: Network,
    load: Load,
    /// Receiver and number there of each program's sends, in the order of its transfers.
    outbound: Vec<Vec<(u32, u32)>>,
    ranks: Vec<RankState>,
    engine: BinEngine,
    /// Time, number, and rank whose step or (receiver, message) whose arrival is due.
    due: BinaryHeap<Reverse<(u64, u64, u32, u32)>>,
    number: u64,
    /// When the last message from one rank to another arrives.
    last_arrival: HashMap<u64, u64, Fast>,
    meetings: HashMap<(u32, u32), Meeting, Fast>,
    met: HashMap<(u32, u32), u32, Fast>,
    /// Ranks with a trace in each communicator; 0 where its members are not sure: then nobody
    /// waits.
    present: Vec<u32>,
    stalls: u64,
    first_stalls: Vec<Stall>,
}

/// Stalls that are told one by one.
const STALLS_TOLD: usize = 8;
/// In place of a message: the rank's next step.
const STEP: u32 = u32::MAX;

impl<'a> Causal<'a> {
    /// All ranks at their start.
    pub fn new(
        programs: &'a [Program],
        comms: &'a Communicators,
        inbound: &'a [Vec<Inbound>],
        network: Network,
    ) -> Self {
        let index: HashMap<u32, usize> =
            programs.iter().enumerate().map(|(at, program)| (program.rank, at)).collect();
        let mut outbound: Vec<Vec<(u32, u32)>> = programs
            .iter()
            .map(|program| vec![(UNKNOWN, UNKNOWN); program.transfers.len()])
            .collect();
        for (receiver, messages) in inbound.iter().enumerate() {
            for (number, message) in messages.iter().enumerate() {
                if let Some(&sender) = index.get(&message.sender).filter(|_| message.op != UNKNOWN)
                {
                    outbound[sender][message.op as usize] = (receiver as u32, number as u32);
                }
            }
        }
        let ranks = programs.iter().zip(inbound).map(|(program, inbound)| RankState {
            step: 0,
            now_ns: 0,
            wait: Wait::Nothing,
            dice: Dice::new(network.seed, program.rank),
            complete: vec![false; program.transfers.len()],
            order: Order {
                codes: Vec::with_capacity(program.transfers.len() / 2 + inbound.len()),
                times_ns: Vec::with_capacity(program.transfers.len() / 2 + inbound.len()),
            },
        });
        let ranks = ranks.collect();
        let present = comms.all.iter().map(|comm| {
            let everyone =
                || comm.members.iter().chain(comm.remote.iter().flat_map(|remote| remote.iter()));
            let here = everyone().filter(|world| index.contains_key(world)).count();
            if comm.translation == Translation::Exact && here == everyone().count() {
                here as u32
            } else {
                0
            }
        });
        let present = present.collect();
        Self {
            programs,
            comms,
            inbound,
            network,
            load: Load::default(),
            outbound,
            ranks,
            engine: BinEngine::new(BinCount::new(16_384).unwrap_or_default()),
            due: (0..programs.len())
                .map(|rank| Reverse((0, rank as u64, rank as u32, STEP)))
                .collect(),
            number: programs.len() as u64,
            last_arrival: HashMap::default(),
            meetings: HashMap::default(),
            met: HashMap::default(),
            present,
            stalls: 0,
            first_stalls: Vec::new(),
        }
    }

    /// Runs to the end: the order at each rank, how often a rank had to be let go, and the first of
    /// these times.
    ///
    /// # Complexity
    /// A few hash and heap operations for each step and message.
    pub fn run(mut self) -> (Vec<Order>, u64, Vec<Stall>) {
        self.run_all();
        (self.ranks.into_iter().map(|rank| rank.order).collect(), self.stalls, self.first_stalls)
    }

    /// Runs to the end with what matching costs: when each rank is done, in nanoseconds.
    ///
    /// # Complexity
    /// As [`run`](Self::run).
    pub fn ends(mut self, load: Load) -> Vec<u64> {
        self.load = load;
        self.run_all();
        self.ranks.into_iter().map(|rank| rank.now_ns).collect()
    }

    fn run_all(&mut self) {
        self.place_assumed();
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
        self.due.push(Reverse((time_ns, self.number, rank, message)));
    }

    /// Communicators of different ranks share the engine.
    fn engine_comm(&self, rank: u32, comm: u32) -> CommId {
        CommId(rank.wrapping_mul(self.comms.all.len() as u32).wrapping_add(comm))
    }

    /// Messages whose sends are in no trace stand in the place of their receive.
    fn place_assumed(&mut self) {
        let orphans = self.inbound.iter().enumerate().flat_map(|(rank, messages)| {
            messages
                .iter()
                .enumerate()
                .filter(|(_, message)| message.op == UNKNOWN)
                .map(move |(number, message)| (rank, number, message.receive))
        });
        for (rank, number, receive) in orphans {
            self.outbound[rank][receive as usize] = (rank as u32, number as u32);
        }
    }
}
