//! A worker's record of a block's handlers, kept from phase to phase.

use alloc::boxed::Box;

use super::group::{Group, Groups};
use crate::booking::HandlerSet;
use crate::number::ReceiveId;

/// A place for each handler of the widest block; reused for every block.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// The candidate of a handler, and after its resolution the receive that it took. Covers the
    /// own slice and, after the barrier, the candidates of all lower slices.
    pub(super) receives: Box<[ReceiveId]>,
    /// The receive before each candidate in its chain.
    pub(super) before: Box<[ReceiveId]>,
    /// Not 0: two handlers may have booked one receive. A word, because a card stores single bytes
    /// slowly.
    pub(super) contested: u64,
    /// The union of [`CommView`](crate::index::CommView) kinds over the handlers' communicators. 0:
    /// no handler can have a candidate.
    pub(super) kinds: u32,
    /// Handlers whose communicator allows overtaking.
    pub(super) overtaken: HandlerSet,
    pub(super) groups: Groups,
}

impl Scratch {
    /// Bytes for each handler.
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

    /// The receive that each handler of the last block took, if one worker ran it alone; `NIL` for
    /// none.
    pub(crate) fn receives(&self) -> &[ReceiveId] {
        &self.receives
    }
}
