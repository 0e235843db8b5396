//! Phase 3: conflict detection from the published claims (O13, O14, S4).

use crate::descriptor::NIL;

/// No conflict in the block so far.
pub(crate) const NO_CONFLICT: usize = usize::MAX;

/// The lowest handler whose candidate a lower handler also chose. It and every later handler must
/// resolve (forcing rule, O14); the ones before are clean. Receives are numbered over all
/// communicators, so claims of different communicators never coincide (S25).
///
/// Quadratic in the handlers, but a compare per pair over one array: about a nanosecond per message
/// at 32.
pub(crate) fn first_conflict(candidates: &[u32]) -> usize {
    for handler in 1..candidates.len() {
        let mine = candidates[handler];
        let from = if fault!(ConflictPreviousOnly) { handler - 1 } else { 0 };
        if mine != NIL
            && candidates[from..handler].iter().fold(false, |found, &lower| found | (lower == mine))
        {
            return handler;
        }
    }
    NO_CONFLICT
}

#[cfg(all(test, not(any(dpamatch_loom, dpamatch_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_first_repeated_candidate_counts() {
        assert_eq!(first_conflict(&[]), NO_CONFLICT);
        assert_eq!(first_conflict(&[4]), NO_CONFLICT);
        assert_eq!(first_conflict(&[4, 5, 6]), NO_CONFLICT);
        assert_eq!(first_conflict(&[4, NIL, NIL, 5]), NO_CONFLICT, "none is no candidate (S5)");
        assert_eq!(first_conflict(&[4, 5, 4, 5]), 2);
        assert_eq!(first_conflict(&[4, 4, 5]), 1);
    }
}
