//! One completion queue with its bounce buffers: senders put messages in, handlers read them (O19,
//! O20).
//!
//! Entry `p` owns bounce buffer `p mod min(bounce_buffers, depth)`, so a buffer needs no
//! allocation: a message that does not fit in its entry may be placed at `p` once the entry that
//! had the buffer before has been consumed. A full queue or a buffer still in use makes the
//! receiver not ready for the sender; no message is ever dropped (S21).
//!
//! **A sender with its own queue needs no read-modify-write.** It counts positions by itself
//! ([`Claims`]). It stores `tail` now and then, for readers of the queue's fill level, and when it
//! leaves. On x86 a locked instruction would wait until the previous entry has left the store
//! buffer; even a plain store to another line between two entries costs as much as half an entry.
//! Senders that share a queue claim by compare-and-exchange.
//!
//! **No sender starves.** With fewer buffers than entries, short messages could keep the queue so
//! full that a longer one never finds its buffer. So a sender that finds none records how far the
//! queue was filled then. Until the head has passed that point, short messages leave the entries
//! without a buffer alone, too. They do so from their next load of the head on, which comes after
//! at most a queue's length. If the sender does not come back, this costs nothing more.
//!
//! **Orderings.** `tail` is only a counter (Relaxed): the head that a claim saw makes it safe (see
//! ring.rs), and arrivals.rs orders a queue's change of owner. Bounce buffers travel under their
//! entry's owner bit, and come back with `head`.

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
    /// Positions from the head on that have their own bounce buffer.
    with_buffer: u64,
    /// A position's bits that name its bounce buffer; 0 if only a division finds it.
    buffer_bits: u64,
    /// Whether several senders may fill the queue.
    shared: bool,
}

/// A sender's local view of its queue.
#[derive(Debug)]
pub(crate) struct Claims {
    /// The next position; in a shared queue, as last seen.
    tail: u64,
    /// The queue's head as last seen.
    head: u64,
    /// Positions below need no check, and `tail` is not stored at them: for a message in its entry,
    /// for a message with a bounce buffer. 0 in a shared queue.
    checked_below: [u64; 2],
}

impl Claims {
    /// The next position for a message in its entry, or with a bounce buffer, if it needs no check
    /// of the queue.
    #[inline]
    pub(crate) fn next_checked(&mut self, bounced: bool) -> Option<u64> {
        let position = self.tail;
        (position < self.checked_below[usize::from(bounced)]).then(|| {
            self.tail = position + 1;
            position
        })
    }
}

