//! What one rank did, as far as matching is concerned, in arrays: made once from its calls, read by
//! every replay.
//!
//! A run of 300,000 calls is some 20 MB of this, and nothing is taken per call besides the growth
//! of the arrays.

use dpamatch_vocabulary::{Rank, Selector, SourceSel, Tag, TagSel};

use crate::trace::{CallSites, CollectiveKind, Counts, Function};

/// A number of bytes that the trace does not tell; also of a transfer, message or rank that is not
/// there.
pub const UNKNOWN: u32 = u32::MAX;

/// In place of a [`Transfer`]'s peer or tag: any.
pub const ANY: i32 = -1;
/// In place of its peer: `MPI_PROC_NULL`.
pub const NOBODY: i32 = -2;

/// What a [`Transfer`] is to matching.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A message is sent.
    Send,
    /// A receive is posted.
    Recv,
    /// A probe that found a message; it takes nothing.
    Probe,
    /// To or from `MPI_PROC_NULL`: never takes part in matching.
    Null,
}

/// How a transfer ended, as recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum End {
    /// No call completed it.
    Pending,
    /// Complete, and the status tells with what.
    Known,
    /// Complete, but the program ignored the status.
    Ignored,
    /// Cancelled: took no message.
    Cancelled,
    /// Cancelled or complete: a cancel was asked for and the status ignored.
    CancelAsked,
    /// Its request was freed; it goes on unseen.
    Freed,
}

/// One send, receive or successful probe, in posting order. 40 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// Rank in the communicator, [`ANY`] or [`NOBODY`].
    pub peer: i32,
    /// Tag, or [`ANY`].
    pub tag: i32,
    /// Bytes sent, or room for them; [`UNKNOWN`] if the datatype's size is not in the trace.
    pub bytes: u32,
    /// Source of the completion's status, where [`End::Known`].
    pub got_source: i32,
    /// Its tag.
    pub got_tag: i32,
    /// Its bytes, or [`UNKNOWN`].
    pub got_bytes: u32,
    /// Number of the call that posted it, from 0.
    pub call: u32,
    /// The communicator, as an index into [`Program::comms`].
    pub comm: u16,
    /// Number of the function that posted it.
    pub function: u16,
    /// What it is.
    pub kind: Kind,
    /// How it ended.
    pub end: End,
    /// The call waits until it is complete.
    pub blocking: bool,
    /// A synchronous send: complete when matched.
    pub synchronous: bool,
    /// What is written as any source may be `MPI_PROC_NULL` (see
    /// [`Source::AnyOrNull`](crate::trace::Source)).
    pub unsure_null: bool,
}

impl Transfer {
    /// What a receive or probe accepts.
    pub fn selector(&self) -> Selector {
        let source = u32::try_from(self.peer).ok().and_then(|rank| Rank::new(rank).ok());
        let tag = u32::try_from(self.tag).ok().and_then(|tag| Tag::new(tag).ok());
        Selector {
            source: source.map_or(SourceSel::Any, SourceSel::Rank),
            tag: tag.map_or(TagSel::Any, TagSel::Tag),
        }
    }

    /// Whether the receive or probe accepts this source and tag of its communicator.
    #[inline]
    pub fn accepts(&self, source: u32, tag: u32) -> bool {
        (self.peer < 0 || self.peer as u32 == source) && (self.tag < 0 || self.tag as u32 == tag)
    }

    /// Source and tag of the message that the receive got, if the trace tells: from the status, or
    /// from the posting where nothing was wild.
    pub fn envelope(&self) -> Option<(u32, u32)> {
        let pair = match self.end {
            End::Known => (self.got_source, self.got_tag),
            End::Ignored => (self.peer, self.tag),
            _ => return None,
        };
        Some((u32::try_from(pair.0).ok()?, u32::try_from(pair.1).ok()?))
    }

    /// The function that posted it.
    pub fn function_name(&self) -> &'static str {
        Function::from_number(self.function).map_or("?", Function::name)
    }
}

