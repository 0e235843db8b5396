//! A map for names that mostly ascend.

use alloc::collections::{BTreeMap, VecDeque};

/// How far beyond its oldest entry the ring reaches.
const RING_MAX: usize = 1 << 12;

/// A map for names that mostly come in ascending order and are soon forgotten: a ring holds them. A
/// tree holds all others.
#[derive(Debug)]
pub(super) struct IdMap<T> {
    /// Number of the ring's first place.
    first: u64,
    /// The first place is never empty.
    ring: VecDeque<Option<T>>,
    others: BTreeMap<u64, T>,
}

impl<T> IdMap<T> {
    pub(super) fn new() -> Self {
        Self {
            first: 0,
            ring: VecDeque::new(),
            others: BTreeMap::new(),
        }
    }

    pub(super) fn insert(&mut self, name: u64, value: T) {
        if self.ring.is_empty() {
            self.first = name;
        }
        match self.place(name) {
            Some(place) if place < self.ring.len() => {
                self.others.remove(&name);
                self.ring[place] = Some(value);
            }
            Some(place) if place == self.ring.len() && !self.others.contains_key(&name) => {
                self.ring.push_back(Some(value));
                if self.ring.len() > RING_MAX {
                    if let Some(Some(old)) = self.ring.pop_front() {
                        self.others.insert(self.first, old);
                    }
                    self.first += 1;
                    self.trim();
                }
            }
            _ => drop(self.others.insert(name, value)),
        }
    }

    pub(super) fn get(&self, name: u64) -> Option<&T> {
        let near = self
            .place(name)
            .and_then(|place| self.ring.get(place))
            .and_then(Option::as_ref);
        near.or_else(|| {
            if self.others.is_empty() {
                None
            } else {
                self.others.get(&name)
            }
        })
    }

    pub(super) fn remove(&mut self, name: u64) -> Option<T> {
        let place = self.place(name);
        let near = place
            .and_then(|place| self.ring.get_mut(place))
            .and_then(Option::take);
        if near.is_some() {
            self.trim();
            return near;
        }
        if self.others.is_empty() {
            None
        } else {
            self.others.remove(&name)
        }
    }

    /// All values, by ascending name.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        let before = self.others.range(..self.first);
        let after = self.others.range(self.first..);
        let ring = self.ring.iter().flatten();
        before
            .map(|(_, value)| value)
            .chain(ring)
            .chain(after.map(|(_, value)| value))
    }

    fn place(&self, name: u64) -> Option<usize> {
        name.checked_sub(self.first)
            .and_then(|place| usize::try_from(place).ok())
    }

    fn trim(&mut self) {
        while let Some(None) = self.ring.front() {
            self.ring.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with a tree: names in order, with gaps, out of order and given twice; a few stay
    /// long.
    #[test]
    fn it_is_a_map() {
        for spread in [1, 2, 5000] {
            let (mut map, mut tree) = (IdMap::new(), BTreeMap::new());
            let mut random = 12345_u64;
            let mut below = |limit: u64| {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (random >> 33) % limit
            };
            for step in 0..30_000 {
                let name = step + below(spread);
                map.insert(name, step);
                tree.insert(name, step);
                for gone in [step.saturating_sub(below(6000)), step.saturating_sub(1)] {
                    assert_eq!(map.get(gone), tree.get(&gone));
                    if below(8) > 0 {
                        assert_eq!(map.remove(gone), tree.remove(&gone));
                    }
                }
            }
            assert!(
                tree.len() > 1000 && map.ring.len() <= RING_MAX,
                "{}",
                tree.len()
            );
            assert!(map.values().eq(tree.values()));
        }
    }
}
