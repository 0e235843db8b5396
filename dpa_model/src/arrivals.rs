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
//! **Nobody starves.** Where there are fewer buffers than entries, short messages could keep the queue
//! so full that a longer one never finds its buffer. So a sender that finds none notes how far the
//! queue was filled then; until the head has passed that point, short messages leave the entries
//! without a buffer alone, too. If the sender does not come back, that is all it costs.
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
    /// Until the head reaches this, short messages leave room for longer ones. A hint.
    reserved: CachePadded<AtomicU64>,
    /// Positions from the head on that have a bounce buffer of their own.
    with_buffer: i64,
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
            with_buffer: depth.min(bounce_buffers) as i64,
            reserved: CachePadded::new(AtomicU64::new(0)),
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

    /// Whether a message without a bounce buffer could be placed now. `seen_head` as in `claim`.
    pub(crate) fn look(&self, seen_head: &mut u64) -> Result<(), NotReady> {
        let tail = self.tail.load(Relaxed);
        if tail.wrapping_sub(*seen_head) as i64 >= self.with_buffer {
            self.look_again(tail, seen_head, false)?;
        }
        Ok(())
    }

    /// Takes the next position for this sender alone. `seen_head` is the sender's copy of the
    /// queue's head.
    #[inline(always)]
    pub(crate) fn claim(&self, seen_head: &mut u64, bounced: bool) -> Result<u64, NotReady> {
        let alone = self.senders.load(weak!(AloneRelaxed, Acquire)) == 1 || fault!(ClaimTorn);
        let mut tail = self.tail.load(Relaxed);
        loop {
            // `tail` may be older than the head; then the difference is negative, and the exchange
            // fails.
            if tail.wrapping_sub(*seen_head) as i64 >= self.with_buffer && !fault!(FullIgnored) {
                self.look_again(tail, seen_head, bounced)?;
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

    /// Whether position `tail` may be claimed although it is not surely among those with a bounce
    /// buffer of their own. Messages without one leave those alone while another sender waits for
    /// one.
    #[cold]
    fn look_again(&self, tail: u64, seen_head: &mut u64, bounced: bool) -> Result<(), NotReady> {
        let depth = self.ring.depth() as i64;
        let ahead = |head: u64| tail.wrapping_sub(head) as i64;
        let reserved = |head: u64| self.reserved.load(Relaxed) > head;
        if !bounced && ahead(*seen_head) < depth && !reserved(*seen_head) {
            return Ok(());
        }
        *seen_head = self.ring.head();
        let limit = if bounced || reserved(*seen_head) { self.with_buffer } else { depth };
        if ahead(*seen_head) < limit {
            return Ok(());
        }
        if bounced {
            self.reserved.store(tail, Relaxed);
        }
        let full = ahead(*seen_head) >= depth;
        Err(if full { NotReady::Queue } else { NotReady::BounceBuffer })
    }
}

#[cfg(all(test, not(any(dpamatch_loom, dpamatch_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn senders_and_claims_are_counted() {
        let arrivals = Arrivals::new(8, 3, 64);
        let senders = || arrivals.senders.load(Relaxed);
        assert_eq!(
            (senders(), arrivals.claimed()),
            (1, 0),
            "a queue is made with its first sender"
        );
        arrivals.join();
        arrivals.join();
        arrivals.leave();
        assert_eq!(senders(), 2);
        for claimed in 1..=3 {
            assert!(arrivals.claim(&mut 0, true).is_ok());
            assert_eq!(arrivals.claimed(), claimed);
        }
        arrivals.leave();
        assert!(arrivals.claim(&mut 0, false).is_ok());
        assert_eq!((senders(), arrivals.claimed()), (1, 4));
        let buffers = [0, 1, 2, 3, 4].map(|position| arrivals.bounce_buffer(position));
        assert_eq!(buffers, [0, 1, 2, 0, 1]);
    }

    #[test]
    fn a_look_says_what_a_claim_would() {
        let arrivals = Arrivals::new(8, 2, 64);
        for position in 0..8 {
            assert_eq!(arrivals.look(&mut 0), Ok(()), "{position}");
            assert_eq!(arrivals.claim(&mut 0, false), Ok(position));
        }
        assert_eq!(arrivals.look(&mut 0), Err(NotReady::Queue));
        arrivals.ring.release(1);
        assert_eq!(arrivals.look(&mut 0), Ok(()));
    }

    #[test]
    fn short_messages_leave_room_for_a_longer_one() {
        let arrivals = Arrivals::new(8, 2, 64);
        let (mut short, mut longer) = (0, 0);
        let mut claim =
            |bounced| arrivals.claim(if bounced { &mut longer } else { &mut short }, bounced);
        (0..8).for_each(|position| assert_eq!(claim(false), Ok(position)));
        assert_eq!(claim(true), Err(NotReady::Queue));
        for head in 1..7 {
            // As fast as the queue is emptied, a short message would take the place.
            arrivals.ring.release(head);
            assert_eq!(claim(false), Err(NotReady::BounceBuffer));
            assert_eq!(claim(true), Err(NotReady::BounceBuffer));
        }
        arrivals.ring.release(7);
        assert_eq!(claim(true), Ok(8));
        // The head has to pass what was there when a buffer was last missed; then all is free again.
        arrivals.ring.release(8);
        (9..16).for_each(|position| assert_eq!(claim(false), Ok(position)));
        assert_eq!(claim(false), Err(NotReady::Queue));
    }
}
