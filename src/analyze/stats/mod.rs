//! What one rank's matching looks like in an order: all in one walk, whatever the number of bins and handlers.

mod blocks;
mod fit;
mod hints;
mod keys;
mod left;
mod occupancy;

use std::collections::{BTreeMap, HashMap};

use dpa_model::{CommId, NicConfig};

use self::blocks::Blocks;
use self::fit::Fit;
use self::keys::{Key, Keys};
use self::occupancy::Occupancy;
use super::fast_hash;
use super::inbound::Inbound;
use super::order::{Happening, Order};
use super::program::{Kind, UNKNOWN};
use super::replay::{Agreement, RankView};
use crate::engine::{BinCount, BinEngine, Engine, MsgId, QueueStats, RecvId};
use crate::trace::Class;

pub use blocks::BlockStats;
pub use fit::{Fallback, Needs, Shortage};
pub use hints::{Hint, Hints, Violation};
pub use keys::KeyStats;
pub use left::Unmatched;
pub(crate) use occupancy::{Occupancy as Tables, hash_of};
pub use occupancy::{OccupancyStats, TableStats};

/// Columns of depth over time.
pub const COLUMNS: usize = 100;

/// What is to be found out.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Numbers of bins.
    pub bins: Vec<BinCount>,
    /// Numbers of handlers for which the paths are worked out.
    pub handlers: Vec<u32>,
    /// The NIC that the queues are to fit.
    pub nic: NicConfig,
}

/// Calls by class (Figure 6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Shares {
    /// Point-to-point.
    pub p2p: u64,
    /// Collective.
    pub collective: u64,
    /// One-sided.
    pub one_sided: u64,
    /// Waits, tests, probes.
    pub progress: u64,
    /// All others.
    pub other: u64,
}

impl Shares {
    fn of(calls: &crate::trace::Counts) -> Self {
        let mut shares = Self::default();
        for (function, times) in calls.iter() {
            *match function.class() {
                Class::P2p => &mut shares.p2p,
                Class::Collective => &mut shares.collective,
                Class::OneSided => &mut shares.one_sided,
                Class::Progress => &mut shares.progress,
                Class::Other => &mut shares.other,
            } += times;
        }
        shares
    }

    /// Point-to-point, collective and one-sided calls in percent of the three, as in Figure 6.
    pub fn percent(&self) -> [f64; 3] {
        let all = (self.p2p + self.collective + self.one_sided).max(1) as f64;
        [self.p2p, self.collective, self.one_sided].map(|part| part as f64 * 100.0 / all)
    }

    /// Adds another rank's.
    pub fn add(&mut self, other: &Self) {
        self.p2p += other.p2p;
        self.collective += other.collective;
        self.one_sided += other.one_sided;
        self.progress += other.progress;
        self.other += other.other;
    }
}

/// Sends, receives and messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Traffic {
    /// Sends, `MPI_PROC_NULL` left out.
    pub sends: u64,
    /// Bytes sent, as far as known.
    pub bytes_sent: u64,
    /// Receives posted, by wildcard class: none, any source, any tag, both.
    pub receives: [u64; 4],
    /// Probes that found a message.
    pub probes: u64,
    /// To or from `MPI_PROC_NULL`.
    pub to_null: u64,
    /// Receives cancelled.
    pub cancelled: u64,
    /// Messages that found a posted receive.
    pub expected: u64,
    /// Messages that had to wait for one.
    pub unexpected: u64,
    /// Receives left without a message.
    pub receives_left: u64,
    /// Messages left without a receive.
    pub messages_left: u64,
}

impl Traffic {
    /// All receives.
    pub fn all_receives(&self) -> u64 {
        self.receives.iter().sum()
    }

