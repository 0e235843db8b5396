//! The order that comes about when the ranks run: each until it blocks, messages under way for as long as a simple
//! network takes them.
//!
//! A rank's clock moves by the processor time that the trace shows between its calls. A blocking receive, a wait or a
//! probe waits for its message, a collective operation for the ranks that it needs; a test or probe that found nothing
//! is no event, one that found something waits for it, since the program went that way. Sends do not wait unless they are
//! synchronous. Where a receive of any source takes another message than it did in reality, the recorded program may ask
//! for one that never comes: then the rank is let go, and the stall is counted.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use dpa_model::{CommId, Envelope, Rank, Tag};

use super::{Dice, Happening, Order};
use crate::analyze::communicators::{Communicators, Translation};
use crate::analyze::fast_hash;
use crate::analyze::inbound::Inbound;
use crate::analyze::program::{Action, Kind, Program, Sync, UNKNOWN};
use crate::engine::{BinCount, BinEngine, Engine, MsgId, RecvId};

/// How long messages are under way.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Network {
    /// Of every message, in nanoseconds.
    pub latency_ns: u64,
    /// Bytes per microsecond.
    pub bytes_per_us: u64,
    /// Up to so much more, at random.
    pub jitter_ns: u64,
    /// What a call takes on its rank.
    pub call_ns: u64,
    /// Recorded time between calls counts so many times.
    pub compute: f64,
    /// The same seed gives the same order.
    pub seed: u64,
}

impl Default for Network {
    /// 1.5 us, 12.5 GB/s, half a microsecond of jitter, 100 ns a call; recorded times as they are.
    fn default() -> Self {
        Self { latency_ns: 1500, bytes_per_us: 12_500, jitter_ns: 500, call_ns: 100, compute: 1.0, seed: 1 }
    }
}

