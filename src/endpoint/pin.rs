//! A thread that could not be bound to its processor. Pinning is never needed, so a refusal is only
//! reported.

use std::fmt;

/// A worker that could not be pinned; it runs wherever the system puts it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PinFailure {
    /// Which worker.
    pub worker: usize,
    /// The processor it was meant for.
    pub processor: usize,
    /// What the system says.
    pub reason: String,
}

impl fmt::Display for PinFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worker, processor, reason } = self;
        write!(f, "worker {worker} is not pinned to processor {processor}: {reason}")
    }
}
