//! Engines with one PRQ and one UMQ for all communicators: the course of each call. A [`Queue`]
//! defines how entries are stored and how a search finds them.

use dpamatch_vocabulary::{CommId, Envelope, Selector};

use super::comms::Comms;
use super::entry::{Entry, Pattern, PostedReceive, UnexpectedMessage};
use super::places::{Places, Receives};
use super::{Counter, Engine, Load, MsgId, QueueStats, RecvId, Stats};

/// A PRQ or UMQ. Entries are numbered; a number is used again after its entry left.
pub trait Queue<E: Entry>: Send {
    /// The oldest entry that fits, counted as a search.
    fn search(&mut self, wanted: &E::Wanted, stats: &mut QueueStats) -> Option<u32>;

    /// As [`search`](Self::search), for a probe, which leaves the entry in its place.
    fn peek(&mut self, wanted: &E::Wanted, stats: &mut QueueStats) -> Option<u32> {
        self.search(wanted, stats)
    }

    /// Puts an entry at the end.
    fn push(&mut self, entry: E) -> u32;

    /// Takes an entry out. The second value: whether other entries have new numbers.
    fn remove(&mut self, at: u32) -> (E, bool);

    /// The entry with this number, if there is one.
    fn find(&self, at: u32) -> Option<&E>;

    /// All entries, oldest first.
    fn iter(&self) -> impl Iterator<Item = (u32, &E)>;

    /// Number of entries.
    fn len(&self) -> usize;

    /// Frees the memory of an empty queue.
    fn release(&mut self);

    /// Bytes taken now.
    fn bytes(&self) -> usize;

    /// Upper bound on the bytes with at most `entries` at a time.
    fn bytes_bound(entries: u64) -> u64;

    /// Upper bound on the bytes of an engine behind this queue, if there is one.
    fn behind_bound(&self, _load: &Load) -> u64 {
        0
    }
}

impl<Q: Queue<PostedReceive>> Receives for Q {
    #[inline]
    fn recv_at(&self, at: u32) -> Option<RecvId> {
        self.find(at).map(|receive| receive.recv)
    }

    fn all(&self) -> impl Iterator<Item = (u32, RecvId)> {
        self.iter().map(|(at, receive)| (at, receive.recv))
    }

    #[inline]
    fn count(&self) -> usize {
        self.len()
    }
}

/// What an engine does besides: before each insertion, and in its counters.
pub trait Policy<P, U>: Send {
    /// A receive will be put in the PRQ.
    fn before_post(&mut self, _prq: &mut P, _umq: &mut U) {}

    /// A message will be put in the UMQ.
    fn before_store(&mut self, _prq: &mut P, _umq: &mut U) {}

    /// Whether searches and removals, too, change the memory of the queues.
    fn grows_by_searches(&self, _prq: &P, _umq: &U) -> bool {
        false
    }

    /// Counters that only this engine has.
    fn own_counters(&self, _prq: &P, _umq: &U) -> Vec<Counter> {
        Vec::new()
    }
}

impl<P, U> Policy<P, U> for () {}

/// An engine made of two queues.
#[derive(Clone, Debug)]
pub struct Linear<P, U, X = ()> {
    pub(super) prq: P,
    pub(super) umq: U,
    pub(super) policy: X,
    /// Number of each posted receive, for cancels.
    places: Places,
    /// Entries of each communicator, in both queues.
    entries: Comms<()>,
    stats: Stats,
}

