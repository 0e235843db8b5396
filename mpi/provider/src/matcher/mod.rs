//! The matcher of an endpoint: the emulated NIC, or any engine of the registry in its place.

mod all_bits;
mod messages;
mod nic;
mod rule;
mod software;

use std::ops::{Deref, DerefMut};

use dpamatch::engine::Counter;
use dpamatch_vocabulary::{CommId, Envelope, Selector};

pub(crate) use all_bits::AllBits;
pub(crate) use nic::NicMatcher;
pub(crate) use rule::{Rule, requested_tag, tag_of};
pub(crate) use software::SoftwareMatcher;

/// A receive: its index in the endpoint's table. Reused once it has ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct RecvKey(pub(crate) u32);

/// A message: its index in the endpoint's table. Reused once it was delivered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct MsgKey(pub(crate) u32);

/// A decision of the matcher, in the order of matching.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// The receive is in the posted queue. Reported by the NIC only for a log.
    Posted(RecvKey),
    /// The message is in the unexpected queue. Reported by the NIC only for a log.
    Unexpected(MsgKey),
    /// Receive and message matched; `late`: the message was there first.
    Matched {
        recv: RecvKey,
        msg: MsgKey,
        late: bool,
    },
    /// The receive has left the posted queue.
    Cancelled(RecvKey),
    /// The answer to the one probe; with `take` the message has left the queue.
    Probed { found: Option<MsgKey> },
}

/// What a receive or probe accepts: the bits, and their translation by the rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Criteria {
    pub(crate) bits: u64,
    pub(crate) ignore: u64,
    pub(crate) comm: CommId,
    pub(crate) selector: Selector,
}

/// What a message carries: the bits, and their translation by the rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MessageHeader {
    pub(crate) bits: u64,
    pub(crate) envelope: Envelope,
}

/// One endpoint's matching.
///
/// Calls queue operations in order; [`settle`](Self::settle) returns the decisions. Before that an
/// operation may have been executed or not.
pub(crate) trait Matcher: std::fmt::Debug + Send {
    fn post(&mut self, recv: RecvKey, criteria: &Criteria);

    /// Enters a message.
    fn arrive(&mut self, msg: MsgKey, header: &MessageHeader);

    /// Cancels a receive that waits. The matcher was settled.
    fn cancel(&mut self, recv: RecvKey, criteria: &Criteria);

    /// Probes for the oldest unexpected message that fits. One probe at a time: settle before the
    /// next.
    fn probe(&mut self, criteria: &Criteria, take: bool);

    /// Executes all operations and hands over the decisions.
    fn settle(&mut self, sink: &mut Vec<Verdict>);

    fn counters(&self) -> Vec<Counter>;
}

/// The matcher of an endpoint. The NIC is not behind a pointer to functions, so that the compiler
/// can inline what the short path calls.
#[derive(Debug)]
pub(crate) enum Matching {
    Nic(Box<NicMatcher>),
    Other(Box<dyn Matcher>),
}

impl Matching {
    /// Whether operations may bypass queues.
    #[inline(always)]
    pub(crate) fn is_short(&self) -> bool {
        matches!(self, Self::Nic(nic) if nic.is_short())
    }
}

impl Deref for Matching {
    type Target = dyn Matcher;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Nic(nic) => &**nic,
            Self::Other(other) => &**other,
        }
    }
}

impl DerefMut for Matching {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Nic(nic) => &mut **nic,
            Self::Other(other) => &mut **other,
        }
    }
}
