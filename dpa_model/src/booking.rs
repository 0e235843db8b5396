//! Bookings of a receive: one bit per handler (O10, S22).
//!
//! **Where.** The bits of the first 64 handlers are one word in the descriptor's own line, so a NIC
//! with up to 64 handlers touches nothing else. A separate table, three words a
//! receive, holds the bits of further handlers, up to [`HANDLERS_MAX`]; only a NIC with such
//! handlers has it. So descriptors keep their 64 bytes (O29).
//!
//! **Orderings.** Bookings are Relaxed: the barrier orders them for later readers, and the early
//! booking check may miss one (S16).

use alloc::boxed::Box;

use crate::descriptor::Descriptor;
use crate::number::{ReceiveId, unchecked};
use crate::sync::{AtomicU64, Relaxed};

/// Widest block: BlueField-3's DPA has 256 threads, each of which runs one handler.
pub const HANDLERS_MAX: usize = 256;

/// Number of handlers whose bits are in the descriptor.
const NEAR: usize = 64;

const WORDS: usize = HANDLERS_MAX / 64;

/// Words of a receive for the handlers from [`NEAR`] on.
pub(crate) const FAR_WORDS: usize = WORDS - 1;

/// Bytes of a receive for the handlers from [`NEAR`] on.
pub(crate) const FAR_BYTES: usize = size_of::<[AtomicU64; FAR_WORDS]>();

/// Number of receives in the table of far bits: none if all handlers fit the descriptor.
pub(crate) fn far_receives(receives: usize, handlers: usize) -> usize {
    if handlers > NEAR { receives } else { 0 }
}

/// The table of far bits, by receive.
pub(crate) fn far_table(receives: usize, handlers: usize) -> Box<[[AtomicU64; FAR_WORDS]]> {
    (0..far_receives(receives, handlers))
        .map(|_| core::array::from_fn(|_| AtomicU64::new(0)))
        .collect()
}

#[cold]
fn clear_far(words: &[AtomicU64; FAR_WORDS]) {
    // ordering: the boundary clears the words between two blocks, which order it.
    words.iter().for_each(|word| word.store(0, Relaxed));
}

#[inline]
fn bit(handler: usize) -> u64 {
    1 << (handler % 64)
}

/// The bits of all receives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bookings<'a> {
    pub(crate) receives: &'a [Descriptor],
    /// The bits of the handlers from [`NEAR`] on; empty if the NIC has no such handlers.
    pub(crate) far: &'a [[AtomicU64; FAR_WORDS]],
}

impl<'a> Bookings<'a> {
    #[inline]
    fn word(self, receive: ReceiveId, handler: usize) -> &'a AtomicU64 {
        if handler < NEAR {
            &self.receives[receive].booking
        } else {
            &self.far[receive.index()][handler / 64 - 1]
        }
    }

    /// Sets the bit of `handler` while others may book, too: a read-modify-write.
    #[inline]
    pub(crate) fn book(self, receive: ReceiveId, handler: usize) {
        let bit = if fault!(BookingMissing) {
            0
        } else {
            bit(handler)
        };
        self.word(receive, handler).fetch_or(bit, Relaxed);
    }

    /// Clears the bits of a receive's last use, whose handlers are long done.
    #[inline]
    pub(crate) fn clear(self, receive: ReceiveId) {
        // SAFETY: the free list made the number.
        unsafe { unchecked(self.receives, receive) }
            .booking
            .store(0, Relaxed);
        if let Some(far) = self.far.get(receive.index()) {
            clear_far(far);
        }
    }

    /// Whether a handler below `handler` has booked the receive.
    #[inline]
    pub(crate) fn any_below(self, receive: ReceiveId, handler: usize) -> bool {
        let below = |word: &AtomicU64, bits: u64| word.load(Relaxed) & bits != 0;
        let near = &self.receives[receive].booking;
        if handler < NEAR {
            return below(near, bit(handler) - 1);
        }
        let far = self.far.get(receive.index()).into_iter().flatten();
        let words = core::iter::once(near).chain(far);
        words
            .zip(HandlerSet::below(handler).0)
            .any(|(word, bits)| below(word, bits))
    }

    /// Whether all of the first `handlers` handlers have booked the receive.
    pub(crate) fn all_below(self, receive: ReceiveId, handlers: usize) -> bool {
        (0..handlers.div_ceil(64)).all(|word| {
            let wanted = HandlerSet::below(handlers).0[word];
            self.word(receive, word * 64).load(Relaxed) & wanted == wanted
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HandlerSet([u64; WORDS]);

impl HandlerSet {
    pub(crate) const NONE: Self = Self([0; WORDS]);

    /// The handlers before `handler`, which is at most [`HANDLERS_MAX`].
    pub(crate) fn below(handler: usize) -> Self {
        Self(core::array::from_fn(|word| {
            match handler.saturating_sub(word * 64) {
                64.. => u64::MAX,
                count => (1 << count) - 1,
            }
        }))
    }

    #[inline]
    pub(crate) fn insert(&mut self, handler: usize) {
        self.0[handler / 64] |= bit(handler);
    }

    #[inline]
    pub(crate) fn contains(&self, handler: usize) -> bool {
        self.0[handler / 64] & bit(handler) != 0
    }

    /// The members of `word * 64..(word + 1) * 64`, one bit each.
    #[inline]
    pub(crate) fn word(&self, word: usize) -> u64 {
        self.0[word]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::table;

    const EDGES: [usize; 8] = [0, 1, 63, 64, 65, 127, 128, HANDLERS_MAX - 1];

    #[test]
    fn a_booking_is_seen_by_higher_handlers_only() {
        let (receives, far) = (table(2), far_table(2, HANDLERS_MAX));
        let bookings = Bookings {
            receives: &receives,
            far: &far,
        };
        for booker in EDGES {
            {
                bookings.book(ReceiveId(1), booker);
                for handler in EDGES {
                    assert_eq!(
                        bookings.any_below(ReceiveId(1), handler),
                        booker < handler,
                        "{booker} {handler}"
                    );
                    assert!(!bookings.any_below(ReceiveId(0), handler));
                }
                bookings.clear(ReceiveId(1));
                assert!(!bookings.any_below(ReceiveId(1), HANDLERS_MAX - 1));
            }
        }
    }

    #[test]
    fn all_have_booked_when_the_last_has() {
        for handlers in [1, 2, 63, 64, 65, 128, 200, HANDLERS_MAX] {
            let (receives, far) = (table(1), far_table(1, handlers));
            assert_eq!(far.len(), usize::from(handlers > NEAR));
            let bookings = Bookings {
                receives: &receives,
                far: &far,
            };
            for handler in (0..handlers).rev() {
                assert!(!bookings.all_below(ReceiveId(0), handlers));
                bookings.book(ReceiveId(0), handler);
            }
            assert!(bookings.all_below(ReceiveId(0), handlers));
        }
    }

    #[test]
    fn members_are_told_from_others() {
        let mut set = HandlerSet::NONE;
        assert_eq!(set, HandlerSet::NONE);
        [9, 0, HANDLERS_MAX - 1]
            .into_iter()
            .for_each(|handler| set.insert(handler));
        assert_ne!(set, HandlerSet::NONE);
        let all: alloc::vec::Vec<usize> =
            (0..HANDLERS_MAX).filter(|&at| set.contains(at)).collect();
        assert_eq!(all, [0, 9, HANDLERS_MAX - 1]);
    }
}
