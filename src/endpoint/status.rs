//! The status of a received or probed message.

use dpa_model::Message;
use dpamatch_vocabulary::{Rank, Tag};

/// `MPI_Status` (MPI 4.1, section 3.2.5). [`RecvError`](super::RecvError) reports truncation and
/// cancellation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Status {
    /// `MPI_SOURCE`: rank of the sender.
    pub source: Rank,
    /// `MPI_TAG`.
    pub tag: Tag,
    /// `MPI_Get_count` in bytes: the bytes in the buffer; for a probe, the length of the message.
    pub bytes: usize,
    /// Number of messages that arrived at this endpoint before it, in the order that the NIC chose.
    pub arrival: u64,
}

impl Status {
    pub(super) fn new(message: &Message, bytes: usize) -> Self {
        let envelope = message.envelope;
        Self {
            source: envelope.source,
            tag: envelope.tag,
            bytes,
            arrival: message.arrival,
        }
    }
}

/// A completed receive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// The buffer that was posted, at its posted length; its first `status.bytes` bytes are the
    /// message.
    pub buffer: Vec<u8>,
    /// The message's source, tag and length.
    pub status: Status,
}

impl Received {
    /// The message.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.status.bytes]
    }
}
