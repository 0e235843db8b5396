//! The thread that drives an endpoint. A sender on that thread must not wait for the NIC.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

thread_local! {
    /// The thread's number, which no other thread ever has; 0 until it is first needed.
    static HERE: Cell<u64> = const { Cell::new(0) };
}

/// The thread that last let an endpoint make progress, or 0. A hint: it orders nothing.
#[derive(Debug, Default)]
pub(super) struct Driver(AtomicU64);

// ordering: a hint, see above.
impl Driver {
    /// Records that the calling thread uses the endpoint.
    #[inline]
    pub(super) fn note(&self) {
        let here = here();
        if self.0.load(Relaxed) != here {
            self.0.store(here, Relaxed);
        }
    }

    /// Whether the calling thread was the last to use the endpoint.
    pub(super) fn is_here(&self) -> bool {
        self.0.load(Relaxed) == here()
    }
}

#[inline]
fn here() -> u64 {
    match HERE.get() {
        0 => number(),
        here => here,
    }
}

/// Numbers the calling thread.
#[cold]
fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    // ordering: only the numbers differ, and no memory goes with them.
    HERE.set(NEXT.fetch_add(1, Relaxed));
    HERE.get()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Later threads have the memory, and so the addresses, of earlier ones.
    #[test]
    fn a_thread_is_not_taken_for_one_that_has_ended() {
        let driver = Driver::default();
        thread::scope(|scope| {
            assert!(!driver.is_here(), "no thread has used it");
            let join = |ended: thread::ScopedJoinHandle<'_, bool>| ended.join().expect("no panic");
            let first = scope.spawn(|| {
                driver.note();
                driver.is_here()
            });
            assert!(join(first));
            for later in 0..8 {
                assert!(
                    !join(scope.spawn(|| driver.is_here())),
                    "later thread {later}"
                );
            }
        });
    }
}
