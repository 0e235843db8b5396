//! The completion queues in which messages arrive, and the assignment of senders to them.
//!
//! MPI orders the messages of one sender, not messages of different ones, so senders need no common
//! queue. Each of the first senders owns one; a sender that finds none free shares the last. The
//! leader takes block after block from one queue after the other; a message's number counts the
//! messages of all queues in that order.
//!
//! **State.** `taken`: bit q is set while a sender owns queue q; the last queue's bit never is.
//! `in_use`: queues from this one on never had a sender and need no check.
//!
//! **Invariant.** A1: each queue but the last has at most one living sender.
//!
//! **Orderings.**
//!
//! | writer | reader | publishes |
//! |---|---|---|
//! | `release`: taken, Release | `assign`: taken, Acquire | the last sender's `tail` and entries, to the queue's next sender |
//!
//! `in_use` is Relaxed: a reader of an older value finds the queue a little later.
//!
//! **Progress.** Lock-free; only when senders come and go.

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::completion_queue::CompletionQueue;
use crate::number::QueueId;
use crate::sync::{AtomicU64, Relaxed};

/// Maximum number of completion queues.
pub const COMPLETION_QUEUES_MAX: usize = 64;

#[derive(Debug)]
pub(crate) struct Arrivals {
    queues: Box<[Arc<CompletionQueue>]>,
    taken: AtomicU64,
    in_use: AtomicU64,
}

impl Arrivals {
    /// `queues`: `1..=`[`COMPLETION_QUEUES_MAX`], each of this size.
    pub(crate) fn new(
        queues: usize,
        depth: usize,
        bounce_buffers: usize,
        eager_limit: usize,
    ) -> Self {
        let queue = |number| {
            let shared = number + 1 == queues;
            Arc::new(CompletionQueue::new(
                depth,
                bounce_buffers,
                eager_limit,
                shared,
            ))
        };
        Self {
            queues: (0..queues).map(queue).collect(),
            taken: AtomicU64::new(0),
            in_use: AtomicU64::new(1),
        }
    }

    /// The queue for senders that find none free.
    fn shared(&self) -> QueueId {
        QueueId(self.queues.len() - 1)
    }

    /// Assigns a queue to a new sender.
    pub(crate) fn assign(&self) -> (QueueId, Arc<CompletionQueue>) {
        let queue = self.choose();
        let queues = queue.0 as u64 + 1;
        let mut in_use = self.in_use.load(Relaxed);
        while in_use < queues
            && let Err(newer) = self
                .in_use
                .compare_exchange_weak(in_use, queues, Relaxed, Relaxed)
        {
            in_use = newer;
        }
        (queue, self.queues[queue.0].clone())
    }

    fn choose(&self) -> QueueId {
        let mut taken = self.taken.load(Relaxed);
        loop {
            let queue = QueueId(taken.trailing_ones() as usize);
            if queue.0 >= self.shared().0 {
                return self.shared();
            }
            let with_this = taken | 1 << queue.0;
            if fault!(QueueTakenTwice) {
                self.taken.store(with_this, Relaxed);
                return queue;
            }
            match self
                .taken
                .compare_exchange_weak(taken, with_this, weak!(Acquire), Relaxed)
            {
                Ok(_) => return queue,
                Err(newer) => taken = newer,
            }
        }
    }

    /// Takes the queue back from a sender that has gone.
    pub(crate) fn release(&self, queue: QueueId) {
        if queue != self.shared() {
            self.taken.fetch_sub(1 << queue.0, weak!(Release));
        }
    }

    /// Number of queues, counted from the first, that ever had a sender; at least 1.
    #[inline]
    pub(crate) fn in_use(&self) -> usize {
        self.in_use.load(Relaxed) as usize
    }

    #[inline]
    pub(crate) fn queue(&self, queue: QueueId) -> &CompletionQueue {
        &self.queues[queue.0]
    }

    #[cfg(feature = "ends")]
    pub(crate) fn share(&self, queue: QueueId) -> Arc<CompletionQueue> {
        self.queues[queue.0].clone()
    }

    pub(crate) fn queues(&self) -> impl ExactSizeIterator<Item = &CompletionQueue> {
        self.queues.iter().map(|queue| &**queue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_senders_have_queues_of_their_own() {
        let arrivals = Arrivals::new(3, 8, 8, 64);
        let take = || arrivals.assign().0.0;
        assert_eq!((take(), arrivals.in_use()), (0, 1));
        assert_eq!((take(), arrivals.in_use()), (1, 2));
        assert_eq!(([take(), take()], arrivals.in_use()), ([2, 2], 3));
        arrivals.release(QueueId(2));
        assert_eq!(take(), 2);
        arrivals.release(QueueId(0));
        assert_eq!([take(), take()], [0, 2]);
        arrivals.release(QueueId(1));
        arrivals.release(QueueId(0));
        assert_eq!(
            ([take(), take(), take()], arrivals.in_use()),
            ([0, 1, 2], 3)
        );
        let one = Arrivals::new(1, 8, 8, 64);
        assert_eq!(
            [(); 2].map(|()| one.assign().0.0),
            [0, 0],
            "one queue is for all"
        );
        let most = Arrivals::new(COMPLETION_QUEUES_MAX, 1, 1, 0);
        let numbers: alloc::vec::Vec<_> = (0..65).map(|_| most.assign().0.0).collect();
        assert_eq!(numbers[..64], (0..64).collect::<alloc::vec::Vec<_>>());
        assert_eq!(numbers[64], 63);
    }
}
