//! Memory that a thread has written since its last fence.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges that a thread remembers, which is more than all entries of the deepest queue.
const MOST: usize = 1 << 16;

#[derive(Debug, Default)]
pub(super) struct Writes {
    /// End of each range by its begin, and the instruction that wrote there last.
    ranges: BTreeMap<usize, (usize, usize)>,
    /// The range that was written last, and by which instruction.
    last: Option<(Range<usize>, usize)>,
    /// Whether there were more ranges than it remembers.
    pub(super) has_forgotten: bool,
}

impl Writes {
    pub(super) fn clear(&mut self) {
        // Most fences find few ranges.
        self.ranges.clear();
        self.last = None;
        self.has_forgotten = false;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    pub(super) fn add(&mut self, range: Range<usize>, place: usize) {
        if let Some((last, by)) = &mut self.last
            && last.start <= range.start
            && range.start <= last.end
        {
            (last.end, *by) = (last.end.max(range.end), place);
            return;
        }
        self.keep_last();
        self.last = Some((range, place));
    }

    fn keep_last(&mut self) {
        let Some((range, place)) = self.last.take() else {
            return;
        };
        if self.ranges.len() == MOST {
            self.ranges.clear();
            self.has_forgotten = true;
        }
        let known = self.ranges.entry(range.start).or_insert((range.end, place));
        *known = (known.0.max(range.end), place);
    }

    /// The range that was written last.
    pub(super) fn last(&self) -> Option<(Range<usize>, usize)> {
        self.last.clone()
    }

    /// The instruction that wrote a part of these bytes.
    pub(super) fn within(&self, start: usize, bytes: usize) -> Option<usize> {
        let end = start + bytes;
        if let Some((last, place)) = &self.last
            && last.start < end
            && start < last.end
        {
            return Some(*place);
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
        assert!(!writes.has_forgotten);
        writes.add(1..2, 7);
        assert!(!writes.has_forgotten);
        assert_eq!(writes.within(0, 1), Some(0));
        writes.add(50..58, 8);
        assert!(writes.has_forgotten);
        writes.clear();
        assert!(writes.is_empty() && !writes.has_forgotten);
        assert_eq!(writes.within(50, 1), None);
    }
}
