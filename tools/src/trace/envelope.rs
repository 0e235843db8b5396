//! Whom a send is for, and whom a receive accepts.

use dpamatch_vocabulary::{Rank, Tag, TagSel};

use super::{Comm, Datatype};

/// Where a message goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dest {
    /// `MPI_PROC_NULL`: nowhere, nothing is sent.
    Null,
    /// A rank of the communicator.
    Rank(Rank),
}

/// Whom a receive or probe accepts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// `MPI_ANY_SOURCE`.
    Any,
    /// `MPI_ANY_SOURCE` or `MPI_PROC_NULL`: some formats write both alike (DUMPI with MPICH). If
    /// the completion's status has no source, it was `MPI_PROC_NULL`.
    AnyOrNull,
    /// `MPI_PROC_NULL`: completes at once, never takes part in matching.
    Null,
    /// A rank of the communicator.
    Rank(Rank),
}

/// So many elements of a datatype.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Payload {
    /// Number of elements.
    pub count: u64,
    /// What they are.
    pub datatype: Datatype,
}

/// How a send may complete (MPI 4.1, section 3.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SendMode {
    /// `MPI_Send`, `MPI_Isend`: as the library likes.
    Standard,
    /// `MPI_Bsend`: copied to the user's buffer at once.
    Buffered,
    /// `MPI_Ssend`: not before it is matched.
    Synchronous,
    /// `MPI_Rsend`: the receive is known to be posted.
    Ready,
}

/// One message to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SendSpec {
    /// How it may complete.
    pub mode: SendMode,
    /// Where it goes.
    pub dest: Dest,
    /// Its tag; 0 if nothing is sent and what was recorded is no tag.
    pub tag: Tag,
    /// The communicator.
    pub comm: Comm,
    /// What is sent.
    pub payload: Payload,
}

/// One receive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RecvSpec {
    /// Whom it accepts.
    pub source: Source,
    /// Which tag it accepts.
    pub tag: TagSel,
    /// The communicator.
    pub comm: Comm,
    /// Room for the message.
    pub room: Payload,
}
