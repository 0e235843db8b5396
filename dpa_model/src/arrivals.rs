//! The completion queue with its bounce buffers: where senders put messages and handlers find them
//! (O19, O20).
//!
//! Entry `p` owns bounce buffer `p mod bounce_buffers`, so a buffer needs no allocation: a message
//! that does not fit in its entry may be placed at `p` once entry `p - bounce_buffers` has been
//! consumed. A full queue or a buffer still in use is receiver-not-ready for the sender; nothing is
//! ever dropped (S21).
//!
//! **A single sender needs no read-modify-write.** `senders` counts them. A new one is only made by
//! borrowing an existing one, so while a sender that counts one is sending, there is no other. Then
//! it counts positions by itself ([`Claims`]), and stores `tail` when somebody else may need it: when
//! a sender is made from it, when it goes, and now and then for those who look how full the queue
//! is. On x86 a locked instruction would wait until the entry before has left the store buffer, and
//! even a plain store to another line between two entries costs as much as half an entry.
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
//! | `leave`: senders, Release | `claim`: Acquire | the leaver's `tail`, to a sender that is now alone |

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
    /// How many senders there are, and above [`ERA`] how often one came or went: so one that is
    /// alone again knows that it was not all the time.
    senders: CachePadded<AtomicU64>,
    /// Until the head reaches this, short messages leave room for longer ones. A hint.
    reserved: CachePadded<AtomicU64>,
    /// Positions from the head on that have a bounce buffer of their own.
    with_buffer: u64,
}

/// What one sender knows of the queue.
#[derive(Clone, Debug)]
pub(crate) struct Claims {
    /// Positions below have a bounce buffer of their own, by the queue's head as last seen.
    end: u64,
    /// The next position, as long as this sender is alone.
    tail: u64,
    /// What `senders` was when this sender found itself alone; 0 if it was not.
    era: u64,
}

const ERA: u64 = 1 << 20;

/// How many positions a single sender claims before it stores `tail`.
const STORE_EVERY: u64 = 32;

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
            with_buffer: depth.min(bounce_buffers) as u64,
            reserved: CachePadded::new(AtomicU64::new(0)),
        }
    }

    /// The claims of the first sender.
    pub(crate) fn first(&self) -> Claims {
        Claims { end: self.with_buffer, tail: 0, era: 0 }
    }

    /// One more sender, made from `&` of the one with these claims.
    pub(crate) fn join(&self, of: &Claims) -> Claims {
        self.store_tail(of);
        self.senders.fetch_add(ERA + 1, Relaxed);
        Claims { era: 0, ..*of }
    }

    /// The sender with these claims has gone.
    pub(crate) fn leave(&self, claims: &Claims) {
        self.store_tail(claims);
        self.senders.fetch_add(ERA - 1, weak!(LeaveRelaxed, Release));
    }

    /// Counts for all what this sender claimed while it was alone. `tail` only grows: another thread
    /// may have made a sender from the same one meanwhile, which has claimed more.
    fn store_tail(&self, claims: &Claims) {
        let mut tail = self.tail.load(Relaxed);
        while tail < claims.tail && !fault!(TailKept) {
            match self.tail.compare_exchange_weak(tail, claims.tail, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(newer) => tail = newer,
            }
        }
    }

    /// Positions claimed so far; up to [`STORE_EVERY`] less while a single sender lives. Relaxed:
    /// whoever must know that a sender's last claim is counted orders itself after its end.
    pub(crate) fn claimed(&self) -> u64 {
        self.tail.load(Relaxed)
    }

    /// The bounce buffer of an entry.
    #[inline(always)]
    pub(crate) fn bounce_buffer(&self, position: u64) -> usize {
        (position % self.bounce.count() as u64) as usize
    }

    /// Whether a message without a bounce buffer could be placed now.
    pub(crate) fn look(&self, claims: &mut Claims) -> Result<(), NotReady> {
        self.count(claims);
        if claims.tail < claims.end { Ok(()) } else { self.look_again(claims, false) }
    }

    /// Takes the next position for this sender.
    #[inline(always)]
    pub(crate) fn claim(&self, claims: &mut Claims, bounced: bool) -> Result<u64, NotReady> {
        let position = claims.tail;
        let alone = self.senders.load(weak!(AloneRelaxed, Acquire)) == claims.era;
        if !alone || position >= claims.end {
            return self.claim_anew(claims, bounced);
        }
        claims.tail = position + 1;
        if position.is_multiple_of(STORE_EVERY) {
            self.tail.store(claims.tail, Relaxed);
        }
        Ok(position)
    }

    /// The same with other senders, for the first time without, or where no bounce buffer is sure.
    #[inline(never)]
    fn claim_anew(&self, claims: &mut Claims, bounced: bool) -> Result<u64, NotReady> {
        self.count(claims);
        loop {
            if claims.tail >= claims.end && !fault!(FullIgnored) {
                self.look_again(claims, bounced)?;
            }
            let position = claims.tail;
            claims.tail += 1;
            if claims.era != 0 {
                self.tail.store(claims.tail, Relaxed);
                return Ok(position);
            }
            // `tail` may be older than the head; then the exchange fails.
            match self.tail.compare_exchange_weak(position, claims.tail, Relaxed, Relaxed) {
                Ok(_) => return Ok(position),
                Err(newer) => claims.tail = newer,
            }
        }
    }

    /// Finds out whether this sender is alone, and the next position unless it counts by itself.
    fn count(&self, claims: &mut Claims) {
        let senders = self.senders.load(weak!(AloneRelaxed, Acquire));
        if senders != claims.era {
            claims.tail = self.tail.load(Relaxed);
        }
        let alone = senders % ERA == 1 || fault!(ClaimTorn);
        claims.era = if alone { senders } else { 0 };
    }

    /// Whether the next position may be claimed although it is not surely among those with a bounce
    /// buffer of their own. Messages without one leave those alone while another sender waits for
    /// one.
    #[cold]
    fn look_again(&self, claims: &mut Claims, bounced: bool) -> Result<(), NotReady> {
        let (tail, depth) = (claims.tail, self.ring.depth());
        // A tail older than the head is below any limit.
        let full = |head: u64| tail >= head + depth;
        let reserved = |head: u64| self.reserved.load(Relaxed) > head;
        let seen = claims.end.saturating_sub(self.with_buffer);
        if !bounced && !full(seen) && !reserved(seen) {
            return Ok(());
        }
        let head = self.ring.head();
        claims.end = head + self.with_buffer;
        let short = if bounced || reserved(head) { tail >= claims.end } else { full(head) };
        if !short {
            return Ok(());
        }
        if bounced {
            self.reserved.store(tail, Relaxed);
        }
        Err(if full(head) { NotReady::Queue } else { NotReady::BounceBuffer })
    }
}

