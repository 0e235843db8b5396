//! Software matching engines: one trait, one type of statistics, and the engines.
//!
//! Every engine keeps two queues: the *posted receive queue* (PRQ) of receives without a message,
//! and the *unexpected message queue* (UMQ) of messages without a receive. An engine chooses the
//! structure of the queues, never the result: [`Oracle`] is the specification. For the same calls
//! every engine must give the same matches and leave the same queues.

mod adaptive;
mod behind;
mod bins;
mod chain;
mod collective;
mod comms;
mod dedicated;
mod entry;
mod four_d;
mod four_indexes;
mod hash;
pub(crate) mod id_table;
mod indexed;
mod linear;
mod list;
mod nic_list;
mod optimistic_seq;
mod oracle;
mod places;
mod rank_array;
mod simd;
mod stats;
mod ucx;
#[cfg(test)]
mod words;

pub use adaptive::{Adapted, Adaptive, AdaptiveConfig, AdaptiveEngine};
pub use behind::Behind;
pub use bins::{BIN_COUNT_MAX, BadBinCount, BinCount, BinEngine, Bins};
pub use chain::{Chain, Slab, vec_bound};
pub use collective::{COLL_NAME_MAX, CollName, Collective};
pub use dedicated::{DedicatedConfig, DedicatedEngine, dedicated_queue_cap};
use dpamatch_vocabulary::{CommId, Envelope, Selector};
pub use dpamatch_vocabulary::{MsgId, RecvId};
pub use entry::Pattern;
pub use four_d::{
    FourD, FourDEngine, GridThreshold, Lead, dimension_span, paper_overhead_array,
    paper_overhead_four_d,
};
pub use four_indexes::FourIndexes;
pub use hash::{bin_of, key_hash, selector_hash};
pub use indexed::{Entries, Index, Indexed, Posted, Steps, Unexpected};
pub use list::ListEngine;
pub use nic_list::{NicDesign, NicListEngine};
pub use optimistic_seq::{OptimisticSeq, OptimisticSeqEngine};
pub use oracle::Oracle;
pub use rank_array::{ARRAY_RANKS_MAX, Array, ArrayLife, RankArray, RankArrayEngine};
pub use simd::SimdEngine;
pub use stats::{Counter, QueueStats, Stats};
pub use ucx::{Ucx, UcxEngine};

/// A sequential matching engine.
///
/// The order of the calls is the order of posts and arrivals. A caller gives no receive an id that
/// a receive in the PRQ has, and no message an id that a message in the UMQ has; the ids of entries
/// that left may be reused.
///
/// # Examples
/// ```
/// use dpa_model::{CommId, Envelope, Rank, Selector, SourceSel, Tag};
/// use dpamatch::engine::{Engine, ListEngine, MsgId, RecvId};
///
/// let mut engine = ListEngine::new();
/// let tag = Tag::new(7)?;
/// assert_eq!(engine.post(RecvId(0), CommId(0), Selector::new(SourceSel::Any, tag)), None);
/// let envelope = Envelope { comm: CommId(0), source: Rank::new(3)?, tag };
/// assert_eq!(engine.arrive(MsgId(0), envelope), Some(RecvId(0)));
/// # Ok::<(), dpa_model::OutOfRange>(())
/// ```
pub trait Engine: Send {
    /// Posts a receive: takes the oldest unexpected message that it accepts out of the UMQ and
    /// returns it, or else puts the receive at the end of the PRQ.
    fn post(&mut self, recv: RecvId, comm: CommId, selector: Selector) -> Option<MsgId>;

    /// A message arrives: takes the earliest posted receive that accepts it out of the PRQ and
    /// returns it, or else puts the message at the end of the UMQ.
    fn arrive(&mut self, msg: MsgId, envelope: Envelope) -> Option<RecvId>;

    /// Posts a receive of a collective operation; see [`post`](Self::post). The mark never decides
    /// a match. An engine without queues for collectives posts the receive like any other.
    fn post_collective(
        &mut self,
        recv: RecvId,
        comm: CommId,
        selector: Selector,
        _coll: &Collective,
    ) -> Option<MsgId> {
        self.post(recv, comm, selector)
    }

    /// A message of a collective operation arrives; see [`arrive`](Self::arrive). The mark never
    /// decides a match.
    fn arrive_collective(
        &mut self,
        msg: MsgId,
        envelope: Envelope,
        _coll: &Collective,
    ) -> Option<RecvId> {
        self.arrive(msg, envelope)
    }

    /// Takes a receive out of the PRQ. Returns `false` if it is not there.
    fn cancel(&mut self, recv: RecvId) -> bool;

    /// The oldest unexpected message that a receive with this selector would take; it stays.
    fn probe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId>;

    /// Takes the oldest unexpected message that a receive with this selector would take out of the
    /// UMQ.
    fn mprobe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId>;

    /// Sets the number of processes in a communicator, an upper bound on its sources. It is a hint
    /// for the engine's structure: an engine matches correctly without it and with a wrong number.
    /// Freeing the communicator forgets it.
    fn set_comm_size(&mut self, comm: CommId, size: u32) {
        let _ = (comm, size);
    }

    /// Frees what the engine keeps for this communicator alone. Returns `false` and does nothing
    /// while the communicator has entries in a queue.
    fn free_comm(&mut self, comm: CommId) -> bool;

    /// The PRQs of all communicators together, in posting order.
    fn posted(&self) -> Vec<RecvId>;

    /// The UMQs of all communicators together, in arrival order.
    fn unexpected(&self) -> Vec<MsgId>;

    /// Whether both queues of the communicator are empty.
    fn is_empty(&self, comm: CommId) -> bool;

    /// The engine's statistics so far.
    fn stats(&self) -> &Stats;

    /// Counters that only this engine has, besides [`stats`](Self::stats).
    fn own_counters(&self) -> Vec<Counter> {
        Vec::new()
    }

    /// Why the engine's results are wrong, in one line: an engine of a library gave an answer that
    /// no engine can give. `None` for all others.
    fn fault(&self) -> Option<String> {
        None
    }

    /// Upper bound on the engine's bytes under `load`. [`Stats::memory_bytes_max`] never exceeds
    /// it.
    fn memory_bound(&self, load: &Load) -> u64;
}

/// The load on an engine, for its bound on memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Load {
    /// Maximum number of receives in the PRQ at a time.
    pub posted: u64,
    /// Maximum number of messages in the UMQ at a time.
    pub unexpected: u64,
    /// Number of communicators that any call named.
    pub comms: u64,
    /// Largest communicator size passed to the engine; 0 without any.
    pub comm_size: u32,
}
