//! A table from receive to node, for cancels.
//!
//! Cancels are rare and matches are not, so a match leaves this table alone: the slot of a receive
//! that left is *stale* until it is reused. A stale slot does no harm: an answer counts only if the
//! node still holds the receive asked for.
//!
//! When stale and true slots together fill half of the table, it is rebuilt from the posted
//! receives. It has four to eight slots of 8 bytes per receive, counted at the maximum ever. So at
//! least that many posts are between two rebuilds: a post costs O(1) on average, a match nothing. A
//! table that stopped growing never allocates again.

use std::hash::{BuildHasher, RandomState};

use super::RecvId;
use super::hash::fold;

/// In place of a node: the slot is empty.
const VACANT: u32 = u32::MAX;

/// The receives in a PRQ, by node number.
pub(super) trait Receives {
    /// The receive in a node, if it holds one.
    fn recv_at(&self, at: u32) -> Option<RecvId>;

    /// All receives with their nodes.
    fn all(&self) -> impl Iterator<Item = (u32, RecvId)>;

    /// Number of receives.
    fn count(&self) -> usize;
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Other bits of the id's hash than those that chose the slot.
    check: u32,
    at: u32,
}

impl Slot {
    const EMPTY: Self = Self {
        check: 0,
        at: VACANT,
    };
}

/// From the id of a receive to its node: open addressing.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// None, or a power of two of them, at most half in use.
    slots: Vec<Slot>,
    /// Slots in use, stale ones included.
    used: usize,
    /// Random per process, so that chosen ids cannot collide in one run of slots. No result and no
    /// statistic depends on it.
    seed: u64,
}

impl Places {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            used: 0,
            seed: RandomState::new().hash_one(0_u64),
        }
    }

    /// The slot where a search for `id` begins, and the check of its hash.
    #[inline]
    fn home(&self, id: RecvId) -> (usize, u32) {
        let hash = fold(id.0 ^ self.seed, 0x9e37_79b9_7f4a_7c15);
        (hash as usize & (self.slots.len() - 1), (hash >> 32) as u32)
    }

    /// Records that a new receive is in node `at`.
    #[inline]
    pub(super) fn set(&mut self, receives: &impl Receives, recv: RecvId, at: u32) {
        debug_assert!(at != VACANT, "the number that marks a vacant slot");
        if receives.count() * 4 > self.slots.len() || (self.used + 1) * 2 > self.slots.len() {
            self.renew(receives);
        } else {
            self.insert(receives, recv, at);
        }
    }

    #[inline]
    fn insert(&mut self, receives: &impl Receives, recv: RecvId, at: u32) {
        let (mut place, check) = self.home(recv);
        loop {
            let slot = self.slots[place];
            if slot.at == VACANT {
                self.used += 1;
                break;
            }
            // A reused id takes over its stale slot; otherwise the table would fill with them.
            if slot.check == check && !self.belongs_to_another(receives, slot, recv) {
                break;
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
        self.slots[place] = Slot { check, at };
    }

    /// Whether the slot is true of a receive other than `recv` whose hash has the same check.
    #[cold]
    fn belongs_to_another(&self, receives: &impl Receives, slot: Slot, recv: RecvId) -> bool {
        receives
            .recv_at(slot.at)
            .is_some_and(|there| there != recv && self.home(there).1 == slot.check)
    }

    /// Rebuilds the table, larger if there are many receives. Also called after receives moved.
    #[cold]
    pub(super) fn renew(&mut self, receives: &impl Receives) {
        if receives.count() * 4 > self.slots.len() {
            self.slots = vec![Slot::EMPTY; (self.slots.len() * 2).max(16)];
        } else {
            self.slots.fill(Slot::EMPTY);
        }
        self.used = 0;
        for (at, recv) in receives.all() {
            self.insert(receives, recv, at);
        }
    }

    /// The node of a posted receive; `None` if it is not posted.
    pub(super) fn find(&self, receives: &impl Receives, recv: RecvId) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let (mut place, check) = self.home(recv);
        loop {
            let slot = self.slots[place];
            if slot.at == VACANT {
                return None;
            }
            if slot.check == check && receives.recv_at(slot.at) == Some(recv) {
                return Some(slot.at);
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
    }

    /// Frees the memory. There must be no receives.
    pub(super) fn release(&mut self) {
        (self.slots, self.used) = (Vec::new(), 0);
    }

    /// Upper bound on the bytes, with at most `receives` at a time.
    pub(super) const fn bytes_bound(receives: u64) -> u64 {
        let slots = match receives {
            0 => 0,
            1 => 16,
            _ => 8 * receives,
        };
        slots * size_of::<Slot>() as u64
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Default)]
    struct Nodes(Vec<Option<RecvId>>);

    impl Nodes {
        /// Puts the receive in the first free node.
        fn add(&mut self, recv: RecvId) -> u32 {
            let at = self
                .0
                .iter()
                .position(Option::is_none)
                .unwrap_or(self.0.len());
            self.0.resize(self.0.len().max(at + 1), None);
            self.0[at] = Some(recv);
            at as u32
        }
    }

    impl Receives for Nodes {
        fn recv_at(&self, at: u32) -> Option<RecvId> {
            self.0.get(at as usize).copied().flatten()
        }
        fn all(&self) -> impl Iterator<Item = (u32, RecvId)> {
            (0..)
                .zip(&self.0)
                .filter_map(|(at, recv)| Some((at, (*recv)?)))
        }
        fn count(&self) -> usize {
            self.0.iter().flatten().count()
        }
    }

    /// Ids return, soon and late, in the same node and in others; no departure reaches the table.
    #[test]
    fn behaves_like_a_map_that_is_told_of_departures() {
        let (mut nodes, mut places, mut model) = (Nodes::default(), Places::new(), BTreeMap::new());
        let mut random = 1_u64;
        for step in 0..20_000_u64 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // A few random ids, or consecutive ones.
            let recv = RecvId(if random & 2 == 0 {
                random >> 58
            } else {
                1000 + step
            });
            if random & 1 == 0 || model.len() > 100 {
                let gone = model
                    .keys()
                    .nth((random >> 40) as usize % model.len().max(1))
                    .copied();
                if let Some(at) = gone.and_then(|gone: RecvId| model.remove(&gone)) {
                    nodes.0[at as usize] = None;
                }
            } else {
                model.entry(recv).or_insert_with(|| {
                    let at = nodes.add(recv);
                    places.set(&nodes, recv, at);
                    at
                });
            }
            for asked in [recv, RecvId(random >> 57), RecvId(1000 + step / 2)] {
                assert_eq!(
                    places.find(&nodes, asked),
                    model.get(&asked).copied(),
                    "step {step}, {asked:?}"
                );
            }
        }
        let all: BTreeMap<_, _> = nodes.all().map(|(at, recv)| (recv, at)).collect();
        assert_eq!(all, model);
        assert!(
            places.slots.len() <= 1024,
            "102 receives grew the table to {}",
            places.slots.len()
        );
    }

    /// One id posted repeatedly keeps one slot in use, whatever its node.
    #[test]
    fn an_id_used_again_takes_no_second_slot() {
        let (mut nodes, mut places) = (Nodes(vec![None; 100]), Places::new());
        for at in (0..100).chain([3, 3, 7]) {
            nodes.0[at as usize] = Some(RecvId(5));
            places.set(&nodes, RecvId(5), at);
            assert_eq!(places.find(&nodes, RecvId(5)), Some(at));
            nodes.0[at as usize] = None;
            assert_eq!((places.find(&nodes, RecvId(5)), places.used), (None, 1));
        }
    }
}
