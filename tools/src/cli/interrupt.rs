//! Ctrl-C while something is being written that must not stay behind half.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The user wanted to stop while something was being written: exit code 130, as shells have it for
/// a process that the signal ended.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub(super) struct Interrupted;

/// Ctrl-C and the like end the process at once, but within [`shield`](Self::shield).
#[derive(Debug)]
pub(super) struct Interrupt {
    wanted: Arc<AtomicBool>,
    /// Whether there is nothing to clean up.
    may_end: Arc<AtomicBool>,
}

impl Interrupt {
    /// Begins to catch them: once in a process, which cannot take it back.
    pub(super) fn catch() -> io::Result<Self> {
        let this = Self { wanted: Arc::default(), may_end: Arc::new(AtomicBool::new(true)) };
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, Arc::clone(&this.may_end))?;
            flag::register(signal, Arc::clone(&this.wanted))?;
        }
        Ok(this)
    }

    /// Does work that must not end in its middle. It is given a flag that is set when the user
    /// wants to stop, and cleans up after itself; then the command stops, whatever the work says.
    ///
    /// # Errors
    /// [`Interrupted`], or the work's.
    pub(super) fn shield<T>(
        &self,
        work: impl FnOnce(&Arc<AtomicBool>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        // Relaxed: the flags say nothing about other memory.
        self.may_end.store(false, Ordering::Relaxed);
        let result = work(&self.wanted);
        self.may_end.store(true, Ordering::Relaxed);
        if self.wanted.load(Ordering::Relaxed) { Err(Interrupted.into()) } else { result }
    }
}
