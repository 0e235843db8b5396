//! One side, PRQ or UMQ: all its queues and the two algorithms over them.

use dpamatch_vocabulary::CommId;

use super::super::chain::{Chain, Slab, vec_bound};
use super::super::entry::PostedReceive;
use super::super::id_table::IdTable;
use super::super::places::Receives;
use super::super::{Counter, QueueStats, RecvId};
use super::DedicatedConfig;
use super::cap::{Budget, SEEN_PROCESSES_MAX, dedicated_queue_cap};
use super::catalogue::Kind;
use super::col::{Collectives, Home};
use super::partners::Partners;

/// The profiling queue, which all collectives share; without COL, the only queue for collectives.
const PROFILING: u32 = 0;
/// Receives from any source; empty in the UMQ.
const ANY_SOURCE: u32 = 1;
/// The base queue of point-to-point elements; without PNP, their only queue.
const BASE: u32 = 2;
/// Queues that are always there.
const FIXED_QUEUES: u32 = 3;

#[derive(Clone, Copy, Debug)]
pub(super) struct Element<T> {
    pub(super) item: T,
    comm: CommId,
    /// Place in the order of insertions in this side. It decides where the order of the queues does
    /// not: pq against levels, any source against ranks, contexts that mix both kinds.
    sequence: u64,
    queue: u32,
    kind: Kind,
}

/// What a search looks for, besides the test of each element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// `None` for a probe, which may be for either kind.
    pub(super) kind: Option<Kind>,
    pub(super) comm: CommId,
    /// `None` for any source.
    pub(super) source: Option<u32>,
}

/// Counts of searches and of other work.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    /// Searches in a context that held elements of both kinds, which the paper excludes.
    mixed: u64,
    /// Searches profiled, queues made, ranks visited by extractions.
    overhead_steps: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Side<T> {
    nodes: Slab<Element<T>, 1>,
    queues: Vec<Chain>,
    /// Whether collectives get queues (COL) or one list (LL).
    profiled: bool,
    col: Collectives,
    pnp: Partners,
    /// The queues of COL and of PNP, each with its own cap.
    collective: Budget,
    partner: Budget,
    next_sequence: u64,
    /// Elements here by communicator, and by communicator and class.
    in_comm: IdTable,
    in_class: IdTable,
    /// The queues of the search under way; kept for its memory.
    route: Vec<u32>,
    work: Work,
}

fn class_id(comm: CommId, class: u32) -> u64 {
    u64::from(comm.0) << 32 | u64::from(class)
}

impl Receives for Side<PostedReceive> {
    fn recv_at(&self, at: u32) -> Option<RecvId> {
        self.nodes.find(at).map(|element| element.item.recv)
    }

    fn all(&self) -> impl Iterator<Item = (u32, RecvId)> {
        self.nodes
            .live()
            .map(|(at, element)| (at, element.item.recv))
    }

    fn count(&self) -> usize {
        self.nodes.len() as usize
    }
}

impl<T: Copy> Side<T> {
    pub(super) fn new(config: &DedicatedConfig) -> Self {
        Self {
            nodes: Slab::new(),
            queues: vec![Chain::EMPTY; FIXED_QUEUES as usize],
            profiled: config.k_collective.is_some(),
            col: Collectives::default(),
            pnp: Partners::new(config.k_partner.map(|_| config.theta), BASE),
            collective: Budget::new(config.k_collective.unwrap_or(0), config.processes),
            partner: Budget::new(config.k_partner.unwrap_or(0), config.processes),
            next_sequence: 0,
            in_comm: IdTable::new(),
            in_class: IdTable::new(),
            route: Vec::new(),
            work: Work::default(),
        }
    }

    pub(super) fn saw_processes(&mut self, processes: u32) {
        self.collective.saw_processes(processes);
        self.partner.saw_processes(processes);
    }

    pub(super) fn get(&self, at: u32) -> &Element<T> {
        self.nodes.get(at)
    }

