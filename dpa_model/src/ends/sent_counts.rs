//! A snapshot of the senders' progress, queue by queue: a sum over all queues would not show
//! whether the NIC has consumed each queue up to the snapshot.

use alloc::boxed::Box;

use super::HostPort;
use crate::completion_queue::CompletionQueue;

/// The messages on their way at a call of [`HostPort::sent`].
#[derive(Debug)]
pub struct SentCounts {
    /// Number of messages in each completion queue.
    queues: Box<[u64]>,
}

impl HostPort {
    /// The number of messages that senders have sent, and how many of them the NIC has consumed.
    /// For each sender that owns a completion queue the first number may be too low, by up to about
    /// 32.
    pub fn arrivals(&self) -> (u64, u64) {
        let queues = self.shared.arrivals.queues();
        queues
            .map(CompletionQueue::counts)
            .fold((0, 0), |(sent, dealt_with), queue| {
                (sent + queue.0, dealt_with + queue.1)
            })
    }

    /// Takes a snapshot of the messages sent; it includes every message of a sender that is gone.
    ///
    /// # Complexity
    /// O(completion queues), an allocation.
    pub fn sent(&self) -> SentCounts {
        let queues = self.shared.arrivals.queues();
        SentCounts {
            queues: queues.map(|queue| queue.counts().0).collect(),
        }
    }

    /// Whether the NIC has consumed every message of the snapshot.
    pub fn have_arrived(&self, sent: &SentCounts) -> bool {
        let queues = self.shared.arrivals.queues();
        queues
            .zip(&sent.queues)
            .all(|(queue, &sent)| queue.ring.head() >= sent)
    }
}
