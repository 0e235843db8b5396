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

use self::due::{Due, Event};
use super::gate::Gate;
use super::{Dice, Happening, Order};
use crate::analyze::communicators::{Communicators, Translation};
use crate::analyze::inbound::{Messages, Way, Ways};
use crate::analyze::probes::Probes;
use crate::analyze::program::{Program, UNKNOWN};
use crate::analyze::run::Run;
use crate::analyze::steps::StepsIter;
use dpamatch::engine::OptimisticSeqEngine;

mod deliver;
mod due;
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
    /// Where its sends go, by kind of transfer: one of the links, or [`UNKNOWN`].
    ways: Vec<u32>,
    links: Vec<Link>,
    /// The engine's number of the communicator that was used last.
    comm: Option<(u32, CommId)>,
    order: Order,
    /// Only at a rank with probes.
    gate: Option<Gate<'a>>,
}

/// The messages of a rank to another one. They arrive in order.
#[derive(Clone, Copy, Debug)]
struct Link {
    receiver: u32,
    /// The receiver's number of the next message.
    next: u32,
    last_arrival_ns: u64,
}

/// The links of each rank before the first message, ascending by receiver.
fn links(run: &Run) -> Vec<Vec<Link>> {
    let mut links = vec![Vec::new(); run.programs.len()];
    for view in run.views() {
        let mut before = UNKNOWN;
        for (number, message) in (0..).zip(view.inbound.iter()) {
            if message.op == UNKNOWN || message.sender == before {
                continue;
            }
            before = message.sender;
            if let Some(sender) = run.program_of(message.sender) {
                links[sender].push(Link {
                    receiver: view.at as u32,
                    next: number,
                    last_arrival_ns: 0,
                });
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
    due: Due,
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
    /// Whether the ranks' orders are kept.
    keeps_orders: bool,
    /// Messages that found a posted receive, and others.
    arrived: [u64; 2],
    /// Ranks of which some sends are synchronous.
    synchronous: Bits,
}

/// Maximum stalls to list one by one.
const STALLS_TOLD: usize = 8;
/// In place of a message: the rank's next step.
const STEP: u32 = u32::MAX;

impl<'a> Causal<'a> {
    pub fn new(run: &'a Run, network: Network) -> Self {
        Self::with(run, network, true)
    }

    fn with(run: &'a Run, network: Network, keeps_orders: bool) -> Self {
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
        let mut synchronous = Bits::new(programs.len());
        let ranks = programs.iter().zip(run.views()).zip(links(run));
        let ranks = ranks.map(|((program, view), links)| {
            if program.transfers.kinds().iter().any(|it| it.synchronous) {
                synchronous.set(view.at as u32);
            }
            let link = |way| match way {
                Way::To(receiver) => {
                    let found = links.binary_search_by_key(&receiver, |link| link.receiver);
                    found.map_or(UNKNOWN, |link| link as u32)
                }
                _ => UNKNOWN,
            };
            let events = match keeps_orders {
                true => program.transfers.len() / 2 + view.inbound.len(),
                false => 0,
            };
            RankState {
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
                ways: ways.of(view.at).into_iter().map(link).collect(),
                links,
                comm: None,
                order: Order::with_times(events),
                gate: Gate::new(view, true),
            }
        });
        let ranks = ranks.collect();
        let mut due = Due::new();
        (0..programs.len() as u32).for_each(|rank| due.push(Event::step(0, rank)));
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
            due,
            meetings: HashMap::default(),
            met: HashMap::default(),
            present,
            holding: BTreeSet::new(),
            stalled: None,
            stalls: 0,
            first_stalls: Vec::new(),
            keeps_orders,
            arrived: [0; 2],
            synchronous,
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

    /// When each rank is done with the matching cost `load`, in nanoseconds. The complexity is that
    /// of [`run`](Self::run).
    pub fn ends(run: &'a Run, network: Network, load: Load) -> Vec<u64> {
        let mut causal = Self::with(run, network, false);
        causal.load = load;
        causal.run_all();
        causal.ranks.into_iter().map(|rank| rank.now_ns).collect()
    }

    /// The messages that find a posted receive, and the others. The complexity is that of
    /// [`run`](Self::run).
    pub fn counts(run: &'a Run, network: Network) -> [u64; 2] {
        let mut causal = Self::with(run, network, false);
        causal.run_all();
        causal.arrived
    }

    fn run_all(&mut self) {
        loop {
            while let Some(event) = self.due.pop() {
                let Event {
                    time_ns,
                    rank,
                    message,
                } = event;
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

    /// Adds an event to a rank's order.
    fn happens(&mut self, rank: u32, happening: Happening, time_ns: u64) {
        if self.keeps_orders {
            self.ranks[rank as usize].order.push_at(happening, time_ns);
        }
    }

    /// The ranks' communicators share one engine, so each gets its own number there.
    fn engine_comm(&mut self, rank: u32, comm: u32) -> CommId {
        let last = &mut self.ranks[rank as usize].comm;
        if let Some((_, number)) = last.filter(|&(last, _)| last == comm) {
            return number;
        }
        let next = self.engine_comms.len() as u32;
        let entry = self.engine_comms.entry((rank, comm));
        let number = *entry.or_insert(CommId(next));
        *last = Some((comm, number));
        number
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
