//! The traditional engine: one PRQ and one UMQ for all communicators, each a linked list searched
//! from the front, as MPICH does it. Entries are recycled nodes; a cancel finds its node
//! through a table and unlinks it in O(1).

use super::QueueStats;
use super::chain::{Chain, Slab};
use super::entry::{Entry, PostedReceive, UnexpectedMessage};
use super::linear::{Linear, Queue};

/// A linked list.
#[derive(Clone, Debug)]
pub struct List<E> {
    nodes: Slab<E, 1>,
    chain: Chain,
}

/// Two linked lists. A search costs the entries before the one it finds, insertion and removal are
/// O(1).
pub type ListEngine = Linear<List<PostedReceive>, List<UnexpectedMessage>>;

impl ListEngine {
    /// An engine with empty queues.
    pub fn new() -> Self {
        let prq = List {
            nodes: Slab::new(),
            chain: Chain::EMPTY,
        };
        let umq = List {
            nodes: Slab::new(),
            chain: Chain::EMPTY,
        };
        Self::with_queues(prq, umq, ())
    }
}

impl Default for ListEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Entry> Queue<E> for List<E> {
    #[inline]
    fn search(&mut self, wanted: &E::Wanted, stats: &mut QueueStats) -> Option<u32> {
        let mut depth = 0;
        let found = self.nodes.walk(self.chain, 0).find(|(_, entry)| {
            depth += 1;
            entry.fits(wanted)
        });
        let found = found.map(|(at, _)| at);
        stats.searched(depth, found.is_some());
        found
    }

    fn push(&mut self, entry: E) -> u32 {
        let at = self.nodes.insert(entry);
        self.nodes.push_back(&mut self.chain, 0, at);
        at
    }

    fn remove(&mut self, at: u32) -> (E, bool) {
        self.nodes.unlink(&mut self.chain, 0, at);
        (self.nodes.remove(at), false)
    }

    #[inline]
    fn find(&self, at: u32) -> Option<&E> {
        self.nodes.find(at)
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &E)> {
        self.nodes.walk(self.chain, 0)
    }

    #[inline]
    fn len(&self) -> usize {
        self.nodes.len() as usize
    }

    fn release(&mut self) {
        self.nodes.release();
    }

    fn bytes(&self) -> usize {
        self.nodes.bytes()
    }

    fn bytes_bound(entries: u64) -> u64 {
        Slab::<E, 1>::bytes_bound(entries)
    }
}
