//! What is known about a message that was received or probed.

use dpa_model::Message;
use dpamatch_vocabulary::{Rank, Tag};

/// `MPI_Status` (MPI 4.1, section 3.2.5). Whether a message was truncated or its receive cancelled
/// is told by the [`RecvError`](super::RecvError), not here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Status {
    /// `MPI_SOURCE`: who sent it.
    pub source: Rank,
    /// `MPI_TAG`.
    pub tag: Tag,
    /// `MPI_Get_count` in bytes: what the buffer got, or for a probe what was sent.
    pub bytes: usize,
    /// How many messages arrived at this endpoint before it: its place in the order that the NIC
    /// chose.
    pub arrival: u64,
}

impl Status {
    pub(super) fn new(message: &Message, bytes: usize) -> Self {
        let envelope = message.envelope;
        Self { source: envelope.source, tag: envelope.tag, bytes, arrival: message.arrival }
    }
}

/// A completed receive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// The buffer that was posted, at its posted length; its first `status.bytes` bytes are the
    /// message.
    pub buffer: Vec<u8>,
    /// What was received.
    pub status: Status,
}

impl Received {
    /// The message.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.status.bytes]
    }
}
