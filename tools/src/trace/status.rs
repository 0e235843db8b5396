//! What MPI said about a completed operation.

use dpamatch_vocabulary::{Rank, Tag};

/// An `MPI_Status` as recorded.
///
/// For a receive, source and tag are those of the message, never wildcards. For a send the fields
/// mean nothing: MPI leaves them undefined, and traces hold whatever lay in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Status {
    /// Bytes that arrived; negative (`MPI_UNDEFINED`) if the library could not say.
    pub bytes: i32,
    /// The sender's rank in the communicator; negative if there was no sender.
    pub source: i32,
    /// The message's tag; negative if there was no message.
    pub tag: i32,
    /// The operation was cancelled, the other fields mean nothing.
    pub cancelled: bool,
    /// Lowest byte of the error code; meaningless where one operation alone completed.
    pub error: u8,
}

impl Status {
    /// Sender's rank and tag of the message that a receive got: none if it was cancelled or there
    /// was no message.
    pub fn envelope(&self) -> Option<(Rank, Tag)> {
        if self.cancelled {
            return None;
        }
        let rank = Rank::new(u32::try_from(self.source).ok()?).ok()?;
        let tag = Tag::new(u32::try_from(self.tag).ok()?).ok()?;
        Some((rank, tag))
    }
}
