//! The state that the workers of a NIC, its senders and its host share.

use alloc::boxed::Box;

use crate::arrivals::Arrivals;
use crate::bin::Bin;
use crate::block::Block;
use crate::booking::{Bookings, FAR_WORDS};
use crate::buffers::Buffers;
use crate::counters::{BlockSizes, BoundaryCounters, SenderCounters};
use crate::descriptor::Descriptor;
use crate::dropped::Dropped;
use crate::index::{CommView, Indexes};
use crate::message::{Command, Completion};
use crate::number::{BinId, ReceiveId};
use crate::region::Regions;
use crate::ring::Ring;
use crate::sync::{AtomicU64, Peek, PlainCell, Relaxed, Unique};
use crate::{CommId, HandlerCounters, Options};

/// Identifies a NIC within this process. An address would not: a later NIC can reuse it.
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
    /// Minimum length of a slice.
    pub(crate) slice_min: usize,
    pub(crate) eager_limit: usize,
    pub(crate) arrivals: Arrivals,
    pub(crate) commands: Ring<Command>,
    pub(crate) completions: Ring<Completion>,
    /// Payloads of forwarded messages, one buffer per position of the completion ring.
    pub(crate) staging: Buffers,
    pub(crate) receives: Box<[Descriptor]>,
    pub(crate) far_bits: Box<[[AtomicU64; FAR_WORDS]]>,
    pub(crate) bins: Box<[Bin]>,
    /// Written by the boundary, constant inside a block.
    pub(crate) views: Box<[PlainCell<CommView>]>,
    pub(crate) block: Block,
    pub(crate) regions: Regions,
    pub(crate) dropped: Dropped,
    pub(crate) life: Life,
    pub(crate) handler_counters: Box<[HandlerCounters]>,
    pub(crate) block_sizes: BlockSizes,
    pub(crate) boundary_counters: BoundaryCounters,
    pub(crate) sender_counters: SenderCounters,
}

impl Shared {
    /// The view of a communicator; empty if the NIC has no tables for it.
    ///
    /// # Safety
    /// The caller uses the view inside one block, or is the boundary, which alone writes views,
    /// between blocks.
    #[inline]
    pub(crate) unsafe fn view(&self, comm: CommId) -> Peek<'_, CommView> {
        match self.views.get(comm.0 as usize) {
            // SAFETY: the caller excludes writes of the view.
            Some(view) => unsafe { view.peek() },
            None => Peek::constant(&CommView::NONE),
        }
    }

    /// The booking bits of all receives.
    #[inline]
    pub(crate) fn bookings(&self) -> Bookings<'_> {
        Bookings {
            receives: &self.receives,
            far: &self.far_bits,
        }
    }

    pub(crate) fn bin_of(&self, receive: ReceiveId) -> BinId {
        // SAFETY: inside a block (D1).
        unsafe { self.receives[receive].posted.peek() }.bin
    }

    #[inline]
    pub(crate) fn indexes(&self, view: CommView) -> Indexes<'_> {
        Indexes {
            bookings: self.bookings(),
            bins: &self.bins,
            view,
        }
    }
}

/// Whether the NIC runs, and so may access host and sender memory.
///
/// **State.** `stop`: 0 running, 1 asked to stop; it publishes nothing. `stopped`: 0, or 1 once no
/// worker runs any more.
/// **Orderings.** `stopped`: Release by the thread that ends the NIC -> Acquire: all accesses of
/// the NIC are over.
#[derive(Debug)]
pub(crate) struct Life {
    stop: AtomicU64,
    stopped: AtomicU64,
}

impl Life {
    pub(crate) fn new() -> Self {
        Self {
            stop: AtomicU64::new(0),
            stopped: AtomicU64::new(0),
        }
    }

    pub(crate) fn request_stop(&self) {
        self.stop.store(1, Relaxed);
    }

    pub(crate) fn should_stop(&self) -> bool {
        self.stop.load(Relaxed) != 0
    }

    pub(crate) fn record_stopped(&self) {
        let release = weak!(Release, "it orders users' memory, which no model watches");
        self.stopped.store(1, release);
    }

    /// Whether no worker runs, now or later.
    // Asked for every message, also from other crates.
    #[inline]
    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(weak!(
            Acquire,
            "it orders users' memory, which no model watches"
        )) != 0
    }
}
