//! A thread that the system did not pin to its processor. The endpoint works without pinning, so
//! this is reported and is no error.

use std::fmt;

/// A worker that the system did not pin. It runs on any processor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PinFailure {
    /// Number of the worker.
    pub worker: usize,
    /// The processor it was meant for.
    pub processor: usize,
    /// The system's error message.
    pub reason: String,
}

impl fmt::Display for PinFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            worker,
            processor,
            reason,
        } = self;
        write!(
            f,
            "worker {worker} is not pinned to processor {processor}: {reason}"
        )
    }
}
