//! The origins of a rank's communicators and groups: its creating calls, with owned lists.

use dpamatch_traces::{CommHow, Group, GroupHow};

/// Index of a communicator in [`Program::comms`](super::Program::comms).
pub type LocalId = u16;

pub type How = CommHow<LocalId, Vec<i32>>;

pub type Members = GroupHow<LocalId, Vec<i32>, Vec<[i32; 3]>>;

/// The side of a connection between groups of processes that a call is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Connection {
    /// `MPI_Comm_accept`.
    Accepts,
    /// `MPI_Comm_connect`.
    Connects,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    Comm {
        how: How,
        /// The side, for a call that connects two groups with recorded traces.
        connection: Option<Connection>,
        /// The parent; `None` if it is no communicator of the rank.
        parent: Option<LocalId>,
        /// The new communicator; `None` if the rank is no member.
        new: Option<LocalId>,
    },
    Group {
        how: Members,
        /// Its number, which a later group may reuse.
        new: Group,
    },
}
