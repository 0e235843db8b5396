//! The errors of an endpoint. They carry the caller's buffer whenever the endpoint has it.

use std::{fmt, io};

use dpa_model::ConfigError;

use super::communicator::Communicator;
use super::status::Received;

const STOPPED: &str = "the emulated NIC has stopped";
const WILDCARD_EXCLUDED: &str = "the receive uses a wildcard that the communicator's hints exclude";

/// The NIC has stopped: one of its threads panicked, or no thread could be started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(STOPPED)
    }
}

impl std::error::Error for Stopped {}

/// Why an endpoint could not be built.
#[derive(Debug)]
#[non_exhaustive]
pub enum EndpointError {
    /// No NIC can be built from the configuration.
    Config(ConfigError),
    /// The system could not start a thread.
    Thread(io::Error),
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Thread(error) => write!(f, "cannot start a NIC thread: {error}"),
        }
    }
}

impl std::error::Error for EndpointError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Config(error) => Some(error),
            Self::Thread(error) => Some(error),
        }
    }
}

impl From<ConfigError> for EndpointError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<io::Error> for EndpointError {
    fn from(error: io::Error) -> Self {
        Self::Thread(error)
    }
}

/// Why a receive was not posted.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PostError {
    /// The communicator's hints exclude the wildcard (S24).
    WildcardExcluded(
        /// The buffer.
        Vec<u8>,
    ),
    /// The NIC has stopped.
    Stopped(
        /// The buffer.
        Vec<u8>,
    ),
}

impl fmt::Display for PostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WildcardExcluded(_) => WILDCARD_EXCLUDED,
            Self::Stopped(_) => STOPPED,
        })
    }
}

impl std::error::Error for PostError {}

impl PostError {
    /// The buffer.
    pub fn into_buffer(self) -> Vec<u8> {
        match self {
            Self::WildcardExcluded(buffer) | Self::Stopped(buffer) => buffer,
        }
    }
}

/// Why a receive ended without a whole message.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RecvError {
    /// `MPI_ERR_TRUNCATE`: the message is longer than the buffer, which holds its beginning.
    Truncated {
        /// The full buffer and the status.
        received: Received,
        /// Bytes that were sent.
        sent: usize,
    },
    /// The receive was cancelled (`MPI_Test_cancelled`).
    Cancelled(
        /// The buffer.
        Vec<u8>,
    ),
    /// The communicator's hints exclude the wildcard (S24).
    WildcardExcluded(
        /// The buffer.
        Vec<u8>,
    ),
    /// The NIC has stopped; it keeps the buffer.
    Stopped,
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { received, sent } => write!(
                f,
                "the message has {sent} bytes, the buffer holds {}",
                received.status.bytes
            ),
            Self::Cancelled(_) => f.write_str("the receive was cancelled"),
            Self::WildcardExcluded(_) => f.write_str(WILDCARD_EXCLUDED),
            Self::Stopped => f.write_str(STOPPED),
        }
    }
}

impl std::error::Error for RecvError {}

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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum BusyReason {
    /// It has senders or persistent receives.
    Handles,
    /// It has receives that have not ended, or whose results were not collected.
    Receives(
        /// How many.
        usize,
    ),
    /// Unexpected messages are stored or in flight.
    Messages,
}

impl fmt::Display for BusyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handles => f.write_str("it still has senders or persistent receives"),
            Self::Receives(count) => write!(f, "it still has {count} receives"),
            Self::Messages => f.write_str("it still has messages that were not received"),
        }
    }
}

impl std::error::Error for BusyReason {}

/// Why a communicator was not freed.
#[derive(Debug)]
#[non_exhaustive]
pub enum FreeError<C = Communicator> {
    /// The communicator is in use.
    Busy {
        /// The communicator, still usable.
        comm: C,
        /// What keeps it.
        reason: BusyReason,
    },
    /// The NIC has stopped.
    Stopped,
}

impl<C> fmt::Display for FreeError<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { reason, .. } => write!(f, "the communicator cannot be freed: {reason}"),
            Self::Stopped => f.write_str(STOPPED),
        }
    }
}

impl<C: fmt::Debug> std::error::Error for FreeError<C> {}
