//! Whether the queues would have fitted the NIC.

use dpa_model::{INLINE_BYTES, NicConfig};

use crate::analyze::order::Happening;
use crate::analyze::program::UNKNOWN;

/// Which part of the NIC is too small.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortage {
    /// All descriptors hold posted receives.
    Descriptors,
    /// All entries of the unexpected store are taken.
    UnexpectedEntries,
    /// All buffers for payloads of unexpected messages are taken.
    UnexpectedBuffers,
    /// More communicators than tables.
    Communicators,
}

impl Shortage {
    /// The option that makes the part larger, and what there is too little of.
    pub fn option(self) -> (&'static str, &'static str) {
        match self {
            Self::Descriptors => ("--receives", "receive descriptors"),
            Self::UnexpectedEntries => ("--unexpected", "places for unexpected messages"),
            Self::UnexpectedBuffers => ("--unexpected-buffers", "buffers for unexpected payloads"),
            Self::Communicators => ("--communicators", "communicators with tables"),
        }
    }
}

/// The first time that something did not fit: there the communicator would have fallen back to
/// software (S20, S21).
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Fallback {
    /// What was short.
    pub shortage: Shortage,
    /// The rank.
    pub rank: u32,
    /// Number of the post or arrival in the rank's order.
    pub happening: u64,
    /// When, if the order has times.
    pub time_ns: Option<u64>,
    /// Number of the call that posted the receive, or of the send at its sender; none if it is in
    /// no trace.
    pub call: Option<u32>,
    /// Of a message: the rank that sent it, if that is known.
    pub sender: Option<u32>,
}

impl Fallback {
    /// The rank that made the [`call`](Self::call).
    pub fn caller(&self) -> u32 {
        self.sender.unwrap_or(self.rank)
    }
}

/// What one rank's matching needs on the NIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Needs {
    /// Most receives posted at once: descriptors.
    pub descriptors: u64,
    /// Most unexpected messages at once.
    pub unexpected: u64,
    /// Most bytes of unexpected eager payload at once; of a rendezvous message only its header
    /// stays.
    pub unexpected_bytes: u64,
    /// Most unexpected messages at once whose payload needs a buffer of the eager limit's size.
    pub unexpected_buffers: u64,
    /// Communicators used.
    pub communicators: u64,
    /// The first time that the configuration does not suffice.
    pub fallback: Option<Fallback>,
}

impl Needs {
    /// The more of each; the first fallback, without times that of the lowest rank.
    pub fn add(&mut self, other: &Self) {
        self.descriptors = self.descriptors.max(other.descriptors);
        self.unexpected = self.unexpected.max(other.unexpected);
        self.unexpected_bytes = self.unexpected_bytes.max(other.unexpected_bytes);
        self.unexpected_buffers = self.unexpected_buffers.max(other.unexpected_buffers);
        self.communicators = self.communicators.max(other.communicators);
        self.fallback = match (self.fallback, other.fallback) {
            (Some(mine), Some(theirs)) if theirs.time_ns < mine.time_ns => Some(theirs),
            (mine, theirs) => mine.or(theirs),
        };
    }
}

/// Follows one rank.
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
        Self { config, needs: Needs::default(), posted: 0, unexpected: 0, bytes: 0, buffers: 0 }
    }

    /// Bytes and buffers that an unexpected message takes.
    fn size(&self, bytes: u32) -> (u64, u64) {
        let bytes = if bytes == UNKNOWN { 0 } else { bytes as usize };
        match bytes {
            _ if bytes > self.config.eager_limit.max(INLINE_BYTES) => (0, 0),
            _ if bytes > INLINE_BYTES => (bytes as u64, 1),
            _ => (bytes as u64, 0),
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

    pub(crate) fn stored(&mut self, bytes: u32) -> Option<Shortage> {
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

    pub(crate) fn fetched(&mut self, bytes: u32) {
        let (bytes, buffers) = self.size(bytes);
        self.unexpected -= 1;
        self.bytes -= bytes;
        self.buffers -= buffers;
    }

    /// Notes the first shortage.
    pub(crate) fn note(&mut self, shortage: Shortage, place: impl FnOnce(Shortage) -> Fallback) {
        if self.needs.fallback.is_none() {
            self.needs.fallback = Some(place(shortage));
        }
    }

    pub(crate) fn finish(self) -> Needs {
        self.needs
    }
}

/// The number of the receiving rank's call behind a happening.
pub(crate) fn call_of(view: crate::analyze::RankView<'_>, happening: Happening) -> Option<u32> {
    match happening {
        Happening::Post(at) | Happening::Cancel(at) | Happening::Probe(at) => {
            Some(view.program.transfers[at as usize].call)
        }
        Happening::Arrive(_) => None,
    }
}
