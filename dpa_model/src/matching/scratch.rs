//! What a worker remembers of a block's handlers, from phase to phase.

use alloc::boxed::Box;

use super::group::{Group, Groups};
use crate::booking::HandlerSet;
use crate::number::ReceiveId;

/// A place for each handler of the widest block; reused for every block.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// The candidate of a handler, and from its resolution on the receive that it took; of the own
    /// slice and, after the barrier, the candidates of all lower ones.
    pub(super) receives: Box<[ReceiveId]>,
    /// What stood before the candidates in their chains.
    pub(super) before: Box<[ReceiveId]>,
    /// Not 0: some receive may have been booked by two handlers. A word, as what follows: a card
    /// stores no single bytes well.
    pub(super) contested: u64,
    /// The kinds of receives and messages that the handlers' communicators have, see
    /// [`CommView`](crate::index::CommView). 0: no handler can have a candidate.
    pub(super) kinds: u32,
    /// Handlers whose communicator allows overtaking.
    pub(super) overtaken: HandlerSet,
    pub(super) groups: Groups,
}

impl Scratch {
    /// Bytes that each handler takes.
    pub(crate) const HANDLER_BYTES: usize = 2 * size_of::<ReceiveId>() + size_of::<Group>();

    pub(crate) fn new(handlers: usize) -> Self {
        Self {
            receives: (0..handlers).map(|_| ReceiveId::NIL).collect(),
            before: (0..handlers).map(|_| ReceiveId::NIL).collect(),
            contested: 0,
            kinds: 0,
            overtaken: HandlerSet::NONE,
            groups: Groups::new(handlers),
        }
    }

    /// Which receive each handler of the last block took, if one worker ran it alone; `NIL` for
    /// none.
    pub(crate) fn receives(&self) -> &[ReceiveId] {
        &self.receives
    }
}
