//! Collective calls: a trace contains the calls, but not their messages.

use super::{Comm, Payload};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CollectiveKind {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    Reduce,
    Allreduce,
    ReduceScatter,
    Scan,
    Exscan,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Collective {
    pub kind: CollectiveKind,
    pub comm: Comm,
    /// The root's rank, if the operation has one.
    pub root: Option<i32>,
    /// The data that this rank contributes, by its arguments: per peer for `Alltoall` and at the
    /// root of `Scatter`, and summed over all peers for variants with arrays. `None` if the call
    /// contributes nothing or the trace does not say.
    pub sent: Option<Payload>,
    /// The data that this rank gets, defined like [`sent`](Self::sent).
    pub received: Option<Payload>,
}
