//! Phase 3: conflict detection from the candidates, and the forcing rule (O13, O14, S4).

use crate::number::ReceiveId;

/// No conflict in the block so far.
pub(crate) const NO_CONFLICT: usize = usize::MAX;

/// Words of the filter: enough for few false alarms among 256 receives, few enough to clear for
/// each block.
const WORDS: usize = 8;

/// The lowest handler whose candidate a lower handler also chose. It and every later handler must
/// resolve (forcing rule, O14); earlier handlers are clean. Receives are numbered over all
/// communicators, so claims of different communicators never coincide (S25).
///
/// **Cost.** Linear: a filter with one bit per receive number modulo 512 clears nearly every
/// candidate. Only a candidate that it does not clear is compared with the lower ones.
pub(crate) fn first_conflict(candidates: &[ReceiveId]) -> usize {
    let mut seen = [0u64; WORDS];
    for (handler, &mine) in candidates.iter().enumerate() {
        if mine == ReceiveId::NIL {
            continue;
        }
        let word = &mut seen[mine.index() / 64 % WORDS];
        let bit = 1 << (mine.0 % 64);
        if *word & bit != 0 {
            let from = if fault!(ConflictPreviousOnly) {
                handler - 1
            } else {
                0
            };
            if candidates[from..handler].contains(&mine) {
                return handler;
            }
        }
        *word |= bit;
    }
    NO_CONFLICT
}

#[cfg(test)]
mod tests {
    use super::*;

    const NIL: u32 = ReceiveId::NIL.0;

    fn first_conflict(candidates: &[u32]) -> usize {
        let candidates: alloc::vec::Vec<_> = candidates.iter().copied().map(ReceiveId).collect();
        super::first_conflict(&candidates)
    }

    #[test]
    fn the_first_repeated_candidate_counts() {
        assert_eq!(first_conflict(&[]), NO_CONFLICT);
        assert_eq!(first_conflict(&[4]), NO_CONFLICT);
        assert_eq!(first_conflict(&[4, 5, 6]), NO_CONFLICT);
        assert_eq!(
            first_conflict(&[4, NIL, NIL, 5]),
            NO_CONFLICT,
            "none is no candidate (S5)"
        );
        assert_eq!(first_conflict(&[4, 5, 4, 5]), 2);
        assert_eq!(first_conflict(&[4, 4, 5]), 1);
    }

    #[test]
    fn receives_that_share_a_bit_of_the_filter_are_told_apart() {
        let same_bit = 64 * WORDS as u32;
        assert_eq!(
            first_conflict(&[4, 4 + same_bit, 4 + 2 * same_bit]),
            NO_CONFLICT
        );
        assert_eq!(first_conflict(&[4, 4 + same_bit, 5, 4 + same_bit]), 3);
        let all: alloc::vec::Vec<u32> = (0..256).map(|number| number * 37).collect();
        assert_eq!(first_conflict(&all), NO_CONFLICT);
        let falling: alloc::vec::Vec<u32> = all.iter().rev().copied().collect();
        assert_eq!(first_conflict(&falling), NO_CONFLICT);
    }
}
