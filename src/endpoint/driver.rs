//! Which thread an endpoint is used by, so that a sender can tell that it waits for its own thread.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

thread_local! {
    /// Lies at a different place in every thread.
    static HERE: u8 = const { 0 };
}

/// The thread that last let an endpoint make progress. A hint: it orders nothing.
#[derive(Debug, Default)]
pub(super) struct Driver(AtomicUsize);

impl Driver {
    /// The calling thread uses the endpoint.
    #[inline]
    pub(super) fn note(&self) {
        let here = here();
        if self.0.load(Relaxed) != here {
            self.0.store(here, Relaxed);
        }
    }

    /// Whether the calling thread was the last to use it.
    pub(super) fn is_here(&self) -> bool {
        self.0.load(Relaxed) == here()
    }
}

#[inline]
fn here() -> usize {
    HERE.with(|here| ptr::from_ref(here).addr())
}
