//! Where a rank's communicators and groups come from: its creating calls with lists of its own.

use crate::trace::{CommHow, GroupHow};

/// Index of a communicator in [`Program::comms`](super::Program::comms).
pub type LocalId = u16;

/// How a communicator was made; see [`CommHow`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum How {
    /// Same ranks.
    Dup,
    /// A group's members.
    Create {
        /// The group's number.
        group: u32,
    },
    /// By colour.
    Split {
        /// The colour; none takes no part.
        color: Option<u32>,
        /// Order within the colour.
        key: i32,
    },
    /// A grid.
    Cart {
        /// Its extents.
        dims: Vec<i32>,
    },
    /// A part of the parent's grid.
    CartSub {
        /// Not 0 for dimensions that stay.
        remain: Vec<i32>,
    },
    /// The first so many ranks.
    Graph {
        /// How many.
        nodes: u32,
    },
    /// Two groups side by side.
    Inter {
        /// Rank of the local leader.
        local_leader: i32,
        /// Where the leaders talk.
        peer: LocalId,
        /// Rank of the other leader there.
        remote_leader: i32,
        /// Their tag.
        tag: i32,
    },
    /// Both groups of an inter-communicator in one.
    Merge {
        /// This rank's group comes last.
        high: bool,
    },
    /// Joins processes of other runs.
    Dynamic,
}

impl How {
    /// From a call; `local` finds the index of a communicator by its number.
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

/// How a group was made; see [`GroupHow`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Members {
    /// Those of a communicator.
    OfComm(LocalId),
    /// Those of its other side.
    OfRemote(LocalId),
    /// Of both groups.
    Union(u32, u32),
    /// In both groups.
    Intersection(u32, u32),
    /// In the first alone.
    Difference(u32, u32),
    /// These ranks.
    Incl(u32, Vec<i32>),
    /// All but these.
    Excl(u32, Vec<i32>),
    /// These ranges.
    RangeIncl(u32, Vec<[i32; 3]>),
    /// All but these.
    RangeExcl(u32, Vec<[i32; 3]>),
}

impl Members {
    /// From a call; `local` finds the index of a communicator by its number.
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

/// One creating call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Of a communicator.
    Comm {
        /// How.
        how: How,
        /// From which; none if the parent is no communicator of the rank.
        parent: Option<LocalId>,
        /// The new one; none if the rank is no member.
        new: Option<LocalId>,
    },
    /// Of a group.
    Group {
        /// How.
        how: Members,
        /// Its number; a later group may have the same.
        new: u32,
    },
}
