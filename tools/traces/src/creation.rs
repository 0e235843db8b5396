//! Creations of communicators and groups, with the data to identify a communicator on other ranks
//! and to translate its ranks.

use super::{Comm, Group};

/// How a communicator is made. All members of `parent` make the call, so the k-th creation on a
/// parent is one creation on all of its ranks (MPI 4.1, section 7.4.2). `C` names a communicator,
/// and `L` is a list of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommHow<C, L> {
    /// `MPI_Comm_dup`: the ranks stay.
    Dup,
    /// `MPI_Comm_create`: the group's members in the group's order.
    Create {
        /// The members of the new communicator.
        group: Group,
    },
    /// `MPI_Comm_split`: one communicator per colour, members ordered by key, then by rank in the
    /// parent.
    Split {
        /// The colour; `None` for `MPI_UNDEFINED`.
        color: Option<u32>,
        /// The order within a colour.
        key: i32,
    },
    /// `MPI_Cart_create`: the first ranks of the parent, as many as the grid has places. With
    /// `reorder` MPI may renumber them, which a trace does not show.
    CartCreate {
        /// Extent in each dimension.
        dims: L,
        /// Non-zero for the dimensions that wrap around.
        periods: L,
        /// Whether MPI may renumber the ranks.
        reorder: bool,
    },
    /// `MPI_Cart_sub`: a part of the parent's grid; coordinates of dropped dimensions act as a
    /// colour.
    CartSub {
        /// Non-zero for the dimensions to keep.
        remain: L,
    },
    /// `MPI_Graph_create`: the first `nodes` ranks of the parent.
    GraphCreate {
        /// The number of nodes of the graph.
        nodes: u32,
        /// Whether MPI may renumber the ranks.
        reorder: bool,
    },
    /// `MPI_Intercomm_create` on a local communicator, the call's `parent`.
    Intercomm {
        /// Rank of this side's leader in the local communicator.
        local_leader: i32,
        /// The communicator that both leaders use, significant only at the leaders.
        peer: C,
        /// Rank of the other leader in `peer`.
        remote_leader: i32,
        /// The tag of the leaders' messages.
        tag: i32,
    },
    /// `MPI_Intercomm_merge`: both groups of an inter-communicator in one.
    Merge {
        /// Whether this side's group comes second.
        high: bool,
    },
    /// `MPI_Comm_spawn` and related calls: joins processes with separate traces.
    Dynamic,
}

impl<C> CommHow<C, &[i32]> {
    /// The creation with owned lists, and other names for communicators.
    pub fn to_owned<D>(self, comm: impl FnOnce(C) -> D) -> CommHow<D, Vec<i32>> {
        match self {
            Self::Dup => CommHow::Dup,
            Self::Create { group } => CommHow::Create { group },
            Self::Split { color, key } => CommHow::Split { color, key },
            Self::CartCreate {
                dims,
                periods,
                reorder,
            } => CommHow::CartCreate {
                dims: dims.to_vec(),
                periods: periods.to_vec(),
                reorder,
            },
            Self::CartSub { remain } => CommHow::CartSub {
                remain: remain.to_vec(),
            },
            Self::GraphCreate { nodes, reorder } => CommHow::GraphCreate { nodes, reorder },
            Self::Intercomm {
                local_leader,
                peer,
                remote_leader,
                tag,
            } => CommHow::Intercomm {
                local_leader,
                peer: comm(peer),
                remote_leader,
                tag,
            },
            Self::Merge { high } => CommHow::Merge { high },
            Self::Dynamic => CommHow::Dynamic,
        }
    }
}

/// The creation of a communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommNew<'a> {
    /// How it is made.
    pub how: CommHow<Comm, &'a [i32]>,
    /// The parent, or [`Comm::NULL`] without one.
    pub parent: Comm,
    /// The new communicator; [`Comm::NULL`] if this rank is no member.
    pub new: Comm,
}

