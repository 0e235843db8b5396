//! The common part of all engines with order labels: entries, labels, statistics and the course of
//! each call. An [`Index`] defines where entries are and how a search finds them.

use dpamatch_vocabulary::{CommId, Envelope, Selector};

use super::chain::{Chain, Slab};
use super::comms::Comms;
use super::entry::Pattern;
use super::id_table::IdTable;
use super::places::{Places, Receives};
use super::{Counter, Engine, Load, MsgId, RecvId, Stats};

/// A receive in the PRQ.
#[derive(Clone, Copy, Debug)]
pub struct Posted {
    /// Its id.
    pub recv: RecvId,
    /// Place in the posting order of all communicators (O8).
    pub label: u64,
    /// Its communicator.
    pub comm: CommId,
    /// What it accepts.
    pub selector: Selector,
    /// The index's own mark of where it is.
    pub home: u32,
}

/// A message in the UMQ.
#[derive(Clone, Copy, Debug)]
pub struct Unexpected {
    /// Its id.
    pub msg: MsgId,
    /// Place in the arrival order of all communicators.
    pub arrival: u64,
    /// Its envelope.
    pub envelope: Envelope,
    /// The index's own mark of where it is.
    pub home: u32,
}

/// The entries of both queues; a receive can be in `P` chains at a time, a message in `U`.
#[derive(Clone, Debug)]
pub struct Entries<const P: usize, const U: usize> {
    /// The receives.
    pub posted: Slab<Posted, P>,
    /// The messages.
    pub unexpected: Slab<Unexpected, U>,
}

impl<const P: usize, const U: usize> Entries<P, U> {
    /// The first receive of a chain that accepts the message and has a label below `limit`, the
    /// label of another candidate. Labels rise along a chain, so the search stops at `limit`.
    #[inline]
    pub fn first_accepting(
        &self,
        chain: Chain,
        lane: usize,
        limit: u64,
        envelope: &Envelope,
        steps: &mut Steps,
    ) -> Option<u32> {
        for (at, posted) in self.posted.walk(chain, lane) {
            if posted.label >= limit {
                return None;
            }
            steps.compares += 1;
            if envelope.fits(posted.comm, posted.selector) {
                return Some(at);
            }
        }
        None
    }

    /// The first message of a chain that fits a selector in a communicator, if it arrived before
    /// `limit`.
    #[inline]
    pub fn first_fitting(
        &self,
        chain: Chain,
        lane: usize,
        limit: u64,
        wanted: Pattern,
        steps: &mut Steps,
    ) -> Option<u32> {
        for (at, message) in self.unexpected.walk(chain, lane) {
            if message.arrival >= limit {
                return None;
            }
            steps.compares += 1;
            if message.envelope.fits(wanted.comm, wanted.selector) {
                return Some(at);
            }
        }
        None
    }
}

impl<const P: usize> Receives for Slab<Posted, P> {
    #[inline]
    fn recv_at(&self, at: u32) -> Option<RecvId> {
        self.find(at).map(|posted| posted.recv)
    }

    fn all(&self) -> impl Iterator<Item = (u32, RecvId)> {
        self.live().map(|(at, posted)| (at, posted.recv))
    }

    #[inline]
    fn count(&self) -> usize {
        self.len() as usize
    }
}

/// The steps of one search.
///
/// Source: S28.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Steps {
    /// Full envelope compares.
    pub compares: u64,
    /// Steps over inner nodes of the structure.
    pub hops: u64,
}

/// Where the entries of an [`Indexed`] engine are and how they are found.
///
/// Entries are given by their number in the [`Entries`]. They are linked in the order of their
/// labels and arrival numbers, which rise. Nothing is ever linked twice, and only what is linked is
/// unlinked.
pub trait Index<const P: usize, const U: usize>: Send {
    /// The state of each communicator with entries.
    type Comm: Send;

    /// Takes a communicator without entries into use; `size` is its number of processes, if known.
    fn new_comm(&mut self, size: Option<u32>) -> Self::Comm;

    /// Takes a communicator without entries out of use.
    fn end_comm(&mut self, comm: Self::Comm) {
        drop(comm);
    }

    /// Whether a communicator goes out of use when its last entry leaves, instead of when it is
    /// freed.
    fn ends_when_empty(&self) -> bool {
        false
    }

    /// The earliest posted receive that accepts the message. `comm` is `None` if the
    /// communicator is not in use.
    fn earliest(
        &mut self,
        entries: &Entries<P, U>,
        comm: Option<&mut Self::Comm>,
        envelope: &Envelope,
        steps: &mut Steps,
    ) -> Option<u32>;

    /// The oldest unexpected message that a receive with this selector accepts. An index that links
    /// messages lazily may link them now.
    fn oldest(
        &mut self,
        entries: &mut Entries<P, U>,
        comm: Option<&mut Self::Comm>,
        wanted: Pattern,
        steps: &mut Steps,
    ) -> Option<u32>;

    /// Links a receive in the PRQ, directly after the search for its message failed. Returns
    /// whether its bin was in use (S28).
    fn link_posted(&mut self, entries: &mut Entries<P, U>, comm: &mut Self::Comm, at: u32) -> bool;

