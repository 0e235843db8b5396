//! Binding a thread to one processor. Never needed, so a refusal is only reported.

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

/// Binds the calling thread to a processor.
#[cfg(target_os = "linux")]
pub(super) fn pin_to(processor: usize) -> Result<(), String> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    if processor >= CpuSet::MAX_CPU {
        return Err(format!("processors are numbered below {}", CpuSet::MAX_CPU));
    }
    let mut only = CpuSet::new();
    only.set(processor);
    sched_setaffinity(None, &only).map_err(|error| error.to_string())
}

/// Binds the calling thread to a processor.
#[cfg(not(target_os = "linux"))]
pub(super) fn pin_to(_: usize) -> Result<(), String> {
    Err("pinning is not supported on this system".to_owned())
}