    /// Adds another rank's or communicator's.
    pub fn add(&mut self, other: &Self) {
        self.sends += other.sends;
        self.bytes_sent += other.bytes_sent;
        self.receives.iter_mut().zip(other.receives).for_each(|(mine, theirs)| *mine += theirs);
        self.probes += other.probes;
        self.to_null += other.to_null;
        self.cancelled += other.cancelled;
        self.expected += other.expected;
        self.unexpected += other.unexpected;
        self.receives_left += other.receives_left;
        self.messages_left += other.messages_left;
    }
}

/// Length of one queue, and what its searches cost.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct Searches {
    /// Searches.
    pub count: u64,
    /// Of these, with a hit.
    pub hits: u64,
    /// Full compares (S28).
    pub steps: u64,
    /// Most compares of one search; over ranks the most of any (F23's MASL is a maximum of means: see
    /// [`mean_max`](Self::mean_max)).
    pub steps_max: u64,
    /// Sum over the searches of the queue's length.
    pub length_sum: u64,
    /// Longest (MQL, F23).
    pub length_max: u64,
    /// Greatest of the ranks' average search lengths (MASL, F23).
    pub mean_max: f64,
}

impl Searches {
    /// From an engine's counters.
    pub fn of(queue: &QueueStats) -> Self {
        let mut searches = Self {
            count: queue.searches(),
            hits: queue.hits,
            steps: queue.depth_sum,
            steps_max: queue.depth_max,
            length_sum: queue.length_sum,
            length_max: queue.length_max,
            mean_max: 0.0,
        };
        searches.mean_max = searches.mean();
        searches
    }

    /// Average search length (ASL, F23).
    pub fn mean(&self) -> f64 {
        self.steps as f64 / self.count.max(1) as f64
    }

    /// Average queue length (AQL, F23), seen by its searches.
    pub fn length_mean(&self) -> f64 {
        self.length_sum as f64 / self.count.max(1) as f64
    }

    /// Adds another rank's.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.hits += other.hits;
        self.steps += other.steps;
        self.steps_max = self.steps_max.max(other.steps_max);
        self.length_sum += other.length_sum;
        self.length_max = self.length_max.max(other.length_max);
        self.mean_max = self.mean_max.max(other.mean_max);
    }
}

/// One number of bins.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct BinStats {
    /// Bins of each table.
    pub bins: u32,
    /// Searches of the posted queue by the engine `bins`.
    pub prq: Searches,
    /// Searches of the unexpected queue.
    pub umq: Searches,
    /// How posted receives lie in the tables.
    pub tables: OccupancyStats,
    /// Unexpected messages put into a bin that held one.
    pub umq_collisions: u64,
}

impl BinStats {
    /// Adds another rank's.
    pub fn add(&mut self, other: &Self) {
        self.bins = other.bins;
        self.prq.add(&other.prq);
        self.umq.add(&other.umq);
        self.tables.add(&other.tables);
        self.umq_collisions += other.umq_collisions;
    }
}

/// Runs of receives with the same source and tag, one posted after the other on a communicator (O9).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Sequences {
    /// Runs.
    pub count: u64,
    /// Receives in them: all.
    pub receives: u64,
    /// Longest run.
    pub longest: u64,
    /// Receives in runs of two and more: those that the fast path can serve.
    pub in_runs: u64,
}

impl Sequences {
    /// Mean length.
    pub fn mean(&self) -> f64 {
        self.receives as f64 / self.count.max(1) as f64
    }

    fn end(&mut self, length: u64) {
        if length > 0 {
            self.count += 1;
            self.receives += length;
            self.longest = self.longest.max(length);
            self.in_runs += if length > 1 { length } else { 0 };
        }
    }

    /// Adds another rank's.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.receives += other.receives;
        self.longest = self.longest.max(other.longest);
        self.in_runs += other.in_runs;
    }
}

/// What belongs to one communicator at one rank.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct CommStats {
    /// Its sends, receives and messages.
    pub traffic: Traffic,
    /// Most receives posted at once.
    pub posted_max: u64,
    /// Most unexpected messages at once.
    pub unexpected_max: u64,
    /// Runs of compatible receives.
    pub sequences: Sequences,
    /// Hints.
    pub hints: Hints,
    #[serde(skip)]
    posted: u64,
    #[serde(skip)]
    waiting: u64,
    #[serde(skip)]
    run: (Option<(i32, i32)>, u64),
}

