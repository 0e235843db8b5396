//! One completion queue with its bounce buffers: where senders put messages and handlers find them
//! (O19, O20).
//!
//! Entry `p` owns bounce buffer `p mod bounce_buffers`, so a buffer needs no allocation: a message
//! that does not fit in its entry may be placed at `p` once entry `p - bounce_buffers` has been
//! consumed. A full queue or a buffer still in use is receiver-not-ready for the sender; nothing is
//! ever dropped (S21).
//!
//! **A sender with a queue of its own needs no read-modify-write.** It counts positions by itself
//! ([`Claims`]), and stores `tail` now and then for those who look how full the queue is, and when
//! it leaves. On x86 a locked instruction would wait until the entry before has left the store
//! buffer, and even a plain store to another line between two entries costs as much as half an
//! entry. Senders that share a queue claim by compare-and-exchange.
//!
//! **Nobody starves.** Where there are fewer buffers than entries, short messages could keep the
//! queue so full that a longer one never finds its buffer. So a sender that finds none notes how
//! far the queue was filled then; until the head has passed that point, short messages leave the
//! entries without a buffer alone, too: from their next look at the head on, which comes after a
//! queue's length at most. If the sender does not come back, that is all it costs.
//!
//! **Orderings.** `tail` is a counter only (Relaxed): a claim is safe because of the head that it
//! saw (see ring.rs), and a queue changes hands as arrivals.rs says. Bounce buffers travel under
//! their entry's owner bit, and come back with `head`.

use crossbeam_utils::CachePadded;

use crate::buffers::Buffers;
use crate::message::Entry;
use crate::ring::Ring;
use crate::sync::{AtomicU64, Relaxed};

#[derive(Debug)]
pub(crate) struct CompletionQueue {
    pub(crate) ring: Ring<Entry>,
    pub(crate) bounce: Buffers,
    tail: CachePadded<AtomicU64>,
    /// Until the head reaches this, short messages leave room for longer ones. A hint.
    reserved: CachePadded<AtomicU64>,
    /// Positions from the head on that have a bounce buffer of their own.
    with_buffer: u64,
    /// Several senders may fill it.
    shared: bool,
}

/// What one sender knows of its queue.
#[derive(Debug)]
pub(crate) struct Claims {
    /// The next position; in a shared queue as last seen.
    tail: u64,
    /// The queue's head as last seen.
    head: u64,
    /// Positions below need no look, and `tail` is not stored at them: for a message in its entry,
    /// for one with a bounce buffer. 0 in a shared queue.
    sure: [u64; 2],
}

impl Claims {
    /// The next position for a message in its entry, where that needs no look at the queue.
    #[inline(always)]
    pub(crate) fn next_sure(&mut self) -> Option<u64> {
        let position = self.tail;
        (position < self.sure[0]).then(|| {
            self.tail = position + 1;
            position
        })
    }
}

/// How many positions a sender claims in its own queue before it stores `tail`.
const STORE_EVERY: u64 = 64;

/// Why a message cannot be placed now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotReady {
    Queue,
    BounceBuffer,
}

impl CompletionQueue {
    pub(crate) fn new(
        depth: usize,
        bounce_buffers: usize,
        eager_limit: usize,
        shared: bool,
    ) -> Self {
        Self {
            ring: Ring::new(depth),
            bounce: Buffers::new(bounce_buffers, eager_limit),
            tail: CachePadded::new(AtomicU64::new(0)),
            reserved: CachePadded::new(AtomicU64::new(0)),
            with_buffer: depth.min(bounce_buffers) as u64,
            shared,
        }
    }

    /// What a sender knows that begins to fill this queue.
    pub(crate) fn claims(&self) -> Claims {
        Claims { tail: self.tail.load(Relaxed), head: 0, sure: [0; 2] }
    }

    /// The sender with these claims fills the queue no more.
    pub(crate) fn leave(&self, claims: &Claims) {
        if !self.shared && !fault!(TailKept) {
            self.tail.store(claims.tail, Relaxed);
        }
    }

    /// Positions claimed so far; up to [`STORE_EVERY`] less where a sender has the queue for
    /// itself. Relaxed: whoever must know that a sender's last claim is counted orders itself after
    /// its end.
    pub(crate) fn claimed(&self) -> u64 {
        self.tail.load(Relaxed)
    }

