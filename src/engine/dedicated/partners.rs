//! PNP: queues for the ranks that send or are posted most, the *partners*.

use std::cmp::Reverse;

use super::super::chain::vec_bound;
use super::super::id_table::IdTable;
use super::cap::Budget;

/// Ranks whose elements are counted; ranks beyond the bound can be no partners.
const COUNTED_RANKS_MAX: u32 = 65_536;

/// A rank with its own queue.
#[derive(Clone, Copy, Debug)]
struct Partner {
    queue: u32,
    /// Number of shared queues older than the partnership, which may hold earlier elements.
    older: usize,
}

/// Queues of point-to-point elements on one side.
#[derive(Clone, Debug)]
pub(super) struct Partners {
    /// Length of the youngest shared queue at which partners are extracted; none is a plain
    /// list.
    theta: Option<u32>,
    /// The base queue, then the non-partner queue of each level, oldest first.
    shared: Vec<u32>,
    /// Entries in the youngest shared queue.
    shared_length: u32,
    /// The last extraction found nothing. The next one waits until the length fell below half of
    /// theta.
    disarmed: bool,
    partners: Vec<Partner>,
    /// From rank to place in `partners`.
    places: IdTable,
    /// Elements put in the queues so far, by rank.
    counts: IdTable,
    counted_ranks: u32,
    counted: u64,
}

impl Partners {
    /// Only the base queue, which has this number.
    pub(super) fn new(theta: Option<u32>, base: u32) -> Self {
        Self {
            theta,
            shared: vec![base],
            shared_length: 0,
            disarmed: false,
            partners: Vec::new(),
            places: IdTable::new(),
            counts: IdTable::new(),
            counted_ranks: 0,
            counted: 0,
        }
    }

    fn youngest(&self) -> u32 {
        self.shared[self.shared.len() - 1]
    }

    fn partner(&self, rank: u32) -> Option<Partner> {
        self.places
            .get(u64::from(rank))
            .map(|at| self.partners[at as usize])
    }

    /// The queue for a new element of this rank.
    pub(super) fn place(&mut self, rank: u32) -> u32 {
        self.count(rank);
        match self.partner(rank) {
            Some(partner) => partner.queue,
            None => {
                self.shared_length += 1;
                self.youngest()
            }
        }
    }

    fn count(&mut self, rank: u32) {
        if self.theta.is_none() {
            return;
        }
        let id = u64::from(rank);
        match self.counts.get(id) {
            // The number that marks a vacant slot is never reached.
            Some(count) => self.counts.set(id, (count + 1).min(u32::MAX - 1)),
            None if self.counted_ranks == COUNTED_RANKS_MAX => return,
            None => {
                self.counts.set(id, 1);
                self.counted_ranks += 1;
            }
        }
        self.counted += 1;
    }

    /// Counts an element that left this queue.
    #[inline]
    pub(super) fn left(&mut self, queue: u32) {
        if queue == self.youngest() {
            self.shared_length -= 1;
            if self
                .theta
                .is_some_and(|theta| self.shared_length < theta / 2)
            {
                self.disarmed = false;
            }
        }
    }

