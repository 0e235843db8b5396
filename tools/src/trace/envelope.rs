//! The targets of sends and the selection of receives.

use dpamatch_vocabulary::{Rank, Tag, TagSel};

use super::{Comm, Datatype};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dest {
    /// `MPI_PROC_NULL`: the call sends nothing.
    Null,
    Rank(Rank),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    Any,
    /// `MPI_ANY_SOURCE` or `MPI_PROC_NULL`: some formats do not distinguish them (DUMPI with
    /// MPICH). If the completion's status has no source, it was `MPI_PROC_NULL`.
    AnyOrNull,
    /// `MPI_PROC_NULL`: completes at once, never takes part in matching.
    Null,
    Rank(Rank),
}

/// A number of elements of a datatype.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Payload {
    pub count: u64,
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

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SendSpec {
    pub mode: SendMode,
    pub dest: Dest,
    /// Its tag; 0 if nothing is sent and the recorded value is no tag.
    pub tag: Tag,
    pub comm: Comm,
    pub payload: Payload,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RecvSpec {
    pub source: Source,
    pub tag: TagSel,
    pub comm: Comm,
    pub room: Payload,
}
