//! COL: queues for collective operations, as many as their profile requires.

use super::cap::Budget;
use super::catalogue::{COLLECTIVES_MAX, Kind, PROFILES_MAX};

/// Minimum number of searches of a profile. A call ends when its elements have left the queue.
/// Short calls are profiled together up to this many searches, so that a first receive that matches
/// immediately does not count as the whole call.
pub(super) const PROFILE_SEARCHES_MIN: u64 = 32;

/// Searches after which a profile ends even if elements of the call are left: as many as one call
/// among 65,536 processes makes.
pub(super) const PROFILE_SEARCHES_MAX: u64 = 65_536;

/// The profile P_p of one parameter set.
#[derive(Clone, Copy, Debug, Default)]
struct Profile {
    /// Searches while elements of this set were on the profiling queue, and the entries they
    /// traversed.
    searches: u64,
    traversed: u64,
    /// Elements on the profiling queue.
    waiting: u32,
    /// Whether the queues were made or refused; this is final.
    decided: bool,
}

impl Profile {
    fn ended(&self) -> bool {
        (self.waiting == 0 && self.searches >= PROFILE_SEARCHES_MIN)
            || self.searches >= PROFILE_SEARCHES_MAX
    }

    /// Queues needed for an ideal search length of one: the average traversal, rounded up, at least
    /// one.
    fn queues(&self) -> u32 {
        u32::try_from(self.traversed.div_ceil(self.searches.max(1)))
            .unwrap_or(u32::MAX)
            .max(1)
    }
}

/// The queues of one level: consecutive numbers, chosen by rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub(super) first: u32,
    pub(super) count: u32,
}

impl Level {
    #[inline]
    pub(super) fn queue(self, rank: u32) -> u32 {
        self.first + rank % self.count
    }
}

/// Profiles and levels of one side.
#[derive(Clone, Debug, Default)]
pub(super) struct Collectives {
    /// By parameter number; grows with the catalogue.
    profiles: Vec<Profile>,
    /// By class, oldest level first.
    levels: Vec<Vec<Level>>,
}

/// Where a new element of a collective operation goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Home {
    /// The profiling queue pq.
    Profiling,
    /// This queue.
    Queue(u32),
}

impl Collectives {
    /// The levels of a class, oldest first.
    #[inline]
    pub(super) fn levels(&self, class: u32) -> &[Level] {
        self.levels.get(class as usize).map_or(&[], Vec::as_slice)
    }

    pub(super) fn all_levels(&self) -> impl Iterator<Item = Level> {
        self.levels.iter().flatten().copied()
    }

    fn profile(&mut self, number: u32) -> &mut Profile {
        let number = number as usize;
        if number >= self.profiles.len() {
            self.profiles.resize(number + 1, Profile::default());
        }
        &mut self.profiles[number]
    }

    /// Profiles a search for an element of this kind that traversed `depth` entries. Returns
    /// whether it counted: only while the set has elements on the profiling queue.
    pub(super) fn searched(&mut self, kind: Kind, depth: u64) -> bool {
        let Some(number) = kind.profile else {
            return false;
        };
        let profile = self.profile(number);
        let profiled = !profile.decided && profile.waiting > 0;
        if profiled {
            profile.searches += 1;
            profile.traversed += depth;
        }
        profiled
    }

    /// An element of this set left the profiling queue.
    pub(super) fn left_profiling(&mut self, profile: Option<u32>) {
        if let Some(number) = profile {
            self.profile(number).waiting -= 1;
        }
    }

    /// Algorithm 1: where the element goes. New queues are numbered from `next_queue` on; the
    /// second number is how many have to be made.
    pub(super) fn place(
        &mut self,
        kind: Kind,
        rank: u32,
        budget: &mut Budget,
        next_queue: u32,
    ) -> (Home, u32) {
        let mut made = 0;
        if let Some(number) = kind.profile {
            let profile = self.profile(number);
            if !profile.decided && !profile.ended() {
                profile.waiting += 1;
                return (Home::Profiling, 0);
            }
            if !profile.decided {
                profile.decided = true;
                // At most as many as the cap leaves, and only if the last level has fewer.
                let wanted = profile.queues().min(budget.left());
                let last = self
                    .levels(kind.class)
                    .last()
                    .map_or(0, |level| level.count);
                if wanted > last {
                    made = wanted;
                    budget.used += wanted;
                    self.add_level(
                        kind.class,
                        Level {
                            first: next_queue,
                            count: wanted,
                        },
                    );
                }
            }
        }
        // Insertions go to the last level. Without any, the cap is reached: pq it is.
        match self.levels(kind.class).last() {
            Some(level) => (Home::Queue(level.queue(rank)), made),
            None => {
                if let Some(number) = kind.profile {
                    self.profile(number).waiting += 1;
                }
                (Home::Profiling, 0)
            }
        }
    }

    fn add_level(&mut self, class: u32, level: Level) {
        let class = class as usize;
        if class >= self.levels.len() {
            self.levels.resize(class + 1, Vec::new());
        }
        self.levels[class].push(level);
    }

    pub(super) fn level_count(&self) -> usize {
        self.levels.iter().map(Vec::len).sum()
    }

