//! An engine of a library as an [`Engine`].

use dpamatch_vocabulary::{CommId, Envelope, Selector};

use super::{Found, Key, Sizes, State, Table};
use crate::engine::{Counter, Engine, Load, MsgId, QueueStats, RecvId, Stats};

/// An engine that a library made.
pub(crate) struct Plugin {
    table: &'static Table,
    state: State,
    stats: Stats,
    /// Answers that cannot be right: an entry of an empty queue.
    refused: u64,
}

// SAFETY: the interface allows calls from any thread, one at a time.
unsafe impl Send for Plugin {}

impl Drop for Plugin {
    fn drop(&mut self) {
        // SAFETY: `create` returned the state, and this is its last use.
        unsafe { (self.table.destroy)(self.state) }
    }
}

impl Plugin {
    /// Makes one with empty queues; `None` if the library cannot.
    pub(crate) fn new(table: &'static Table, sizes: Sizes) -> Option<Self> {
        // SAFETY: the table has the functions of its version.
        let state = unsafe { (table.create)(&raw const sizes) };
        let stats = Stats::default();
        (!state.is_null()).then(|| Self {
            table,
            state,
            stats,
            refused: 0,
        })
    }

    /// Counts a search of `queue`. Returns the entry that it found.
    fn searched(queue: &mut QueueStats, refused: &mut u64, hit: bool, found: Found) -> Option<u64> {
        let right = !hit || queue.length > 0;
        *refused += u64::from(!right);
        queue.searched(found.compares, hit && right);
        queue.hops += found.hops;
        (hit && right).then_some(found.id)
    }

    fn inserted(&mut self, queue: impl Fn(&mut Stats) -> &mut QueueStats) {
        queue(&mut self.stats).inserted(false);
        if let Some(bytes) = self.table.bytes {
            // SAFETY: the state is the table's.
            self.stats
                .set_memory_bytes(unsafe { bytes(self.state) } as usize);
        }
    }

    fn ids(&self, list: super::List, length: u64) -> Vec<u64> {
        let mut ids = vec![0; length as usize];
        // SAFETY: the state is the table's, and the pointer has room for so many ids.
        let all = unsafe { list(self.state, ids.as_mut_ptr(), ids.len()) };
        ids.truncate(all);
        ids
    }
}

impl Engine for Plugin {
    fn post(&mut self, recv: RecvId, comm: CommId, selector: Selector) -> Option<MsgId> {
        let (key, mut found) = (Key::of(comm, selector), Found::default());
        // SAFETY: the state is the table's, and both pointers are valid for the call.
        let hit = unsafe { (self.table.post)(self.state, recv.0, &raw const key, &raw mut found) };
        let message = Self::searched(&mut self.stats.umq, &mut self.refused, hit, found);
        match message {
            Some(_) => self.stats.umq.removed(),
            None => self.inserted(|stats| &mut stats.prq),
        }
        message.map(MsgId)
    }

    fn arrive(&mut self, msg: MsgId, envelope: Envelope) -> Option<RecvId> {
        let key = Key::of(envelope.comm, Selector::new(envelope.source, envelope.tag));
        let mut found = Found::default();
        // SAFETY: as in `post`.
        let hit = unsafe { (self.table.arrive)(self.state, msg.0, &raw const key, &raw mut found) };
        let receive = Self::searched(&mut self.stats.prq, &mut self.refused, hit, found);
        match receive {
            Some(_) => self.stats.prq.removed(),
            None => self.inserted(|stats| &mut stats.umq),
        }
        receive.map(RecvId)
    }

    fn cancel(&mut self, recv: RecvId) -> bool {
        // SAFETY: the state is the table's.
        let hit = unsafe { (self.table.cancel)(self.state, recv.0) } && self.stats.prq.length > 0;
        if hit {
            self.stats.prq.removed();
        }
        self.stats.cancel_ended(hit);
        hit
    }

    fn probe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        let (key, mut found) = (Key::of(comm, selector), Found::default());
        // SAFETY: as in `post`.
        let hit = unsafe { (self.table.probe)(self.state, &raw const key, &raw mut found) };
        Self::searched(&mut self.stats.umq, &mut self.refused, hit, found).map(MsgId)
    }

    fn mprobe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        let (key, mut found) = (Key::of(comm, selector), Found::default());
        // SAFETY: as in `post`.
        let hit = unsafe { (self.table.mprobe)(self.state, &raw const key, &raw mut found) };
        let message = Self::searched(&mut self.stats.umq, &mut self.refused, hit, found);
        if message.is_some() {
            self.stats.umq.removed();
        }
        message.map(MsgId)
    }

    fn free_comm(&mut self, comm: CommId) -> bool {
        // SAFETY: the state is the table's.
        unsafe { (self.table.free_comm)(self.state, comm.0) }
    }

    fn posted(&self) -> Vec<RecvId> {
        self.ids(self.table.posted, self.stats.prq.length)
            .into_iter()
            .map(RecvId)
            .collect()
    }

    fn unexpected(&self) -> Vec<MsgId> {
        self.ids(self.table.unexpected, self.stats.umq.length)
            .into_iter()
            .map(MsgId)
            .collect()
    }

    fn is_empty(&self, comm: CommId) -> bool {
        // SAFETY: the state is the table's.
        unsafe { (self.table.is_empty)(self.state, comm.0) }
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn own_counters(&self) -> Vec<Counter> {
        vec![Counter::new("refused_answers", self.refused)]
    }

    /// The library's memory has no known bound.
    fn memory_bound(&self, _load: &Load) -> u64 {
        u64::MAX
    }
}
