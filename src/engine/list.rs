//! The traditional engine: one PRQ and one UMQ for all communicators, each a linked list searched
//! from the front, as MPICH does it. Entries are recycled nodes; a cancel finds its node
//! through a table and unlinks it in O(1).

use dpamatch_vocabulary::{CommId, Envelope, Selector};

use super::chain::{Chain, Slab};
use super::comms::Comms;
use super::entry::{PostedReceive, UnexpectedMessage};
use super::places::Places;
use super::{Engine, Load, MsgId, RecvId, Stats};

/// Two linked lists. A search costs the entries before the one it finds, insertion and removal are
/// O(1).
#[derive(Clone, Debug)]
pub struct ListEngine {
    posted: Slab<PostedReceive, 1>,
    prq: Chain,
    unexpected: Slab<UnexpectedMessage, 1>,
    umq: Chain,
    /// Node of each posted receive, for cancels.
    places: Places,
    /// Entries of each communicator, in both queues.
    entries: Comms<()>,
    stats: Stats,
}

impl Default for ListEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl ListEngine {
    /// An engine with empty queues.
    pub fn new() -> Self {
        Self {
            posted: Slab::new(),
            prq: Chain::EMPTY,
            unexpected: Slab::new(),
            umq: Chain::EMPTY,
            places: Places::new(),
            entries: Comms::new(),
            stats: Stats::default(),
        }
    }

    /// Node of the oldest unexpected message that fits.
    fn oldest(&mut self, comm: CommId, selector: Selector) -> Option<u32> {
        let mut depth = 0;
        let found = self.unexpected.walk(self.umq, 0).find(|(_, message)| {
            depth += 1;
            message.fits(comm, selector)
        });
        let found = found.map(|(at, _)| at);
        self.stats.umq.searched(depth, found.is_some());
        found
    }

    /// Node of the earliest posted receive that accepts the message.
    fn earliest(&mut self, envelope: &Envelope) -> Option<u32> {
        let mut depth = 0;
        let found = self.posted.walk(self.prq, 0).find(|(_, receive)| {
            depth += 1;
            receive.accepts(envelope)
        });
        let found = found.map(|(at, _)| at);
        self.stats.prq.searched(depth, found.is_some());
        found
    }

    fn insert_posted(&mut self, receive: PostedReceive) {
        self.stats.prq.inserted(!self.prq.is_empty());
        let at = self.posted.insert(receive);
        self.posted.push_back(&mut self.prq, 0, at);
        self.places.set(&self.posted, receive.recv, at);
        self.entries.enter(receive.comm, || ());
        self.note_memory();
    }

    fn remove_posted(&mut self, at: u32) -> RecvId {
        self.posted.unlink(&mut self.prq, 0, at);
        let receive = self.posted.remove(at);
        self.entries.leave(receive.comm);
        self.stats.prq.removed();
        receive.recv
    }

    fn insert_unexpected(&mut self, message: UnexpectedMessage) {
        self.stats.umq.inserted(!self.umq.is_empty());
        let at = self.unexpected.insert(message);
        self.unexpected.push_back(&mut self.umq, 0, at);
        self.entries.enter(message.envelope.comm, || ());
        self.note_memory();
    }

    fn remove_unexpected(&mut self, at: u32) -> MsgId {
        self.unexpected.unlink(&mut self.umq, 0, at);
        let message = self.unexpected.remove(at);
        self.entries.leave(message.envelope.comm);
        self.stats.umq.removed();
        message.msg
    }

    fn note_memory(&mut self) {
        let nodes = self.posted.bytes() + self.unexpected.bytes();
        self.stats.set_memory_bytes(nodes + self.places.bytes() + self.entries.bytes());
    }
}

impl Engine for ListEngine {
    fn post(&mut self, recv: RecvId, comm: CommId, selector: Selector) -> Option<MsgId> {
        let message = self.mprobe(comm, selector);
        if message.is_none() {
            self.insert_posted(PostedReceive { recv, comm, selector });
        }
        message
    }

    fn arrive(&mut self, msg: MsgId, envelope: Envelope) -> Option<RecvId> {
        if let Some(at) = self.earliest(&envelope) {
            return Some(self.remove_posted(at));
        }
        self.insert_unexpected(UnexpectedMessage { msg, envelope });
        None
    }

    fn cancel(&mut self, recv: RecvId) -> bool {
        let place = self.places.find(&self.posted, recv);
        if let Some(at) = place {
            self.remove_posted(at);
        }
        self.stats.cancel_ended(place.is_some());
        place.is_some()
    }

    fn probe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        self.oldest(comm, selector).map(|at| self.unexpected.get(at).msg)
    }

    fn mprobe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        self.oldest(comm, selector).map(|at| self.remove_unexpected(at))
    }

    /// The lists belong to all communicators: only when they hold nothing at all their nodes are
    /// given back.
    fn free_comm(&mut self, comm: CommId) -> bool {
        if !self.is_empty(comm) {
            return false;
        }
        self.entries.remove(comm);
        if self.posted.is_empty() && self.unexpected.is_empty() {
            self.posted.release();
            self.unexpected.release();
            self.places.release();
            self.entries.release();
        }
        self.note_memory();
        true
    }

    fn posted(&self) -> Vec<RecvId> {
        self.posted.walk(self.prq, 0).map(|(_, receive)| receive.recv).collect()
    }

    fn unexpected(&self) -> Vec<MsgId> {
        self.unexpected.walk(self.umq, 0).map(|(_, message)| message.msg).collect()
    }

    fn is_empty(&self, comm: CommId) -> bool {
        self.entries.entries(comm) == 0
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Entries and their places, nothing else.
    fn memory_bound(&self, load: &Load) -> u64 {
        Slab::<PostedReceive, 1>::bytes_bound(load.posted)
            + Slab::<UnexpectedMessage, 1>::bytes_bound(load.unexpected)
            + Places::bytes_bound(load.posted)
            + Comms::<()>::bytes_bound(load.comms)
    }
}
