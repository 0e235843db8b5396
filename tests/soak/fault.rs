//! The faults that a soak run can find.

use dpamatch::endpoint::{EndpointError, Mismatch, Stopped};

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The settings are invalid.
    #[error("{0}")]
    Settings(&'static str),
    /// No endpoint could be built.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The NIC stopped by itself.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The oracle gives another match.
    #[error("the oracle disagrees: {0}")]
    Mismatch(#[from] Mismatch),
    /// A message's bytes are not those sent.
    #[error("message {ordinal} of sender {source_rank} came with wrong bytes")]
    Bytes {
        /// Its sender.
        source_rank: u32,
        /// Number of the sender's message that it should be.
        ordinal: u64,
    },
    /// A message was lost, came twice, or overtook another one of its sender.
    #[error("message {got} of sender {source_rank} came in place of its message {wanted}")]
    Order {
        /// Its sender.
        source_rank: u32,
        /// Number of the sender's next message.
        wanted: u64,
        /// Number of the message that came.
        got: u64,
    },
    /// A receive was completed with a message that never arrived or had been received before.
    #[error("a receive got arrival {arrival}, which is not waiting to be received")]
    UnknownArrival {
        /// The message's arrival number.
        arrival: u64,
    },
    /// A request ended in an impossible way.
    #[error("a request ended wrongly: {0}")]
    Request(String),
    /// The queues are not empty at the end.
    #[error("at the end {receives} receives and {messages} messages are left")]
    Left {
        /// Receives in the posted queue.
        receives: usize,
        /// Messages in the unexpected queue.
        messages: usize,
    },
    /// A communicator is still in use at the end.
    #[error("at the end a communicator is busy: {0}")]
    Busy(String),
    /// Memory grew.
    #[error("resident memory grew from {before} to {after} bytes")]
    Memory {
        /// After a tenth of the messages.
        before: u64,
        /// At the end.
        after: u64,
    },
}