/// A rank that waited for what nobody would bring.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Stall {
    /// The rank.
    pub rank: u32,
    /// The call that it was in, as a number of its step.
    pub step: u32,
    /// What it waited for.
    pub waits_for: &'static str,
}

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
    /// Receiver and number there of each program's sends, in the order of its transfers.
    outbound: Vec<Vec<(u32, u32)>>,
    ranks: Vec<RankState>,
    engine: BinEngine,
    /// Time, number, and rank whose step or (receiver, message) whose arrival is due.
    due: BinaryHeap<Reverse<(u64, u64, u32, u32)>>,
    number: u64,
    /// When the last message from one rank to another arrives.
    last_arrival: HashMap<u64, u64, fast_hash::Build>,
    meetings: HashMap<(u32, u32), Meeting, fast_hash::Build>,
    met: HashMap<(u32, u32), u32, fast_hash::Build>,
    /// Ranks with a trace in each communicator; 0 where its members are not sure: then nobody waits.
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
        let mut outbound: Vec<Vec<(u32, u32)>> =
            programs.iter().map(|program| vec![(UNKNOWN, UNKNOWN); program.transfers.len()]).collect();
        for (receiver, messages) in inbound.iter().enumerate() {
            for (number, message) in messages.iter().enumerate() {
                if let Some(&sender) = index.get(&message.sender).filter(|_| message.op != UNKNOWN) {
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
            let everyone = || comm.members.iter().chain(comm.remote.iter().flat_map(|remote| remote.iter()));
            let here = everyone().filter(|world| index.contains_key(world)).count();
            if comm.translation == Translation::Exact && here == everyone().count() { here as u32 } else { 0 }
        });
        let present = present.collect();
        Self {
            programs,
            comms,
            inbound,
            network,
            outbound,
            ranks,
            engine: BinEngine::new(BinCount::new(16_384).unwrap_or_default()),
            due: (0..programs.len()).map(|rank| Reverse((0, rank as u64, rank as u32, STEP))).collect(),
            number: programs.len() as u64,
            last_arrival: HashMap::default(),
            meetings: HashMap::default(),
            met: HashMap::default(),
            present,
            stalls: 0,
            first_stalls: Vec::new(),
        }
    }

    /// Runs to the end: the order at each rank, how often a rank had to be let go, and the first of these times.
    ///
    /// # Complexity
    /// A few hash and heap operations for each step and message.
    pub fn run(mut self) -> (Vec<Order>, u64, Vec<Stall>) {
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
        (self.ranks.into_iter().map(|rank| rank.order).collect(), self.stalls, self.first_stalls)
    }

    fn push_due(&mut self, time_ns: u64, rank: u32, message: u32) {
        self.number += 1;
        self.due.push(Reverse((time_ns, self.number, rank, message)));
    }

    /// Lets a rank run until it blocks, or until something else is due before its next step.
    fn go(&mut self, rank: u32) {
        let programs = self.programs;
        let program = &programs[rank as usize];
        loop {
            let state = &mut self.ranks[rank as usize];
            if state.wait == Wait::End {
                return;
            }
            if state.wait == Wait::Woken {
                // The step that it waited in is complete.
                state.wait = Wait::Nothing;
                state.step += 1;
                self.schedule(rank);
                return;
            }
            let Some(step) = program.steps.get(state.step as usize) else {
                state.wait = Wait::End;
                return;
            };
            let wait = self.take_step(rank, step.action);
            let state = &mut self.ranks[rank as usize];
            state.wait = wait;
            if wait != Wait::Nothing {
                return;
            }
            state.step += 1;
            let at = self.next_time(rank);
            if self.due.peek().is_some_and(|&Reverse((next, ..))| next <= at) {
                self.push_due(at, rank, STEP);
                return;
            }
            self.ranks[rank as usize].now_ns = at;
        }
    }

    /// When the rank's next step begins.
    fn next_time(&self, rank: u32) -> u64 {
        let state = &self.ranks[rank as usize];
        let gap = self.programs[rank as usize].steps.get(state.step as usize).map_or(0, |step| step.gap_ns);
        let gap = if self.network.compute == 1.0 {
            u64::from(gap)
        } else {
            (f64::from(gap) * self.network.compute) as u64
        };
        state.now_ns + gap + self.network.call_ns
    }

    fn schedule(&mut self, rank: u32) {
        let at = self.next_time(rank);
        self.push_due(at, rank, STEP);
    }

    /// Communicators of different ranks share the engine.
    fn engine_comm(&self, rank: u32, comm: u32) -> CommId {
        CommId(rank.wrapping_mul(self.comms.all.len() as u32).wrapping_add(comm))
    }

    /// Does the step; says what it has to wait for.
    fn take_step(&mut self, rank: u32, action: Action) -> Wait {
        let now = self.ranks[rank as usize].now_ns;
        match action {
            Action::Begin(at) => {
                let transfer = &self.programs[rank as usize].transfers[at as usize];
                match transfer.kind {
                    Kind::Null => Wait::Nothing,
                    Kind::Send => {
                        self.send(rank, at, now);
                        let waits = transfer.blocking && transfer.synchronous;
                        let (receiver, _) = self.outbound[rank as usize][at as usize];
                        if waits && receiver != UNKNOWN { self.until(rank, at) } else { Wait::Nothing }
                    }
                    Kind::Recv => {
                        let comm = self.comms.global(rank as usize, transfer.comm);
                        let comm = self.engine_comm(rank, comm);
                        self.ranks[rank as usize].order.push_at(Happening::Post(at), now);
                        let id = RecvId(u64::from(rank) << 32 | u64::from(at));
                        if let Some(message) = self.engine.post(id, comm, transfer.selector()) {
                            self.matched(rank, at, message.0 as u32, now);
                        }
                        if transfer.blocking {
                            self.make_up(rank, at, now);
                        }
                        if transfer.blocking { self.until(rank, at) } else { Wait::Nothing }
                    }
                    Kind::Probe => self.probe(rank, at, now),
                }
            }
            Action::Finish { first, count } => {
                for place in first..first + count {
                    let at = self.programs[rank as usize].finished[place as usize];
                    self.make_up(rank, at, now);
                }
                self.finish(rank, first, first + count)
            }
            Action::Cancel(at) => {
                self.ranks[rank as usize].order.push_at(Happening::Cancel(at), now);
                if self.engine.cancel(RecvId(u64::from(rank) << 32 | u64::from(at))) {
                    self.ranks[rank as usize].complete[at as usize] = true;
                }
                Wait::Nothing
            }
            Action::Collective { comm, sync, root } => self.meet(rank, comm, sync, root, now),
        }
    }

    /// A message whose send is in no trace comes when its receive is waited for: as late as it can, so queues are
    /// rather too long than too short.
    fn make_up(&mut self, rank: u32, at: u32, now: u64) {
        if self.programs[rank as usize].transfers[at as usize].kind != Kind::Recv {
            return;
        }
        let (_, made_up) = self.outbound[rank as usize][at as usize];
        if made_up != UNKNOWN {
            self.push_due(now + self.network.latency_ns, rank, made_up);
        }
    }

    fn until(&self, rank: u32, at: u32) -> Wait {
        if self.ranks[rank as usize].complete[at as usize] { Wait::Nothing } else { Wait::Transfer(at) }
    }

    /// Goes on in a list of finished transfers.
    fn finish(&self, rank: u32, first: u32, end: u32) -> Wait {
        let program = &self.programs[rank as usize];
        let complete = |place: u32| {
            let at = program.finished[place as usize] as usize;
            let transfer = &program.transfers[at];
            match transfer.kind {
                Kind::Null | Kind::Probe => true,
                Kind::Recv => self.ranks[rank as usize].complete[at],
                Kind::Send => {
                    let on_the_way = self.outbound[rank as usize][at].0 != UNKNOWN;
                    !(transfer.synchronous && on_the_way) || self.ranks[rank as usize].complete[at]
                }
            }
        };
        match (first..end).find(|&place| !complete(place)) {
            Some(next) => Wait::Finish { next, end },
            None => Wait::Nothing,
        }
    }

    fn probe(&mut self, rank: u32, at: u32, now: u64) -> Wait {
        let transfer = &self.programs[rank as usize].transfers[at as usize];
        let comm = self.engine_comm(rank, self.comms.global(rank as usize, transfer.comm));
        if self.engine.probe(comm, transfer.selector()).is_none() {
            return Wait::Probe(at);
        }
        self.ranks[rank as usize].order.push_at(Happening::Probe(at), now);
        Wait::Nothing
    }

    fn send(&mut self, rank: u32, at: u32, now: u64) {
        let (receiver, number) = self.outbound[rank as usize][at as usize];
        if receiver == UNKNOWN {
            return;
        }
        let bytes = self.inbound[receiver as usize][number as usize].bytes;
        let bytes = if bytes == UNKNOWN { 0 } else { u64::from(bytes) };
        let Network { latency_ns, bytes_per_us, jitter_ns, .. } = self.network;
        let jitter = if jitter_ns == 0 { 0 } else { self.ranks[rank as usize].dice.below(jitter_ns) };
        let arrives = now + latency_ns + bytes * 1000 / bytes_per_us.max(1) + jitter;
        // One sender's messages do not overtake each other (C2 of G3).
        let last = self.last_arrival.entry(u64::from(rank) << 32 | u64::from(receiver)).or_default();
        *last = arrives.max(*last);
        let arrives = *last;
        self.push_due(arrives, receiver, number);
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

    fn arrive(&mut self, rank: u32, number: u32, time_ns: u64) {
        let message = &self.inbound[rank as usize][number as usize];
        let comm = self.engine_comm(rank, message.comm);
        let (Ok(source), Ok(tag)) = (Rank::new(message.source), Tag::new(message.tag)) else { return };
        self.ranks[rank as usize].order.push_at(Happening::Arrive(number), time_ns);
        let id = MsgId(u64::from(rank) << 32 | u64::from(number));
        if let Some(recv) = self.engine.arrive(id, Envelope { comm, source, tag }) {
            self.matched(rank, recv.0 as u32, number, time_ns);
        } else if let Wait::Probe(at) = self.ranks[rank as usize].wait
            && self.probe(rank, at, time_ns) == Wait::Nothing
        {
            self.wake(rank, time_ns);
        }
    }

    /// A receive of the rank has got a message.
    fn matched(&mut self, rank: u32, receive: u32, message: u32, time_ns: u64) {
        self.complete(rank, receive, time_ns);
        let &Inbound { sender, op, .. } = &self.inbound[rank as usize][message as usize];
        if op == UNKNOWN {
            return;
        }
        let Ok(sender) = self.programs.binary_search_by_key(&sender, |program| program.rank) else { return };
        if self.programs[sender].transfers[op as usize].synchronous {
            self.complete(sender as u32, op, time_ns + self.network.latency_ns);
        }
    }

    fn complete(&mut self, rank: u32, at: u32, time_ns: u64) {
        self.ranks[rank as usize].complete[at as usize] = true;
        match self.ranks[rank as usize].wait {
            Wait::Transfer(waited) if waited == at => self.wake(rank, time_ns),
            Wait::Finish { next, end } => {
                let wait = self.finish(rank, next, end);
                if wait == Wait::Nothing {
                    self.wake(rank, time_ns);
                } else {
                    self.ranks[rank as usize].wait = wait;
                }
            }
            _ => {}
        }
    }

    /// What the rank waited for has come about.
    fn wake(&mut self, rank: u32, time_ns: u64) {
        let state = &mut self.ranks[rank as usize];
        state.now_ns = state.now_ns.max(time_ns);
        state.wait = Wait::Woken;
        let at = state.now_ns;
        self.push_due(at, rank, STEP);
    }

    fn meet(&mut self, rank: u32, local: u16, sync: Sync, root: u32, now: u64) -> Wait {
        let comm = self.comms.global(rank as usize, local);
        let present = self.present[comm as usize];
        if present < 2 || sync == Sync::None {
            return Wait::Nothing;
        }
        let count = self.met.entry((rank, comm)).or_default();
        let number = *count;
        *count += 1;
        let meeting = self.meetings.entry((comm, number)).or_default();
        meeting.came += 1;
        meeting.latest_ns = meeting.latest_ns.max(now);
        let is_root = root == self.comms.own_rank(rank as usize, local);
        if is_root {
            meeting.root_came = true;
            meeting.root_ns = now;
        }
        let all_came = meeting.came >= present;
        let (waits, opens) = match sync {
            Sync::All => (!all_came, all_came),
            Sync::FromRoot => (!is_root && !meeting.root_came, is_root),
            Sync::ToRoot => (is_root && !all_came, all_came),
            Sync::None => (false, false),
        };
        if waits {
            meeting.waiting.push(rank);
        }
        let leave = match sync {
            Sync::FromRoot => meeting.root_ns,
            _ => meeting.latest_ns,
        };
        let woken = if opens { std::mem::take(&mut meeting.waiting) } else { Vec::new() };
        if all_came {
            self.meetings.remove(&(comm, number));
        }
        for other in woken {
            // It may have been let go before.
            if self.ranks[other as usize].wait == Wait::Collective(comm, number) {
                self.wake(other, leave + self.network.latency_ns);
            }
        }
        if waits { Wait::Collective(comm, number) } else { Wait::Nothing }
    }

    /// Everybody waits: lets the rank go that has waited longest. `false` if all are at their end.
    fn let_one_go(&mut self) -> bool {
        let waiting = self.ranks.iter().enumerate().filter(|(_, state)| state.wait != Wait::End);
        let Some((rank, state)) = waiting.min_by_key(|(rank, state)| (state.now_ns, *rank)) else {
            return false;
        };
        self.stalls += 1;
        if self.first_stalls.len() < STALLS_TOLD {
            let waits_for = match state.wait {
                Wait::Probe(_) => "a message for its probe",
                Wait::Collective(..) => "other ranks in a collective operation",
                _ => "a message",
            };
            let rank = self.programs[rank].rank;
            self.first_stalls.push(Stall { rank, step: state.step, waits_for });
        }
        if let Wait::Finish { next, end } = state.wait {
            // Only what it waits for is given up, not the rest of the list.
            let wait = self.finish(rank as u32, next + 1, end);
            self.ranks[rank].wait = wait;
            if wait != Wait::Nothing {
                return true;
            }
            self.ranks[rank].wait = Wait::Finish { next, end };
        }
        let now = self.ranks[rank].now_ns;
        self.wake(rank as u32, now);
        true
    }
}