    /// Messages put on their way, as far as [`claimed`](Self::claimed) and the head tell, and how
    /// many of them are dealt with.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let dealt_with = self.ring.head();
        (self.claimed().max(dealt_with), dealt_with)
    }

    /// Whether no message waits.
    pub(crate) fn is_empty(&self) -> bool {
        let (claimed, dealt_with) = self.counts();
        // What is not counted yet shows in the entries.
        let waits = self.ring.stamp_if_ready(dealt_with).is_some();
        claimed == dealt_with && !waits && self.ring.head() == dealt_with
    }

    /// The bounce buffer of an entry.
    #[inline(always)]
    pub(crate) fn bounce_buffer(&self, position: u64) -> usize {
        (position % self.bounce.count() as u64) as usize
    }

    /// Whether a message without a bounce buffer could be placed now.
    pub(crate) fn look(&self, claims: &mut Claims) -> Result<(), NotReady> {
        self.see_tail(claims);
        self.check(claims, false)
    }

    /// Takes the next position for this sender.
    #[inline(always)]
    pub(crate) fn claim(&self, claims: &mut Claims, bounced: bool) -> Result<u64, NotReady> {
        let position = claims.tail;
        if position >= claims.sure[usize::from(bounced)] {
            return self.claim_anew(claims, bounced);
        }
        claims.tail = position + 1;
        Ok(position)
    }

    /// The same with other senders, or where it is not sure that there is room.
    #[inline(never)]
    fn claim_anew(&self, claims: &mut Claims, bounced: bool) -> Result<u64, NotReady> {
        self.see_tail(claims);
        loop {
            if !fault!(FullIgnored) {
                self.check(claims, bounced)?;
            }
            let position = claims.tail;
            claims.tail += 1;
            if !self.shared || fault!(ClaimTorn) {
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

    /// Finds out the next position, unless the sender counts by itself.
    fn see_tail(&self, claims: &mut Claims) {
        if self.shared {
            claims.tail = self.tail.load(Relaxed);
        }
    }

    /// Whether the next position may be claimed now.
    fn check(&self, claims: &mut Claims, bounced: bool) -> Result<(), NotReady> {
        if self.allows(claims, bounced) {
            return Ok(());
        }
        claims.head = self.ring.head();
        if self.allows(claims, bounced) {
            return Ok(());
        }
        if bounced {
            self.reserved.store(claims.tail, Relaxed);
            claims.sure[0] = claims.sure[1];
        }
        let full = claims.tail >= claims.head + self.ring.depth();
        Err(if full { NotReady::Queue } else { NotReady::BounceBuffer })
    }

    /// The same as far as the head was seen: a tail older than that is below any limit. Messages
    /// without a bounce buffer leave the entries without one alone while another waits for one.
    fn allows(&self, claims: &mut Claims, bounced: bool) -> bool {
        let with_buffer = claims.head + self.with_buffer;
        let reserved = self.reserved.load(Relaxed) > claims.head;
        let short = if reserved { with_buffer } else { claims.head + self.ring.depth() };
        if !self.shared {
            let stored = (claims.tail + 1).next_multiple_of(STORE_EVERY);
            let limits = [short + u64::from(fault!(SureTooFar)), with_buffer];
            claims.sure = limits.map(|limit| limit.min(stored));
        }
        claims.tail < if bounced { with_buffer } else { short }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(depth: usize, bounce_buffers: usize, shared: bool) -> CompletionQueue {
        CompletionQueue::new(depth, bounce_buffers, 64, shared)
    }

    #[test]
    fn buffers_are_used_in_turn() {
        let few = queue(8, 3, true);
        let buffers = [0, 1, 2, 3, 4].map(|position| few.bounce_buffer(position));
        assert_eq!(buffers, [0, 1, 2, 0, 1]);
    }

    #[test]
    fn an_own_queue_is_counted_by_its_sender() {
        let queue = queue(128, 128, false);
        let mut claims = queue.claims();
        for position in 0..80 {
            assert_eq!(queue.claim(&mut claims, position % 2 == 0), Ok(position));
        }
        assert_eq!(queue.claimed(), 65, "told by the first of each {STORE_EVERY}");
        queue.leave(&claims);
        assert_eq!(queue.claimed(), 80);
        assert_eq!(queue.claim(&mut queue.claims(), false), Ok(80));
    }

    #[test]
    fn senders_of_a_shared_queue_see_each_other() {
        let queue = queue(8, 8, true);
        let mut senders = [queue.claims(), queue.claims()];
        for position in 0..8 {
            assert_eq!(queue.claim(&mut senders[position as usize / 3 % 2], true), Ok(position));
            assert_eq!(queue.claimed(), position + 1);
        }
        assert_eq!(queue.claim(&mut senders[0], false), Err(NotReady::Queue));
    }

    #[test]
    fn a_look_says_what_a_claim_would() {
        for shared in [false, true] {
            let queue = queue(8, 2, shared);
            let mut claims = queue.claims();
            for position in 0..8 {
                assert_eq!(queue.look(&mut claims), Ok(()), "{position}");
                assert_eq!(queue.claim(&mut claims, false), Ok(position));
            }
            assert_eq!(queue.look(&mut claims), Err(NotReady::Queue));
            queue.ring.release(1);
            assert_eq!(queue.look(&mut claims), Ok(()));
        }
    }

    /// Short messages keep a queue with two buffers full, one longer message waits; with one sender
    /// for both or one for each.
    #[test]
    fn short_messages_leave_room_for_a_longer_one() {
        for shared in [false, true] {
            let queue = queue(8, 2, shared);
            let mut senders = [queue.claims(), queue.claims()];
            let mut claim =
                |bounced| queue.claim(&mut senders[usize::from(bounced && shared)], bounced);
            (0..8).for_each(|position| assert_eq!(claim(false), Ok(position)));
            assert_eq!(claim(true), Err(NotReady::Queue));
            for head in 1..7 {
                // As fast as the queue is emptied, a short message would take the place.
                queue.ring.release(head);
                assert_eq!(claim(false), Err(NotReady::BounceBuffer));
                assert_eq!(claim(true), Err(NotReady::BounceBuffer));
            }
            queue.ring.release(7);
            assert_eq!(claim(true), Ok(8));
            // The head has to pass what was there when a buffer was last missed; then all is free
            // again.
            queue.ring.release(8);
            (9..16).for_each(|position| assert_eq!(claim(false), Ok(position)));
            assert_eq!(claim(false), Err(NotReady::Queue));
        }
    }

    /// What a short message may do without a look is taken back when a longer one fails.
    #[test]
    fn a_longer_message_that_fails_stops_the_sender_of_both() {
        let queue = queue(8, 2, false);
        let mut claims = queue.claims();
        (0..4).for_each(|position| assert_eq!(queue.claim(&mut claims, false), Ok(position)));
        assert_eq!(queue.claim(&mut claims, true), Err(NotReady::BounceBuffer));
        assert_eq!(queue.claim(&mut claims, false), Err(NotReady::BounceBuffer));
        queue.ring.release(4);
        assert_eq!(queue.claim(&mut claims, false), Ok(4));
    }
}
