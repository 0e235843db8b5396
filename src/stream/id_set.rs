//! The ids that a stream has used: intervals, so that ids given in sequence cost nothing.

use std::collections::BTreeMap;

/// A set of ids as disjoint intervals that do not touch: first id to last id.
#[derive(Clone, Debug, Default)]
pub(super) struct IdSet {
    intervals: BTreeMap<u64, u64>,
}

impl IdSet {
    /// Adds an id; `false` if it was there.
    pub(super) fn insert(&mut self, id: u64) -> bool {
        let before = self.intervals.range_mut(..=id).next_back();
        let joins_before = match before {
            Some((_, last)) if *last >= id => return false,
            Some((_, last)) if *last + 1 == id => {
                *last = id;
                true
            }
            _ => false,
        };
        let after = id
            .checked_add(1)
            .and_then(|next| self.intervals.remove(&next));
        match (joins_before, after) {
            (true, Some(last)) => {
                if let Some((_, end)) = self.intervals.range_mut(..=id).next_back() {
                    *end = last;
                }
            }
            (true, None) => {}
            (false, last) => _ = self.intervals.insert(id, last.unwrap_or(id)),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn agrees_with_a_plain_set_and_joins_intervals() {
        let (mut set, mut model) = (IdSet::default(), BTreeSet::new());
        for step in 0..500_u64 {
            let id = step * 7919 % 257;
            assert_eq!(set.insert(id), model.insert(id), "{id}");
        }
        assert_eq!(set.intervals.into_iter().collect::<Vec<_>>(), [(0, 256)]);
    }

    #[test]
    fn the_largest_id_is_an_id() {
        let mut set = IdSet::default();
        assert!(set.insert(u64::MAX) && set.insert(0) && set.insert(u64::MAX - 1));
        assert!(!set.insert(u64::MAX) && !set.insert(u64::MAX - 1));
    }
}
