//! Memory that a thread has written since its last fence.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges that a thread remembers, which is more than all entries of the deepest queue.
const MOST: usize = 1 << 16;
/// Ranges of those that are looked through one by one.
const NEW: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Writes {
    /// The newest ranges, and by which instruction each was written last.
    new: Vec<(Range<usize>, usize)>,
    /// The others, which most threads do not have: the end of each by its begin, and the
    /// instruction.
    ranges: BTreeMap<usize, (usize, usize)>,
    /// Whether there were more ranges than it remembers.
    pub(super) has_forgotten: bool,
}

impl Writes {
    pub(super) fn clear(&mut self) {
        self.new.clear();
        if !self.ranges.is_empty() {
            self.ranges.clear();
        }
        self.has_forgotten = false;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.ranges.is_empty()
    }

    #[inline(always)]
    pub(super) fn add(&mut self, range: Range<usize>, place: usize) {
        if let Some((last, by)) = self.new.last_mut()
            && last.start <= range.start
            && range.start <= last.end
        {
            (last.end, *by) = (last.end.max(range.end), place);
            return;
        }
        if self.new.len() == NEW {
            self.keep_new();
        }
        self.new.push((range, place));
    }

    #[cold]
    fn keep_new(&mut self) {
        if self.ranges.len() + NEW > MOST {
            self.ranges.clear();
            self.has_forgotten = true;
        }
        for (range, place) in self.new.drain(..) {
            let known = self.ranges.entry(range.start).or_insert((range.end, place));
            *known = (known.0.max(range.end), place);
        }
    }

    /// All ranges, the oldest first, with the instruction that wrote each.
    pub(super) fn all(&self) -> Vec<(Range<usize>, usize)> {
        let old = self.ranges.iter();
        let old = old.map(|(&start, &(end, place))| (start..end, place));
        old.chain(self.new.iter().cloned()).collect()
    }

    /// The range that was written last.
    pub(super) fn last(&self) -> Option<(Range<usize>, usize)> {
        self.new.last().cloned()
    }

    /// The instruction that wrote a part of these bytes.
    pub(super) fn within(&self, start: usize, bytes: usize) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        let end = start + bytes;
        let overlaps = |(range, _): &&(Range<usize>, usize)| range.start < end && start < range.end;
        if let Some((_, place)) = self.new.iter().find(overlaps) {
            return Some(*place);
        }
        if self.ranges.is_empty() {
            return None;
        }
        // Ranges may overlap, but only those of up to a frame's length begin before these bytes.
        let mut before = self.ranges.range(start.saturating_sub(1 << 14)..end);
        before
            .find(|(_, (other, _))| start < *other)
            .map(|(_, (_, place))| *place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_found_behind_many_others() {
        let mut writes = Writes::default();
        assert!(writes.is_empty());
        for at in 0..MOST {
            writes.add(at * 100..at * 100 + 8, at);
        }
        assert_eq!(writes.within(0, 1), Some(0));
        assert_eq!(writes.within(7, 1), Some(0));
        assert_eq!(writes.within(8, 92), None);
        assert_eq!(writes.within(8, 93), Some(1));
        assert_eq!(writes.last(), Some((6_553_500..6_553_508, MOST - 1)));
        for at in 0..NEW {
            assert!(!writes.has_forgotten);
            assert_eq!(writes.within(0, 1), Some(0));
            writes.add(at * 100 + 50..at * 100 + 58, at);
        }
        writes.add(0..1, 9);
        assert!(writes.has_forgotten);
        assert_eq!(writes.within(7, 1), None);
        writes.clear();
        assert!(writes.is_empty() && !writes.has_forgotten);
        assert_eq!(writes.within(50, 1), None);
    }
}
