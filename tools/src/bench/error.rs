//! Why a point cannot be measured.

use std::io;

use dpa_model::{ConfigError, FeedError};
use dpamatch::host::NicRunError;

use super::point::Peer;
use super::scenario::WINDOW_MAX;
use super::ucx::UcxError;

/// Longest message.
pub(super) const SIZE_MAX: usize = 1 << 26;
/// Most bytes of a window.
pub(super) const WINDOW_BYTES_MAX: usize = 1 << 29;

/// Why a point cannot be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// No NIC can be built like this.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The window has no or too many messages.
    #[error("a window has 1 to {WINDOW_MAX} messages, not {0}")]
    WindowSize(usize),
    /// The scenario makes no sense for the peer ([`Peer::takes`]).
    #[error("{0} cannot do this scenario")]
    NotTaken(Peer),
    /// The messages are too long.
    #[error(
        "a message has at most {SIZE_MAX} bytes, all messages of a window together at most {WINDOW_BYTES_MAX}"
    )]
    MessageSize,
    /// A receive got another message than the order demands, or wrong bytes.
    #[error(
        "receive {receive} did not get message {message} of the window: wrong order or wrong bytes"
    )]
    WrongMessage {
        /// Which receive, in the order of posting.
        receive: usize,
        /// What it had to get, in the order of sending.
        message: usize,
    },
    /// The communicator got no tables.
    #[error("the communicator's bins do not fit on the NIC")]
    NoTables,
    /// The scenario uses a wildcard that the hints exclude.
    #[error("the scenario uses a wildcard that the communicator's hints exclude")]
    Hint,
    /// A recorded sequence could not be run.
    #[error(transparent)]
    Run(NicRunError),
    /// A receive or message was sent on to software.
    #[error("a receive or message did not fit on the NIC and went to software matching")]
    LeftTheNic,
    /// UCX cannot be measured, or was not looked for.
    #[error(transparent)]
    Ucx(#[from] UcxError),
    /// A thread cannot be started.
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