    pub(super) fn bytes(&self) -> usize {
        self.profiles.capacity() * size_of::<Profile>()
            + self.levels.capacity() * size_of::<Vec<Level>>()
            + self
                .levels
                .iter()
                .map(|levels| levels.capacity() * size_of::<Level>())
                .sum::<usize>()
    }

    /// Upper bound on the bytes with `queues` queues: a level has at least one.
    pub(super) fn bytes_bound(queues: u32) -> u64 {
        let classes = COLLECTIVES_MAX + Kind::NO_QUEUES as usize + 1;
        let levels = (2 * u64::from(queues)).max(4 * COLLECTIVES_MAX as u64);
        (PROFILES_MAX * 2 * size_of::<Profile>() + classes * 2 * size_of::<Vec<Level>>()) as u64
            + levels * size_of::<Level>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind {
        class: 2,
        profile: Some(0),
    };

    fn budget(k: u32, processes: u32) -> Budget {
        let mut budget = Budget::new(k, None);
        budget.saw_processes(processes);
        budget
    }

    fn call(col: &mut Collectives, kind: Kind, elements: u32, depth: u64, budget: &mut Budget) {
        for rank in 0..elements {
            assert_eq!(
                col.place(kind, rank, budget, 3),
                (Home::Profiling, 0),
                "the first call is profiled"
            );
        }
        for _ in 0..elements {
            assert!(col.searched(kind, depth));
            col.left_profiling(kind.profile);
        }
    }

    /// After the first call there are as many queues as the average traversal, chosen by
    /// rank.
    #[test]
    fn queues_are_the_average_traversal() {
        let (mut col, mut budget) = (Collectives::default(), budget(8, 1024));
        call(&mut col, KIND, 40, 7, &mut budget);
        assert_eq!(
            col.place(KIND, 9, &mut budget, 3),
            (Home::Queue(3 + 9 % 7), 7)
        );
        assert_eq!(
            col.place(KIND, 13, &mut budget, 10),
            (Home::Queue(3 + 13 % 7), 0)
        );
        assert_eq!(budget.used, 7);
    }

    /// Other parameters of the same operation add a level only if they need more queues than
    /// the last.
    #[test]
    fn levels_grow() {
        let (mut col, mut budget) = (Collectives::default(), budget(8, 1024));
        // Rank 4 is in queue 4 of five, later in queue 4 of nine: insertions go to the last
        // level.
        for (number, depth, made, queue) in [(0, 5, 5, 3 + 4), (1, 4, 0, 3 + 4), (2, 9, 9, 8 + 4)] {
            let kind = Kind {
                profile: Some(number),
                ..KIND
            };
            call(&mut col, kind, 40, depth, &mut budget);
            let next = 3 + budget.used;
            assert_eq!(
                col.place(kind, 4, &mut budget, next),
                (Home::Queue(queue), made)
            );
        }
        assert_eq!((col.levels(KIND.class).len(), budget.used), (2, 14));
        assert_eq!(col.levels(KIND.class + 1).len(), 0);
    }

    /// Levels use up the rest of the cap; after that elements stay on the profiling queue.
    #[test]
    fn the_cap_cuts_a_level_short() {
        let (mut col, mut budget) = (Collectives::default(), budget(1, 1024));
        call(&mut col, KIND, 1023, 512, &mut budget);
        assert_eq!(col.place(KIND, 0, &mut budget, 3).1, 32);
        let other = Kind {
            class: 3,
            profile: Some(1),
        };
        call(&mut col, other, 40, 5, &mut budget);
        assert_eq!(col.place(other, 0, &mut budget, 35), (Home::Profiling, 0));
        assert_eq!(budget.used, 32);
    }

    /// A receive matched immediately does not end the profile of a call; enough of them do.
    #[test]
    fn short_calls_are_profiled_together() {
        let (mut col, mut budget) = (Collectives::default(), budget(8, 1024));
        for _ in 0..PROFILE_SEARCHES_MIN {
            call(&mut col, KIND, 1, 1, &mut budget);
        }
        assert_eq!(col.place(KIND, 0, &mut budget, 3), (Home::Queue(3), 1));
    }

    /// A profile ends after 32 searches once its queue is empty, and after 65,536 in any case.
    #[test]
    fn a_profile_ends_at_its_limits() {
        let ended = |searches, waiting| {
            let profile = Profile {
                searches,
                waiting,
                ..Profile::default()
            };
            profile.ended()
        };
        for (searches, waiting, ends) in [
            (31, 0, false),
            (32, 0, true),
            (33, 0, true),
            (33, 1, false),
            (65_535, 1, false),
            (65_536, 1, true),
            (65_537, 1, true),
        ] {
            assert_eq!(ended(searches, waiting), ends, "{searches} with {waiting}");
        }
    }

    /// Searches of an empty profiling queue give no information about the call.
    #[test]
    fn empty_searches_are_not_profiled() {
        let mut col = Collectives::default();
        assert!(!col.searched(KIND, 0));
        assert!(!col.searched(Kind::PLAIN_COLLECTIVE, 9));
    }
}