    /// Algorithm 2: the oldest element that fits, by its node. Every queue on the route is
    /// walked until its first fit or until it is younger than the best so far.
    pub(super) fn search(
        &mut self,
        wanted: Wanted,
        fits: impl Fn(&T) -> bool,
        stats: &mut QueueStats,
    ) -> Option<u32> {
        let in_order = self.find_route(wanted);
        let mut depth = 0;
        let mut best: Option<(u64, u32)> = None;
        for &queue in &self.route {
            for (at, element) in self.nodes.walk(self.queues[queue as usize], 0) {
                if best.is_some_and(|(sequence, _)| sequence < element.sequence) {
                    break;
                }
                depth += 1;
                if fits(&element.item) {
                    debug_assert!(
                        best.is_none() || !in_order || queue == ANY_SOURCE,
                        "along base, levels and dedicated queue the first hit is the oldest"
                    );
                    best = Some((element.sequence, at));
                    break;
                }
            }
        }
        stats.hops += self.route.len() as u64;
        stats.searched(depth, best.is_some());
        if let Some(kind) = wanted.kind {
            self.work.overhead_steps += u64::from(self.profiled && self.col.searched(kind, depth));
        }
        best.map(|(_, at)| at)
    }

    /// Fills `route` with the queues that may hold a fitting element. Returns whether they are in
    /// order of age, except receives from any source.
    fn find_route(&mut self, Wanted { kind, comm, source }: Wanted) -> bool {
        let Self {
            col, pnp, route, ..
        } = self;
        route.clear();
        let in_comm = self.in_comm.get(u64::from(comm.0));
        let alone = kind.filter(|kind| self.in_class.get(class_id(comm, kind.class)) == in_comm);
        let point_to_point = alone.is_none_or(|kind| kind.class == Kind::POINT_TO_POINT);
        let collective = alone.is_none_or(|kind| kind.class != Kind::POINT_TO_POINT);
        if point_to_point {
            match source {
                Some(rank) => pnp.route(rank, route),
                None => pnp.route_all(route),
            }
        }
        if collective {
            route.push(PROFILING);
            let mut add = |level: super::col::Level| match source {
                Some(rank) => route.push(level.queue(rank)),
                None => route.extend(level.first..level.first + level.count),
            };
            match alone {
                Some(kind) => col.levels(kind.class).iter().copied().for_each(&mut add),
                None => col.all_levels().for_each(&mut add),
            }
        }
        if !self.queues[ANY_SOURCE as usize].is_empty() {
            route.push(ANY_SOURCE);
        }
        self.work.mixed += u64::from(kind.is_some() && alone.is_none());
        // With any source there may be several partners, whose queues have no order of age.
        point_to_point && !collective && source.is_some()
    }

    /// Algorithm 1: puts an element at the end of its queue; returns its node.
    pub(super) fn insert(
        &mut self,
        item: T,
        comm: CommId,
        kind: Kind,
        source: Option<u32>,
        stats: &mut QueueStats,
    ) -> u32 {
        if let Some(rank) = source {
            self.saw_processes(rank.saturating_add(1).min(SEEN_PROCESSES_MAX));
        }
        let queue = match source {
            None => ANY_SOURCE,
            Some(rank) if kind.class == Kind::POINT_TO_POINT => self.pnp.place(rank),
            Some(rank) if self.profiled => self.place_collective(kind, rank),
            Some(_) => PROFILING,
        };
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let chain = &mut self.queues[queue as usize];
        stats.inserted(queue != ANY_SOURCE && !chain.is_empty());
        let at = self.nodes.insert(Element {
            item,
            comm,
            sequence,
            queue,
            kind,
        });
        self.nodes.push_back(chain, 0, at);
        self.in_comm.increment(u64::from(comm.0));
        self.in_class.increment(class_id(comm, kind.class));
        if self.pnp.is_due() {
            let (made, examined) = self
                .pnp
                .extract(&mut self.partner, self.queues.len() as u32);
            self.work.overhead_steps += examined;
            self.make_queues(made);
        }
        at
    }

    fn place_collective(&mut self, kind: Kind, rank: u32) -> u32 {
        let next = self.queues.len() as u32;
        let (place, made) = self.col.place(kind, rank, &mut self.collective, next);
        self.make_queues(made);
        match place {
            Home::Profiling => PROFILING,
            Home::Queue(queue) => queue,
        }
    }

    fn make_queues(&mut self, count: u32) {
        self.queues
            .resize(self.queues.len() + count as usize, Chain::EMPTY);
        self.work.overhead_steps += u64::from(count);
    }

