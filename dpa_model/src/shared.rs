//! What all workers of a NIC, its senders and its host share.

use alloc::boxed::Box;

use crate::arrivals::Arrivals;
use crate::bin::Bin;
use crate::block::{Block, SliceMin};
use crate::booking::{Bookings, FarBits};
use crate::buffers::Buffers;
use crate::counters::{BlockSizes, BoundaryCounters, SenderCounters};
use crate::descriptor::Descriptor;
use crate::dropped::Dropped;
use crate::index::{CommView, Indexes};
use crate::message::{Command, Completion};
use crate::region::Regions;
use crate::repost::Reposts;
use crate::ring::Ring;
use crate::sync::{Acquire, AtomicU64, Peek, PlainCell, Release, Unique};
use crate::{CommId, HandlerCounters, Options};

/// Tells a NIC from every other one of this process. An address would not: a later NIC can have it
/// again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NicName(u64);

impl NicName {
    pub(crate) fn fresh() -> Self {
        static NAMES: Unique = Unique::new();
        Self(NAMES.next())
    }
}

/// A NIC's tables, queues, options and counters.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) name: NicName,
    pub(crate) options: Options,
    pub(crate) handlers: usize,
    pub(crate) slice_min: SliceMin,
    /// Whether an option asks for more at a block's begin or end than most NICs do: back pressure,
    /// or handlers that repost. One look for both.
    pub(crate) has_rare_options: bool,
    pub(crate) eager_limit: usize,
    pub(crate) arrivals: Arrivals,
    pub(crate) commands: Ring<Command>,
    pub(crate) completions: Ring<Completion>,
    /// Payloads that go with forwarded messages, one buffer per position of the completion ring.
    pub(crate) staging: Buffers,
    pub(crate) receives: Box<[Descriptor]>,
    pub(crate) far_bits: Box<[FarBits]>,
    pub(crate) bins: Box<[Bin]>,
    /// Written by the boundary, constant inside a block.
    pub(crate) views: Box<[PlainCell<CommView>]>,
    pub(crate) block: Block,
    /// Where handlers give back what a block used.
    pub(crate) reposts: Option<Box<Reposts>>,
    pub(crate) regions: Regions,
    pub(crate) dropped: Dropped,
    pub(crate) life: Life,
    pub(crate) handler_counters: Box<[HandlerCounters]>,
    pub(crate) block_sizes: BlockSizes,
    /// Of these, run by one worker when nothing was posted.
    pub(crate) idle_blocks: BlockSizes,
    pub(crate) boundary_counters: BoundaryCounters,
    pub(crate) sender_counters: SenderCounters,
}

impl Shared {
    /// The view of a communicator; empty for one that the NIC does not know.
    ///
    /// # Safety
    /// The caller is inside a block for as long as it uses the view, or is the boundary: only that
    /// writes views, between blocks.
    #[inline(always)]
    pub(crate) unsafe fn view(&self, comm: CommId) -> Peek<'_, CommView> {
        match self.views.get(comm.0 as usize) {
            // SAFETY: the caller's promise.
            Some(view) => unsafe { view.peek() },
            None => Peek::constant(&CommView::NONE),
        }
    }

    /// Where the booking bits of all receives are.
    #[inline(always)]
    pub(crate) fn bookings(&self) -> Bookings<'_> {
        Bookings { receives: &self.receives, far: &self.far_bits }
    }

    /// The indexes of the communicator with this view.
    #[inline(always)]
    pub(crate) fn indexes(&self, view: CommView) -> Indexes<'_> {
        Indexes { bookings: self.bookings(), bins: &self.bins, view }
    }
}

/// Running, asked to stop, stopped: who may still touch host and sender memory.
///
/// **State.** `stop`: 0 running, 1 asked to stop. `stopped`: 0, or 1 once no worker runs any more.
/// **Orderings.** `stopped`: Release by who ends -> Acquire: all its reads and writes are over.
#[derive(Debug)]
pub(crate) struct Life {
    stop: AtomicU64,
    stopped: AtomicU64,
}

impl Life {
    pub(crate) fn new() -> Self {
        Self { stop: AtomicU64::new(0), stopped: AtomicU64::new(0) }
    }

    pub(crate) fn ask_to_stop(&self) {
        self.stop.store(1, Release);
    }

    pub(crate) fn should_stop(&self) -> bool {
        self.stop.load(Acquire) != 0
    }

    pub(crate) fn note_stopped(&self) {
        self.stopped.store(1, weak!(StoppedRelaxed, Release));
    }

    /// No worker runs any more, and none will.
    // Asked for every message, also from other crates.
    #[inline]
    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Acquire) != 0
    }
}
