//! The booking word of a receive: a bit per handler (O10, S22).
//!
//! 64 bits, so the descriptor stays one line. Builds for virtual time, which ask how more handlers
//! would do, have three such words.

use crate::sync::{AtomicU64, Ordering};

const WORDS: usize = if cfg!(dpamatch_virtual) { 3 } else { 1 };

/// Handlers that a booking word has bits for.
pub(crate) const BITS: usize = 64 * WORDS;

/// A set of handlers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HandlerSet([u64; WORDS]);

impl HandlerSet {
    /// Nobody.
    pub(crate) const NONE: Self = Self([0; WORDS]);
    /// Everybody.
    pub(crate) const ALL: Self = Self([u64::MAX; WORDS]);

    /// The handlers before `handler`, which is at most [`BITS`].
    #[inline(always)]
    pub(crate) fn below(handler: usize) -> Self {
        let mut set = Self::NONE;
        for (word, bits) in set.0.iter_mut().enumerate() {
            let count = handler.saturating_sub(word * 64);
            *bits = if count >= 64 { u64::MAX } else { (1 << count) - 1 };
        }
        set
    }

    #[inline(always)]
    pub(crate) fn insert(&mut self, handler: usize) {
        let (word, bit) = place(handler);
        self.0[word] |= bit;
    }

    #[inline(always)]
    pub(crate) fn remove(&mut self, handler: usize) {
        let (word, bit) = place(handler);
        self.0[word] &= !bit;
    }

    #[inline(always)]
    pub(crate) fn contains(&self, handler: usize) -> bool {
        let (word, bit) = place(handler);
        self.0[word] & bit != 0
    }

    /// The lowest of them.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<usize> {
        let word = self.0.iter().position(|&word| word != 0)?;
        Some(word * 64 + self.0[word].trailing_zeros() as usize)
    }

    /// The highest of them.
    #[inline(always)]
    pub(crate) fn last(&self) -> Option<usize> {
        let word = self.0.iter().rposition(|&word| word != 0)?;
        Some(word * 64 + 63 - self.0[word].leading_zeros() as usize)
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::NONE
    }

    /// Whether some handler is in both.
    #[inline(always)]
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).fold(0, |common, (a, b)| common | a & b) != 0
    }
}

/// The word itself. Its orderings are the caller's business.
#[derive(Debug)]
pub(crate) struct BookingWord([AtomicU64; WORDS]);

impl BookingWord {
    pub(crate) fn new() -> Self {
        Self(core::array::from_fn(|_| AtomicU64::new(0)))
    }

    #[inline(always)]
    pub(crate) fn load(&self, order: Ordering) -> HandlerSet {
        HandlerSet(core::array::from_fn(|word| self.0[word].load(order)))
    }

    #[inline(always)]
    pub(crate) fn clear(&self, order: Ordering) {
        self.0.iter().for_each(|word| word.store(0, order));
    }

    /// Sets the bit of `handler` with a read-modify-write.
    #[inline(always)]
    pub(crate) fn book(&self, handler: usize, order: Ordering) {
        let (word, bit) = place(handler);
        self.0[word].fetch_or(if fault!(BookingMissing) { 0 } else { bit }, order);
    }

    /// The same where nobody else books: a load and a store. Returns whether a lower handler had
    /// booked.
    #[inline(always)]
    pub(crate) fn book_alone(&self, handler: usize, order: Ordering) -> bool {
        let (word, bit) = place(handler);
        let before = self.0[word].load(order);
        self.0[word].store(before | bit, order);
        before & (bit - 1) != 0 || self.0[..word].iter().any(|lower| lower.load(order) != 0)
    }
}

/// Word and bit of a handler. With one word there is nothing to choose, and nothing to check.
#[inline(always)]
fn place(handler: usize) -> (usize, u64) {
    let word = if WORDS == 1 { 0 } else { handler / 64 };
    (word, 1 << (handler % 64))
}

#[cfg(all(test, not(any(dpamatch_loom, dpamatch_shuttle))))]
mod tests {
    use super::*;
    use crate::sync::Relaxed;

    #[test]
    fn a_booking_tells_whether_a_lower_handler_was_there() {
        let word = BookingWord::new();
        assert!(!word.book_alone(5, Relaxed));
        assert!(!word.book_alone(3, Relaxed), "5 is not lower than 3");
        assert!(word.book_alone(6, Relaxed));
        assert!(word.load(Relaxed).meets(&HandlerSet::below(4)));
        assert!(!word.load(Relaxed).meets(&HandlerSet::below(3)));
        word.clear(Relaxed);
        assert!(word.load(Relaxed).is_empty());
    }

    #[test]
    fn members_come_and_go() {
        let mut set = HandlerSet::NONE;
        assert_eq!((set.first(), set.last()), (None, None));
        [9, 0, BITS - 1].into_iter().for_each(|handler| set.insert(handler));
        assert_eq!((set.first(), set.last()), (Some(0), Some(BITS - 1)));
        assert!(set.contains(9) && !set.contains(8));
        [0, BITS - 1].into_iter().for_each(|handler| set.remove(handler));
        assert_eq!((set.first(), set.last()), (Some(9), Some(9)));
    }

    #[test]
    fn the_widest_block_fills_the_word() {
        let word = BookingWord::new();
        (0..BITS).for_each(|handler| word.book(handler, Relaxed));
        assert_eq!(word.load(Relaxed), HandlerSet::ALL);
        assert_eq!(word.load(Relaxed), HandlerSet::below(BITS));
        assert_eq!(HandlerSet::below(0), HandlerSet::NONE);
    }
}
