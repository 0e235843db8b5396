//! The matching-related actions of one rank, in arrays: built once from its calls and read by every
//! replay.
//!
//! Only the growth of the arrays allocates.

use std::collections::{BTreeMap, HashMap};

use dpamatch_vocabulary::{Rank, Selector, SourceSel, Tag, TagSel};
use foldhash::fast::RandomState as Fast;

use super::numbers::Numbers;
use super::steps::Steps;
use super::times::Spent;
use super::transfers::Transfers;
use dpamatch_traces::{CallSites, CollectiveKind, Counts, Function};

/// A transfer, message or rank that is absent.
pub const UNKNOWN: u32 = u32::MAX;
/// Bytes that the trace does not give.
pub const UNKNOWN_BYTES: u64 = u64::MAX;
/// Maximum length of a message in bytes, 16 TiB; a longer one counts as unknown. So no sum of
/// lengths overflows before a rank has a million of them.
pub(super) const BYTES_MAX: u64 = 1 << 44;

/// A wildcard as a [`Transfer`]'s peer or tag.
pub const ANY: i32 = -1;
/// `MPI_PROC_NULL` as a [`Transfer`]'s peer.
pub const NOBODY: i32 = -2;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum TransferKind {
    Send,
    Recv,
    /// A probe that found a message, which it leaves in the queue.
    Probe,
    /// A transfer with `MPI_PROC_NULL`, which never takes part in matching.
    Null,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum End {
    /// No call completed it.
    Pending,
    /// Complete, with a status.
    Known,
    /// Complete, but the program ignored the status.
    Ignored,
    Cancelled,
    /// Cancelled or complete: the program asked for a cancel and ignored the status.
    CancelAsked,
    /// Its request was freed, so its end is invisible.
    Freed,
}

/// A send, receive or successful probe. [`Transfers`] has those of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Transfer {
    /// Rank in the communicator, [`ANY`] or [`NOBODY`].
    pub peer: i32,
    pub tag: i32,
    /// Bytes sent, or capacity of the receive; [`UNKNOWN_BYTES`] if the trace lacks the datatype's
    /// size.
    pub bytes: u64,
    /// Source in the completion's status, for [`End::Known`].
    pub got_source: i32,
    pub got_tag: i32,
    /// Bytes in that status, or [`UNKNOWN_BYTES`].
    pub got_bytes: u64,
    pub call: u32,
    /// The communicator, as an index into [`Program::comms`].
    pub comm: u16,
    pub function: u16,
    pub kind: TransferKind,
    pub end: End,
    pub blocking: bool,
    /// Whether the send is synchronous: complete when matched.
    pub synchronous: bool,
    /// Whether the recorded any source may be `MPI_PROC_NULL` (see
    /// [`Source::AnyOrNull`](dpamatch_traces::Source)).
    pub unsure_null: bool,
}

impl Transfer {
    /// The messages that a receive or probe accepts.
    pub fn selector(&self) -> Selector {
        let source = u32::try_from(self.peer)
            .ok()
            .and_then(|rank| Rank::new(rank).ok());
        let tag = u32::try_from(self.tag)
            .ok()
            .and_then(|tag| Tag::new(tag).ok());
        Selector {
            source: source.map_or(SourceSel::Any, SourceSel::Rank),
            tag: tag.map_or(TagSel::Any, TagSel::Tag),
        }
    }

    #[inline]
    pub fn accepts(&self, source: u32, tag: u32) -> bool {
        let message = Rank::new(source).ok().zip(Tag::new(tag).ok());
        message.is_some_and(|(source, tag)| self.selector().accepts(source, tag))
    }

    /// Source and tag of the message that the receive got, if known: from the status, or from a
    /// posting without wildcards.
    pub fn envelope(&self) -> Option<(u32, u32)> {
        let pair = match self.end {
            End::Known => (self.got_source, self.got_tag),
            End::Ignored => (self.peer, self.tag),
            _ => return None,
        };
        Some((u32::try_from(pair.0).ok()?, u32::try_from(pair.1).ok()?))
    }

    pub fn function_name(&self) -> &'static str {
        Function::from_number(self.function).map_or("?", Function::name)
    }
}

/// Which ranks of a collective operation wait for which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Sync {
    All,
    FromRoot,
    ToRoot,
    /// No rank is sure to wait.
    None,
}

