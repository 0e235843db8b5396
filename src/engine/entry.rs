//! The entries of both queues.

use dpamatch_vocabulary::{CommId, Envelope, Selector};

use super::chain::Slab;
use super::places::Receives;
use super::{MsgId, RecvId};

/// A receive in the PRQ.
#[derive(Clone, Copy, Debug)]
pub(super) struct PostedReceive {
    pub(super) recv: RecvId,
    pub(super) comm: CommId,
    pub(super) selector: Selector,
}

impl PostedReceive {
    /// One full envelope compare.
    #[inline]
    pub(super) fn accepts(&self, envelope: &Envelope) -> bool {
        envelope.fits(self.comm, self.selector)
    }
}

impl Receives for Slab<PostedReceive, 1> {
    #[inline]
    fn recv_at(&self, at: u32) -> Option<RecvId> {
        self.find(at).map(|receive| receive.recv)
    }

    fn all(&self) -> impl Iterator<Item = (u32, RecvId)> {
        self.live().map(|(at, receive)| (at, receive.recv))
    }

    #[inline]
    fn count(&self) -> usize {
        self.len() as usize
    }
}

/// A message in the UMQ.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnexpectedMessage {
    pub(super) msg: MsgId,
    pub(super) envelope: Envelope,
}

impl UnexpectedMessage {
    /// One full envelope compare, from the message's side.
    #[inline]
    pub(super) fn fits(&self, comm: CommId, selector: Selector) -> bool {
        self.envelope.fits(comm, selector)
    }
}
