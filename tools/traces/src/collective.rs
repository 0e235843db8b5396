//! Collective calls: a trace contains the calls, but not their messages.

use super::{Comm, Payload};

dpamatch_vocabulary::choices! {
    /// A collective operation.
    #[derive(Hash)]
    pub enum CollectiveKind, by default Barrier {
        /// `MPI_Barrier`.
        Barrier = "barrier",
        /// `MPI_Bcast`.
        Bcast = "bcast",
        /// `MPI_Gather`.
        Gather = "gather",
        /// `MPI_Gatherv`.
        Gatherv = "gatherv",
        /// `MPI_Scatter`.
        Scatter = "scatter",
        /// `MPI_Scatterv`.
        Scatterv = "scatterv",
        /// `MPI_Allgather`.
        Allgather = "allgather",
        /// `MPI_Allgatherv`.
        Allgatherv = "allgatherv",
        /// `MPI_Alltoall`.
        Alltoall = "alltoall",
        /// `MPI_Alltoallv`.
        Alltoallv = "alltoallv",
        /// `MPI_Alltoallw`.
        Alltoallw = "alltoallw",
        /// `MPI_Reduce`.
        Reduce = "reduce",
        /// `MPI_Allreduce`.
        Allreduce = "allreduce",
        /// `MPI_Reduce_scatter`.
        ReduceScatter = "reduce_scatter",
        /// `MPI_Scan`.
        Scan = "scan",
        /// `MPI_Exscan`.
        Exscan = "exscan",
    }
}

/// A collective call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Collective<'a> {
    /// The operation.
    pub kind: CollectiveKind,
    /// The communicator of all participants.
    pub comm: Comm,
    /// The root's rank, if the operation has one.
    pub root: Option<i32>,
    /// The data that this rank contributes, by its arguments: per peer for `Alltoall` and at the
    /// root of `Scatter`, and summed over all peers for variants with arrays. `None` if the call
    /// contributes nothing or the trace does not say.
    pub sent: Option<Payload>,
    /// The data that this rank gets, defined like [`sent`](Self::sent).
    pub received: Option<Payload>,
    /// The elements sent to each peer, for variants with arrays; otherwise empty.
    pub sent_counts: &'a [i32],
    /// The elements received from each peer, for variants with arrays; otherwise empty.
    pub received_counts: &'a [i32],
}
