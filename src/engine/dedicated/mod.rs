//! Engines with dedicated queues for collective and point-to-point elements, made while the program
//! runs (Ghazimirsaeed, Grant, Afsahi).
//!
//! PRQ and UMQ are two [`Side`](side::Side)s of the same make, each with its own profiles, partners
//! and caps. On a side, collective elements go to COL: the first call of a parameter set runs on
//! one profiling queue and its average search length determines how many queues the set gets,
//! chosen by rank; a set that needs more than its operation has adds a level. Point-to-point
//! elements go to PNP: one queue until it is theta long, then queues for the ranks that use it
//! most. Either half can be a plain list instead:
//!
//! | form | collective | point-to-point |
//! |---|---|---|
//! | COL+PNP | COL | PNP |
//! | COL+LL | COL | list |
//! | LL+PNP | list | PNP |
//!
//! The paper's search takes the first hit along its route. That is wrong if collective and
//! point-to-point elements meet in one context, which a stream of events may do. So every element
//! has a number: a search takes the smallest along the route, and includes the other kind's queues
//! if the communicator has elements of both. The traffic of an MPI library never has both.

mod cap;
mod catalogue;
mod col;
mod partners;
mod side;

pub use cap::dedicated_queue_cap;
use catalogue::{Catalogue, Kind};
use dpamatch_vocabulary::{CommId, Envelope, Selector};
use side::{Side, Wanted};

use super::entry::{Entry, Pattern, PostedReceive, UnexpectedMessage};
use super::id_table::IdTable;
use super::places::Places;
use super::{Collective, Counter, Engine, Load, MsgId, RecvId, Stats};

/// Which halves have dedicated queues, and how many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DedicatedConfig {
    /// k_C: collectives have dedicated queues, and this is their part of k; `None` for a list.
    pub k_collective: Option<u32>,
    /// k_P: point-to-point elements have them, and this is their part of k; `None` for a list.
    pub k_partner: Option<u32>,
    /// Length of a shared queue at which partners are extracted.
    pub theta: u32,
    /// Processes of the job, if known beforehand.
    pub processes: Option<u32>,
}

impl DedicatedConfig {
    /// COL+PNP with the paper's numbers: k_C = k_P = 8, theta = 100.
    pub const COL_PNP: Self = Self {
        k_collective: Some(8),
        k_partner: Some(8),
        theta: 100,
        processes: None,
    };
    /// COL+LL with the paper's numbers.
    pub const COL_LL: Self = Self {
        k_partner: None,
        ..Self::COL_PNP
    };
    /// LL+PNP with the paper's numbers.
    pub const LL_PNP: Self = Self {
        k_collective: None,
        ..Self::COL_PNP
    };

    /// The sum of the parts in use: with both caps there are at most `k floor(sqrt(n))` queues.
    pub fn k(&self) -> u32 {
        self.k_collective
            .unwrap_or(0)
            .saturating_add(self.k_partner.unwrap_or(0))
    }
}

impl Default for DedicatedConfig {
    fn default() -> Self {
        Self::COL_PNP
    }
}

/// Dedicated queues for collective and point-to-point elements.
///
/// Insertion is O(1) except for an extraction, which visits every rank seen, at most once in theta
/// / 2 insertions; removal is O(1). A search costs the elements of its route that are older than
/// the one it finds, and a hop for each queue of it: one and the levels for collectives, up to the
/// number of extractions for point-to-point.
///
/// # Examples
/// ```
/// use dpa_model::{CommId, Envelope, Rank, Selector, Tag};
/// use dpamatch::engine::{
///     CollName, Collective, DedicatedConfig, DedicatedEngine, Engine, MsgId, RecvId,
/// };
///
/// let mut engine = DedicatedEngine::new(DedicatedConfig::COL_PNP);
/// let (source, tag) = (Rank::new(3)?, Tag::new(7)?);
/// let gather =
///     Collective { name: CollName::new("gather").expect("a plain name"), bytes: Some(8) };
/// engine.post_collective(RecvId(0), CommId(1), Selector::new(source, tag), &gather);
/// let envelope = Envelope { comm: CommId(1), source, tag };
/// assert_eq!(engine.arrive_collective(MsgId(0), envelope, &gather), Some(RecvId(0)));
/// # Ok::<(), dpa_model::OutOfRange>(())
/// ```
#[derive(Clone, Debug)]
pub struct DedicatedEngine {
    config: DedicatedConfig,
    catalogue: Catalogue,
    prq: Side<PostedReceive>,
    umq: Side<UnexpectedMessage>,
    /// Node of each posted receive, for cancels.
    places: Places,
    /// Known sizes of communicators.
    sizes: IdTable,
    stats: Stats,
}

impl DedicatedEngine {
    /// An engine with empty queues.
    pub fn new(config: DedicatedConfig) -> Self {
        let mut engine = Self {
            config,
            catalogue: Catalogue::default(),
            prq: Side::new(&config),
            umq: Side::new(&config),
            places: Places::new(),
            sizes: IdTable::new(),
            stats: Stats::default(),
        };
        engine.record_memory();
        engine
    }

    fn kind(&mut self, comm: CommId, coll: &Collective) -> Kind {
        if self.config.k_collective.is_none() {
            return Kind::PLAIN_COLLECTIVE;
        }
        self.catalogue.kind(coll, self.sizes.get(u64::from(comm.0)))
    }

    /// Node of the oldest unexpected message that fits.
    fn oldest(&mut self, kind: Option<Kind>, comm: CommId, selector: Selector) -> Option<u32> {
        let wanted = Wanted {
            kind,
            comm,
            source: selector.source.number(),
        };
        self.umq.search(
            wanted,
            |message| message.fits(&Pattern { comm, selector }),
            &mut self.stats.umq,
        )
    }