impl Sync {
    pub fn of(kind: CollectiveKind) -> Self {
        use CollectiveKind::{Bcast, Exscan, Gather, Gatherv, Reduce, Scan, Scatter, Scatterv};
        match kind {
            Bcast | Scatter | Scatterv => Self::FromRoot,
            Gather | Gatherv | Reduce => Self::ToRoot,
            Scan | Exscan => Self::None,
            _ => Self::All,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Begin(u32),
    /// Waits for `count` transfers from index `first` of [`Program::finished`] on.
    Finish {
        first: u32,
        count: u32,
    },
    Cancel(u32),
    Collective {
        /// Its communicator, as an index into [`Program::comms`].
        comm: u16,
        sync: Sync,
        /// The root's rank in the communicator, if the operation has one.
        root: u32,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Wall time on the node's clock in nanoseconds: of the call's entry, or of its return for a
    /// successful probe.
    pub at_ns: i64,
    /// Processor time since the previous call returned, in nanoseconds.
    pub gap_ns: u64,
    pub action: Action,
}

/// A communicator as one rank sees it: a number in its trace, from one creation to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalComm {
    /// Its number in the rank's trace.
    pub number: u32,
    /// The rank's own rank there, if the program asked.
    pub own_rank: Option<u32>,
    /// Its size, if the program asked.
    pub size: Option<u32>,
    /// Whether it is predefined or its creating call is in the trace.
    pub made: bool,
}

/// Failed probes with wildcards: they are no steps of the program, but hints may forbid their
/// wildcards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmptyPolls {
    pub comm: u16,
    pub any_source: bool,
    pub any_tag: bool,
    pub count: u64,
    pub call: u32,
    pub function: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Oddities {
    /// Completions of requests without a recorded posting call (non-blocking collectives, for
    /// instance).
    pub unknown_requests: u64,
    /// Starts of persistent requests without a recorded creating call.
    pub unknown_starts: u64,
    /// Receives whose status contradicts the posted values.
    pub contradictions: u64,
    /// Receives with room for 2 GiB or more. The recorded status has only 32 bits of the length,
    /// so that of the matching send counts.
    pub long_receives: u64,
}

/// The data of one side of a collective call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Side {
    /// Elements, for each peer or in all.
    pub count: u64,
    /// Bytes of an element, or [`UNKNOWN_BYTES`].
    pub element: u64,
    /// First of the peers' elements in [`Program::counts`].
    pub first: u32,
    pub peers: u32,
}

impl Side {
    pub fn counts<'a>(&self, program: &'a Program) -> &'a [u32] {
        &program.counts[self.first as usize..][..self.peers as usize]
    }
}

/// A call of a collective operation, kept until its messages replace it. 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectiveCall {
    pub sent: Side,
    pub received: Side,
    pub step: u32,
    pub call: u32,
    pub root: u32,
    pub comm: u16,
    pub function: u16,
    pub kind: CollectiveKind,
}

#[derive(Clone, Debug, Default)]
pub struct Program {
    pub rank: u32,
    /// Sends, receives and successful probes in posting order, in which the steps begin them.
    pub transfers: Transfers,
    pub steps: Steps,
    /// Transfers completed by waits and tests, for [`Action::Finish`].
    pub finished: Numbers,
    /// Calls whose messages are still to be made, in order.
    pub collectives: Vec<CollectiveCall>,
    /// Their elements by peer.
    pub counts: Vec<u32>,
    /// Failed probes with wildcards, by communicator and wildcards.
    pub empty_polls: Vec<EmptyPolls>,
    /// Its communicators in order of appearance; 0 is `MPI_COMM_WORLD`, 1 is `MPI_COMM_SELF`.
    pub comms: Vec<LocalComm>,
    /// The creating calls of its communicators and groups.
    pub origins: Vec<super::origin::Origin>,
    pub calls: Counts,
    /// Wall time in calls, by function and by number of the call site in `sites`.
    pub spent: HashMap<(u16, Option<u32>), Spent, Fast>,
    /// Entry of the first call on the node's clock, if the trace has wall times.
    pub began_ns: Option<i64>,
    /// Wall time from there to the last return; 0 if unknown.
    pub run_ns: u64,
    /// Processor time from the first call to the last; 0 if unknown.
    pub cpu_ns: u64,
    pub host: Option<String>,
    /// Bytes of trace, if known.
    pub trace_bytes: u64,
    pub oddities: Oddities,
    /// What the trace has and its reader does not read, by name, and how often.
    pub not_read: BTreeMap<String, u64>,
    /// The program locations of its calls, if recorded.
    pub sites: Option<CallSites>,
    pub salvaged: Option<String>,
}

impl Program {
    /// The communicator's number in the rank's trace.
    pub fn comm_number(&self, comm: u16) -> u32 {
        self.comms
            .get(usize::from(comm))
            .map_or(0, |comm| comm.number)
    }

    /// About the memory that an analysis of the run takes for this rank's sends and receives: what
    /// they take here and 15 bytes each in messages and orders, with a third that the allocator
    /// can't use, and 20 bytes for each kind. Measured.
    pub fn analysis_bytes(&self) -> u64 {
        let held = self.memory_bytes() + 15 * self.transfers.len();
        (held * 4 / 3 + 20 * self.transfers.kinds().len()) as u64
    }

    pub fn memory_bytes(&self) -> usize {
        self.transfers.memory_bytes() + self.steps.memory_bytes() + self.finished.memory_bytes()
    }
}

const _: () = assert!(size_of::<Transfer>() <= 48);
