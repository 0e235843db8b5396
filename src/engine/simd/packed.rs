//! A queue as arrays: sixteen packed keys to a block, blocks in one piece of memory.

use super::super::chain::vec_bound;
use super::lanes::{Comparer, LANES, Lanes};

/// In every mask and in no key: a lane with this key answers nothing.
const DEAD: u32 = 1 << 31;

/// Slot numbers go round here, below what [`Places`](super::super::places::Places) cannot keep.
const SLOT_MASK: u32 = DEAD - 1;

/// A packed key: 15 bits of the source and 16 of the tag, both stirred with the communicator.
///
/// Larger numbers are folded, so keys of different envelopes may be equal ("fuzzy" in Open MPI's
/// words): who finds a key compares the envelope itself.
#[inline]
pub(super) fn key(comm: u32, source: u32, tag: u32) -> u32 {
    let stir = comm.wrapping_mul(0x9e37_79b1);
    let source = (source ^ source >> 15 ^ source >> 30 ^ stir >> 17) & 0x7fff;
    let tag = (tag ^ tag >> 16 ^ stir) & 0xffff;
    source << 16 | tag
}

#[inline]
pub(super) fn mask(any_source: bool, any_tag: bool) -> u32 {
    DEAD | if any_source { 0 } else { 0x7fff_0000 } | if any_tag { 0 } else { 0xffff }
}

/// Whose masks count in a search.
#[derive(Clone, Copy, Debug)]
pub enum Masks {
    /// Each entry's own: a message looks for a receive.
    Stored,
    /// This one for all: a receive looks for a message.
    Given(u32),
}

/// What a search found and took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Slot of the first entry that fits.
    pub(super) slot: Option<u32>,
    /// Entries whose key answered, which were compared in full.
    pub(super) compares: u64,
    /// Blocks whose keys were compared together.
    pub(super) blocks: u64,
}

/// Entries in order of insertion. Those removed leave dead lanes, which cost time but never answer:
/// blocks without a live lane go from either end immediately, and when more lanes are dead than
/// live the queue is packed.
#[derive(Clone, Debug)]
pub struct PackedQueue<E> {
    comparer: Comparer,
    keys: Vec<Lanes>,
    /// As many as `keys`, or none if no entry has anything wild.
    masks: Vec<Lanes>,
    /// Live lanes of each block.
    live_in: Vec<u8>,
    /// Up to the last slot in use, dead ones included.
    entries: Vec<E>,
    /// Slot number of `entries[0]`.
    base: u32,
    /// Blocks before this one are dead.
    first: usize,
    live: u32,
}

