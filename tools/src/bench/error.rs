//! Errors of measurements.

use std::io;

use dpa_model::{ConfigError, FeedError};
use dpamatch::host::NicRunError;

use super::point::Peer;
use super::scenario::WINDOW_MAX;
use super::ucx::UcxError;

pub(super) const SIZE_MAX: usize = 1 << 26;
pub(super) const WINDOW_BYTES_MAX: usize = 1 << 29;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The NIC's configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The window has no messages or too many.
    #[error("a window has 1 to {WINDOW_MAX} messages, not {0}")]
    WindowSize(usize),
    /// The scenario does not apply to the peer ([`Peer::takes`]).
    #[error("{0} does not support this scenario")]
    NotTaken(Peer),
    /// The messages are too long.
    #[error("a message has at most {SIZE_MAX} bytes, a window at most {WINDOW_BYTES_MAX}")]
    MessageSize,
    /// A receive got the wrong message or wrong bytes.
    #[error(
        "receive {receive} did not get message {message} of the window: wrong order or wrong bytes"
    )]
    WrongMessage {
        receive: usize,
        /// The message that it should have got, in sending order.
        message: usize,
    },
    /// The NIC had no tables for the communicator.
    #[error("the communicator's bins do not fit on the NIC")]
    NoTables,
    /// A library cannot make an engine.
    #[error("engine {0}: the library cannot make one")]
    NoEngine(&'static str),
    /// The scenario uses a wildcard that the hints exclude.
    #[error("the scenario uses a wildcard that the communicator's hints exclude")]
    Hint,
    /// A recorded sequence failed.
    #[error(transparent)]
    Run(NicRunError),
    /// A receive ended without its message.
    #[error("a receive ended without its message")]
    LeftTheNic,
    /// UCX is unavailable or was not requested.
    #[error(transparent)]
    Ucx(#[from] UcxError),
    /// A thread could not be started.
    #[error("cannot start a thread")]
    Thread(#[from] io::Error),
    /// A thread panicked.
    #[error("a thread of the measurement panicked")]
    Panic,
    /// The receiver ended before the sender.
    #[error("no window was measured")]
    Nothing,
}

impl From<NicRunError> for BenchError {
    fn from(error: NicRunError) -> Self {
        match error {
            NicRunError::Config(error) => Self::Config(error),
            NicRunError::Thread(error) => Self::Thread(error),
            NicRunError::Feed(FeedError::Refused) => Self::Hint,
            other => Self::Run(other),
        }
    }
}