    fn take(&mut self, at: u32) -> MsgId {
        self.record_memory();
        self.umq.remove(at, &mut self.stats.umq).msg
    }

    fn post_kind(
        &mut self,
        recv: RecvId,
        comm: CommId,
        selector: Selector,
        kind: Kind,
    ) -> Option<MsgId> {
        if let Some(at) = self.oldest(Some(kind), comm, selector) {
            return Some(self.take(at));
        }
        let receive = PostedReceive {
            recv,
            comm,
            selector,
        };
        let source = selector.source.number();
        let at = self
            .prq
            .insert(receive, comm, kind, source, &mut self.stats.prq);
        self.places.set(&self.prq, recv, at);
        self.record_memory();
        None
    }

    fn arrive_kind(&mut self, msg: MsgId, envelope: Envelope, kind: Kind) -> Option<RecvId> {
        let source = Some(envelope.source.get());
        let wanted = Wanted {
            kind: Some(kind),
            comm: envelope.comm,
            source,
        };
        if let Some(at) = self.prq.search(
            wanted,
            |receive| receive.fits(&envelope),
            &mut self.stats.prq,
        ) {
            return Some(self.remove_posted(at));
        }
        let message = UnexpectedMessage { msg, envelope };
        self.umq
            .insert(message, envelope.comm, kind, source, &mut self.stats.umq);
        self.record_memory();
        None
    }

    fn remove_posted(&mut self, at: u32) -> RecvId {
        self.record_memory();
        self.prq.remove(at, &mut self.stats.prq).recv
    }

    fn record_memory(&mut self) {
        let tables = self.catalogue.bytes() + self.places.bytes() + self.sizes.bytes();
        self.stats
            .set_memory_bytes(tables + self.prq.bytes() + self.umq.bytes());
        self.stats.conversions = self.prq.conversions() + self.umq.conversions();
    }
}

impl Engine for DedicatedEngine {
    fn post(&mut self, recv: RecvId, comm: CommId, selector: Selector) -> Option<MsgId> {
        self.post_kind(recv, comm, selector, Kind::P2P)
    }

    fn arrive(&mut self, msg: MsgId, envelope: Envelope) -> Option<RecvId> {
        self.arrive_kind(msg, envelope, Kind::P2P)
    }

    fn post_collective(
        &mut self,
        recv: RecvId,
        comm: CommId,
        selector: Selector,
        coll: &Collective,
    ) -> Option<MsgId> {
        let kind = self.kind(comm, coll);
        self.post_kind(recv, comm, selector, kind)
    }

    fn arrive_collective(
        &mut self,
        msg: MsgId,
        envelope: Envelope,
        coll: &Collective,
    ) -> Option<RecvId> {
        let kind = self.kind(envelope.comm, coll);
        self.arrive_kind(msg, envelope, kind)
    }

    fn cancel(&mut self, recv: RecvId) -> bool {
        let place = self.places.find(&self.prq, recv);
        if let Some(at) = place {
            self.remove_posted(at);
        }
        self.stats.cancel_ended(place.is_some());
        place.is_some()
    }

    fn probe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        let found = self.oldest(None, comm, selector);
        self.record_memory();
        found.map(|at| self.umq.get(at).item.msg)
    }

    fn mprobe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        self.oldest(None, comm, selector).map(|at| self.take(at))
    }

    /// A size is one of the parameters of a collective, and the largest size is the number of
    /// processes in the cap.
    fn set_comm_size(&mut self, comm: CommId, size: u32) {
        self.sizes.set(u64::from(comm.0), size.min(u32::MAX - 1));
        self.prq.saw_processes(size);
        self.umq.saw_processes(size);
        self.record_memory();
    }

    /// All communicators share the queues, whose nodes are freed once all queues are empty.
    /// Profiles, levels and partners stay, since the next communicator runs the same program.
    fn free_comm(&mut self, comm: CommId) -> bool {
        if !self.is_empty(comm) {
            return false;
        }
        self.sizes.remove(u64::from(comm.0));
        if self.prq.is_empty() && self.umq.is_empty() {
            self.prq.release();
            self.umq.release();
            self.places.release();
            self.sizes.release();
            self.record_memory();
        }
        true
    }

    fn posted(&self) -> Vec<RecvId> {
        self.prq
            .in_order()
            .into_iter()
            .map(|receive| receive.recv)
            .collect()
    }

    fn unexpected(&self) -> Vec<MsgId> {
        self.umq
            .in_order()
            .into_iter()
            .map(|message| message.msg)
            .collect()
    }

    fn is_empty(&self, comm: CommId) -> bool {
        !self.prq.holds(comm) && !self.umq.holds(comm)
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn own_counters(&self) -> Vec<Counter> {
        [self.prq.counters("prq"), self.umq.counters("umq")].concat()
    }

    /// The sum of the bounds on entries, their places, the queues up to the cap, parameter sets and
    /// ranks.
    fn memory_bound(&self, load: &Load) -> u64 {
        let k = self.config.k();
        let processes = load.comm_size.max(self.config.processes.unwrap_or(0));
        self.prq.bytes_bound(load.posted, load.comms, processes, k)
            + self
                .umq
                .bytes_bound(load.unexpected, load.comms, processes, k)
            + Places::bytes_bound(load.posted)
            + IdTable::bytes_bound(load.comms)
            + Catalogue::BYTES_BOUND as u64
    }
}

#[cfg(test)]
mod tests;