impl CommStats {
    /// Adds another rank's.
    pub fn add(&mut self, other: &Self) {
        self.traffic.add(&other.traffic);
        self.posted_max = self.posted_max.max(other.posted_max);
        self.unexpected_max = self.unexpected_max.max(other.unexpected_max);
        self.sequences.add(&other.sequences);
        self.hints.add(&other.hints);
    }
}

/// Most entries of both queues in each of [`COLUMNS`] parts of the time (or of the order, if it has no times).
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Depths {
    /// Posted receives.
    pub posted: Vec<u32>,
    /// Unexpected messages.
    pub unexpected: Vec<u32>,
}

/// What is told of a rank and, added up, of the application.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Totals {
    /// Calls by class.
    pub shares: Shares,
    /// Sends, receives and messages.
    pub traffic: Traffic,
    /// By number of bins.
    pub bins: Vec<BinStats>,
    /// Patterns of receives.
    pub receive_keys: KeyStats,
    /// Envelopes of messages; chains are those of the unexpected queue.
    pub message_keys: KeyStats,
    /// Different tags of messages; of the application the most of a rank.
    pub tags: u64,
    /// Highest tag of a message; -1 without messages.
    pub tag_max: i32,
    /// Runs of compatible receives.
    pub sequences: Sequences,
    /// Paths of optimistic matching, by number of handlers.
    pub blocks: Vec<BlockStats>,
    /// What the NIC would need.
    pub needs: Needs,
    /// Hints, over all communicators.
    pub hints: Hints,
    /// Queue lengths over time; of the application the longest of a rank.
    pub depths: Depths,
    /// The pairs beside those of the trace.
    pub agreement: Agreement,
}

impl Totals {
    /// Adds another rank's.
    pub fn add(&mut self, other: &Self) {
        fn each<T: Copy>(mine: &mut Vec<T>, theirs: &[T], add: impl Fn(&mut T, &T)) {
            if mine.is_empty() {
                mine.extend_from_slice(theirs);
            } else {
                mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| add(mine, theirs));
            }
        }
        self.shares.add(&other.shares);
        self.traffic.add(&other.traffic);
        each(&mut self.bins, &other.bins, BinStats::add);
        self.receive_keys.add(&other.receive_keys);
        self.message_keys.add(&other.message_keys);
        self.tags = self.tags.max(other.tags);
        self.tag_max = self.tag_max.max(other.tag_max);
        self.sequences.add(&other.sequences);
        each(&mut self.blocks, &other.blocks, BlockStats::add);
        self.needs.add(&other.needs);
        self.hints.add(&other.hints);
        let higher = |mine: &mut u32, theirs: &u32| *mine = (*mine).max(*theirs);
        each(&mut self.depths.posted, &other.depths.posted, higher);
        each(&mut self.depths.unexpected, &other.depths.unexpected, higher);
        self.agreement.add(&other.agreement);
    }
}

/// One rank in one order.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct RankStats {
    /// Its rank in the world.
    pub rank: u32,
    /// What is told of the application, too.
    #[serde(flatten)]
    pub totals: Totals,
    /// By communicator's number in the run.
    #[serde(skip)]
    pub comms: BTreeMap<u32, CommStats>,
    /// Some of what is left at the end.
    #[serde(skip)]
    pub unmatched: Vec<Unmatched>,
    /// When the rank's last event happened, if the order has times.
    pub end_ns: u64,
}

/// A walk along one rank's order.
struct Walk<'a> {
    view: RankView<'a>,
    engines: Vec<BinEngine>,
    tables: Vec<Occupancy>,
    blocks: Blocks<'a>,
    fit: Fit,
    receive_keys: Keys,
    message_keys: Keys,
    comms: HashMap<u32, CommStats, fast_hash::Build>,
    depths: Depths,
    receives: Vec<u32>,
    posted: u32,
    unexpected: u32,
}

