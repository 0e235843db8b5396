//! The arguments of every phase: a block as one worker runs its part of it.

use crate::CommId;
use crate::block::BlockInfo;
use crate::message::Entry;
use crate::number::{ReceiveId, Sequence};
use crate::ring::Stretch;
use crate::shared::Shared;
use crate::sync::Peek;

#[derive(Clone, Copy, Debug)]
pub(super) struct BlockRun<'a, C> {
    pub(super) nic: &'a Shared,
    pub(super) info: &'a BlockInfo,
    pub(super) crew: C,
    pub(super) entries: Stretch<'a, Entry>,
}

impl<'a, C> BlockRun<'a, C> {
    #[inline]
    pub(super) fn entry(&self, handler: usize) -> Peek<'a, Entry> {
        // SAFETY: the leader saw the block's entries ready, and releases them only after its end.
        unsafe { self.entries.peek(handler) }
    }

    /// Reads what a handler of this or a lower slice has chosen, after the barrier: its
    /// communicator (`comm`, if known) and the sequence of its candidate.
    #[inline]
    pub(super) fn claim(
        &self,
        handler: usize,
        comm: Option<CommId>,
        candidate: ReceiveId,
    ) -> (CommId, Sequence) {
        step!(ClaimRead {
            message: comm.is_none().then(|| self.entries.position(handler)),
            receive: candidate.found(),
        });
        let comm = comm.unwrap_or_else(|| self.entry(handler).envelope.comm);
        if candidate == ReceiveId::NIL {
            return (comm, Sequence::default());
        }
        // SAFETY: inside a block (D1).
        let posted = unsafe { self.nic.receives[candidate].posted.peek() };
        (comm, posted.sequence())
    }
}
