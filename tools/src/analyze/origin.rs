//! The origins of a rank's communicators and groups: its creating calls, with owned lists.

use crate::trace::{CommHow, Group, GroupHow};

/// Index of a communicator in [`Program::comms`](super::Program::comms).
pub type LocalId = u16;

pub type How = CommHow<LocalId, Vec<i32>>;

pub type Members = GroupHow<LocalId, Vec<i32>, Vec<[i32; 3]>>;

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
        new: Group,
    },
}
