//! The arguments of every phase: a block as one worker runs its part of it. `C`: the crew that
//! shares the block; `()` for a worker that runs it alone.

use super::protocol::deliver;
use crate::CommId;
use crate::block::BlockInfo;
use crate::descriptor::Posted;
use crate::message::{Completion, Entry, Transfer};
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
    pub(super) results: Stretch<'a, Completion>,
}

impl<'a, C> BlockRun<'a, C> {
    /// `messages`: the block's number of messages.
    #[inline(always)]
    pub(super) fn new(nic: &'a Shared, info: &'a BlockInfo, crew: C, messages: usize) -> Self {
        let queue = nic.arrivals.queue(info.queue);
        Self {
            nic,
            info,
            crew,
            entries: queue.ring.stretch(info.first, messages),
            results: nic.completions.stretch(info.results, messages),
        }
    }

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

    /// Moves the data of a message to its receive, and reports the receive.
    ///
    /// # Safety
    /// The caller runs this handler, which has taken the receive and has not reported its result.
    /// `transfer` is that of its message and receive.
    #[inline(always)]
    pub(super) unsafe fn deliver(&self, handler: usize, posted: &Posted, transfer: Transfer) {
        // SAFETY: the caller's promise; `new` began both runs with the block's first message, and
        // the leader claimed a result's position for each.
        unsafe {
            deliver(
                self.nic,
                self.info,
                self.entries,
                self.results,
                handler,
                posted,
                transfer,
            );
        }
    }
}