    /// Unlinks a receive from the PRQ.
    fn unlink_posted(&mut self, entries: &mut Entries<P, U>, comm: &mut Self::Comm, at: u32);

    /// Links a message in the UMQ, directly after the search for its receive failed. Returns
    /// whether its bin was in use.
    fn link_unexpected(
        &mut self,
        entries: &mut Entries<P, U>,
        comm: &mut Self::Comm,
        at: u32,
    ) -> bool;

    /// Unlinks a message from the UMQ.
    fn unlink_unexpected(&mut self, entries: &mut Entries<P, U>, comm: &mut Self::Comm, at: u32);

    /// Frees memory kept for later. No communicator is in use.
    fn release(&mut self) {}

    /// Bytes of the structure now, including what the `Comm`s point to. Must take constant time.
    fn bytes(&self) -> usize;

    /// Upper bound on the bytes of the structure under a load.
    fn bytes_bound(&self, load: &Load) -> u64;

    /// Changes of structure so far.
    fn conversions(&self) -> u64 {
        0
    }

    /// Counters that only this index has.
    fn own_counters(&self) -> Vec<Counter> {
        Vec::new()
    }
}

/// An engine made of an [`Index`].
#[derive(Clone, Debug)]
pub struct Indexed<I: Index<P, U>, const P: usize, const U: usize> {
    entries: Entries<P, U>,
    next_label: u64,
    next_arrival: u64,
    /// Node of each posted receive, for cancels.
    places: Places,
    comms: Comms<I::Comm>,
    /// Known sizes of communicators.
    sizes: IdTable,
    index: I,
    /// Bytes of the index as last entered in the statistics.
    index_bytes: usize,
    stats: Stats,
}

impl<I: Index<P, U>, const P: usize, const U: usize> Indexed<I, P, U> {
    /// An engine with empty queues.
    pub fn with_index(index: I) -> Self {
        let mut engine = Self {
            entries: Entries {
                posted: Slab::new(),
                unexpected: Slab::new(),
            },
            next_label: 0,
            next_arrival: 0,
            places: Places::new(),
            comms: Comms::new(),
            sizes: IdTable::new(),
            index,
            index_bytes: 0,
            stats: Stats::default(),
        };
        engine.record_structure();
        engine
    }

    /// The index.
    pub fn index(&self) -> &I {
        &self.index
    }

    #[inline]
    fn oldest(&mut self, comm: CommId, selector: Selector) -> Option<u32> {
        let mut steps = Steps::default();
        let found = self.index.oldest(
            &mut self.entries,
            self.comms.get_mut(comm),
            Pattern { comm, selector },
            &mut steps,
        );
        self.stats.umq.searched(steps.compares, found.is_some());
        self.stats.umq.hops += steps.hops;
        self.record_if_changed();
        found
    }

    #[inline]
    fn earliest(&mut self, envelope: &Envelope) -> Option<u32> {
        let mut steps = Steps::default();
        let found = self.index.earliest(
            &self.entries,
            self.comms.get_mut(envelope.comm),
            envelope,
            &mut steps,
        );
        self.stats.prq.searched(steps.compares, found.is_some());
        self.stats.prq.hops += steps.hops;
        found
    }

    #[inline]
    fn size(sizes: &IdTable, comm: CommId) -> Option<u32> {
        sizes.get(u64::from(comm.0))
    }

    fn insert_posted(&mut self, recv: RecvId, comm: CommId, selector: Selector) {
        let at = self.entries.posted.insert(Posted {
            recv,
            label: self.next_label,
            comm,
            selector,
            home: 0,
        });
        self.next_label += 1;
        self.places.set(&self.entries.posted, recv, at);
        let index = &mut self.index;
        let per_comm = self
            .comms
            .enter(comm, || index.new_comm(Self::size(&self.sizes, comm)));
        let collided = self.index.link_posted(&mut self.entries, per_comm, at);
        self.stats.prq.inserted(collided);
        self.record_structure();
    }

    fn remove_posted(&mut self, at: u32) -> RecvId {
        let Posted { recv, comm, .. } = *self.entries.posted.get(at);
        if let Some((per_comm, left)) = self.comms.leave(comm) {
            self.index.unlink_posted(&mut self.entries, per_comm, at);
            self.entries.posted.remove(at);
            self.stats.prq.removed();
            self.left(comm, left);
        }
        recv
    }

    fn insert_unexpected(&mut self, msg: MsgId, envelope: Envelope) {
        let message = Unexpected {
            msg,
            arrival: self.next_arrival,
            envelope,
            home: 0,
        };
        let at = self.entries.unexpected.insert(message);
        self.next_arrival += 1;
        let index = &mut self.index;
        let comm = envelope.comm;
        let per_comm = self
            .comms
            .enter(comm, || index.new_comm(Self::size(&self.sizes, comm)));
        let collided = self.index.link_unexpected(&mut self.entries, per_comm, at);
        self.stats.umq.inserted(collided);
        self.record_structure();
    }

