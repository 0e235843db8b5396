//! The card's surroundings in an emulation; a port to a real card replaces them.
//!
//! - `host_port`, `event`: the host's end. It posts receives and reports what became of them.
//! - `sender`: the wire's end. It fills a completion queue as the network would.
//! - `sent_counts`: a snapshot of the senders' progress.
//! - `feeder`: a sequence of operations fed into both in a fixed order.
//! - `pool`: host threads instead of the card's.
//! - `two_lists`: matching as MPI defines it, for comparisons and for software fallback.
//! - `drain`: empties the completion queues without matching, for measurements.
//!
//! The ends meet the card only in `arrivals` and its `completion_queue`, in `region`, and in the
//! two rings of `shared::Shared` and their entries (`message`).

mod drain;
mod event;
mod feeder;
mod host_port;
mod id_map;
mod payload_pattern;
#[cfg(feature = "std")]
mod pool;
mod sender;
mod sent_counts;
mod two_lists;

pub use drain::{Data, Drain};
pub use event::{
    CommandQueueFull, Event, ForwardedRequest, Payload, RemoteData, RequestId, TakenMessage,
};
pub use feeder::{FeedError, Feeder};
pub use host_port::HostPort;
#[cfg(feature = "std")]
pub use pool::Pool;
pub use sender::{SendError, SendRequest, SendResult, Sender};
pub use sent_counts::SentCounts;
pub use two_lists::TwoLists;