/// Positions that a sender claims in its own queue between two stores of `tail`.
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
        let with_buffer = depth.min(bounce_buffers) as u64;
        Self {
            ring: Ring::new(depth),
            bounce: Buffers::new(bounce_buffers, eager_limit),
            tail: CachePadded::new(AtomicU64::new(0)),
            reserved: CachePadded::new(AtomicU64::new(0)),
            with_buffer,
            buffer_bits: if with_buffer.is_power_of_two() {
                with_buffer - 1
            } else {
                0
            },
            shared,
        }
    }

    /// The claims of a sender that begins to fill this queue.
    pub(crate) fn claims(&self) -> Claims {
        Claims {
            tail: self.tail.load(Relaxed),
            head: 0,
            checked_below: [0; 2],
        }
    }

    /// Ends the claims of a sender that leaves this queue.
    pub(crate) fn leave(&self, claims: &Claims) {
        if !self.shared && !fault!(TailKept) {
            self.tail.store(claims.tail, Relaxed);
        }
    }

    /// Positions claimed so far; up to [`STORE_EVERY`] too few if one sender owns the queue.
    /// Relaxed: a caller that needs a sender's last claim must order itself after that sender's
    /// end.
    pub(crate) fn claimed(&self) -> u64 {
        self.tail.load(Relaxed)
    }

    /// Messages sent and messages consumed, as far as [`claimed`](Self::claimed) and the head show.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let dealt_with = self.ring.head();
        (self.claimed().max(dealt_with), dealt_with)
    }

    /// Whether no message waits in the queue.
    pub(crate) fn is_empty(&self) -> bool {
        let (claimed, dealt_with) = self.counts();
        // Uncounted claims show in the entries.
        let waits = self.ring.stamp_if_ready(dealt_with).is_some();
        claimed == dealt_with && !waits && self.ring.head() == dealt_with
    }

    #[inline]
    pub(crate) fn bounce_buffer(&self, position: u64) -> usize {
        match self.buffer_bits {
            0 => (position % self.with_buffer) as usize,
            bits => (position & bits) as usize,
        }
    }

    /// Whether a message without a bounce buffer could be placed now.
    pub(crate) fn check_room(&self, claims: &mut Claims) -> Result<(), NotReady> {
        self.refresh_tail(claims);
        self.check(claims, false)
    }

    /// Claims the next position for this sender.
    #[inline]
    pub(crate) fn claim(&self, claims: &mut Claims, bounced: bool) -> Result<u64, NotReady> {
        match claims.next_checked(bounced) {
            Some(position) => Ok(position),
            None => self.claim_anew(claims, bounced),
        }
    }

    /// Claims by compare-and-exchange in a shared queue, or after a check for room in an own one.
    #[inline(never)]
    fn claim_anew(&self, claims: &mut Claims, bounced: bool) -> Result<u64, NotReady> {
        self.refresh_tail(claims);
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
            match self
                .tail
                .compare_exchange_weak(position, claims.tail, Relaxed, Relaxed)
            {
                Ok(_) => return Ok(position),
                Err(newer) => claims.tail = newer,
            }
        }
    }

    /// Loads the next position, unless the sender counts its own positions.
    fn refresh_tail(&self, claims: &mut Claims) {
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
            claims.checked_below[0] = claims.checked_below[1];
        }
        let full = claims.tail >= claims.head + self.ring.depth();
        Err(if full {
            NotReady::Queue
        } else {
            NotReady::BounceBuffer
        })
    }

    /// Whether the last seen head allows the next position; a tail older than it is below any
    /// limit. While a longer message waits for a bounce buffer, short ones leave the entries
    /// without one alone.
    fn allows(&self, claims: &mut Claims, bounced: bool) -> bool {
        let with_buffer = claims.head + self.with_buffer;
        let reserved = self.reserved.load(Relaxed) > claims.head;
        let short = if reserved {
            with_buffer
        } else {
            claims.head + self.ring.depth()
        };
        if !self.shared {
            let stored = (claims.tail + 1).next_multiple_of(STORE_EVERY);
            let limits = [short + u64::from(fault!(SureTooFar)), with_buffer];
            claims.checked_below = limits.map(|limit| limit.min(stored));
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
        for (buffers, expected) in [
            (1, [0, 0, 0, 0, 0, 0]),
            (3, [0, 1, 2, 0, 1, 1]),
            (4, [0, 1, 2, 3, 0, 1]),
            (8, [0, 1, 2, 3, 4, 1]),
            (9, [0, 1, 2, 3, 4, 1]),
        ] {
            let few = queue(8, buffers, true);
            let used = [0, 1, 2, 3, 4, 25].map(|position| few.bounce_buffer(position));
            assert_eq!(used, expected, "{buffers}");
        }
    }

    #[test]
    fn an_own_queue_is_counted_by_its_sender() {
        let queue = queue(128, 128, false);
        let mut claims = queue.claims();
        for position in 0..80 {
            assert_eq!(queue.claim(&mut claims, position % 2 == 0), Ok(position));
        }
        assert_eq!(
            queue.claimed(),
            65,
            "told by the first of each {STORE_EVERY}"
        );
        queue.leave(&claims);
        assert_eq!(queue.claimed(), 80);
        assert_eq!(queue.claim(&mut queue.claims(), false), Ok(80));
    }

    #[test]
    fn senders_of_a_shared_queue_see_each_other() {
        let queue = queue(8, 8, true);
        let mut senders = [queue.claims(), queue.claims()];
        for position in 0..8 {
            assert_eq!(
                queue.claim(&mut senders[position as usize / 3 % 2], true),
                Ok(position)
            );
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
                assert_eq!(queue.check_room(&mut claims), Ok(()), "{position}");
                assert_eq!(queue.claim(&mut claims, false), Ok(position));
            }
            assert_eq!(queue.check_room(&mut claims), Err(NotReady::Queue));
            queue.ring.release(1);
            assert_eq!(queue.check_room(&mut claims), Ok(()));
        }
    }

    /// Short messages keep a queue with two buffers full while one longer message waits, with one
    /// sender for both and with one for each.
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
                // A short message would take the place as fast as the queue is emptied.
                queue.ring.release(head);
                assert_eq!(claim(false), Err(NotReady::BounceBuffer));
                assert_eq!(claim(true), Err(NotReady::BounceBuffer));
            }
            queue.ring.release(7);
            assert_eq!(claim(true), Ok(8));
            // The head has to pass the entries that were there when a buffer was last missed; then
            // all are free again.
            queue.ring.release(8);
            (9..16).for_each(|position| assert_eq!(claim(false), Ok(position)));
            assert_eq!(claim(false), Err(NotReady::Queue));
        }
    }

    /// A longer message that fails ends the positions that short ones may claim unchecked.
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
