//! A point: a receiver and a window.

use crate::counted;

use std::fmt;

use dpamatch::registry::EngineEntry;

use super::scenario::Scenario;

/// How the emulated NIC matches a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, clap::ValueEnum)]
pub enum Matching {
    /// By the paper's phases: search, book, wait at the barrier, detect and resolve conflicts; on
    /// the workers that are there, also on one
    Optimistic,
    /// By one worker in two loops: all handlers search, then each takes its candidate or searches
    /// again
    InOrder,
    /// As in order, in blocks of one message, as the sequential baselines get one in a call: the
    /// other rows beside it show what blocks of --handlers give
    OneByOne,
}

impl Matching {
    /// The ways to match blocks of several messages.
    pub const OF_BLOCKS: [Self; 2] = [Self::Optimistic, Self::InOrder];

    pub fn name(self) -> &'static str {
        match self {
            Self::Optimistic => "optimistic",
            Self::InOrder => "in-order",
            Self::OneByOne => "one-by-one",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Peer {
    /// The emulated NIC with this many handlers.
    Nic {
        handlers: usize,
        matching: Matching,
    },
    Endpoint,
    /// No matching: messages go to buffers in the order of arrival.
    NoMatching,
    /// The sequential engine with hash bins, behind the completion queue.
    Bins,
    /// The sequential engine with linked lists, behind the completion queue.
    List,
    /// A sequential engine of the registry or of a library, behind the completion queue.
    Engine(&'static EngineEntry),
    /// No receiver: a single thread copies the bytes of a window between buffers.
    Copy,
    /// UCX's tag matching between two processes.
    Ucx,
}

impl Peer {
    /// The NIC that matches this way, with so many handlers unless it takes messages one by one.
    pub const fn nic(handlers: usize, matching: Matching) -> Self {
        let handlers = match matching {
            Matching::OneByOne => 1,
            _ => handlers,
        };
        Self::Nic { handlers, matching }
    }

    /// The NIC with the paper's phases.
    pub const fn optimistic(handlers: usize) -> Self {
        Self::Nic {
            handlers,
            matching: Matching::Optimistic,
        }
    }

    /// The name, equal to the registry's for engines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nic { matching, .. } => matching.name(),
            Self::Endpoint => "endpoint",
            Self::NoMatching => "no-matching",
            Self::Bins => "bins",
            Self::List => "list",
            Self::Engine(entry) => entry.name,
            Self::Copy => "memcpy",
            Self::Ucx => "ucx",
        }
    }

    /// How the NIC matches; `None` for another receiver.
    pub fn matching(self) -> Option<Matching> {
        match self {
            Self::Nic { matching, .. } => Some(matching),
            _ => None,
        }
    }

    pub fn handlers(self) -> Option<usize> {
        match self {
            Self::Nic { handlers, .. } => Some(handlers),
            _ => None,
        }
    }

    /// Whether the scenario applies to the receiver. Without matching, every window is NC. The UCX
    /// program has one sender and no shares. A sender of an endpoint has one rank and one
    /// communicator, while a window with a share of wildcards needs many ranks.
    pub fn takes(self, scenario: &Scenario) -> bool {
        match self {
            Self::NoMatching | Self::Copy => scenario.name() == "NC",
            Self::Ucx => !scenario.is_mixed(),
            Self::Endpoint => scenario.wild == 0 && scenario.comms == 1,
            Self::Nic { .. } | Self::Bins | Self::List | Self::Engine(_) => true,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.handlers().map_or(Ok(()), |handlers| {
            write!(f, " ({})", counted(handlers, "handler"))
        })
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Point {
    pub peer: Peer,
    pub scenario: Scenario,
    /// Messages per window, `1..=WINDOW_MAX`.
    pub window: usize,
    pub size: usize,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            peer,
            scenario,
            window,
            size,
        } = self;
        write!(
            f,
            "{peer}, {scenario}, window {window}, {}",
            counted(size, "byte")
        )
    }
}
