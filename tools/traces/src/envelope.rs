//! The targets of sends and the selection of receives.

use dpamatch_vocabulary::{Rank, Tag, TagSel};

use super::{Comm, Datatype};

/// The target of a send.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dest {
    /// `MPI_PROC_NULL`: the call sends nothing.
    Null,
    /// A rank of the communicator.
    Rank(Rank),
}

/// The source that a receive accepts, as recorded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// `MPI_ANY_SOURCE`.
    Any,
    /// `MPI_ANY_SOURCE` or `MPI_PROC_NULL`: some formats do not distinguish them (DUMPI with
    /// MPICH). If the completion's status has no source, it was `MPI_PROC_NULL`.
    AnyOrNull,
    /// `MPI_PROC_NULL`: completes immediately, never takes part in matching.
    Null,
    /// A rank of the communicator.
    Rank(Rank),
}

/// A number of elements of a datatype.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Payload {
    /// The number of elements.
    pub count: u64,
    /// The datatype of each element.
    pub datatype: Datatype,
}

/// The completion mode of a send (MPI 4.1, section 3.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SendMode {
    /// `MPI_Send`, `MPI_Isend`: the library decides.
    Standard,
    /// `MPI_Bsend`: completes after a copy to the user's buffer.
    Buffered,
    /// `MPI_Ssend`: completes only after the match.
    Synchronous,
    /// `MPI_Rsend`: the receive is already posted.
    Ready,
}

/// What a send sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SendSpec {
    /// When the send is complete.
    pub mode: SendMode,
    /// The target.
    pub dest: Dest,
    /// Its tag; 0 if nothing is sent and the recorded value is no tag.
    pub tag: Tag,
    /// The communicator.
    pub comm: Comm,
    /// The data.
    pub payload: Payload,
}

/// What a receive accepts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RecvSpec {
    /// The accepted source.
    pub source: Source,
    /// The accepted tag.
    pub tag: TagSel,
    /// The communicator.
    pub comm: Comm,
    /// The receive buffer.
    pub room: Payload,
}
