//! The entries of both queues.

use dpamatch_vocabulary::{CommId, Envelope, Selector};

use super::{MsgId, RecvId};

/// An entry of a queue.
pub trait Entry: Copy + Send + 'static {
    /// What a search gives: a message's envelope, or the communicator and selector of a receive.
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
    type Wanted = (CommId, Selector);

    #[inline]
    fn fits(&self, &(comm, selector): &(CommId, Selector)) -> bool {
        self.envelope.fits(comm, selector)
    }
}
