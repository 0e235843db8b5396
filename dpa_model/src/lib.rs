//! The NIC side of dpamatch: an emulated data-path accelerator that matches MPI messages by
//! *optimistic tag matching*.
//!
//! The crate depends on `crossbeam-utils` and on the shared types of `dpamatch_vocabulary`. Only
//! the [`Pool`] of host threads needs `std` (feature `std`). Leader, workers and their tables
//! allocate nothing after [`Nic::new`], and no message or command makes them panic. The host's
//! end, [`HostPort`], copies forwarded payloads and grows its list of requests up to the most in
//! flight.
//!
//! # Roles
//! [`Nic::new`] builds the tables and hands out
//! - [`Leader`], worker 0: runs the block boundary and the lowest slice of every block;
//! - [`Worker`]s: run further slices;
//! - [`HostPort`]: the host's end, where receives are posted and completions come out;
//! - [`Sender`]: the wire's end, cloned for every sending thread.
//!
//! # Modules
//! | module | what |
//! |---|---|
//! | `matching` | the algorithm: search, book, detect, resolve, consume, deliver |
//! | `boundary` | between two blocks: admit commands, cut the next block, finish the last one |
//! | `block`, `bitmap`, `progress` | the block, its partial barrier as words or as a bitmap |
//! | `descriptor`, `booking`, `bin`, `hash`, `index` | posted receives: the 64-byte entry, its bookings, chains, the four indexes |
//! | `unexpected`, `free_list`, `dropped` | the store of unexpected messages; free places of a table; messages that the program dropped |
//! | `ring`, `arrivals`, `completion_queue`, `message` | queues, and their 64-byte entries |
//! | `host_address`, `copy` | the address of a user's buffer; copies inside loops |
//! | `bus`, `card` | the map for a host on the other side of a bus; what a real card's system does |
//! | `communicator`, `region`, `buffers` | labels and room for bins; registered memory; rows of buffers |
//! | `nic`, `shared`, `config` | builds the NIC and hands out its roles; what the roles share; options |
//! | `memory`, `counters`, `number` | memory budget; statistics; a type for each kind of table number |
//! | `sync`, `step`, `fault` | the one door to atomics; steps and seeded faults of model builds |
//! | `ends` | host's end, wire's end and pool of threads: a port replaces this module |
//!
//! Each concurrent module opens with its states, invariants and release/acquire pairs. Without
//! default features the crate is the card's side alone.
//!
//! IDs such as S8 or O27 name facts of the paper and decisions; `docs/decisions.md` lists them.
//!
//! # Examples
//!
//! ```
//! use dpa_model::*;
//!
//! let mut nic = Nic::new(&NicConfig::default())?;
//! let comm = CommId(0);
//! nic.host.create(comm, 128, Hints::default(), 0)?;
//! let from_anyone = Selector::new(SourceSel::Any, Tag::new(7)?);
//! nic.host.post(comm, from_anyone, vec![0; 8], 0).map_err(|(full, _)| full)?;
//! let envelope = Envelope { comm, source: Rank::new(3)?, tag: Tag::new(7)? };
//! nic.sender.try_send(envelope, b"8 bytes!", 0)?;
//! nic.leader.round(1);
//! let received = std::iter::from_fn(|| nic.host.poll()).find_map(|event| {
//!     if let Event::Received { buffer, .. } = event { Some(buffer) } else { None }
//! });
//! assert_eq!(received.as_deref(), Some(&b"8 bytes!"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(
    any(not(feature = "ends"), dpamatch_card),
    expect(
        dead_code,
        reason = "the far sides of the queues wait for what a port puts there"
    )
)]

extern crate alloc;

#[macro_use]
mod fault;
#[macro_use]
pub mod step;

mod arrivals;
mod bin;
mod bitmap;
mod block;
mod booking;
mod boundary;
mod buffers;
#[cfg(not(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual)))]
mod bus;
#[cfg(dpamatch_card)]
mod card;
mod communicator;
mod completion_queue;
mod config;
mod copy;
mod counters;
mod descriptor;
mod dropped;
#[cfg(feature = "ends")]
mod ends;
mod free_list;
mod hash;
mod host_address;
mod index;
mod matching;
mod memory;
mod message;
mod nic;
mod number;
mod progress;
mod region;
mod ring;
mod shared;
mod sync;
mod unexpected;

pub use arrivals::COMPLETION_QUEUES_MAX;
pub use bin::BIN_BYTES;
#[cfg(feature = "ends")]
pub use boundary::{DirectResult, MessageBatch};
pub use boundary::{Leader, Round, Worker};
#[cfg(not(any(dpamatch_loom, dpamatch_shuttle, dpamatch_virtual)))]
pub use bus::{BuffersPlace, BusMap, RingPlace};
pub use config::{
    BINS_MAX, Barrier, ConfigError, DPA_L2_BYTES, DPA_L3_BYTES, DPA_MEMORY_BYTES, Domains,
    FastPath, HANDLERS_MAX, InlineHashes, NicConfig, Options, Order, Removal, SLICE_MIN,
    UnexpectedFull,
};
pub use counters::{BoundaryCounts, Counts, HandlerCounts};
pub use descriptor::DESCRIPTOR_BYTES;
pub use dpamatch_vocabulary::{
    Choice, ClassSet, CommId, Envelope, Hints, MsgId, Offload, Operation, OutOfRange, Outcome,
    PaperWorkload, Path, ProbeId, RANK_MAX, Rank, RecvId, Selector, SourceSel, TAG_MAX, Tag,
    TagSel, WildcardClass,
};
#[cfg(feature = "std")]
pub use ends::Pool;
#[cfg(feature = "ends")]
pub use ends::{
    CommandQueueFull, Data, Drain, Event, FeedError, Feeder, ForwardedRequest, HostPort, Payload,
    RemoteData, RequestId, SendError, SendRequest, SendResult, Sender, SentCounts, TakenMessage,
    TwoLists,
};
#[cfg(any(dpamatch_loom, dpamatch_faults))]
pub use fault::{CAME_BY, ordering as weakened, place, weaken};
#[cfg(any(dpamatch_loom, dpamatch_shuttle, dpamatch_faults))]
pub use fault::{Fault, choose as choose_fault};
pub use hash::Hashes;
pub use memory::{Footprint, FootprintLine, paper_bytes};
pub use message::{INLINE_BYTES, Message};
pub use nic::{BinUse, Monitor, Nic, Stop};
pub use sync::Wait;
#[cfg(dpamatch_loom)]
pub use sync::loomed;
#[cfg(all(dpamatch_shuttle, not(dpamatch_loom)))]
pub use sync::shuttled as accesses;
#[cfg(dpamatch_virtual)]
pub use sync::virtual_time;

pub(crate) use counters::HandlerCounters;
