//! The completion queue with its bounce buffers: where senders put messages and handlers find them
//! (O19, O20).
//!
//! Entry `p` owns bounce buffer `p mod bounce_buffers`, so a buffer needs no allocation: a message
//! that does not fit in its entry may be placed at `p` once entry `p - bounce_buffers` has been
//! consumed. A full queue or a buffer still in use is receiver-not-ready for the sender; nothing is
//! ever dropped (S21).
//!
//! **A single sender needs no read-modify-write.** `senders` counts them. A new one is only made by
//! borrowing an existing one, so while a sender that counts one is sending, there is no other. On
//! x86 a locked instruction would also wait until the entry before has left the store buffer, which
//! is most of a message's time between two processors.
//!
//! **Orderings.** `tail` is a counter only (Relaxed): a claim is safe because of the head that it
//! saw (see ring.rs). Bounce buffers travel under their entry's owner bit, and come back with
//! `head`.
//!
//! | writer | reader | publishes |
//! |---|---|---|
//! | `leave`: senders, Release | `claim`: Acquire | the leaver's last `tail`, to a sender that is now alone |

use crossbeam_utils::CachePadded;

use crate::buffers::Buffers;
use crate::message::Entry;
use crate::ring::Ring;
use crate::sync::{Acquire, AtomicU64, Relaxed, Release};

#[derive(Debug)]
pub(crate) struct Arrivals {
    pub(crate) ring: Ring<Entry>,
    pub(crate) bounce: Buffers,
    tail: CachePadded<AtomicU64>,
    senders: CachePadded<AtomicU64>,
}

/// Why a message cannot be placed now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotReady {
    Queue,
    BounceBuffer,
}

impl Arrivals {
    pub(crate) fn new(depth: usize, bounce_buffers: usize, eager_limit: usize) -> Self {
        Self {
            ring: Ring::new(depth),
            bounce: Buffers::new(bounce_buffers, eager_limit),
            tail: CachePadded::new(AtomicU64::new(0)),
            senders: CachePadded::new(AtomicU64::new(1)),
        }
    }

    /// One more sender, made from `&` of another.
    pub(crate) fn join(&self) {
        self.senders.fetch_add(1, Relaxed);
    }

    /// A sender has gone.
    pub(crate) fn leave(&self) {
        self.senders.fetch_sub(1, weak!(LeaveRelaxed, Release));
    }

    /// Positions claimed so far. Relaxed: whoever must know that a sender's last claim is counted
    /// orders itself after that sender.
    pub(crate) fn claimed(&self) -> u64 {
        self.tail.load(Relaxed)
    }

    /// The bounce buffer of an entry.
    #[inline(always)]
    pub(crate) fn bounce_buffer(&self, position: u64) -> usize {
        (position % self.bounce.count() as u64) as usize
    }

    /// Whether a message could be placed now. `seen_head` as in `claim`.
    pub(crate) fn has_room(&self, seen_head: &mut u64) -> bool {
        let tail = self.tail.load(Relaxed);
        let full = |head: u64| tail.wrapping_sub(head) as i64 >= self.ring.depth() as i64;
        if full(*seen_head) {
            *seen_head = self.ring.head();
        }
        !full(*seen_head)
    }

    /// Takes the next position for this sender alone. `seen_head` is the sender's copy of the
    /// queue's head.
    #[inline(always)]
    pub(crate) fn claim(&self, seen_head: &mut u64, bounced: bool) -> Result<u64, NotReady> {
        let depth = self.ring.depth();
        let limit = if bounced { depth.min(self.bounce.count() as u64) } else { depth };
        let alone = self.senders.load(weak!(AloneRelaxed, Acquire)) == 1 || fault!(ClaimTorn);
        let mut tail = self.tail.load(Relaxed);
        loop {
            // `tail` may be older than the head; then the difference is negative, and the exchange
            // fails.
            if tail.wrapping_sub(*seen_head) as i64 >= limit as i64 && !fault!(FullIgnored) {
                *seen_head = self.ring.head();
                if tail.wrapping_sub(*seen_head) as i64 >= limit as i64 {
                    let full = tail.wrapping_sub(*seen_head) as i64 >= depth as i64;
                    return Err(if full { NotReady::Queue } else { NotReady::BounceBuffer });
                }
            }
            if alone {
                self.tail.store(tail + 1, Relaxed);
                return Ok(tail);
            }
            match self.tail.compare_exchange_weak(tail, tail + 1, Relaxed, Relaxed) {
                Ok(_) => return Ok(tail),
                Err(newer) => tail = newer,
            }
        }
    }
}