#[cfg(all(test, not(any(dpamatch_loom, dpamatch_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn senders_and_claims_are_counted() {
        let arrivals = Arrivals::new(8, 8, 64);
        let senders = || arrivals.senders.load(Relaxed) % ERA;
        assert_eq!(
            (senders(), arrivals.claimed()),
            (1, 0),
            "a queue is made with its first sender"
        );
        let mut first = arrivals.first();
        let mut second = arrivals.join(&first);
        let third = arrivals.join(&first);
        arrivals.leave(&third);
        assert_eq!(senders(), 2);
        for claimed in 1..=3 {
            assert!(arrivals.claim(&mut second, true).is_ok());
            assert_eq!(arrivals.claimed(), claimed);
        }
        arrivals.leave(&second);
        assert_eq!(senders(), 1);
        // Alone it counts by itself, and tells when somebody else comes or it goes.
        assert_eq!([3, 4].map(|_| arrivals.claim(&mut first, false)), [Ok(3), Ok(4)]);
        assert_eq!(arrivals.claimed(), 4);
        let mut fourth = arrivals.join(&first);
        assert_eq!(arrivals.claimed(), 5);
        assert_eq!(arrivals.claim(&mut fourth, false), Ok(5));
        assert_eq!(arrivals.claim(&mut first, false), Ok(6));
        arrivals.leave(&fourth);
        assert_eq!(arrivals.claim(&mut first, false), Ok(7));
        arrivals.leave(&first);
        assert_eq!((senders(), arrivals.claimed()), (0, 8));
        let few = Arrivals::new(8, 3, 64);
        let buffers = [0, 1, 2, 3, 4].map(|position| few.bounce_buffer(position));
        assert_eq!(buffers, [0, 1, 2, 0, 1]);
    }

    #[test]
    fn a_look_says_what_a_claim_would() {
        let arrivals = Arrivals::new(8, 2, 64);
        let mut claims = arrivals.first();
        for position in 0..8 {
            assert_eq!(arrivals.look(&mut claims), Ok(()), "{position}");
            assert_eq!(arrivals.claim(&mut claims, false), Ok(position));
        }
        assert_eq!(arrivals.look(&mut claims), Err(NotReady::Queue));
        arrivals.ring.release(1);
        assert_eq!(arrivals.look(&mut claims), Ok(()));
    }

    #[test]
    fn short_messages_leave_room_for_a_longer_one() {
        let arrivals = Arrivals::new(8, 2, 64);
        let mut short = arrivals.first();
        let mut longer = arrivals.join(&short);
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
