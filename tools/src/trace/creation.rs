//! New communicators and groups: what is needed to know the same communicator again on other ranks
//! and to translate its ranks.

use super::{Comm, Group};

/// How a communicator was made. All members of `parent` made the same call, so the k-th creation on
/// a parent is the same one on all of its ranks (MPI 4.1, section 7.4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommHow<'a> {
    /// `MPI_Comm_dup`: same ranks.
    Dup,
    /// `MPI_Comm_create`: the group's members in the group's order.
    Create {
        /// The group.
        group: Group,
    },
    /// `MPI_Comm_split`: one communicator per colour, members ordered by key, then by rank in the
    /// parent.
    Split {
        /// The colour; none for `MPI_UNDEFINED`.
        color: Option<u32>,
        /// The key.
        key: i32,
    },
    /// `MPI_Cart_create`: the first ranks of the parent, as many as the grid has places. With
    /// `reorder` MPI may number them anew, and a trace does not say how.
    CartCreate {
        /// Extent in each dimension.
        dims: &'a [i32],
        /// Whether each dimension is a ring.
        periods: &'a [i32],
        /// Whether ranks may be numbered anew.
        reorder: bool,
    },
    /// `MPI_Cart_sub`: a part of the parent's grid; coordinates of dropped dimensions play the part
    /// of a colour.
    CartSub {
        /// Not 0 for the dimensions that stay.
        remain: &'a [i32],
    },
    /// `MPI_Graph_create`: the first `nodes` ranks of the parent.
    GraphCreate {
        /// Number of members.
        nodes: u32,
        /// Whether ranks may be numbered anew.
        reorder: bool,
    },
    /// `MPI_Intercomm_create` on a local communicator, the call's `parent`.
    Intercomm {
        /// The local group's leader.
        local_leader: i32,
        /// Where both leaders talk; it means something at the leaders only.
        peer: Comm,
        /// The other leader's rank there.
        remote_leader: i32,
        /// The tag with which they do.
        tag: i32,
    },
    /// `MPI_Intercomm_merge`.
    Merge {
        /// Whether this rank's group comes last.
        high: bool,
    },
    /// `MPI_Comm_spawn` and its like: joins processes that have traces of their own.
    Dynamic,
}

/// A communicator's creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommNew<'a> {
    /// How.
    pub how: CommHow<'a>,
    /// From which; [`Comm::NULL`] if from none.
    pub parent: Comm,
    /// The new one; [`Comm::NULL`] if this rank is no member.
    pub new: Comm,
}

/// How a group was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupHow<'a> {
    /// `MPI_Comm_group`: the communicator's members.
    OfComm(Comm),
    /// `MPI_Comm_remote_group`: members of the other side.
    OfRemote(Comm),
    /// `MPI_Group_union`: the first group's members, then those of the second alone.
    Union(Group, Group),
    /// `MPI_Group_intersection`: members of both in the order of the first.
    Intersection(Group, Group),
    /// `MPI_Group_difference`: members of the first alone.
    Difference(Group, Group),
    /// `MPI_Group_incl`: these ranks in this order.
    Incl(Group, &'a [i32]),
    /// `MPI_Group_excl`: all but these ranks.
    Excl(Group, &'a [i32]),
    /// `MPI_Group_range_incl`: (first, last, stride), one after the other.
    RangeIncl(Group, &'a [[i32; 3]]),
    /// `MPI_Group_range_excl`: all but these.
    RangeExcl(Group, &'a [[i32; 3]]),
}

/// A group's creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupNew<'a> {
    /// How.
    pub how: GroupHow<'a>,
    /// The new group.
    pub new: Group,
}
