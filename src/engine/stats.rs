//! The statistics of matching, defined once for every engine (S28).

use std::borrow::Cow;

/// One named number, as reports print it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Its name: lower case, words joined by `_`, unit last.
    pub name: Cow<'static, str>,
    /// Its value.
    pub value: u64,
}

impl Counter {
    /// A counter.
    pub fn new(name: impl Into<Cow<'static, str>>, value: u64) -> Self {
        Self {
            name: name.into(),
            value,
        }
    }
}

/// The statistics of one of the two queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueStats {
    /// Searches that found an entry. A probe counts as a search of the UMQ, as a post does.
    pub hits: u64,
    /// Searches that found none.
    pub misses: u64,
    /// Full envelope compares. More than [`depth_sum`](Self::depth_sum) only in an engine that
    /// searches twice for one message.
    pub attempts: u64,
    /// Sum of the search depths: compares until the hit, or all that a miss needed. Divided by the
    /// searches this is the average search length (ASL).
    pub depth_sum: u64,
    /// Greatest search depth.
    pub depth_max: u64,
    /// Steps over inner nodes of the structure during searches, which are no compares: heads of
    /// arrays, planes, segments, levels, dedicated queues. The cost of a search is
    /// `attempts + hops`.
    pub hops: u64,
    /// Insertions in a bin that was not empty. The list of both-wild receives (I3) is no bin; a
    /// message in the UMQ is counted in the bin of its full key only, although all four indexes
    /// hold it.
    pub collisions: u64,
    /// Entries now.
    pub length: u64,
    /// Maximum number of entries ever (high-water mark; MQL).
    pub length_max: u64,
    /// Sum over all searches of the entries in the queue at that moment: divided by the searches
    /// this is the average queue length (AQL).
    pub length_sum: u64,
}

impl QueueStats {
    /// Counts a search that ended after `depth` compares.
    #[inline]
    pub fn searched(&mut self, depth: u64, hit: bool) {
        self.hits += u64::from(hit);
        self.misses += u64::from(!hit);
        self.attempts += depth;
        self.depth_sum += depth;
        self.depth_max = self.depth_max.max(depth);
        self.length_sum += self.length;
    }

    /// Counts an insertion; `collided` if the bin was not empty.
    #[inline]
    pub fn inserted(&mut self, collided: bool) {
        self.collisions += u64::from(collided);
        self.length += 1;
        self.length_max = self.length_max.max(self.length);
    }

    /// Counts a removal.
    #[inline]
    pub fn removed(&mut self) {
        debug_assert!(self.length > 0, "an entry leaves an empty queue");
        self.length -= 1;
    }

    /// Number of searches.
    pub fn searches(&self) -> u64 {
        self.hits + self.misses
    }
}

/// The statistics of one engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// The posted receive queue.
    pub prq: QueueStats,
    /// The unexpected message queue.
    pub umq: QueueStats,
    /// Cancels that took a receive out of the PRQ.
    pub cancelled: u64,
    /// Cancels that came too late.
    pub too_late: u64,
    /// Changes of structure: a list that became a table or a table that became a list, a level or
    /// dedicated queue that was added.
    pub conversions: u64,
    /// Times that the engine's memory grew: a longer table, a larger pool of entries, a new array.
    pub allocations: u64,
    /// Bytes of the engine's tables and entries now, entries kept for reuse included.
    pub memory_bytes: u64,
    /// Maximum number of bytes ever. Never above
    /// [`Engine::memory_bound`](super::Engine::memory_bound).
    pub memory_bytes_max: u64,
}

impl Stats {
    /// Counts a cancel.
    #[inline]
    pub fn cancel_ended(&mut self, cancelled: bool) {
        self.cancelled += u64::from(cancelled);
        self.too_late += u64::from(!cancelled);
    }

    /// Records the bytes that the engine holds now.
    #[inline]
    pub fn set_memory_bytes(&mut self, bytes: usize) {
        let bytes = bytes as u64;
        if bytes != self.memory_bytes {
            self.allocations += u64::from(bytes > self.memory_bytes);
            self.memory_bytes = bytes;
            self.memory_bytes_max = self.memory_bytes_max.max(bytes);
        }
    }

    /// All numbers by name, in a fixed order.
    pub fn counters(&self) -> Vec<Counter> {
        let mut counters = Vec::with_capacity(26);
        for (queue, stats) in [("prq", &self.prq), ("umq", &self.umq)] {
            let values = [
                ("hits", stats.hits),
                ("misses", stats.misses),
                ("attempts", stats.attempts),
                ("depth_sum", stats.depth_sum),
                ("depth_max", stats.depth_max),
                ("hops", stats.hops),
                ("collisions", stats.collisions),
                ("length", stats.length),
                ("length_max", stats.length_max),
                ("length_sum", stats.length_sum),
            ];
            counters
                .extend(values.map(|(name, value)| Counter::new(format!("{queue}_{name}"), value)));
        }
        counters.push(Counter::new("cancelled", self.cancelled));
        counters.push(Counter::new("too_late", self.too_late));
        counters.push(Counter::new("conversions", self.conversions));
        counters.push(Counter::new("allocations", self.allocations));
        counters.push(Counter::new("memory_bytes", self.memory_bytes));
        counters.push(Counter::new("memory_bytes_max", self.memory_bytes_max));
        counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_maxima_follow_the_searches() {
        let mut queue = QueueStats::default();
        queue.inserted(false);
        queue.inserted(true);
        queue.searched(2, true);
        queue.removed();
        queue.searched(1, false);
        assert_eq!(
            queue,
            QueueStats {
                hits: 1,
                misses: 1,
                attempts: 3,
                depth_sum: 3,
                depth_max: 2,
                hops: 0,
                collisions: 1,
                length: 1,
                length_max: 2,
                length_sum: 3,
            }
        );
        assert_eq!(queue.searches(), 2);
    }

    #[test]
    fn allocations_are_growth_of_memory() {
        let mut stats = Stats::default();
        for bytes in [10, 10, 20, 5, 15] {
            stats.set_memory_bytes(bytes);
        }
        assert_eq!(
            (
                stats.allocations,
                stats.memory_bytes,
                stats.memory_bytes_max
            ),
            (3, 15, 20)
        );
    }

    #[test]
    fn counters_are_named_once_each() {
        let stats = Stats {
            too_late: 4,
            ..Stats::default()
        };
        let counters = stats.counters();
        let mut names: Vec<_> = counters
            .iter()
            .map(|counter| counter.name.clone())
            .collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), counters.len());
        assert!(counters.contains(&Counter::new("too_late", 4)));
    }
}
