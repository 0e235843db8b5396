//! Checks whether the queues fit on the NIC.

use dpa_model::{INLINE_BYTES, NicConfig};

use crate::analyze::order::Happening;
use crate::analyze::program::UNKNOWN_BYTES;

/// The part of the NIC that is too small.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortage {
    /// No free descriptor for a posted receive.
    Descriptors,
    UnexpectedEntries,
    UnexpectedBuffers,
    /// No free table for another communicator.
    Communicators,
}

impl Shortage {
    /// The option that enlarges the part, and the name of the missing resource.
    pub fn option(self) -> (&'static str, &'static str) {
        match self {
            Self::Descriptors => ("--receives", "receive descriptors"),
            Self::UnexpectedEntries => ("--unexpected", "places for unexpected messages"),
            Self::UnexpectedBuffers => ("--unexpected-buffers", "buffers for unexpected payloads"),
            Self::Communicators => ("--communicators", "communicators with tables"),
        }
    }
}

/// The first overflow, at which the communicator would fall back to software (S20, S21).
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Fallback {
    pub shortage: Shortage,
    pub rank: u32,
    /// Number of the post or arrival in the rank's order.
    pub happening: u64,
    /// Time in nanoseconds, if the order has times.
    pub time_ns: Option<u64>,
    /// Number of the call that posted the receive, or of the send at its sender; `None` if it is in
    /// no trace.
    pub call: Option<u32>,
    /// For a message, the sending rank, if known.
    pub sender: Option<u32>,
}

impl Fallback {
    /// The rank that made the [`call`](Self::call).
    pub fn caller(&self) -> u32 {
        self.sender.unwrap_or(self.rank)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Needs {
    pub descriptors: u64,
    pub unexpected: u64,
    /// Maximum bytes of unexpected eager payload at a time; a rendezvous message stores only its
    /// header.
    pub unexpected_bytes: u64,
    /// Maximum unexpected messages at once whose payload needs a buffer of the eager limit's size.
    pub unexpected_buffers: u64,
    pub communicators: u64,
    pub fallback: Option<Fallback>,
}

impl Needs {
    /// Takes the maximum of each resource and the first fallback by time, else by rank.
    pub fn add(&mut self, other: &Self) {
        add_fields! { self + other;
            max descriptors unexpected unexpected_bytes unexpected_buffers communicators;
        }
        self.fallback = match (self.fallback, other.fallback) {
            (Some(mine), Some(theirs)) if theirs.time_ns < mine.time_ns => Some(theirs),
            (mine, theirs) => mine.or(theirs),
        };
    }
}

#[derive(Debug)]
pub(crate) struct Fit {
    config: NicConfig,
    needs: Needs,
    posted: u64,
    unexpected: u64,
    bytes: u64,
    buffers: u64,
}

impl Fit {
    pub(crate) fn new(config: NicConfig) -> Self {
        Self {
            config,
            needs: Needs::default(),
            posted: 0,
            unexpected: 0,
            bytes: 0,
            buffers: 0,
        }
    }

    fn size(&self, bytes: u64) -> (u64, u64) {
        let bytes = if bytes == UNKNOWN_BYTES { 0 } else { bytes };
        match bytes {
            _ if bytes > self.config.eager_limit.max(INLINE_BYTES) as u64 => (0, 0),
            _ if bytes > INLINE_BYTES as u64 => (bytes, 1),
            _ => (bytes, 0),
        }
    }

    pub(crate) fn communicator(&mut self) -> Option<Shortage> {
        self.needs.communicators += 1;
        (self.needs.communicators > self.config.communicators as u64)
            .then_some(Shortage::Communicators)
    }

    pub(crate) fn posted(&mut self) -> Option<Shortage> {
        self.posted += 1;
        self.needs.descriptors = self.needs.descriptors.max(self.posted);
        (self.posted > self.config.receives as u64).then_some(Shortage::Descriptors)
    }

    pub(crate) fn taken(&mut self) {
        self.posted -= 1;
    }

    pub(crate) fn stored(&mut self, bytes: u64) -> Option<Shortage> {
        let (bytes, buffers) = self.size(bytes);
        self.unexpected += 1;
        self.bytes += bytes;
        self.buffers += buffers;
        let needs = &mut self.needs;
        needs.unexpected = needs.unexpected.max(self.unexpected);
        needs.unexpected_bytes = needs.unexpected_bytes.max(self.bytes);
        needs.unexpected_buffers = needs.unexpected_buffers.max(self.buffers);
        if self.unexpected > self.config.unexpected as u64 {
            Some(Shortage::UnexpectedEntries)
        } else if self.buffers > self.config.unexpected_buffers as u64 {
            Some(Shortage::UnexpectedBuffers)
        } else {
            None
        }
    }

    pub(crate) fn fetched(&mut self, bytes: u64) {
        let (bytes, buffers) = self.size(bytes);
        self.unexpected -= 1;
        self.bytes -= bytes;
        self.buffers -= buffers;
    }

    pub(crate) fn note(&mut self, shortage: Shortage, place: impl FnOnce(Shortage) -> Fallback) {
        if self.needs.fallback.is_none() {
            self.needs.fallback = Some(place(shortage));
        }
    }

    pub(crate) fn finish(self) -> Needs {
        self.needs
    }
}

pub(crate) fn call_of(view: crate::analyze::RankView<'_>, happening: Happening) -> Option<u32> {
    match happening {
        Happening::Post(at) | Happening::Cancel(at) | Happening::Probe(at) => {
            Some(view.program.transfers.at(at).call)
        }
        Happening::Arrive(_) => None,
    }
}
