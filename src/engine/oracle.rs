//! The specification: one linear PRQ and one linear UMQ for all communicators, with
//! nothing clever.

use dpamatch_vocabulary::{CommId, Envelope, Selector};

use super::chain::vec_bound;
use super::entry::{PostedReceive, UnexpectedMessage};
use super::{Engine, Load, MsgId, RecvId, Stats};

/// The engine that the others are compared with. Every operation costs the length of a queue.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    prq: Vec<PostedReceive>,
    umq: Vec<UnexpectedMessage>,
    stats: Stats,
}

impl Oracle {
    /// An engine with empty queues.
    pub fn new() -> Self {
        Self::default()
    }

    /// Index of the oldest unexpected message that fits.
    fn oldest(&mut self, comm: CommId, selector: Selector) -> Option<usize> {
        let found = self.umq.iter().position(|message| message.fits(comm, selector));
        self.stats.umq.searched(found.map_or(self.umq.len(), |at| at + 1) as u64, found.is_some());
        found
    }

    fn note_memory(&mut self) {
        let prq = self.prq.capacity() * size_of::<PostedReceive>();
        let umq = self.umq.capacity() * size_of::<UnexpectedMessage>();
        self.stats.set_memory_bytes(prq + umq);
    }
}

impl Engine for Oracle {
    fn post(&mut self, recv: RecvId, comm: CommId, selector: Selector) -> Option<MsgId> {
        let message = self.mprobe(comm, selector);
        if message.is_none() {
            self.stats.prq.inserted(!self.prq.is_empty());
            self.prq.push(PostedReceive { recv, comm, selector });
            self.note_memory();
        }
        message
    }

    fn arrive(&mut self, msg: MsgId, envelope: Envelope) -> Option<RecvId> {
        let found = self.prq.iter().position(|receive| receive.accepts(&envelope));
        self.stats.prq.searched(found.map_or(self.prq.len(), |at| at + 1) as u64, found.is_some());
        if let Some(at) = found {
            self.stats.prq.removed();
            return Some(self.prq.remove(at).recv);
        }
        self.stats.umq.inserted(!self.umq.is_empty());
        self.umq.push(UnexpectedMessage { msg, envelope });
        self.note_memory();
        None
    }

    fn cancel(&mut self, recv: RecvId) -> bool {
        let found = self.prq.iter().position(|receive| receive.recv == recv);
        if let Some(at) = found {
            self.prq.remove(at);
            self.stats.prq.removed();
        }
        self.stats.cancel_ended(found.is_some());
        found.is_some()
    }

    fn probe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        self.oldest(comm, selector).map(|at| self.umq[at].msg)
    }

    fn mprobe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        let at = self.oldest(comm, selector)?;
        self.stats.umq.removed();
        Some(self.umq.remove(at).msg)
    }

    fn free_comm(&mut self, comm: CommId) -> bool {
        self.is_empty(comm)
    }

    fn posted(&self) -> Vec<RecvId> {
        self.prq.iter().map(|receive| receive.recv).collect()
    }

    fn unexpected(&self) -> Vec<MsgId> {
        self.umq.iter().map(|message| message.msg).collect()
    }

    fn is_empty(&self, comm: CommId) -> bool {
        self.prq.iter().all(|receive| receive.comm != comm)
            && self.umq.iter().all(|message| message.envelope.comm != comm)
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The two arrays.
    fn memory_bound(&self, load: &Load) -> u64 {
        vec_bound(load.posted, size_of::<PostedReceive>())
            + vec_bound(load.unexpected, size_of::<UnexpectedMessage>())
    }
}