    fn remove_unexpected(&mut self, at: u32) -> MsgId {
        let Unexpected {
            msg,
            envelope: Envelope { comm, .. },
            ..
        } = *self.entries.unexpected.get(at);
        if let Some((per_comm, left)) = self.comms.leave(comm) {
            self.index
                .unlink_unexpected(&mut self.entries, per_comm, at);
            self.entries.unexpected.remove(at);
            self.stats.umq.removed();
            self.left(comm, left);
        }
        msg
    }

    /// Handles the departure of an entry from a communicator that has `entries` entries left.
    #[inline]
    fn left(&mut self, comm: CommId, entries: u32) {
        if entries == 0 && self.index.ends_when_empty() {
            self.end_comm(comm);
        } else {
            self.record_if_changed();
        }
    }

    fn end_comm(&mut self, comm: CommId) {
        if let Some(per_comm) = self.comms.remove(comm) {
            self.index.end_comm(per_comm);
            self.record_structure();
        }
    }

    /// Updates the statistics after a change in which no entry was added.
    #[inline]
    fn record_if_changed(&mut self) {
        if self.index.bytes() != self.index_bytes
            || self.index.conversions() != self.stats.conversions
        {
            self.record_structure();
        }
    }

    /// Updates the statistics of memory and structure.
    #[inline]
    fn record_structure(&mut self) {
        let entries = self.entries.posted.bytes() + self.entries.unexpected.bytes();
        let tables = self.places.bytes() + self.comms.bytes() + self.sizes.bytes();
        self.index_bytes = self.index.bytes();
        self.stats
            .set_memory_bytes(entries + tables + self.index_bytes);
        self.stats.conversions = self.index.conversions();
    }
}

impl<I: Index<P, U>, const P: usize, const U: usize> Engine for Indexed<I, P, U> {
    fn post(&mut self, recv: RecvId, comm: CommId, selector: Selector) -> Option<MsgId> {
        let message = self.mprobe(comm, selector);
        if message.is_none() {
            self.insert_posted(recv, comm, selector);
        }
        message
    }

    fn arrive(&mut self, msg: MsgId, envelope: Envelope) -> Option<RecvId> {
        if let Some(at) = self.earliest(&envelope) {
            return Some(self.remove_posted(at));
        }
        self.insert_unexpected(msg, envelope);
        None
    }

    fn cancel(&mut self, recv: RecvId) -> bool {
        let place = self.places.find(&self.entries.posted, recv);
        if let Some(at) = place {
            self.remove_posted(at);
        }
        self.stats.cancel_ended(place.is_some());
        place.is_some()
    }

    fn probe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        self.oldest(comm, selector)
            .map(|at| self.entries.unexpected.get(at).msg)
    }

    fn mprobe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        self.oldest(comm, selector)
            .map(|at| self.remove_unexpected(at))
    }

    fn set_comm_size(&mut self, comm: CommId, size: u32) {
        // The largest number marks a vacant slot; no communicator has more processes than there are
        // ranks.
        self.sizes
            .set(u64::from(comm.0), size.min(dpa_model::RANK_MAX));
        self.record_structure();
    }

    /// All communicators share the nodes, which are freed once no communicator is in use.
    fn free_comm(&mut self, comm: CommId) -> bool {
        if !self.is_empty(comm) {
            return false;
        }
        self.sizes.remove(u64::from(comm.0));
        self.end_comm(comm);
        if self.entries.posted.is_empty() && self.entries.unexpected.is_empty() {
            self.entries.posted.release();
            self.entries.unexpected.release();
            self.places.release();
            self.sizes.release();
            if self.comms.is_empty() {
                self.comms.release();
                self.index.release();
            }
            self.record_structure();
        }
        true
    }

    fn posted(&self) -> Vec<RecvId> {
        let live = self.entries.posted.live();
        let mut receives: Vec<_> = live
            .map(|(_, posted)| (posted.label, posted.recv))
            .collect();
        receives.sort_unstable();
        receives.into_iter().map(|(_, recv)| recv).collect()
    }

    fn unexpected(&self) -> Vec<MsgId> {
        let live = self.entries.unexpected.live();
        let mut messages: Vec<_> = live
            .map(|(_, message)| (message.arrival, message.msg))
            .collect();
        messages.sort_unstable();
        messages.into_iter().map(|(_, msg)| msg).collect()
    }

    fn is_empty(&self, comm: CommId) -> bool {
        self.comms.entries(comm) == 0
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn own_counters(&self) -> Vec<Counter> {
        self.index.own_counters()
    }

    fn memory_bound(&self, load: &Load) -> u64 {
        // A communicator stays in use while it has entries, or until it is freed.
        let comms = if self.index.ends_when_empty() {
            load.comms.min(load.posted + load.unexpected)
        } else {
            load.comms
        };
        Slab::<Posted, P>::bytes_bound(load.posted)
            + Slab::<Unexpected, U>::bytes_bound(load.unexpected)
            + Places::bytes_bound(load.posted)
            + Comms::<I::Comm>::bytes_bound(comms)
            + IdTable::bytes_bound(load.comms)
            + self.index.bytes_bound(load)
    }
}
