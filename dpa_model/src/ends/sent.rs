//! How far senders were at a moment, queue by queue: the sum over all queues would not say that
//! each has been dealt with so far.

use alloc::boxed::Box;

use super::HostPort;
use crate::completion_queue::CompletionQueue;

/// The messages that were on their way when [`HostPort::sent`] was asked.
#[derive(Debug)]
pub struct Sent {
    /// Messages of each completion queue.
    queues: Box<[u64]>,
}

impl HostPort {
    /// Messages that senders have put on their way so far, and how many of them the NIC has dealt
    /// with. For each sender with a completion queue of its own the first number may be too low, by
    /// some 32 at most.
    pub fn arrivals(&self) -> (u64, u64) {
        let queues = self.shared.arrivals.queues();
        queues
            .map(CompletionQueue::counts)
            .fold((0, 0), |(sent, dealt_with), queue| (sent + queue.0, dealt_with + queue.1))
    }

    /// What senders have put on their way so far, at least all of those that have gone.
    ///
    /// # Complexity
    /// O(completion queues), an allocation.
    pub fn sent(&self) -> Sent {
        let queues = self.shared.arrivals.queues();
        Sent { queues: queues.map(|queue| queue.counts().0).collect() }
    }

    /// Whether the NIC has dealt with all of that.
    pub fn have_arrived(&self, sent: &Sent) -> bool {
        let queues = self.shared.arrivals.queues();
        queues.zip(&sent.queues).all(|(queue, &sent)| queue.ring.head() >= sent)
    }
}