impl<P, U, X> Linear<P, U, X>
where
    P: Queue<PostedReceive>,
    U: Queue<UnexpectedMessage>,
{
    /// An engine of these queues, which are empty.
    pub(super) fn with_queues(prq: P, umq: U, policy: X) -> Self {
        let (places, entries) = (Places::new(), Comms::new());
        Self {
            prq,
            umq,
            policy,
            places,
            entries,
            stats: Stats::default(),
        }
    }

    /// A search has ended, and what it found is removed, if anything.
    fn searched(&mut self)
    where
        X: Policy<P, U>,
    {
        if self.policy.grows_by_searches(&self.prq, &self.umq) {
            self.record_memory();
        }
    }

    fn remove_posted(&mut self, at: u32) -> RecvId
    where
        X: Policy<P, U>,
    {
        let (receive, moved) = self.prq.remove(at);
        if moved {
            self.places.renew(&self.prq);
        }
        self.entries.leave(receive.comm);
        self.stats.prq.removed();
        self.searched();
        receive.recv
    }

    fn record_memory(&mut self) {
        let queues = self.prq.bytes() + self.umq.bytes();
        self.stats
            .set_memory_bytes(queues + self.places.bytes() + self.entries.bytes());
    }
}

impl<P, U, X> Engine for Linear<P, U, X>
where
    P: Queue<PostedReceive>,
    U: Queue<UnexpectedMessage>,
    X: Policy<P, U>,
{
    fn post(&mut self, recv: RecvId, comm: CommId, selector: Selector) -> Option<MsgId> {
        let message = self.mprobe(comm, selector);
        if message.is_none() {
            self.policy.before_post(&mut self.prq, &mut self.umq);
            self.stats.prq.inserted(self.prq.len() > 0);
            let at = self.prq.push(PostedReceive {
                recv,
                comm,
                selector,
            });
            self.places.set(&self.prq, recv, at);
            self.entries.enter(comm, || ());
            self.record_memory();
        }
        message
    }

    fn arrive(&mut self, msg: MsgId, envelope: Envelope) -> Option<RecvId> {
        if let Some(at) = self.prq.search(&envelope, &mut self.stats.prq) {
            return Some(self.remove_posted(at));
        }
        self.policy.before_store(&mut self.prq, &mut self.umq);
        self.stats.umq.inserted(self.umq.len() > 0);
        self.umq.push(UnexpectedMessage { msg, envelope });
        self.entries.enter(envelope.comm, || ());
        self.record_memory();
        None
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
        let pattern = Pattern { comm, selector };
        let found = self.umq.peek(&pattern, &mut self.stats.umq);
        self.searched();
        self.umq.find(found?).map(|message| message.msg)
    }

    fn mprobe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        let pattern = Pattern { comm, selector };
        let found = self.umq.search(&pattern, &mut self.stats.umq);
        let message = found.map(|at| self.umq.remove(at).0);
        if let Some(message) = message {
            self.entries.leave(message.envelope.comm);
            self.stats.umq.removed();
        }
        self.searched();
        message.map(|message| message.msg)
    }

    /// The queues belong to all communicators: their memory is freed once both are empty.
    fn free_comm(&mut self, comm: CommId) -> bool {
        if !self.is_empty(comm) {
            return false;
        }
        self.entries.remove(comm);
        if self.prq.len() == 0 && self.umq.len() == 0 {
            self.prq.release();
            self.umq.release();
            self.places.release();
            self.entries.release();
        }
        self.record_memory();
        true
    }

    fn posted(&self) -> Vec<RecvId> {
        self.prq.iter().map(|(_, receive)| receive.recv).collect()
    }

    fn unexpected(&self) -> Vec<MsgId> {
        self.umq.iter().map(|(_, message)| message.msg).collect()
    }

    fn is_empty(&self, comm: CommId) -> bool {
        self.entries.entries(comm) == 0
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn own_counters(&self) -> Vec<Counter> {
        self.policy.own_counters(&self.prq, &self.umq)
    }

    fn memory_bound(&self, load: &Load) -> u64 {
        P::bytes_bound(load.posted)
            + U::bytes_bound(load.unexpected)
            + Places::bytes_bound(load.posted)
            + Comms::<()>::bytes_bound(load.comms)
            + self.prq.behind_bound(load)
            + self.umq.behind_bound(load)
    }
}