/// Which ranks of a collective wait for which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Sync {
    /// All for all.
    All,
    /// All for the root.
    FromRoot,
    /// The root for all.
    ToRoot,
    /// Nobody for sure.
    None,
}

impl Sync {
    /// Of a collective operation.
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

/// What a rank does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Begins the transfer with this number; a probe waits for its message.
    Begin(u32),
    /// Waits for so many transfers from this place of [`Program::finished`] on.
    Finish {
        /// First place.
        first: u32,
        /// How many.
        count: u32,
    },
    /// Asks to cancel a receive.
    Cancel(u32),
    /// Takes part in a collective operation.
    Collective {
        /// Its communicator, as an index into [`Program::comms`].
        comm: u16,
        /// Who waits for whom.
        sync: Sync,
        /// The root's rank in the communicator, where there is one.
        root: u32,
    },
}

/// One action and when. 24 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Wall time of the call's entry in nanoseconds, on the node's clock; of the return for a
    /// successful probe.
    pub at_ns: i64,
    /// Processor time since the call before returned, up to 4 s.
    pub gap_ns: u32,
    /// What.
    pub action: Action,
}

/// A communicator as one rank saw it: a number of its trace, from one creation to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalComm {
    /// Its number in the rank's trace.
    pub number: u32,
    /// The rank's own rank there, if the program asked.
    pub own_rank: Option<u32>,
    /// Its size, if the program asked.
    pub size: Option<u32>,
    /// The call that made it is in the trace, or it is predefined.
    pub made: bool,
}

/// Probes of one kind that found nothing: no step of the program, but hints may forbid their
/// wildcards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmptyPolls {
    /// The communicator, as an index into [`Program::comms`].
    pub comm: u16,
    /// They are for any source.
    pub any_source: bool,
    /// They are for any tag.
    pub any_tag: bool,
    /// How many.
    pub count: u64,
    /// Number of the first call.
    pub call: u32,
    /// Number of its function.
    pub function: u16,
}

/// What was odd in a rank's trace, each counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Oddities {
    /// Completions of requests that no recorded call posted (non-blocking collectives, for
    /// instance).
    pub unknown_requests: u64,
    /// Starts of persistent requests that no recorded call made.
    pub unknown_starts: u64,
    /// Receives whose status contradicts what was posted.
    pub contradictions: u64,
}

/// One rank's part of a run.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its rank in the world.
    pub rank: u32,
    /// Sends, receives and successful probes in posting order.
    pub transfers: Vec<Transfer>,
    /// What it does, in order.
    pub steps: Vec<Step>,
    /// Transfers that waits and tests completed, as [`Action::Finish`] says.
    pub finished: Vec<u32>,
    /// Probes with wildcards that found nothing, by communicator and wildcards.
    pub empty_polls: Vec<EmptyPolls>,
    /// Its communicators in the order of appearance; 0 is the world, 1 the rank alone.
    pub comms: Vec<LocalComm>,
    /// Where communicators and groups come from.
    pub origins: Vec<super::origin::Origin>,
    /// Calls by function.
    pub calls: Counts,
    /// Bytes of trace read, if known.
    pub trace_bytes: u64,
    /// What was odd.
    pub oddities: Oddities,
    /// Where its calls are in the program, if that was recorded.
    pub sites: Option<CallSites>,
    /// The trace broke off: what was lost.
    pub salvaged: Option<String>,
}

impl Program {
    /// The communicator's number in the rank's trace.
    pub fn comm_number(&self, comm: u16) -> u32 {
        self.comms.get(usize::from(comm)).map_or(0, |comm| comm.number)
    }

    /// Bytes that the arrays take.
    pub fn memory_bytes(&self) -> usize {
        self.transfers.capacity() * size_of::<Transfer>()
            + self.steps.capacity() * size_of::<Step>()
            + self.finished.capacity() * 4
    }
}

const _: () = assert!(size_of::<Transfer>() <= 40 && size_of::<Step>() <= 24);
