//! Creations of communicators and groups, with the data to identify a communicator on other ranks
//! and to translate its ranks.

use super::{Comm, Group};

/// How a communicator is made. All members of `parent` make the call, so the k-th creation on a
/// parent is one creation on all of its ranks (MPI 4.1, section 7.4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommHow<'a> {
    /// `MPI_Comm_dup`: the ranks stay.
    Dup,
    /// `MPI_Comm_create`: the group's members in the group's order.
    Create {
        group: Group,
    },
    /// `MPI_Comm_split`: one communicator per colour, members ordered by key, then by rank in the
    /// parent.
    Split {
        /// The colour; `None` for `MPI_UNDEFINED`.
        color: Option<u32>,
        key: i32,
    },
    /// `MPI_Cart_create`: the first ranks of the parent, as many as the grid has places. With
    /// `reorder` MPI may renumber them, which a trace does not show.
    CartCreate {
        /// Extent in each dimension.
        dims: &'a [i32],
        /// Whether each dimension is periodic.
        periods: &'a [i32],
        /// Whether MPI may renumber the ranks.
        reorder: bool,
    },
    /// `MPI_Cart_sub`: a part of the parent's grid; coordinates of dropped dimensions act as a
    /// colour.
    CartSub {
        /// Non-zero for the dimensions to keep.
        remain: &'a [i32],
    },
    /// `MPI_Graph_create`: the first `nodes` ranks of the parent.
    GraphCreate {
        nodes: u32,
        /// Whether MPI may renumber the ranks.
        reorder: bool,
    },
    /// `MPI_Intercomm_create` on a local communicator, the call's `parent`.
    Intercomm {
        local_leader: i32,
        /// The communicator that both leaders use, significant only at the leaders.
        peer: Comm,
        /// Rank of the other leader in `peer`.
        remote_leader: i32,
        tag: i32,
    },
    Merge {
        high: bool,
    },
    /// `MPI_Comm_spawn` and related calls: joins processes with separate traces.
    Dynamic,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommNew<'a> {
    pub how: CommHow<'a>,
    /// The parent, or [`Comm::NULL`] without one.
    pub parent: Comm,
    /// The new communicator; [`Comm::NULL`] if this rank is no member.
    pub new: Comm,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupHow<'a> {
    /// `MPI_Comm_group`: the communicator's members.
    OfComm(Comm),
    /// `MPI_Comm_remote_group`: the members of the remote group.
    OfRemote(Comm),
    /// `MPI_Group_union`: the first group's members, then the second group's other members.
    Union(Group, Group),
    /// `MPI_Group_intersection`: members of both in the order of the first.
    Intersection(Group, Group),
    /// `MPI_Group_difference`: members of the first group only.
    Difference(Group, Group),
    /// `MPI_Group_incl`: these ranks in this order.
    Incl(Group, &'a [i32]),
    /// `MPI_Group_excl`: all ranks except these.
    Excl(Group, &'a [i32]),
    /// `MPI_Group_range_incl`: ranges (first, last, stride) in sequence.
    RangeIncl(Group, &'a [[i32; 3]]),
    /// `MPI_Group_range_excl`: all ranks except those in these ranges.
    RangeExcl(Group, &'a [[i32; 3]]),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupNew<'a> {
    pub how: GroupHow<'a>,
    pub new: Group,
}
