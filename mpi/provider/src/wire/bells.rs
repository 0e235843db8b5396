//! Bells: how a receiver learns which of its silent peers has written a record.
//!
//! A receiver reads the rings of peers that have sent lately in each poll. A peer that is silent
//! for a while gets a *bell*: a bit of the *board*, a memory file of the receiver. The control
//! memory of its ring has the number of the bell. A sender that finds a number there sets the bit
//! after its record, so a poll reads 64 silent peers in one word.
//!
//! **Orderings.** The sender stamps the record and sets the bit with Release; the receiver takes
//! the bits with Acquire. So a receiver that takes a bit finds the record. The models of
//! `loom_tests/tests/rings.rs` run this file.
//!
//! **A bell is a hint.** The sender executes no fence between the stamp and its look at the number,
//! since a fence per message would cost more than the polls of a few rings. So it may miss a number
//! that was set at the same time. A peer that breaks the rules can clear the bits of others. For
//! both cases the receiver still reads every ring in each look at its sockets, which are 64 polls
//! apart: a bell that is lost costs that delay, and never a message. It also reads a ring for that
//! long after it has set the number.

use dpamatch_door::{AtomicU64, Ordering, fault, weak};

/// Bells of a word.
pub(crate) const WORD: usize = 64;

/// Sets a bell. A number beyond the board, which no sound peer gives, has none.
pub(crate) fn ring(board: &[AtomicU64], number: u64) {
    let bit = 1 << (number % WORD as u64);
    let word = usize::try_from(number / WORD as u64).ok();
    let Some(word) = word.and_then(|word| board.get(word)) else {
        return;
    };
    if fault!(BellTorn) {
        let before = word.load(Ordering::Relaxed);
        return word.store(before | bit, weak!(Release));
    }
    word.fetch_or(bit, weak!(Release));
}

/// Whether a bell is set.
#[inline(always)]
pub(crate) fn is_rung(board: &[AtomicU64]) -> bool {
    // ordering: a hint, since `take` reads the word again.
    board.iter().any(|word| word.load(Ordering::Relaxed) != 0)
}

/// Takes back all bells that are set, and calls a function with the number of each.
pub(crate) fn take(board: &[AtomicU64], mut what: impl FnMut(usize)) {
    for (at, word) in board.iter().enumerate() {
        // A bell that is set after this look waits for the next poll.
        if word.load(Ordering::Relaxed) == 0 {
            continue;
        }
        let mut bits = if fault!(BellsTakenTorn) {
            let bits = word.load(weak!(Acquire));
            word.store(0, Ordering::Relaxed);
            bits
        } else {
            word.swap(0, weak!(Acquire))
        };
        while bits != 0 {
            what(at * WORD + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
}
