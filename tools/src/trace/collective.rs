//! Collective calls: traces hold the call, never the messages inside.

use super::{Comm, Payload};

/// Which collective operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CollectiveKind {
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Bcast`.
    Bcast,
    /// `MPI_Gather`.
    Gather,
    /// `MPI_Gatherv`.
    Gatherv,
    /// `MPI_Scatter`.
    Scatter,
    /// `MPI_Scatterv`.
    Scatterv,
    /// `MPI_Allgather`.
    Allgather,
    /// `MPI_Allgatherv`.
    Allgatherv,
    /// `MPI_Alltoall`.
    Alltoall,
    /// `MPI_Alltoallv`.
    Alltoallv,
    /// `MPI_Alltoallw`.
    Alltoallw,
    /// `MPI_Reduce`.
    Reduce,
    /// `MPI_Allreduce`.
    Allreduce,
    /// `MPI_Reduce_scatter`.
    ReduceScatter,
    /// `MPI_Scan`.
    Scan,
    /// `MPI_Exscan`.
    Exscan,
}

/// One collective call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Collective {
    /// Which.
    pub kind: CollectiveKind,
    /// The communicator.
    pub comm: Comm,
    /// The root's rank, where there is one.
    pub root: Option<i32>,
    /// What this rank gives, as its arguments say: per peer for `Alltoall` and at the root of
    /// `Scatter`, the sum over all peers for the variants with arrays. None where the call gives
    /// nothing or the trace does not say.
    pub sent: Option<Payload>,
    /// What this rank takes, in the same way.
    pub received: Option<Payload>,
}