/// How a group is made. `C` names a communicator; `L` and `R` are lists of ranks and of ranges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GroupHow<C, L, R> {
    /// `MPI_Comm_group`: the communicator's members.
    OfComm(C),
    /// `MPI_Comm_remote_group`: the members of the remote group.
    OfRemote(C),
    /// `MPI_Group_union`: the first group's members, then the second group's other members.
    Union(Group, Group),
    /// `MPI_Group_intersection`: members of both in the order of the first.
    Intersection(Group, Group),
    /// `MPI_Group_difference`: members of the first group only.
    Difference(Group, Group),
    /// `MPI_Group_incl`: these ranks in this order.
    Incl(Group, L),
    /// `MPI_Group_excl`: all ranks except these.
    Excl(Group, L),
    /// `MPI_Group_range_incl`: ranges (first, last, stride) in sequence.
    RangeIncl(Group, R),
    /// `MPI_Group_range_excl`: all ranks except those in these ranges.
    RangeExcl(Group, R),
}

impl<C> GroupHow<C, &[i32], &[[i32; 3]]> {
    /// The creation with owned lists, and other names for communicators.
    pub fn to_owned<D>(self, comm: impl FnOnce(C) -> D) -> GroupHow<D, Vec<i32>, Vec<[i32; 3]>> {
        match self {
            Self::OfComm(of) => GroupHow::OfComm(comm(of)),
            Self::OfRemote(of) => GroupHow::OfRemote(comm(of)),
            Self::Union(a, b) => GroupHow::Union(a, b),
            Self::Intersection(a, b) => GroupHow::Intersection(a, b),
            Self::Difference(a, b) => GroupHow::Difference(a, b),
            Self::Incl(group, ranks) => GroupHow::Incl(group, ranks.to_vec()),
            Self::Excl(group, ranks) => GroupHow::Excl(group, ranks.to_vec()),
            Self::RangeIncl(group, ranges) => GroupHow::RangeIncl(group, ranges.to_vec()),
            Self::RangeExcl(group, ranges) => GroupHow::RangeExcl(group, ranges.to_vec()),
        }
    }
}

/// The creation of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupNew<'a> {
    /// How it is made.
    pub how: GroupHow<Comm, &'a [i32], &'a [[i32; 3]]>,
    /// The new group.
    pub new: Group,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every field is another number, so none stands in another's place.
    #[test]
    fn an_owned_creation_says_the_same() {
        let owned = |how: CommHow<u32, &'static [i32]>| how.to_owned(|comm| u64::from(comm) + 100);
        assert_eq!(
            owned(CommHow::Intercomm {
                local_leader: 1,
                peer: 2,
                remote_leader: 3,
                tag: 4,
            }),
            CommHow::Intercomm {
                local_leader: 1,
                peer: 102,
                remote_leader: 3,
                tag: 4,
            }
        );
        assert_eq!(
            owned(CommHow::CartCreate {
                dims: &[5, 6],
                periods: &[7, 8],
                reorder: true,
            }),
            CommHow::CartCreate {
                dims: vec![5, 6],
                periods: vec![7, 8],
                reorder: true,
            }
        );
        let groups = |how: GroupHow<u32, &'static [i32], &'static [[i32; 3]]>| {
            how.to_owned(|comm| u64::from(comm) + 100)
        };
        assert_eq!(groups(GroupHow::OfComm(1)), GroupHow::OfComm(101));
        assert_eq!(groups(GroupHow::OfRemote(2)), GroupHow::OfRemote(102));
        assert_eq!(
            groups(GroupHow::Union(Group(3), Group(4))),
            GroupHow::Union(Group(3), Group(4))
        );
        assert_eq!(
            groups(GroupHow::Difference(Group(5), Group(6))),
            GroupHow::Difference(Group(5), Group(6))
        );
        assert_eq!(
            groups(GroupHow::Excl(Group(7), &[8, 9])),
            GroupHow::Excl(Group(7), vec![8, 9])
        );
        assert_eq!(
            groups(GroupHow::RangeIncl(Group(10), &[[11, 12, 13]])),
            GroupHow::RangeIncl(Group(10), vec![[11, 12, 13]])
        );
    }
}
