//! What a process's matching is asked to do, one operation at a time.

use crate::{CommId, Envelope, Selector};

/// Names a receive; chosen by the caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct RecvId(pub u64);

/// Names a message; chosen by the caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct MsgId(pub u64);

/// Names a probe in the results; need not be unique.
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
    /// `mpi_assert_allow_overtaking`: order of messages and receives may be dropped: no barrier, no
    /// detection.
    pub allow_overtaking: bool,
}

/// One operation. A sequence of them in a fixed order is all that matching ever sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// A receive is posted.
    Post {
        /// Its name.
        recv: RecvId,
        /// Its communicator.
        comm: CommId,
        /// What it accepts.
        selector: Selector,
        /// Size of its buffer in bytes.
        bytes: u32,
    },
    /// A message arrives.
    Arrive {
        /// Its name.
        msg: MsgId,
        /// What it carries.
        envelope: Envelope,
        /// Its length in bytes.
        bytes: u32,
    },
    /// A receive is cancelled.
    Cancel {
        /// The receive; it may be matched already, or never have been posted.
        recv: RecvId,
    },
    /// The oldest unexpected message that fits is looked for.
    Probe {
        /// Names the result.
        probe: ProbeId,
        /// The communicator searched.
        comm: CommId,
        /// What is looked for.
        selector: Selector,
        /// Take it out of matching, too (matched probe).
        take: bool,
    },
    /// A communicator begins.
    Create {
        /// Its number.
        comm: CommId,
        /// Bins of each of its hash tables.
        bins: u32,
        /// What the program promises about it.
        hints: Hints,
    },
    /// A communicator ends.
    Free {
        /// Its number.
        comm: CommId,
    },
}

impl Operation {
    /// The communicator that it names; a cancel names none.
    pub fn comm(&self) -> Option<CommId> {
        let mut copy = *self;
        copy.comm_mut().copied()
    }

    /// The same, to give the communicator another number.
    pub fn comm_mut(&mut self) -> Option<&mut CommId> {
        match self {
            Self::Post { comm, .. }
            | Self::Arrive { envelope: Envelope { comm, .. }, .. }
            | Self::Probe { comm, .. }
            | Self::Create { comm, .. }
            | Self::Free { comm } => Some(comm),
            Self::Cancel { .. } => None,
        }
    }

    /// The same, with `change` made to the length of the message or of the receive's buffer.
    pub fn map_bytes(mut self, change: impl FnOnce(u32) -> u32) -> Self {
        if let Self::Post { bytes, .. } | Self::Arrive { bytes, .. } = &mut self {
            *bytes = change(*bytes);
        }
        self
    }

    /// Whether the wire brings it; all others are the host's commands.
    pub fn is_arrival(&self) -> bool {
        matches!(self, Self::Arrive { .. })
    }
}
