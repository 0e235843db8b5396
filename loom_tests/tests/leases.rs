//! The provider's leases: a reader of another process's memory takes no byte that the owner's
//! program has stored after the close. The models run the provider's own source.
#![cfg(dpamatch_loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use loom_tests::check;

#[path = "../../mpi/provider/src/wire/lease.rs"]
mod lease;

use lease::{CLOSED, Lease};

/// Two words of the owner's memory, which the kernel copies and the program writes in no order, and
/// the lease.
struct Owner {
    lease: Lease,
    memory: [AtomicU64; 2],
    /// The epoch of a second grant, or 0.
    granted: AtomicU64,
}

impl Owner {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            lease: Lease::new(),
            memory: [AtomicU64::new(1), AtomicU64::new(1)],
            granted: AtomicU64::new(0),
        })
    }

    /// Ends the epoch, after which the program uses its memory again.
    fn close(&self, epoch: u64, content: u64) {
        self.lease.set(epoch);
        for word in &self.memory {
            word.store(content, Ordering::Relaxed);
        }
    }

    fn copy(&self) -> [u64; 2] {
        [0, 1].map(|at: usize| self.memory[at].load(Ordering::Relaxed))
    }

    /// What a reader with a grant of this epoch takes.
    fn read(&self, epoch: u64) -> Option<[u64; 2]> {
        let copied = self.copy();
        (self.lease.epoch() == epoch).then_some(copied)
    }
}

/// Runs the owner and a reader; gives the reader the owner.
fn race(owner: fn(&Owner), reader: fn(&Owner)) {
    let shared = Owner::new();
    let other = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || reader(&shared))
    };
    owner(&shared);
    other.join().expect("the reader ended");
}

#[test]
fn nothing_is_read_after_the_end_of_a_connection() {
    check("leases/connection", None, 10, || {
        race(
            |owner| owner.close(CLOSED, 2),
            |owner| assert!(matches!(owner.read(0), None | Some([1, 1]))),
        );
    });
}

#[test]
fn nothing_is_read_after_the_end_of_a_region() {
    check("leases/regions", None, 10, || {
        race(
            |owner| {
                owner.close(1, 2);
                owner.granted.store(1, Ordering::Release);
                owner.close(2, 3);
            },
            |owner| {
                assert!(matches!(owner.read(0), None | Some([1, 1])));
                if owner.granted.load(Ordering::Acquire) == 1 {
                    assert!(matches!(owner.read(1), None | Some([2, 2])));
                }
            },
        );
    });
}

#[test]
#[should_panic(expected = "new content")]
fn a_look_before_the_copy_is_not_enough() {
    check("leases/too_early", None, 2, || {
        race(
            |owner| owner.close(CLOSED, 2),
            |owner| {
                let open = owner.lease.epoch() == 0;
                let copied = owner.copy();
                assert!(!open || copied == [1, 1], "new content");
            },
        );
    });
}