    pub(super) fn remove(&mut self, at: u32, stats: &mut QueueStats) -> T {
        let Element {
            item,
            comm,
            queue,
            kind,
            ..
        } = *self.nodes.get(at);
        self.nodes.unlink(&mut self.queues[queue as usize], 0, at);
        self.nodes.remove(at);
        self.in_comm.decrement(u64::from(comm.0));
        self.in_class.decrement(class_id(comm, kind.class));
        match queue {
            PROFILING if self.profiled => self.col.left_profiling(kind.profile),
            _ => self.pnp.left(queue),
        }
        stats.removed();
        item
    }

    /// All elements, oldest first.
    pub(super) fn in_order(&self) -> Vec<T> {
        let elements = self
            .queues
            .iter()
            .flat_map(|&chain| self.nodes.walk(chain, 0));
        let mut elements: Vec<_> = elements.map(|(_, element)| element).collect();
        elements.sort_unstable_by_key(|element| element.sequence);
        elements.into_iter().map(|element| element.item).collect()
    }

    pub(super) fn holds(&self, comm: CommId) -> bool {
        self.in_comm.get(u64::from(comm.0)).is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Frees the memory of entries. Keeps what the engine learned: profiles, levels, partners and
    /// their queues.
    pub(super) fn release(&mut self) {
        self.nodes.release();
        self.in_comm.release();
        self.in_class.release();
    }

    /// Structures added since the beginning: levels of collectives, extractions of partners.
    pub(super) fn conversions(&self) -> u64 {
        (self.col.level_count() + self.pnp.level_count()) as u64
    }

    pub(super) fn counters(&self, side: &str) -> Vec<Counter> {
        let Work {
            mixed,
            overhead_steps,
        } = self.work;
        let values = [
            ("collective_cap", u64::from(self.collective.cap())),
            ("collective_queues", u64::from(self.collective.used)),
            ("collective_levels", self.col.level_count() as u64),
            ("partner_cap", u64::from(self.partner.cap())),
            ("partner_queues", u64::from(self.partner.used)),
            ("partner_levels", self.pnp.level_count() as u64),
            ("mixed_searches", mixed),
            ("overhead_steps", overhead_steps),
        ];
        values
            .map(|(name, value)| Counter::new(format!("{side}_{name}"), value))
            .to_vec()
    }

    pub(super) fn bytes(&self) -> usize {
        self.nodes.bytes()
            + self.queues.capacity() * size_of::<Chain>()
            + self.route.capacity() * size_of::<u32>()
            + self.in_comm.bytes()
            + self.in_class.bytes()
            + self.col.bytes()
            + self.pnp.bytes()
    }

    /// Upper bound on the bytes with at most `elements` at a time, in `comms` communicators of a
    /// job of `processes` processes.
    pub(super) fn bytes_bound(&self, elements: u64, comms: u64, processes: u32, k: u32) -> u64 {
        let cap = dedicated_queue_cap(k, processes.max(SEEN_PROCESSES_MAX));
        // Each extraction adds a shared queue to at least one dedicated one.
        let queues = u64::from(FIXED_QUEUES) + 2 * u64::from(cap);
        Slab::<Element<T>, 1>::bytes_bound(elements)
            + vec_bound(queues, size_of::<Chain>())
            + vec_bound(queues, size_of::<u32>())
            + IdTable::bytes_bound(comms.min(elements))
            + IdTable::bytes_bound(elements)
            + Collectives::bytes_bound(cap)
            + self.pnp.bytes_bound(cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_has_room_for_each_part() {
        let side = Side::<PostedReceive>::new(&DedicatedConfig::COL_PNP);
        let bound = |elements, comms| side.bytes_bound(elements, comms, 0, 2);
        // k sqrt(P) queues with k = 2 and 2^20 processes, as many that are shared, and three.
        let (cap, queues) = (2_048, 2_048 + 2_048 + 3);
        let fixed = 2 * queues * (size_of::<Chain>() + size_of::<u32>()) as u64
            + Collectives::bytes_bound(cap)
            + side.pnp.bytes_bound(cap);
        assert_eq!(bound(0, 5), fixed);
        // A hundred elements, of five communicators and at most a hundred classes.
        let node = Slab::<Element<PostedReceive>, 1>::bytes_bound(100);
        let id = size_of::<(u64, u32)>() as u64;
        assert_eq!(bound(100, 5) - fixed, node + 4 * (5 + 100) * id);
        assert_eq!(
            bound(100, 500) - fixed,
            node + 4 * (100 + 100) * id,
            "each has one"
        );
    }
}