    /// Whether the youngest shared queue is long enough for partners to be extracted.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        !self.disarmed && self.theta.is_some_and(|theta| self.shared_length >= theta)
    }

    /// Extracts partners: the ranks with more elements than the average of those that appeared, the
    /// busiest first, as many as the budget allows. Returns the number of queues to make and the
    /// number of ranks visited. The new queues, numbered from `next_queue`, are one for each new
    /// partner and then the next shared queue; there are none without a new partner.
    pub(super) fn extract(&mut self, budget: &mut Budget, next_queue: u32) -> (u32, u64) {
        let above = |count: u32| u64::from(count) * u64::from(self.counted_ranks) > self.counted;
        let mut chosen: Vec<(u32, u32)> = self
            .counts
            .iter()
            .filter(|&(rank, count)| above(count) && self.places.get(rank).is_none())
            .map(|(rank, count)| (count, rank as u32))
            .collect();
        chosen.sort_unstable_by_key(|&(count, rank)| (Reverse(count), rank));
        chosen.truncate(budget.left() as usize);
        let examined = u64::from(self.counted_ranks);
        if chosen.is_empty() {
            self.disarmed = true;
            return (0, examined);
        }
        let older = self.shared.len();
        for (queue, &(_, rank)) in (next_queue..).zip(&chosen) {
            self.places.set(u64::from(rank), self.partners.len() as u32);
            self.partners.push(Partner { queue, older });
        }
        let made = chosen.len() as u32;
        budget.used += made;
        self.shared.push(next_queue + made);
        self.shared_length = 0;
        (made + 1, examined)
    }

    /// The queues where elements of a rank may be, oldest elements first: a partner's
    /// are in the shared queues that were older than its partnership, and in its own.
    pub(super) fn route(&self, rank: u32, route: &mut Vec<u32>) {
        match self.partner(rank) {
            Some(partner) => {
                route.extend_from_slice(&self.shared[..partner.older]);
                route.push(partner.queue);
            }
            None => route.extend_from_slice(&self.shared),
        }
    }

    pub(super) fn route_all(&self, route: &mut Vec<u32>) {
        route.extend_from_slice(&self.shared);
        route.extend(self.partners.iter().map(|partner| partner.queue));
    }

    /// Extractions so far.
    pub(super) fn level_count(&self) -> usize {
        self.shared.len() - 1
    }

    pub(super) fn bytes(&self) -> usize {
        self.shared.capacity() * size_of::<u32>()
            + self.partners.capacity() * size_of::<Partner>()
            + self.places.bytes()
            + self.counts.bytes()
    }

    /// Upper bound on the bytes with `queues` dedicated queues: each level has at least one.
    pub(super) fn bytes_bound(&self, queues: u32) -> u64 {
        if self.theta.is_none() {
            return vec_bound(1, size_of::<u32>());
        }
        let queues = u64::from(queues);
        vec_bound(queues + 1, size_of::<u32>())
            + vec_bound(queues, size_of::<Partner>())
            + IdTable::bytes_bound(queues)
            + IdTable::bytes_bound(u64::from(COUNTED_RANKS_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(k: u32) -> Budget {
        let mut budget = Budget::new(k, None);
        budget.saw_processes(16);
        budget
    }

    fn route(pnp: &Partners, rank: u32) -> Vec<u32> {
        let mut route = Vec::new();
        pnp.route(rank, &mut route);
        route
    }

    /// Elements of the first 65,536 ranks count, and later ones of these ranks.
    #[test]
    fn ranks_beyond_the_limit_are_not_counted() {
        let mut pnp = Partners::new(Some(u32::MAX), 0);
        for (rank, counted) in [
            (65_534, 65_535),
            (65_535, 65_536),
            (65_536, 65_536),
            (9, 65_537),
        ] {
            if rank == 65_534 {
                (0..rank).for_each(|rank| pnp.count(rank));
            }
            pnp.count(rank);
            assert_eq!(pnp.counted, counted, "{rank}");
        }
    }

    /// At theta the ranks above the average get queues, and the others share a new one. A search
    /// visits older elements first.
    #[test]
    fn partners_are_extracted_level_by_level() {
        let mut pnp = Partners::new(Some(6), 0);
        let mut budget = budget(8);
        for rank in [7, 7, 7, 5, 6] {
            assert_eq!(pnp.place(rank), 0);
            assert!(!pnp.is_due());
        }
        assert_eq!(pnp.place(4), 0);
        assert!(pnp.is_due());
        // Six elements of four ranks: only rank 7 is above 1.5.
        assert_eq!(pnp.extract(&mut budget, 1), (2, 4));
        assert_eq!((pnp.place(7), pnp.place(5)), (1, 2));
        assert_eq!((route(&pnp, 7), route(&pnp, 5)), (vec![0, 1], vec![0, 2]));
        for _ in 0..5 {
            pnp.place(5);
        }
        assert!(pnp.is_due());
        assert_eq!(pnp.extract(&mut budget, 3), (2, 4));
        assert_eq!(
            (route(&pnp, 7), route(&pnp, 5), route(&pnp, 4)),
            (vec![0, 1], vec![0, 2, 3], vec![0, 2, 4])
        );
        assert_eq!(
            (budget.used, pnp.partners.len(), pnp.level_count()),
            (2, 2, 2)
        );
    }

    /// If no rank is above the average, no queue is made, and the next elements do not try again.
    #[test]
    fn extraction_in_vain_is_repeated_only_after_the_queue_was_short() {
        let mut pnp = Partners::new(Some(4), 0);
        let mut budget = budget(8);
        (0..4).for_each(|rank| _ = pnp.place(rank));
        assert_eq!(pnp.extract(&mut budget, 1), (0, 4));
        pnp.place(0);
        assert!(!pnp.is_due());
        (0..4).for_each(|_| pnp.left(0));
        (0..3).for_each(|_| _ = pnp.place(0));
        assert!(pnp.is_due());
        assert_eq!(pnp.extract(&mut budget, 1).0, 2);
    }

    /// If there are more candidates than the cap allows, the busiest become partners.
    #[test]
    fn the_cap_chooses_the_busiest() {
        let mut pnp = Partners::new(Some(4), 0);
        let mut budget = Budget::new(1, Some(1));
        for rank in [1, 2, 2, 2, 3, 3, 4, 5, 6, 7] {
            pnp.place(rank);
        }
        assert_eq!(pnp.extract(&mut budget, 1).0, 2);
        assert_eq!(route(&pnp, 2), [0, 1]);
        assert_eq!(route(&pnp, 3), [0, 2]);
        assert_eq!(budget.left(), 0);
    }
}
