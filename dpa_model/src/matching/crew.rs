//! The rule by which the handlers of a slice wait for those of other workers: [`Paper`], for the
//! block, or [`Keyed`], within their conflict domains. Every phase of matching is written once,
//! over a [`Crew`].
//!
//! A worker that runs a block alone needs none of this: see `in_order`.
//!
//! [`Paper`]: super::paper::Paper
//! [`Keyed`]: super::domain::Keyed

use super::block_run::BlockRun;
use super::fast_path::Refusal;
use super::scratch::Scratch;
use super::slice::Slice;
use crate::index::CommView;
use crate::message::Entry;
use crate::number::ReceiveId;

/// What a handler does.
pub(super) enum Choice {
    /// It takes its candidate, if it has one.
    Own,
    /// It takes this receive, without waiting for what the others take.
    Further(ReceiveId),
    /// It takes the slow path.
    Wait(Refusal),
}

pub(super) trait Crew: Copy {
    fn slice(&self) -> &Slice<'_>;

    /// Publishes the key of a handler's message, where higher handlers read it.
    #[inline]
    fn announce(self, _handler: usize, _entry: &Entry, _view: CommView) {}

    /// Publishes that the slice has booked, and waits as far as the rule requires.
    fn pass_barrier(self, scratch: &mut Scratch);

    /// What a handler does, once the lower ones that it depends on have booked.
    fn choose(block: &BlockRun<'_, Self>, handler: usize, scratch: &mut Scratch) -> Choice;

    /// Waits until all lower handlers that may take what this one wants are done (S13). Returns the
    /// failed polls.
    fn wait_for_lower(block: &BlockRun<'_, Self>, handler: usize, scratch: &mut Scratch) -> u64;
}