/// Finds out all about one rank. `end_ns` is the end of the run in the order's times; `calls` tells the sending call of
/// a message.
///
/// # Complexity
/// For each happening a search per number of bins, and a look at up to N messages per number of handlers.
pub(crate) fn walk(
    view: RankView<'_>,
    order: &Order,
    plan: &Plan,
    end_ns: u64,
    calls: impl Fn(&Inbound) -> Option<u32>,
) -> (RankStats, Vec<u32>) {
    // One engine drives the walk even if no number of bins was asked for.
    let numbers = if plan.bins.is_empty() { vec![BinCount::default()] } else { plan.bins.clone() };
    let mut walk = Walk {
        view,
        engines: numbers.iter().map(|&bins| BinEngine::new(bins)).collect(),
        tables: plan.bins.iter().map(|bins| Occupancy::new(bins.get())).collect(),
        blocks: Blocks::new(view, &plan.handlers),
        fit: Fit::new(plan.nic),
        receive_keys: Keys::default(),
        message_keys: Keys::default(),
        comms: HashMap::default(),
        depths: Depths { posted: vec![0; COLUMNS], unexpected: vec![0; COLUMNS] },
        receives: vec![UNKNOWN; view.inbound.len()],
        posted: 0,
        unexpected: 0,
    };
    for (at, happening) in order.iter().enumerate() {
        walk.happens(at, happening, order);
        let column = match order.time_ns(at) {
            Some(time) => (u128::from(time) * COLUMNS as u128 / u128::from(end_ns.max(1))) as usize,
            None => at * COLUMNS / order.len().max(1),
        };
        walk.note_depths(column.min(COLUMNS - 1));
    }
    walk.finish(order, plan, calls)
}

