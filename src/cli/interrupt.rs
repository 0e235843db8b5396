//! Ctrl-C while something is being written that must not stay behind.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// While it lives, Ctrl-C and the like set a flag instead of ending the process; afterwards they end it
/// again.
#[derive(Debug)]
pub(super) struct Interrupt {
    wanted: Arc<AtomicBool>,
    /// Whether nothing has to be cleaned up any more.
    is_over: Arc<AtomicBool>,
}

impl Interrupt {
    /// Begins to catch them.
    pub(super) fn catch() -> io::Result<Self> {
        let this = Self { wanted: Arc::default(), is_over: Arc::default() };
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, Arc::clone(&this.is_over))?;
            flag::register(signal, Arc::clone(&this.wanted))?;
        }
        Ok(this)
    }

    /// Set when the user wants to stop.
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.wanted)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        // Relaxed: the flag says nothing about other memory.
        self.is_over.store(true, Ordering::Relaxed);
    }
}
