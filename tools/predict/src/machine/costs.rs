//! What the machine is made of and what things cost on it.

use super::Picos;

/// Where a line was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// The EU's own first-level cache.
    L1,
    /// The level shared by all cores.
    L2,
    /// The next level.
    L3,
    /// The card's memory.
    Dram,
}

impl Level {
    /// All, from the nearest.
    pub const ALL: [Self; 4] = [Self::L1, Self::L2, Self::L3, Self::Dram];

    /// Its name.
    pub fn name(self) -> &'static str {
        ["L1", "L2", "L3", "DRAM"][self as usize]
    }
}

/// Instruction work, each executed once per message unless said otherwise, in picoseconds of an EU
/// that has its core for itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// The poll that finds the entry, and its decoding.
    pub poll: Picos,
    /// Three hashes, where the sender gave none.
    pub hash: Picos,
    /// A search, without its steps.
    pub search: Picos,
    /// One receive visited in a search.
    pub step: Picos,
    /// Booking and publishing.
    pub book: Picos,
    /// Detection after the barrier.
    pub detect: Picos,
    /// The fast path.
    pub fast: Picos,
    /// One link of the slow path.
    pub slow: Picos,
    /// Consuming the receive.
    pub consume: Picos,
    /// Delivery, repost and going to the next entry.
    pub protocol: Picos,
    /// One post, at the boundary.
    pub post: Picos,
    /// One message stored as unexpected, at the boundary.
    pub unexpected: Picos,
}

/// Latencies and rates, in picoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// Length of a clock cycle.
    pub cycle: Picos,
    /// Load, store or AMO that finds its line at a level (index: [`Level`]).
    pub level: [Picos; 4],
    /// Lines of an EU's first-level cache, of L2 and of L3.
    pub lines: [usize; 3],
    /// Line of host memory written through the window, with its write-back.
    pub window_write: Picos,
    /// Each further line of the same copy.
    pub window_next: Picos,
    /// Line of host memory read by RDMA or DMA.
    pub host_read: Picos,
    /// Completion entry written to the host.
    pub completion: Picos,
    /// Doorbell record or outbox write.
    pub doorbell: Picos,
    /// Read-modify-write of a word that another EU has just modified, one after the other.
    pub handover: Picos,
    /// Added to a waiter's look at a word for each other waiter on it.
    pub waiter: Picos,
    /// Distance of two looks of a polling loop.
    pub poll_miss: Picos,
    /// Distance of two arrivals.
    pub arrival: Picos,
    /// Serial cost of the NIC per completion entry, a lower bound of `arrival`.
    pub entry_shared: Picos,
    /// From the boundary's decision to a handler's start. 0: unknown.
    pub activation: Picos,
    /// Share of the issue slots that an EU asks for when it is alone on its core.
    pub issue_demand: f64,
    /// Issue slots of a core.
    pub issue_slots: u32,
    /// Bytes of completion ring and bounce buffers up to which incoming data lands in the caches.
    pub landing_bytes: u64,
    /// One instruction, where the code's own are charged; else 0.
    pub instruction: f64,
    /// A load of a line of the EU's own that misses the first level.
    pub own: f64,
    /// A line of code that misses the first level.
    pub code: f64,
    /// Instruction work.
    pub work: Work,
}

/// Which EUs the handlers get.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// A core is filled before the next is used.
    #[default]
    Packed,
    /// One per core in turn.
    Spread,
}

/// Whose protocol stage overlaps the next block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Overlap {
    /// Handlers without conflict say that they are done before they move data, the others after.
    #[default]
    Clean,
    /// Everybody's.
    Always,
    /// Nobody's.
    Never,
}

/// On whose EU a block's end is, what the boundary does for each of its messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BlockEnd {
    /// On that of the message's handler, after its data has moved.
    #[default]
    Handlers,
    /// On handler 0's, before the next block.
    Leader,
}

/// The named choices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    /// Which EUs.
    pub placement: Placement,
    /// What overlaps it.
    pub overlap: Overlap,
    /// On which EU it ends.
    pub block_end: BlockEnd,
    /// Handlers say for the leader what became of their receives.
    pub reposts: bool,
    /// Commands take time of handler 0's EU.
    pub post_on_clock: bool,
}

/// Sizes from which the lines of every table follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Handlers, and so EUs in use.
    pub handlers: usize,
    /// Bins of all indexes.
    pub bins: usize,
    /// Receive descriptors.
    pub receives: usize,
    /// Entries of the completion queue.
    pub entries: usize,
    /// Bounce buffers.
    pub bounce_buffers: usize,
    /// Bytes of one.
    pub bounce_bytes: usize,
    /// Longest message whose data goes through the window to the user's buffer; that of longer ones
    /// RDMA puts there.
    pub eager_bytes: usize,
    /// Unexpected messages that can be held.
    pub unexpected: usize,
    /// Cores.
    pub cores: usize,
    /// EUs of a core.
    pub eus_per_core: usize,
}
