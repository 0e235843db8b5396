//! The status of a completed operation.

use dpamatch_vocabulary::{Rank, Tag};

/// An `MPI_Status` as recorded.
///
/// For a receive, source and tag are the message's, never wildcards. For a send MPI leaves the
/// fields undefined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Status {
    /// Bytes received; negative (`MPI_UNDEFINED`) if unknown to the library.
    pub bytes: i64,
    /// The sender's rank in the communicator; negative without a sender.
    pub source: i32,
    /// The message's tag; negative without a message.
    pub tag: i32,
    /// Whether the operation was cancelled, which makes the other fields meaningless.
    pub cancelled: bool,
    /// Lowest byte of the error code; meaningless for a single completion.
    pub error: u8,
}

impl Status {
    /// Sender's rank and tag of the received message; `None` if cancelled or without message.
    pub fn envelope(&self) -> Option<(Rank, Tag)> {
        if self.cancelled {
            return None;
        }
        let rank = Rank::new(u32::try_from(self.source).ok()?).ok()?;
        let tag = Tag::new(u32::try_from(self.tag).ok()?).ok()?;
        Some((rank, tag))
    }
}
