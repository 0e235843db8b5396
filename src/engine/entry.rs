//! The entries of both queues.

use dpamatch_vocabulary::{CommId, Envelope, Selector};

use super::{MsgId, RecvId};

/// What a receive or a probe searches for.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// Its communicator.
    pub comm: CommId,
    /// The messages of it that it accepts.
    pub selector: Selector,
}

/// An entry of a queue.
pub trait Entry: Copy + Send + 'static {
    /// What a search of these entries compares with.
    type Wanted;

    /// One full envelope compare.
    fn fits(&self, wanted: &Self::Wanted) -> bool;
}

/// A receive in the PRQ.
#[derive(Clone, Copy, Debug)]
pub struct PostedReceive {
    pub(super) recv: RecvId,
    pub(super) comm: CommId,
    pub(super) selector: Selector,
}

impl Entry for PostedReceive {
    type Wanted = Envelope;

    #[inline]
    fn fits(&self, envelope: &Envelope) -> bool {
        envelope.fits(self.comm, self.selector)
    }
}

/// A message in the UMQ.
#[derive(Clone, Copy, Debug)]
pub struct UnexpectedMessage {
    pub(super) msg: MsgId,
    pub(super) envelope: Envelope,
}

impl Entry for UnexpectedMessage {
    type Wanted = Pattern;

    #[inline]
    fn fits(&self, wanted: &Pattern) -> bool {
        self.envelope.fits(wanted.comm, wanted.selector)
    }
}
