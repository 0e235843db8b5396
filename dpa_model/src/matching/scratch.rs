//! A worker's record of a block's handlers, kept from phase to phase.

use alloc::boxed::Box;

use super::detect::NO_CONFLICT;
use super::fast_path::Group;
use crate::booking::HandlerSet;
use crate::number::ReceiveId;
use crate::{CommId, Domains};

/// A place for each handler of the widest block; reused for every block.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// The candidate of a handler, and after its resolution the receive that it took. Covers the
    /// own slice and, after the barrier, the candidates of all lower slices.
    pub(super) receives: Box<[ReceiveId]>,
    /// The receive before each candidate in its chain.
    pub(super) before: Box<[ReceiveId]>,
    /// The union of [`CommView`](crate::index::CommView) kinds over the handlers' communicators. 0:
    /// no handler can have a candidate.
    pub(super) kinds: u32,
    /// Handlers whose communicator allows overtaking.
    pub(super) overtaken: HandlerSet,
    /// The first handler that must resolve by the rule of the block; none if handlers resolve
    /// within their domains.
    pub(super) conflict: usize,
    /// Whether a handler of the slice met a conflict.
    pub(super) met: bool,
    /// Handlers without a receive in a block that one worker ran in order.
    pub(super) unmatched: usize,
    /// Whether all handlers of lower slices are done.
    pub(super) waited: bool,
    /// The handlers that the last fast path looked at.
    pub(super) group: Group,
    /// The candidates of a domain, by rank; without places unless blocks have domains.
    pub(super) members: Box<[ReceiveId]>,
}

impl Scratch {
    /// Bytes for each handler.
    pub(crate) const HANDLER_BYTES: usize = 2 * size_of::<ReceiveId>();

    /// Bytes for each handler of a block with domains.
    pub(crate) const MEMBER_BYTES: usize = size_of::<ReceiveId>();

    pub(crate) fn new(handlers: usize, domains: Domains) -> Self {
        let members = if domains == Domains::Keyed {
            handlers
        } else {
            0
        };
        Self {
            members: (0..members).map(|_| ReceiveId::NIL).collect(),
            receives: (0..handlers).map(|_| ReceiveId::NIL).collect(),
            before: (0..handlers).map(|_| ReceiveId::NIL).collect(),
            kinds: 0,
            overtaken: HandlerSet::NONE,
            conflict: NO_CONFLICT,
            met: false,
            unmatched: 0,
            waited: false,
            group: Group::new(CommId(u32::MAX)),
        }
    }

    /// Forgets the last block.
    pub(super) fn begin(&mut self) {
        self.kinds = 0;
        self.overtaken = HandlerSet::NONE;
        self.conflict = NO_CONFLICT;
        (self.met, self.waited) = (false, false);
        self.group = Group::new(CommId(u32::MAX));
    }

    /// The receive that each handler of the last block took, if one worker ran it alone; `NIL` for
    /// none.
    pub(crate) fn receives(&self) -> &[ReceiveId] {
        &self.receives
    }
}
