//! The specification as an engine: one linear PRQ and one linear UMQ for all communicators.

use dpa_model::TwoLists;
use dpamatch_vocabulary::{CommId, Envelope, Selector};

use super::chain::vec_bound;
use super::{Engine, Load, MsgId, RecvId, Stats};

/// The engine that the others are compared with. Every operation costs the length of a queue.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    lists: TwoLists<RecvId, MsgId>,
    stats: Stats,
}

impl Oracle {
    /// An engine with empty queues.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Engine for Oracle {
    fn post(&mut self, recv: RecvId, comm: CommId, selector: Selector) -> Option<MsgId> {
        let collided = !self.lists.posted().is_empty();
        let matched = self.lists.post(recv, comm, selector);
        self.stats
            .umq
            .searched(self.lists.compares() as u64, matched.is_some());
        if matched.is_some() {
            self.stats.umq.removed();
        } else {
            self.stats.prq.inserted(collided);
            self.stats.set_memory_bytes(self.lists.bytes());
        }
        matched.map(|(_, msg)| msg)
    }

    fn arrive(&mut self, msg: MsgId, envelope: Envelope) -> Option<RecvId> {
        let collided = !self.lists.unexpected().is_empty();
        let matched = self.lists.arrive(msg, envelope);
        self.stats
            .prq
            .searched(self.lists.compares() as u64, matched.is_some());
        if matched.is_some() {
            self.stats.prq.removed();
        } else {
            self.stats.umq.inserted(collided);
            self.stats.set_memory_bytes(self.lists.bytes());
        }
        matched.map(|(recv, _)| recv)
    }

    fn cancel(&mut self, recv: RecvId) -> bool {
        let cancelled = self.lists.cancel(|&receive| receive == recv).is_some();
        if cancelled {
            self.stats.prq.removed();
        }
        self.stats.cancel_ended(cancelled);
        cancelled
    }

    fn probe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        let found = self.lists.probe(comm, selector).copied();
        self.stats
            .umq
            .searched(self.lists.compares() as u64, found.is_some());
        found
    }

    fn mprobe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        let found = self.lists.take(comm, selector);
        self.stats
            .umq
            .searched(self.lists.compares() as u64, found.is_some());
        if found.is_some() {
            self.stats.umq.removed();
        }
        found
    }

    fn free_comm(&mut self, comm: CommId) -> bool {
        self.is_empty(comm)
    }

    fn posted(&self) -> Vec<RecvId> {
        self.lists.posted().iter().map(|&(recv, ..)| recv).collect()
    }

    fn unexpected(&self) -> Vec<MsgId> {
        self.lists
            .unexpected()
            .iter()
            .map(|&(msg, _)| msg)
            .collect()
    }

    fn is_empty(&self, comm: CommId) -> bool {
        self.lists.posted().iter().all(|&(_, of, _)| of != comm)
            && self
                .lists
                .unexpected()
                .iter()
                .all(|(_, envelope)| envelope.comm != comm)
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The two arrays.
    fn memory_bound(&self, load: &Load) -> u64 {
        vec_bound(load.posted, size_of::<(RecvId, CommId, Selector)>())
            + vec_bound(load.unexpected, size_of::<(MsgId, Envelope)>())
    }
}
