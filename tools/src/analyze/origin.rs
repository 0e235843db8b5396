//! The origins of a rank's communicators and groups: its creating calls, with owned lists.

use crate::trace::{CommHow, GroupHow};

/// Index of a communicator in [`Program::comms`](super::Program::comms).
pub type LocalId = u16;

/// How a communicator is made; see [`CommHow`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum How {
    Dup,
    Create {
        group: u32,
    },
    /// One communicator for each colour.
    Split {
        /// The colour; `None` takes no part.
        color: Option<u32>,
        /// Order within the colour.
        key: i32,
    },
    Cart {
        dims: Vec<i32>,
    },
    /// A part of the parent's grid.
    CartSub {
        /// Non-zero for the dimensions to keep.
        remain: Vec<i32>,
    },
    /// The first ranks of the parent.
    Graph {
        nodes: u32,
    },
    /// An inter-communicator of two groups.
    Inter {
        local_leader: i32,
        /// The communicator that the leaders use.
        peer: LocalId,
        /// Rank of the other leader in `peer`.
        remote_leader: i32,
        tag: i32,
    },
    /// Merges both groups of an inter-communicator.
    Merge {
        high: bool,
    },
    Dynamic,
}

impl How {
    /// Converts a call; `local` finds the index of a communicator by its number.
    pub(super) fn from_call(how: CommHow<'_>, local: impl FnOnce(u32) -> LocalId) -> Self {
        match how {
            CommHow::Dup => Self::Dup,
            CommHow::Create { group } => Self::Create { group: group.0 },
            CommHow::Split { color, key } => Self::Split { color, key },
            CommHow::CartCreate { dims, .. } => Self::Cart { dims: dims.to_vec() },
            CommHow::CartSub { remain } => Self::CartSub { remain: remain.to_vec() },
            CommHow::GraphCreate { nodes, .. } => Self::Graph { nodes },
            CommHow::Intercomm { local_leader, peer, remote_leader, tag } => {
                Self::Inter { local_leader, peer: local(peer.0), remote_leader, tag }
            }
            CommHow::Merge { high } => Self::Merge { high },
            CommHow::Dynamic => Self::Dynamic,
        }
    }
}

/// How a group is made; see [`GroupHow`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Members {
    OfComm(LocalId),
    OfRemote(LocalId),
    Union(u32, u32),
    Intersection(u32, u32),
    Difference(u32, u32),
    Incl(u32, Vec<i32>),
    /// All ranks except these.
    Excl(u32, Vec<i32>),
    /// The ranks in these ranges.
    RangeIncl(u32, Vec<[i32; 3]>),
    /// All ranks except those in these ranges.
    RangeExcl(u32, Vec<[i32; 3]>),
}

impl Members {
    /// Converts a call; `local` finds the index of a communicator by its number.
    pub(super) fn from_call(how: GroupHow<'_>, local: impl FnOnce(u32) -> LocalId) -> Self {
        match how {
            GroupHow::OfComm(comm) => Self::OfComm(local(comm.0)),
            GroupHow::OfRemote(comm) => Self::OfRemote(local(comm.0)),
            GroupHow::Union(a, b) => Self::Union(a.0, b.0),
            GroupHow::Intersection(a, b) => Self::Intersection(a.0, b.0),
            GroupHow::Difference(a, b) => Self::Difference(a.0, b.0),
            GroupHow::Incl(group, ranks) => Self::Incl(group.0, ranks.to_vec()),
            GroupHow::Excl(group, ranks) => Self::Excl(group.0, ranks.to_vec()),
            GroupHow::RangeIncl(group, ranges) => Self::RangeIncl(group.0, ranges.to_vec()),
            GroupHow::RangeExcl(group, ranges) => Self::RangeExcl(group.0, ranges.to_vec()),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    Comm {
        how: How,
        /// The parent; `None` if it is no communicator of the rank.
        parent: Option<LocalId>,
        /// The new communicator; `None` if the rank is no member.
        new: Option<LocalId>,
    },
    Group {
        how: Members,
        /// Its number, which a later group may reuse.
        new: u32,
    },
}
