//! What surrounds the card in an emulation, and what a port to a real one replaces.
//!
//! - `host_port`, `event`: the host's end. It posts receives and is told what became of them.
//! - `sender`: the wire's end. It fills a completion queue as the network would.
//! - `sent`: how far senders were at a moment.
//! - `feeder`: a sequence of operations fed into both in a fixed order.
//! - `pool`: host threads in the place of the card's.
//! - `two_lists`: matching as MPI defines it, for comparisons and for software fallback.
//! - `drain`: the completion queue emptied without matching, for measurements.
//!
//! The ends meet the card in `arrivals` and its `completion_queue`, `region`, the two rings of
//! `shared::Shared` and their entries (`message`), nowhere else.

mod drain;
mod event;
mod feeder;
mod host_port;
mod made_up;
#[cfg(feature = "std")]
mod pool;
mod recent;
mod sender;
mod sent;
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
pub use sent::Sent;
pub use two_lists::TwoLists;
