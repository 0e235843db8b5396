//! Builds a NIC and hands out its roles; stops it, and reads its counters.

use alloc::sync::Arc;

use crate::arrivals::Arrivals;
use crate::bin::Bin;
use crate::block::Block;
use crate::booking::far_table;
use crate::buffers::Buffers;
use crate::counters::{BlockSizes, BoundaryCounters, SenderCounters};
use crate::descriptor::table;
use crate::dropped::Dropped;
use crate::index::CommView;
use crate::number::WorkerId;
use crate::region::Regions;
use crate::ring::Ring;
use crate::shared::{Life, NicName, Shared};
use crate::sync::PlainCell;
use crate::{ConfigError, Counts, HandlerCounters, HandlerCounts, Leader, NicConfig, Worker};
#[cfg(feature = "ends")]
use crate::{HostPort, Sender};

/// A new NIC: one value per role. The caller decides how the roles run: the pool of threads
/// (`crate::Pool`), one thread that calls [`Leader::round`] now and then, or a model checker.
#[derive(Debug)]
pub struct Nic {
    /// Worker 0: the block boundary and the lowest slice.
    pub leader: Leader,
    /// Workers 1.. .
    pub workers: alloc::vec::Vec<Worker>,
    /// The host's end: posts, cancels, probes; completions.
    #[cfg(feature = "ends")]
    pub host: HostPort,
    /// A sender; clone it for more.
    #[cfg(feature = "ends")]
    pub sender: Sender,
}

impl Nic {
    /// Takes all memory and builds the tables.
    ///
    /// # Errors
    /// [`ConfigError`] if a number is out of range or the tables exceed the memory budget.
    pub fn new(config: &NicConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let shared = Arc::new(Shared {
            name: NicName::fresh(),
            options: config.options,
            handlers: config.handlers,
            slice_min: match config.slice_min {
                0 => crate::SLICE_MIN,
                least => least,
            },
            eager_limit: config.eager_limit,
            arrivals: Arrivals::new(
                config.completion_queues,
                config.completion_queue,
                config.bounce_buffers,
                config.eager_limit,
            ),
            commands: Ring::new(config.command_queue),
            completions: Ring::new(config.completion_ring),
            staging: Buffers::new(config.completion_ring, config.eager_limit),
            receives: table(config.receives),
            far_bits: far_table(config.receives, config.handlers),
            bins: (0..config.total_index_bins())
                .map(|_| Bin::empty())
                .collect(),
            views: (0..config.communicators)
                .map(|_| PlainCell::new(CommView::NONE))
                .collect(),
            block: Block::new(
                config.handlers,
                config.workers,
                config.options.barrier,
                config.options.domains,
            ),
            regions: Regions::new(config.regions),
            dropped: Dropped::new(config.unexpected),
            life: Life::new(),
            block_sizes: BlockSizes::new(config.handlers),
            handler_counters: (0..config.handlers)
                .map(|_| HandlerCounters::default())
                .collect(),
            boundary_counters: BoundaryCounters::default(),
            sender_counters: SenderCounters::default(),
        });
        Ok(Self {
            leader: Leader::new(shared.clone(), config),
            workers: (1..config.workers)
                .map(|worker| Worker::new(shared.clone(), WorkerId(worker)))
                .collect(),
            #[cfg(feature = "ends")]
            host: HostPort::new(shared.clone()),
            #[cfg(feature = "ends")]
            sender: Sender::new(shared),
        })
    }
}

/// Asks the NIC's workers to stop.
#[derive(Clone, Debug)]
pub struct Stop {
    shared: Arc<Shared>,
}

impl Stop {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Asks the workers to stop after the current block.
    pub fn request(&self) {
        self.shared.life.request_stop();
    }

    /// Marks that no worker runs any more; the caller has joined them all.
    #[cfg(feature = "std")]
    pub(crate) fn record_all_ended(&self) {
        self.shared.life.record_stopped();
    }

    /// Marks that a worker panicked: workers that wait for it inside a block panic, too, and no
    /// further block runs.
    #[cfg(feature = "std")]
    pub(crate) fn break_down(&self) {
        self.shared.block.break_down();
        self.request();
    }
}

/// Use of the bins of posted receives, over all communicators.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BinUse {
    /// Bins in NIC memory.
    pub bins: u64,
    /// Bins in which a receive was ever linked.
    pub used: u64,
    /// Bins that hold receives now.
    pub occupied: u64,
    /// Receives in the fullest bin now.
    pub longest: u64,
}

/// Reads a NIC's counters while it runs.
#[derive(Clone, Debug)]
pub struct Monitor {
    shared: Arc<Shared>,
}

impl Monitor {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// A copy of all counters; values of different counters may be from slightly different moments.
    pub fn counts(&self) -> Counts {
        let mut handlers = HandlerCounts::default();
        for index in 0..self.shared.handlers {
            handlers.add(&self.counted(index));
        }
        Counts {
            handlers: handlers.completed(),
            boundary: self.shared.boundary_counters.counts(),
            send_queue_full: self.shared.sender_counters.queue_full.get(),
            send_no_bounce_buffer: self.shared.sender_counters.no_bounce_buffer.get(),
            regions_added: self.shared.regions.added.get(),
        }
    }

    /// The use of the bins of posted receives. Walks all bins.
    pub fn bin_use(&self) -> BinUse {
        let mut sum = BinUse {
            bins: self.shared.bins.len() as u64,
            ..BinUse::default()
        };
        for bin in &self.shared.bins {
            sum.used += u64::from(bin.was_used());
            sum.occupied += u64::from(bin.length() > 0);
            sum.longest = sum.longest.max(u64::from(bin.length()));
        }
        sum
    }

    /// Number of handlers (N).
    pub fn handlers(&self) -> usize {
        self.shared.handlers
    }

    /// Counters of one handler; all zero for one that does not exist. In a block that one worker
    /// runs alone, the first handler of a row on one path counts for all of the row.
    pub fn handler(&self, handler: usize) -> HandlerCounts {
        self.counted(handler).completed()
    }

    fn counted(&self, handler: usize) -> HandlerCounts {
        let Shared {
            block_sizes,
            handler_counters,
            ..
        } = &*self.shared;
        let Some(counters) = handler_counters.get(handler) else {
            return HandlerCounts::default();
        };
        let mut counts = counters.copy();
        counts.messages = block_sizes.messages(handler);
        counts
    }
}
