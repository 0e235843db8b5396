//! The errors of an endpoint. They carry the caller's buffer whenever the endpoint has it.

use std::io;

use dpa_model::ConfigError;

use super::communicator::Communicator;
use super::status::Received;

const STOPPED: &str = "the emulated NIC has stopped";
const WILDCARD_EXCLUDED: &str = "the receive uses a wildcard that the communicator's hints exclude";

/// The NIC has stopped: one of its threads panicked, or no thread could be started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", STOPPED)]
pub struct Stopped;

/// Why an endpoint could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// No NIC can be built from the configuration.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The system could not start a thread.
    #[error("cannot start a NIC thread: {0}")]
    Thread(#[from] io::Error),
}

/// Why a receive was not posted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostError {
    /// The communicator's hints exclude the wildcard (S24).
    #[error("{}", WILDCARD_EXCLUDED)]
    WildcardExcluded(
        /// The buffer.
        Vec<u8>,
    ),
    /// The NIC has stopped.
    #[error("{}", STOPPED)]
    Stopped(
        /// The buffer.
        Vec<u8>,
    ),
}

impl PostError {
    /// The buffer.
    pub fn into_buffer(self) -> Vec<u8> {
        match self {
            Self::WildcardExcluded(buffer) | Self::Stopped(buffer) => buffer,
        }
    }
}

/// Why a receive ended without a whole message.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecvError {
    /// `MPI_ERR_TRUNCATE`: the message is longer than the buffer, which holds its beginning.
    #[error("the message has {sent} bytes, the buffer holds {}", received.status.bytes)]
    Truncated {
        /// The full buffer and the status.
        received: Received,
        /// Bytes that were sent.
        sent: usize,
    },
    /// The receive was cancelled (`MPI_Test_cancelled`).
    #[error("the receive was cancelled")]
    Cancelled(
        /// The buffer.
        Vec<u8>,
    ),
    /// The communicator's hints exclude the wildcard (S24).
    #[error("{}", WILDCARD_EXCLUDED)]
    WildcardExcluded(
        /// The buffer.
        Vec<u8>,
    ),
    /// The NIC has stopped; it keeps the buffer.
    #[error("{}", STOPPED)]
    Stopped,
}

impl RecvError {
    /// The buffer; empty if the NIC kept it.
    pub fn into_buffer(self) -> Vec<u8> {
        match self {
            Self::Truncated { received, .. } => received.buffer,
            Self::Cancelled(buffer) | Self::WildcardExcluded(buffer) => buffer,
            Self::Stopped => Vec::new(),
        }
    }
}

impl From<PostError> for RecvError {
    fn from(error: PostError) -> Self {
        match error {
            PostError::WildcardExcluded(buffer) => Self::WildcardExcluded(buffer),
            PostError::Stopped(_) => Self::Stopped,
        }
    }
}

impl From<Stopped> for RecvError {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

/// What keeps a communicator from being freed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BusyReason {
    /// It has senders or persistent receives.
    #[error("it still has senders or persistent receives")]
    Handles,
    /// It has receives that have not ended, or whose results were not collected.
    #[error("it still has {0} receives")]
    Receives(
        /// How many.
        usize,
    ),
    /// Unexpected messages are stored or in flight.
    #[error("it still has messages that were not received")]
    Messages,
}

/// Why a communicator was not freed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FreeError<C = Communicator> {
    /// The communicator is in use.
    #[error("the communicator cannot be freed: {reason}")]
    Busy {
        /// The communicator, still usable.
        comm: C,
        /// What keeps it.
        reason: BusyReason,
    },
    /// The NIC has stopped.
    #[error("{}", STOPPED)]
    Stopped,
}
