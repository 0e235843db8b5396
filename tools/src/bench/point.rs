//! What is measured: who receives, which window.

use std::fmt;

use super::scenario::Scenario;

/// Who receives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Peer {
    /// The emulated NIC with this many handlers.
    Nic {
        /// N.
        handlers: usize,
    },
    /// The same NIC through the public interface.
    Endpoint,
    /// Messages go to buffers in the order of arrival.
    NoMatching,
    /// The sequential engine with hash bins takes messages out of the same completion queue.
    Bins,
    /// The sequential engine with linked lists does.
    List,
    /// Nobody: the bytes of a window are copied from buffers to buffers by the one thread that does
    /// nothing else.
    Copy,
    /// UCX's tag matching between two processes.
    Ucx,
}

impl Peer {
    /// Its name: that of the engine in the registry, if it is one.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nic { .. } => "optimistic",
            Self::Endpoint => "endpoint",
            Self::NoMatching => "no-matching",
            Self::Bins => "bins",
            Self::List => "list",
            Self::Copy => "memcpy",
            Self::Ucx => "ucx",
        }
    }

    /// Handlers of the emulated NIC.
    pub fn handlers(self) -> Option<usize> {
        match self {
            Self::Nic { handlers } => Some(handlers),
            _ => None,
        }
    }

    /// Whether the scenario makes sense for it. Without matching, every window is like NC; the
    /// program that measures UCX has one sender and no shares; a sender of an endpoint has one
    /// rank, where a window with a share of wildcards has many.
    pub fn takes(self, scenario: &Scenario) -> bool {
        match self {
            Self::NoMatching | Self::Copy => scenario.name() == "NC",
            Self::Ucx => !scenario.is_mixed(),
            Self::Endpoint => scenario.wild == 0,
            Self::Nic { .. } | Self::Bins | Self::List => true,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.handlers().map_or(Ok(()), |handlers| write!(f, " ({handlers} handlers)"))
    }
}

/// What is measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Point {
    /// Who receives.
    pub peer: Peer,
    /// What.
    pub scenario: Scenario,
    /// Messages of a window, `1..=WINDOW_MAX`.
    pub window: usize,
    /// Bytes of a message.
    pub size: usize,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { peer, scenario, window, size } = self;
        write!(f, "{peer}, {scenario}, window {window}, {size} bytes")
    }
}
