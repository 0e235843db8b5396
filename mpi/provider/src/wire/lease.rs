//! When a process may use bytes that it has read from another process's memory.
//!
//! No process writes to the memory of another. It reads there (`process_vm_readv`) without asking
//! the owner, who may end the operation meanwhile and use the memory for something else. So the
//! reader checks afterwards what it has read, and the owner never waits for a reader, not even for
//! one that is stopped or killed in the middle.
//!
//! **Lease.** Each side of a connection has an *epoch* in the control line of the ring that it
//! receives from. The owner of the memory sets a new epoch before it gives the memory back to its
//! program: [`CLOSED`] when the connection ends, the next number when the program closes a region
//! that the peer may be reading. The reader takes the bytes only if the epoch is still the one
//! under which it was let in.
//!
//! **Orderings.** The owner stores the epoch (E), executes a fence (F), and returns to the program,
//! which stores to the memory (S). The reader loads the memory (L), executes a fence (G), and loads
//! the epoch (C). If L sees what S has stored, then F synchronizes with G, and C sees E or a later
//! epoch. So if C sees the old epoch, then L saw nothing that the program stored after the close.
//! The system call that executes L is no documented barrier, so G is needed. The models of
//! `loom_tests/tests/leases.rs` run this file.

use dpamatch_door::{AtomicU64, Ordering, fence, weak};

/// The epoch of a connection that is over.
pub(crate) const CLOSED: u64 = u64::MAX;

/// The epoch of one side, which only that side sets.
#[repr(C)]
pub(crate) struct Lease {
    epoch: AtomicU64,
}

impl Lease {
    /// One of a new connection. Shared memory begins with zeros, which are the same.
    #[cfg(dpamatch_loom)]
    pub(crate) fn new() -> Self {
        Self {
            epoch: AtomicU64::new(0),
        }
    }

    /// Sets a new epoch. No reader takes for data what this thread stores from now on.
    pub(crate) fn set(&self, epoch: u64) {
        // E and F.
        self.epoch.store(epoch, Ordering::Relaxed);
        fence(weak!(Release));
    }

    /// The epoch after all that this thread has loaded so far.
    pub(crate) fn epoch(&self) -> u64 {
        // G and C.
        fence(weak!(Acquire));
        self.epoch.load(Ordering::Relaxed)
    }
}