impl Walk<'_> {
    /// The communicator's statistics; new ones need tables on the NIC.
    fn comm(&mut self, comm: u32, at: usize, happening: Happening, order: &Order) -> &mut CommStats {
        if !self.comms.contains_key(&comm)
            && let Some(shortage) = self.fit.communicator()
        {
            self.fell_back(shortage, at, happening, order);
        }
        self.comms.entry(comm).or_default()
    }

    fn fell_back(&mut self, shortage: Shortage, at: usize, happening: Happening, order: &Order) {
        let (rank, view) = (self.view.program.rank, self.view);
        self.fit.note(shortage, |shortage| Fallback {
            shortage,
            rank,
            happening: at as u64,
            time_ns: order.time_ns(at),
            call: fit::call_of(view, happening),
        });
    }

    fn happens(&mut self, at: usize, happening: Happening, order: &Order) {
        self.tables.iter_mut().for_each(Occupancy::sample);
        match happening {
            Happening::Post(receive) => self.post(receive, at, order),
            Happening::Arrive(message) => self.arrive(message, at, order),
            Happening::Cancel(receive) => {
                let comm = self.view.comm(receive);
                self.blocks.command(comm);
                let mut gone = false;
                for engine in &mut self.engines {
                    gone = engine.cancel(RecvId(u64::from(receive)));
                }
                if gone {
                    self.blocks.cancelled(receive, comm);
                    self.takes(receive, comm);
                    self.comm(comm, at, happening, order).traffic.cancelled += 1;
                }
            }
            Happening::Probe(probe) => {
                let comm = self.view.comm(probe);
                let transfer = &self.view.program.transfers[probe as usize];
                self.blocks.command(comm);
                for engine in &mut self.engines {
                    engine.probe(CommId(comm), transfer.selector());
                }
                let program = self.view.program;
                let stats = self.comm(comm, at, happening, order);
                stats.traffic.probes += 1;
                stats.hints.asked(program, probe);
            }
        }
    }

    fn post(&mut self, receive: u32, at: usize, order: &Order) {
        let program = self.view.program;
        let transfer = &program.transfers[receive as usize];
        let comm = self.view.comm(receive);
        let selector = transfer.selector();
        self.blocks.command(comm);
        let mut got = None;
        for engine in &mut self.engines {
            got = engine.post(RecvId(u64::from(receive)), CommId(comm), selector);
        }
        let key: Key = (comm, transfer.peer, transfer.tag);
        self.receive_keys.used(key);
        let stats = self.comm(comm, at, Happening::Post(receive), order);
        stats.traffic.receives[selector.class() as usize] += 1;
        stats.hints.asked(program, receive);
        let pattern = Some((transfer.peer, transfer.tag));
        if stats.run.0 != pattern {
            stats.sequences.end(stats.run.1);
            stats.run = (pattern, 0);
        }
        stats.run.1 += 1;
        if let Some(message) = got {
            self.match_stored(receive, message.0 as u32, comm);
            return;
        }
        stats.posted += 1;
        stats.posted_max = stats.posted_max.max(stats.posted);
        self.posted += 1;
        let hash = hash_of(comm, selector);
        self.tables.iter_mut().for_each(|tables| tables.insert(selector.class(), hash));
        self.receive_keys.waits(key);
        self.blocks.posted(receive, comm);
        if let Some(shortage) = self.fit.posted() {
            self.fell_back(shortage, at, Happening::Post(receive), order);
        }
    }

    /// A receive takes an unexpected message.
    fn match_stored(&mut self, receive: u32, message: u32, comm: u32) {
        let program = self.view.program;
        let inbound = &self.view.inbound[message as usize];
        self.receives[message as usize] = receive;
        self.unexpected -= 1;
        self.fit.fetched(inbound.bytes);
        let key = (comm, inbound.source as i32, inbound.tag as i32);
        let others = self.message_keys.leaves(key);
        let Some(stats) = self.comms.get_mut(&comm) else { return };
        stats.waiting -= 1;
        stats.hints.matched(program, receive, inbound.bytes);
        stats.hints.chosen(program, receive, others);
    }

    /// A posted receive leaves its queue; whether another one with its key waits.
    fn takes(&mut self, receive: u32, comm: u32) -> bool {
        let transfer = &self.view.program.transfers[receive as usize];
        let class = transfer.selector().class();
        let hash = hash_of(comm, transfer.selector());
        self.tables.iter_mut().for_each(|tables| tables.remove(class, hash));
        self.posted -= 1;
        self.fit.taken();
        if let Some(stats) = self.comms.get_mut(&comm) {
            stats.posted -= 1;
        }
        self.receive_keys.leaves((comm, transfer.peer, transfer.tag))
    }

    fn arrive(&mut self, message: u32, at: usize, order: &Order) {
        let program = self.view.program;
        let &Inbound { comm, source, tag, bytes, .. } = &self.view.inbound[message as usize];
        let envelope = self.view.envelope(message);
        let mut got = None;
        for engine in &mut self.engines {
            got = engine.arrive(MsgId(u64::from(message)), envelope);
        }
        let key: Key = (comm, source as i32, tag as i32);
        self.message_keys.used(key);
        let receive = got.map_or(UNKNOWN, |receive| receive.0 as u32);
        self.blocks.arrived(message, receive);
        if receive != UNKNOWN {
            self.receives[message as usize] = receive;
            let others = self.takes(receive, comm);
            let stats = self.comm(comm, at, Happening::Arrive(message), order);
            stats.traffic.expected += 1;
            stats.hints.matched(program, receive, bytes);
            stats.hints.chosen(program, receive, others);
            return;
        }
        let stats = self.comm(comm, at, Happening::Arrive(message), order);
        stats.traffic.unexpected += 1;
        stats.waiting += 1;
        stats.unexpected_max = stats.unexpected_max.max(stats.waiting);
        self.unexpected += 1;
        self.message_keys.waits(key);
        if let Some(shortage) = self.fit.stored(bytes) {
            self.fell_back(shortage, at, Happening::Arrive(message), order);
        }
    }

    fn note_depths(&mut self, column: usize) {
        let higher = |place: &mut u32, now: u32| *place = now.max(*place);
        higher(&mut self.depths.posted[column], self.posted);
        higher(&mut self.depths.unexpected[column], self.unexpected);
    }

    /// Sends are counted where they are made.
    fn count_sends(&mut self) -> u64 {
        let mut to_null = 0;
        for transfer in &self.view.program.transfers {
            match transfer.kind {
                Kind::Send => {
                    let comm = self.view.comms.global(self.view.at, transfer.comm);
                    let traffic = &mut self.comms.entry(comm).or_default().traffic;
                    traffic.sends += 1;
                    traffic.bytes_sent +=
                        if transfer.bytes == UNKNOWN { 0 } else { u64::from(transfer.bytes) };
                }
                Kind::Null => to_null += 1,
                Kind::Recv | Kind::Probe => {}
            }
        }
        to_null
    }

    fn finish(
        mut self,
        order: &Order,
        plan: &Plan,
        calls: impl Fn(&Inbound) -> Option<u32>,
    ) -> (RankStats, Vec<u32>) {
        let view = self.view;
        let (posted, unexpected) = self.engines.first().map_or((Vec::new(), Vec::new()), |engine| {
            let posted = engine.posted().into_iter().map(|receive| receive.0 as u32).collect::<Vec<_>>();
            (posted, engine.unexpected().into_iter().map(|message| message.0 as u32).collect())
        });
        for &receive in &posted {
            let comm = view.comm(receive);
            if let Some(stats) = self.comms.get_mut(&comm) {
                stats.traffic.receives_left += 1;
            }
        }
        for &message in &unexpected {
            if let Some(stats) = self.comms.get_mut(&view.inbound[message as usize].comm) {
                stats.traffic.messages_left += 1;
            }
        }
        let to_null = self.count_sends();
        let mut traffic = Traffic { to_null, ..Traffic::default() };
        let mut sequences = Sequences::default();
        let mut hints = Hints::default();
        let mut comms: BTreeMap<u32, CommStats> = self.comms.into_iter().collect();
        for stats in comms.values_mut() {
            stats.sequences.end(stats.run.1);
            traffic.add(&stats.traffic);
            sequences.add(&stats.sequences);
            hints.add(&stats.hints);
        }
        for (engine, tables) in self.engines.iter().zip(&self.tables) {
            // Two ways of counting the same thing.
            let collisions: u64 = tables.stats().tables.iter().map(|table| table.collisions).sum();
            debug_assert_eq!(engine.stats().prq.collisions, collisions, "collisions are the engine's");
        }
        let bins = plan.bins.iter().zip(&self.engines).zip(&self.tables).map(|((bins, engine), tables)| {
            let stats = engine.stats();
            BinStats {
                bins: bins.get(),
                prq: Searches::of(&stats.prq),
                umq: Searches::of(&stats.umq),
                tables: tables.stats(),
                umq_collisions: stats.umq.collisions,
            }
        });
        let (message_keys, tags) = self.message_keys.stats();
        let totals = Totals {
            shares: Shares::of(&view.program.calls),
            traffic,
            bins: bins.collect(),
            receive_keys: self.receive_keys.stats().0,
            message_keys,
            tags: tags.len() as u64,
            tag_max: tags.last().copied().unwrap_or(-1),
            sequences,
            blocks: self.blocks.finish(),
            needs: self.fit.finish(),
            hints,
            depths: self.depths,
            agreement: view.compare(&self.receives),
        };
        let stats = RankStats {
            rank: view.program.rank,
            totals,
            comms,
            unmatched: left::explain(view, &posted, &unexpected, &self.receives, calls),
            end_ns: order.len().checked_sub(1).and_then(|last| order.time_ns(last)).unwrap_or(0),
        };
        (stats, self.receives)
    }
}