impl<E: Copy> PackedQueue<E> {
    pub(super) const fn new(comparer: Comparer) -> Self {
        Self {
            comparer,
            keys: Vec::new(),
            masks: Vec::new(),
            live_in: Vec::new(),
            entries: Vec::new(),
            base: 0,
            first: 0,
            live: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.live == 0
    }

    fn index(&self, slot: u32) -> usize {
        (slot.wrapping_sub(self.base) & SLOT_MASK) as usize
    }

    fn slot(&self, index: usize) -> u32 {
        self.base.wrapping_add(index as u32) & SLOT_MASK
    }

    /// The entry of a slot; `None` if there is none.
    pub(super) fn find(&self, slot: u32) -> Option<&E> {
        let index = self.index(slot);
        self.entries.get(index).filter(|_| self.is_live(index))
    }

    pub(super) fn len(&self) -> usize {
        self.live as usize
    }

    fn is_live(&self, index: usize) -> bool {
        self.keys[index / LANES].0[index % LANES] != DEAD
    }

    /// Puts an entry at the end; with a mask if the queue stores masks. Returns its slot.
    pub(super) fn push(&mut self, key: u32, mask: Option<u32>, entry: E) -> u32 {
        let index = self.entries.len();
        let (block, lane) = (index / LANES, index % LANES);
        if block == self.keys.len() {
            self.keys.push(Lanes::splat(DEAD));
            self.live_in.push(0);
            if mask.is_some() {
                self.masks.push(Lanes::splat(DEAD));
            }
        }
        self.keys[block].0[lane] = key;
        if let Some(mask) = mask {
            self.masks[block].0[lane] = mask;
        }
        self.live_in[block] += 1;
        self.live += 1;
        self.entries.push(entry);
        self.slot(index)
    }

    /// The first entry whose key answers and that `fits`.
    pub(super) fn search(&self, masks: Masks, key: u32, fits: impl Fn(&E) -> bool) -> Found {
        let (mut compares, mut from) = (0, self.first);
        loop {
            let answer = match masks {
                Masks::Stored => {
                    self.comparer
                        .first_answer(&self.keys, self.masks[from..].iter(), key, from)
                }
                Masks::Given(mask) => {
                    let masks = std::iter::repeat(Lanes::splat(mask));
                    self.comparer.first_answer(&self.keys, masks, key, from)
                }
            };
            let Some(answer) = answer else {
                return Found {
                    slot: None,
                    compares,
                    blocks: (self.keys.len() - self.first) as u64,
                };
            };
            let mut lanes = answer.lanes;
            while lanes != 0 {
                let index = answer.block * LANES + lanes.trailing_zeros() as usize;
                compares += 1;
                if fits(&self.entries[index]) {
                    let blocks = (answer.block + 1 - self.first) as u64;
                    return Found {
                        slot: Some(self.slot(index)),
                        compares,
                        blocks,
                    };
                }
                lanes &= lanes - 1;
            }
            from = answer.block + 1;
        }
    }

    /// Takes an entry out. Others may move: `moved` gets their new slots.
    pub(super) fn remove(&mut self, slot: u32, moved: impl FnMut(&E, u32)) -> E {
        let index = self.index(slot);
        let entry = self.entries[index];
        self.keys[index / LANES].0[index % LANES] = DEAD;
        self.live_in[index / LANES] -= 1;
        self.live -= 1;
        self.trim();
        let in_use = self.entries.len() - self.entries.len().min(self.first * LANES);
        if in_use > 2 * self.live as usize + LANES {
            self.pack(moved);
        }
        entry
    }

    /// Lets go of dead lanes at both ends.
    fn trim(&mut self) {
        while let Some(index) = self.entries.len().checked_sub(1)
            && self.keys[index / LANES].0[index % LANES] == DEAD
        {
            self.entries.pop();
            if index % LANES == 0 {
                self.drop_blocks_from(index / LANES);
            }
        }
        while self.live_in.get(self.first) == Some(&0) {
            self.first += 1;
        }
        self.first = self.first.min(self.keys.len());
        // Dead blocks at the front are moved over when they are half of all: O(1) a removal on
        // average.
        if self.first * 2 > self.keys.len() {
            let entries = (self.first * LANES).min(self.entries.len());
            self.base = self.slot(self.first * LANES);
            self.entries.drain(..entries);
            self.keys.drain(..self.first);
            self.live_in.drain(..self.first);
            self.masks.drain(..self.first.min(self.masks.len()));
            self.first = 0;
        }
    }

    fn drop_blocks_from(&mut self, block: usize) {
        self.keys.truncate(block);
        self.masks.truncate(block);
        self.live_in.truncate(block);
    }

    /// Moves all live entries to the front, in order.
    fn pack(&mut self, mut moved: impl FnMut(&E, u32)) {
        let mut to = 0;
        for from in self.first * LANES..self.entries.len() {
            let key = self.keys[from / LANES].0[from % LANES];
            if key == DEAD {
                continue;
            }
            if from != to {
                self.entries[to] = self.entries[from];
                self.keys[to / LANES].0[to % LANES] = key;
                self.keys[from / LANES].0[from % LANES] = DEAD;
                if !self.masks.is_empty() {
                    self.masks[to / LANES].0[to % LANES] = self.masks[from / LANES].0[from % LANES];
                }
                moved(&self.entries[to], self.slot(to));
            }
            to += 1;
        }
        self.entries.truncate(to);
        self.drop_blocks_from(to.div_ceil(LANES));
        for (block, live) in self.live_in.iter_mut().enumerate() {
            *live = LANES.min(to - block * LANES) as u8;
        }
        self.first = 0;
    }

    /// The live entries in order, with their slots.
    pub(super) fn live(&self) -> impl Iterator<Item = (u32, &E)> {
        let entries = self
            .entries
            .iter()
            .enumerate()
            .filter(|&(index, _)| self.is_live(index));
        entries.map(|(index, entry)| (self.slot(index), entry))
    }

    /// Gives the memory back; only when nothing is live.
    pub(super) fn release(&mut self) {
        debug_assert!(self.is_empty(), "entries in use cannot be released");
        *self = Self::new(self.comparer);
    }

    pub(super) fn bytes(&self) -> usize {
        (self.keys.capacity() + self.masks.capacity()) * size_of::<Lanes>()
            + self.live_in.capacity()
            + self.entries.capacity() * size_of::<E>()
    }

    /// Upper bound on the bytes, if at most `live` entries were live at a time. As many may be dead
    /// between them, and as many blocks again may be dead at the front.
    pub(super) const fn bytes_bound(live: u64) -> u64 {
        if live == 0 {
            return 0;
        }
        let blocks = 2 * (2 * live).div_ceil(LANES as u64) + 4;
        2 * vec_bound(blocks, size_of::<Lanes>())
            + vec_bound(blocks, 1)
            + vec_bound(blocks * LANES as u64, size_of::<E>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> PackedQueue<u32> {
        PackedQueue::new(Comparer::detect())
    }

    /// Against a plain list: pushes at the end and removals anywhere, in waves that empty the queue
    /// now and then; slots are followed when entries move.
    #[test]
    fn behaves_like_a_list_under_removals_anywhere() {
        let mut queue = queue();
        let mut model: Vec<(u32, u32)> = Vec::new();
        let (mut random, mut moves) = (7_u64, 0);
        for step in 0..30_000_u32 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let draw = (random >> 33) as u32;
            let grow = if step / 500 % 2 == 0 { 12 } else { 3 };
            if draw % 16 < grow || model.is_empty() {
                model.push((
                    step,
                    queue.push(key(0, step % 50, 0), Some(mask(false, true)), step),
                ));
            } else {
                // Front, back and anywhere in between.
                let at = [0, model.len() - 1, (draw >> 8) as usize % model.len()]
                    [draw as usize / 16 % 3];
                let (entry, slot) = model.remove(at);
                let removed = queue.remove(slot, |&entry, slot| {
                    moves += 1;
                    let place = model.iter_mut().find(|(other, _)| *other == entry);
                    place.expect("only live entries move").1 = slot;
                });
                assert_eq!(removed, entry);
            }
            if step % 61 == 0 {
                assert!(
                    queue
                        .live()
                        .eq(model.iter().map(|(entry, slot)| (*slot, entry)))
                );
            }
            let wanted = model.iter().find(|(entry, _)| entry % 50 == draw % 50);
            let found = queue.search(Masks::Stored, key(0, draw % 50, 9), |entry| {
                entry % 50 == draw % 50
            });
            assert_eq!(found.slot, wanted.map(|&(_, slot)| slot));
            assert!(found.compares <= 1, "small keys are all different");
            // From the first block in use to the one that holds the entry, or to the last.
            let blocks = queue.keys.len() - queue.first;
            let compared = wanted.map_or(blocks, |&(_, slot)| {
                queue.index(slot) / LANES + 1 - queue.first
            });
            assert_eq!(found.blocks, compared as u64);
            assert!(
                blocks <= model.len().div_ceil(8) + 3,
                "{blocks} blocks for {}",
                model.len()
            );
        }
        assert!(moves > 100, "{moves} moves");
    }

    #[test]
    fn memory_stays_within_its_bound() {
        let mut queue = queue();
        let bound = |live| PackedQueue::<u32>::bytes_bound(live);
        let mut slots = Vec::new();
        for entry in 0..3_000 {
            slots.push(queue.push(0, Some(DEAD), entry));
            assert!(
                queue.bytes() as u64 <= bound(u64::from(entry) + 1),
                "{entry}"
            );
        }
        // A queue that slides along: one in, one out.
        for entry in 0..50_000 {
            slots.push(queue.push(0, Some(DEAD), entry));
            let slot = slots[entry as usize];
            queue.remove(slot, |_, _| {
                panic!("an entry moved, though nothing between live entries is dead")
            });
        }
        assert!(queue.bytes() as u64 <= bound(3_001));
        assert_eq!(queue.live().count(), 3_000);
    }

    /// The numbers that programs use make distinct keys.
    #[test]
    fn common_keys_differ() {
        let mut keys: Vec<u32> = (0..128)
            .flat_map(|s| (0..128).map(move |t| key(3, s, t)))
            .collect();
        keys.extend((1..1024).map(|strided| key(3, 0, strided << 20)));
        let total = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert!(keys.len() + 16 >= total, "{} of {total}", keys.len());
        assert!(keys.iter().all(|key| key & DEAD == 0));
    }
}
