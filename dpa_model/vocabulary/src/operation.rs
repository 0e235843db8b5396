//! The operations of one process's matching.

use crate::{CommId, Envelope, Selector};

/// A receive's name, chosen by the caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct RecvId(pub u64);

/// A message's name, chosen by the caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct MsgId(pub u64);

/// A probe's name in the results; need not be unique.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct ProbeId(pub u64);

/// Communicator hints (MPI 4.1, section 7.4.4; S24). All processes of a communicator must agree on
/// them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Hints {
    /// `mpi_assert_no_any_source`: no receive or probe uses any source.
    pub no_any_source: bool,
    /// `mpi_assert_no_any_tag`: no receive or probe uses any tag.
    pub no_any_tag: bool,
    /// `mpi_assert_allow_overtaking`: messages and receives need no order: no barrier, no
    /// detection.
    pub allow_overtaking: bool,
    /// Where it is matched. Each process may choose for itself.
    pub offload: Offload,
}

/// Where a communicator is matched (paper, section IV.E).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Offload {
    /// On the NIC, if it has room for the tables.
    #[default]
    IfItFits,
    /// In software on the host.
    Never,
}

/// One operation. Matching sees nothing but a sequence of operations in a fixed order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Post a receive.
    Post {
        /// The receive.
        recv: RecvId,
        /// Its communicator.
        comm: CommId,
        /// What it accepts.
        selector: Selector,
        /// Size of its buffer in bytes.
        bytes: u32,
    },
    /// Deliver a message.
    Arrive {
        /// The message.
        msg: MsgId,
        /// Its envelope.
        envelope: Envelope,
        /// Its length in bytes.
        bytes: u32,
    },
    /// Cancel a receive.
    Cancel {
        /// The receive; it may be matched already, or never have been posted.
        recv: RecvId,
    },
    /// Find the oldest fitting unexpected message.
    Probe {
        /// Name of the result.
        probe: ProbeId,
        /// Communicator to search.
        comm: CommId,
        /// Selector to search for.
        selector: Selector,
        /// Whether to take the message out of matching (matched probe).
        take: bool,
    },
    /// Create a communicator.
    Create {
        /// Its number.
        comm: CommId,
        /// Bins of each of its hash tables.
        bins: u32,
        /// The program's promises about it.
        hints: Hints,
    },
    /// Free a communicator.
    Free {
        /// Its number.
        comm: CommId,
    },
}

impl Operation {
    /// The operation's communicator; a cancel has none.
    pub fn comm(&self) -> Option<CommId> {
        let mut copy = *self;
        copy.comm_mut().copied()
    }

    /// The operation's communicator, mutable, to renumber it.
    pub fn comm_mut(&mut self) -> Option<&mut CommId> {
        match self {
            Self::Post { comm, .. }
            | Self::Arrive {
                envelope: Envelope { comm, .. },
                ..
            }
            | Self::Probe { comm, .. }
            | Self::Create { comm, .. }
            | Self::Free { comm } => Some(comm),
            Self::Cancel { .. } => None,
        }
    }

    /// Applies `change` to the length of the message or of the receive's buffer.
    pub fn map_bytes(mut self, change: impl FnOnce(u32) -> u32) -> Self {
        if let Self::Post { bytes, .. } | Self::Arrive { bytes, .. } = &mut self {
            *bytes = change(*bytes);
        }
        self
    }

    /// Whether the wire delivers it; all other operations are commands of the host.
    pub fn is_arrival(&self) -> bool {
        matches!(self, Self::Arrive { .. })
    }
}
