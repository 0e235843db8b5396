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
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("a window has 1 to {WINDOW_MAX} messages, not {0}")]
    WindowSize(usize),
    #[error("{0} does not support this scenario")]
    NotTaken(Peer),
    #[error("a message has at most {SIZE_MAX} bytes, a window at most {WINDOW_BYTES_MAX}")]
    MessageSize,
    #[error(
        "receive {receive} did not get message {message} of the window: wrong order or wrong bytes"
    )]
    WrongMessage {
        receive: usize,
        /// The message that it should have got, in sending order.
        message: usize,
    },
    #[error("the communicator's bins do not fit on the NIC")]
    NoTables,
    #[error("engine {0}: the library cannot make one")]
    NoEngine(&'static str),
    #[error("the scenario uses a wildcard that the communicator's hints exclude")]
    Hint,
    #[error(transparent)]
    Run(NicRunError),
    #[error("a receive ended without its message")]
    LeftTheNic,
    #[error(transparent)]
    Ucx(#[from] UcxError),
    #[error("cannot start a thread")]
    Thread(#[from] io::Error),
    #[error("one thread has both ends, and the queue between them does not hold a window")]
    QueueFull,
    #[error("a thread of the measurement panicked")]
    Panic,
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
