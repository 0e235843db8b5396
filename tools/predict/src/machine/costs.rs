//! The machine's parts and costs.

use serde::{Deserialize, Serialize};

use super::{Issue, Picos};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// The EU's own first-level cache.
    L1,
    L2,
    L3,
    Dram,
}

impl Level {
    /// All levels, nearest first.
    pub const ALL: [Self; 4] = [Self::L1, Self::L2, Self::L3, Self::Dram];

    pub fn name(self) -> &'static str {
        ["L1", "L2", "L3", "DRAM"][self as usize]
    }
}

/// Instruction work, in picoseconds of an EU alone on its core. Executed once per message except
/// where noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// The successful poll and the decoding of its entry.
    pub poll: Picos,
    /// Three hashes, if the sender sent none.
    pub hash: Picos,
    /// A search, without its steps.
    pub search: Picos,
    pub step: Picos,
    pub book: Picos,
    pub detect: Picos,
    pub fast: Picos,
    /// One link of the slow path.
    pub slow: Picos,
    pub consume: Picos,
    /// Delivery, repost and going to the next entry.
    pub protocol: Picos,
    pub post: Picos,
    /// One message stored as unexpected, at the boundary.
    pub unexpected: Picos,
}

/// Latencies and rates, in picoseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Costs {
    pub cycle: Picos,
    /// Load, store or AMO that hits at a level (index: [`Level`]).
    pub level: [Picos; 4],
    /// Lines of an EU's first-level cache, of L2 and of L3.
    pub lines: [usize; 3],
    /// Line of host memory written through the window, with its write-back.
    pub window_write: Picos,
    /// Each further line of the same copy.
    pub window_next: Picos,
    /// Read of the sender's memory by RDMA, without its transfer.
    pub remote_read: Picos,
    /// Transfer of a byte by the slower of wire and host bus; transfers are serial.
    pub byte: f64,
    /// Matching of a message in software, on one host core.
    pub software: Picos,
    pub completion: Picos,
    /// Doorbell record or outbox write.
    pub doorbell: Picos,
    /// Read-modify-write of a word that another EU has just modified; such accesses are serial.
    pub handover: Picos,
    pub poll_miss: Picos,
    pub arrival: Picos,
    /// From the boundary's decision to the handler's start; 0 if unknown.
    pub activation: Picos,
    pub issue: Issue,
    /// Receives that a search visits for one load; the others hit the first level.
    pub walk_line: usize,
    /// Largest size of completion ring and bounce buffers for which incoming data lands in the
    /// caches.
    pub landing_bytes: u64,
    /// One instruction, if the code's own are charged; otherwise 0.
    pub instruction: f64,
    /// A load of an EU-private line that misses the first level.
    pub own: f64,
    /// A line of code that misses the first level.
    pub code: f64,
    pub work: Work,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// Fill one core before the next.
    #[default]
    Packed,
    /// One per core in turn.
    Spread,
}

impl Placement {
    /// The core of an EU, of `cores` cores with `per_core` EUs each.
    pub fn core(self, eu: usize, cores: usize, per_core: usize) -> usize {
        match self {
            Self::Packed => eu / per_core.max(1),
            Self::Spread => eu % cores.max(1),
        }
    }
}

/// Handlers whose protocol stage overlaps the next block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Overlap {
    /// Handlers without conflict finish before they move data, the others after.
    #[default]
    Clean,
    Always,
    Never,
}

/// The EU that executes the boundary's work for each message at the end of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockEnd {
    /// The message's handler's EU, after its data has moved.
    #[default]
    Handlers,
    /// Handler 0's EU, before the next block.
    Leader,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockBegin {
    /// Each message starts its handler, free of charge.
    #[default]
    Handlers,
    /// Handler 0's EU waits for all messages, reads their entries and hands the block over.
    Leader,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    pub placement: Placement,
    pub overlap: Overlap,
    pub block_end: BlockEnd,
    pub block_begin: BlockBegin,
    /// Commands take time on handler 0's EU.
    pub post_on_clock: bool,
}

/// Sizes that determine the lines of every table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Handlers, and so EUs in use.
    pub handlers: usize,
    pub bins: usize,
    pub receives: usize,
    pub entries: usize,
    pub bounce_buffers: usize,
    pub bounce_bytes: usize,
    /// Longest message that goes through the window to the user's buffer; RDMA carries longer ones.
    pub eager_bytes: usize,
    pub unexpected: usize,
    pub cores: usize,
    pub eus_per_core: usize,
}
