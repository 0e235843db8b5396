//! From a 64-bit id to a small number: open addressing without tombstones.
//!
//! Deletions in the standard map leave marks that sometimes force a reallocation although the
//! number of entries is steady. Here a deletion moves the rest of its run back, so a table that
//! stopped growing never allocates again.

use std::hash::{BuildHasher, RandomState};

use super::hash::fold;

/// The value of an empty slot.
const VACANT: u32 = u32::MAX;

const VACANT_SLOT: (u64, u32) = (0, VACANT);

/// A map from `u64` to `u32` (below `u32::MAX`).
#[derive(Clone, Debug)]
pub(crate) struct IdTable {
    /// None, or a power of two of them, at most half in use.
    slots: Vec<(u64, u32)>,
    live: usize,
    /// Random per process, so that chosen ids cannot collide in one run of slots. No result and no
    /// statistic depends on it.
    seed: u64,
}

impl IdTable {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            live: 0,
            seed: RandomState::new().hash_one(0_u64),
        }
    }

    #[inline]
    fn mask(&self) -> usize {
        self.slots.len() - 1
    }

    #[inline]
    fn home(&self, id: u64) -> usize {
        fold(id ^ self.seed, 0x9e37_79b9_7f4a_7c15) as usize & self.mask()
    }

    /// The slot of `id`, or else the vacant one where it belongs. The table has a vacant slot.
    #[inline]
    fn slot(&self, id: u64) -> usize {
        let mut at = self.home(id);
        while self.slots[at].1 != VACANT && self.slots[at].0 != id {
            at = (at + 1) & self.mask();
        }
        at
    }

    #[inline]
    pub(crate) fn get(&self, id: u64) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        Some(self.slots[self.slot(id)].1).filter(|&value| value != VACANT)
    }

    #[inline]
    pub(crate) fn set(&mut self, id: u64, value: u32) {
        debug_assert!(value != VACANT, "the value that marks a vacant slot");
        if (self.live + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let at = self.slot(id);
        self.live += usize::from(self.slots[at].1 == VACANT);
        self.slots[at] = (id, value);
    }

    /// Removes `id` and returns its value.
    #[inline]
    pub(crate) fn remove(&mut self, id: u64) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let mut hole = self.slot(id);
        let value = self.slots[hole].1;
        if value == VACANT {
            return None;
        }
        // Later entries of the run move into the hole unless that would put them before their home.
        let mut at = hole;
        loop {
            at = (at + 1) & self.mask();
            if self.slots[at].1 == VACANT {
                break;
            }
            let from_home = at.wrapping_sub(self.home(self.slots[at].0)) & self.mask();
            let from_hole = at.wrapping_sub(hole) & self.mask();
            if from_home >= from_hole {
                self.slots[hole] = self.slots[at];
                hole = at;
            }
        }
        self.slots[hole] = VACANT_SLOT;
        self.live -= 1;
        Some(value)
    }

    #[cold]
    fn grow(&mut self) {
        let slots = vec![VACANT_SLOT; (self.slots.len() * 2).max(16)];
        for (id, value) in std::mem::replace(&mut self.slots, slots) {
            if value != VACANT {
                let at = self.slot(id);
                self.slots[at] = (id, value);
            }
        }
    }

    /// All ids and values, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        self.slots
            .iter()
            .copied()
            .filter(|&(_, value)| value != VACANT)
    }

    /// Counts one more entry of `id`.
    #[inline]
    pub(crate) fn increment(&mut self, id: u64) {
        self.set(id, self.get(id).unwrap_or(0) + 1);
    }

    /// Counts one entry of `id` less, and removes an id without entries.
    #[inline]
    pub(crate) fn decrement(&mut self, id: u64) {
        match self.get(id) {
            Some(count) if count > 1 => self.set(id, count - 1),
            _ => _ = self.remove(id),
        }
    }

    /// Frees the memory if the table is empty.
    pub(crate) fn release(&mut self) {
        if self.live == 0 {
            self.slots = Vec::new();
        }
    }

    /// Upper bound on the bytes with at most `ids` at a time: at most half of the slots are in use,
    /// and the table doubles.
    pub(crate) const fn bytes_bound(ids: u64) -> u64 {
        let slots = if ids == 0 {
            0
        } else if ids < 4 {
            16
        } else {
            4 * ids
        };
        slots * size_of::<(u64, u32)>() as u64
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<(u64, u32)>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn behaves_like_a_map_through_growth_and_deletion() {
        let mut table = IdTable::new();
        let mut model = BTreeMap::new();
        let mut random = 1_u64;
        for step in 0..20_000_u32 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let id = random >> 55;
            if random & 1 == 0 {
                table.set(id, step);
                model.insert(id, step);
            } else {
                assert_eq!(table.remove(id), model.remove(&id));
            }
            let other = (random >> 40) & 0x1ff;
            assert_eq!(table.get(other), model.get(&other).copied());
        }
        assert!(
            table.slots.len() <= 1024,
            "512 ids grew the table to {}",
            table.slots.len()
        );
    }
}
