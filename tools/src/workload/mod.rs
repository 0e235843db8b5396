//! Traffic of known patterns as streams of events at one receiver: the papers' benchmarks and
//! application patterns, for up to 1,048,576 ranks.
//!
//! A stream consists of rounds of *elements*, each a receive and its message. In each round some
//! messages come early, before any post, and so unexpected. Then receives are posted in element
//! order, all at once or in groups, and after each group the rest of its messages arrives in the
//! workload's order. Everything follows from the element's number, so a stream of any length takes
//! constant memory, and a [`Workload`] gives one stream on every machine.
//!
//! | pattern | paper | elements of a round |
//! |---|---|---|
//! | [`senders`](Pattern::Senders) | 4D | `pending` of each other rank, tags all different |
//! | [`depth`](Pattern::Depth) | cost of communication | one, behind `pending` entries that stay |
//! | [`gather`](Pattern::Gather) | dedicated queues, 4D | `pending` of each other rank |
//! | [`halo2d`](Pattern::Halo2d), [`halo3d`](Pattern::Halo3d) | ours | `pending` of 8 or 26 neighbours |
//! | [`ring`](Pattern::Ring) | 4D | `pending` of each other rank, nearly in order |
//! | [`alltoall`](Pattern::Alltoall) | 4D | `pending` of each other rank, four posted at a time |
//! | [`amr`](Pattern::Amr) | dedicated queues | `pending` blocks of 6 to 59 neighbours, and an allreduce |
//! | [`coll-gather`](Pattern::CollGather) | dedicated queues | `pending` of each other rank |
//! | [`allreduce`](Pattern::Allreduce) | dedicated queues | `pending` of each partner of recursive doubling |
//! | [`iallgather`](Pattern::Iallgather) | dedicated queues | `pending` of each other rank |
//! | [`experts`](Pattern::Experts) | GShard, ICLR 2021 | 0 to 2 `pending` of each other rank, one tag |
//! | [`pipeline`](Pattern::Pipeline) | Megatron-LM, SC21 | `pending` from each of two neighbours, one tag |

mod events;
mod job;
mod liars;
mod order;
mod pattern;

use dpamatch_vocabulary::CommId;
pub use events::Events;
pub use job::{App, Job};
pub use liars::lying;
pub use order::{NEAR, Order};
pub(crate) use order::{STEP, mix};
pub use pattern::Pattern;

/// Most ranks of a workload: the largest job of the papers.
pub const RANKS_MAX: u32 = 1 << 20;

/// A pattern and its numbers. [`Pattern::usual`] has the defaults.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Workload {
    pub pattern: Pattern,
    /// Processes of the job, 2 to [`RANKS_MAX`].
    pub ranks: u32,
    pub rounds: u64,
    /// Messages per sender and round, or the pattern's use of this number; at least 1.
    pub pending: u32,
    /// Communicators with equal traffic, whose elements alternate.
    pub comms: u32,
    /// Percentage of receives for any source.
    pub any: u32,
    /// Percentage of messages that arrive before their round's receives.
    pub early: u32,
    pub order: Order,
    pub bytes: u64,
    pub seed: u64,
}

/// A number out of range.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what} is {value}, must be {least} to {most}")]
pub struct BadWorkload {
    pub what: &'static str,
    pub value: u64,
    pub least: u64,
    pub most: u64,
}

impl Workload {
    /// The stream.
    ///
    /// # Errors
    /// [`BadWorkload`] for the number out of range.
    pub fn events(&self) -> Result<Events, BadWorkload> {
        let check = |what, value, least, most| match value {
            value if (least..=most).contains(&value) => Ok(()),
            value => Err(BadWorkload {
                what,
                value,
                least,
                most,
            }),
        };
        check("ranks", u64::from(self.ranks), 2, u64::from(RANKS_MAX))?;
        check("rounds", self.rounds, 0, 1 << 27)?;
        check("pending", u64::from(self.pending), 1, 1 << 20)?;
        check("comms", u64::from(self.comms), 1, 4096)?;
        check("any", u64::from(self.any), 0, 100)?;
        check("early", u64::from(self.early), 0, 100)?;
        // Elements need distinct tags, and an index in a random number.
        let elements = u128::from(self.ranks) * u128::from(self.pending) * u128::from(self.comms);
        check(
            "ranks x pending x comms",
            u64::try_from(elements).unwrap_or(u64::MAX),
            1,
            1 << 30,
        )?;
        Ok(Events::new(*self))
    }

    /// Number of initial events that only fill queues, in patterns that measure the searches after
    /// them: posts or early messages before the first search that can find an entry.
    pub fn filling(&self) -> u64 {
        let comms = u64::from(self.comms);
        match self.pattern {
            Pattern::Senders if self.early == 0 || self.early == 100 => self.elements(0) * comms,
            _ => self.standing() * comms,
        }
    }

    pub fn comm_sizes(&self) -> impl Iterator<Item = (CommId, u32)> + use<> {
        let ranks = self.ranks;
        (0..2 * self.comms).map(move |comm| (CommId(comm), ranks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpamatch::engine::{BinCount, BinEngine, Engine, ListEngine, QueueStats};
    use dpamatch::stream::{Event, Outcome, Reader, StreamMatcher};

    fn small(pattern: Pattern) -> Workload {
        let usual = pattern.usual();
        Workload {
            ranks: usual.ranks.min(100),
            rounds: usual.rounds.min(8),
            ..usual
        }
    }

    fn run(workload: Workload) -> (QueueStats, QueueStats, u64) {
        let mut list = ListEngine::new();
        let mut left = 0;
        let mut count = |outcome: Outcome| left += u64::from(outcome.is_leftover());
        list.run(&mut workload.events().expect("a workload"), &mut count)
            .expect("an engine");
        (list.stats().prq, list.stats().umq, left)
    }

    #[test]
    fn everything_is_matched() {
        for &pattern in Pattern::ALL {
            for (any, early, comms) in [(0, 0, 1), (30, 50, 3), (100, 100, 2)] {
                let workload = Workload {
                    any,
                    early,
                    comms,
                    ..small(pattern)
                };
                let (prq, umq, left) = run(workload);
                let standing = u64::from(comms) * workload.standing();
                assert_eq!(left, standing, "{workload:?}");
                assert!(
                    prq.hits + umq.hits >= workload.rounds * u64::from(comms),
                    "{workload:?}"
                );
                assert_eq!(early == 100, prq.hits == 0, "{workload:?}");
                assert_eq!(early == 0, umq.hits == 0, "{workload:?}");
            }
        }
    }

    /// Steps of forward and reverse search in a list, for both queues.
    #[test]
    fn steps_of_the_micro_benchmark() {
        let (n, base) = (
            99 * 5,
            Workload {
                pending: 5,
                ..small(Pattern::Senders)
            },
        );
        for (order, steps) in [(Order::Forward, n), (Order::Reverse, n * (n + 1) / 2)] {
            assert_eq!(run(Workload { order, ..base }).0.attempts, steps);
            assert_eq!(
                run(Workload {
                    order,
                    early: 100,
                    ..base
                })
                .1
                .attempts,
                steps
            );
        }
        let depth = Workload {
            pending: 700,
            rounds: 3,
            ..Pattern::Depth.usual()
        };
        assert_eq!(run(depth).0.attempts, 3 * 701);
        // For unexpected messages the receives search.
        assert_eq!(
            run(Workload {
                early: 100,
                ..depth
            })
            .1
            .attempts,
            3 * 701
        );
    }

    #[test]
    fn queues_are_as_long_as_the_papers() {
        let ring = Workload {
            ranks: 256,
            early: 0,
            ..Pattern::Ring.usual()
        };
        assert_eq!(run(ring).0.length_max, 255);
        let (prq, umq, _) = run(Workload {
            rounds: 1,
            ..Pattern::Alltoall.usual()
        });
        assert_eq!(prq.length_max, 4);
        assert!((3075..4100).contains(&umq.length_max), "{}", umq.length_max);
    }

    #[test]
    fn a_million_ranks_are_seen_from_one() {
        let gather = Workload {
            ranks: RANKS_MAX,
            rounds: 1,
            ..Pattern::CollGather.usual()
        };
        let mut bins = BinEngine::new(BinCount::default());
        // Only the start: it must not need anything of the job's size.
        bins.run(
            &mut gather.events().expect("a workload").take(5_000),
            &mut |_| (),
        )
        .expect("an engine");
        assert_eq!(bins.stats().prq.length, 5_000);
        let last = Events::new(gather).nth(RANKS_MAX as usize - 2);
        let Some(Event::Post { selector, .. }) = last else {
            panic!("{last:?}")
        };
        assert_eq!(
            Some(selector.source),
            dpamatch_vocabulary::Rank::new(RANKS_MAX - 1)
                .ok()
                .map(Into::into)
        );
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        let base = Pattern::Gather.usual();
        let message = |workload: Workload| workload.events().expect_err("wrong").to_string();
        assert_eq!(
            message(Workload { ranks: 1, ..base }),
            "ranks is 1, must be 2 to 1048576"
        );
        assert_eq!(
            message(Workload { pending: 0, ..base }),
            "pending is 0, must be 1 to 1048576"
        );
        assert_eq!(
            message(Workload { early: 101, ..base }),
            "early is 101, must be 0 to 100"
        );
        let with = |change: fn(&mut Workload, u64), value| {
            let mut workload = base;
            change(&mut workload, value);
            workload.events().is_ok()
        };
        type Change = fn(&mut Workload, u64);
        let ranges: [(&str, Change, u64, u64); 6] = [
            ("ranks", |it, value| it.ranks = value as u32, 2, 1_048_576),
            ("rounds", |it, value| it.rounds = value, 0, 134_217_728),
            (
                "pending",
                |it, value| it.pending = value as u32,
                1,
                1_048_576,
            ),
            ("comms", |it, value| it.comms = value as u32, 1, 4_096),
            ("any", |it, value| it.any = value as u32, 0, 100),
            ("early", |it, value| it.early = value as u32, 0, 100),
        ];
        for (what, change, least, most) in ranges {
            for (value, fits) in [(least, true), (most, true), (most + 1, false)] {
                assert_eq!(with(change, value), fits, "{what} {value}");
            }
            assert!(least == 0 || !with(change, least - 1), "{what}");
        }
        for (comms, fits) in [(1_023, true), (1_024, true), (1_025, false)] {
            let workload = Workload {
                ranks: 1 << 10,
                pending: 1 << 10,
                comms,
                ..base
            };
            assert_eq!(workload.events().is_ok(), fits, "{comms} communicators");
        }
        let large = Workload {
            ranks: RANKS_MAX,
            pending: 1 << 20,
            comms: 4096,
            ..base
        };
        assert!(message(large).starts_with("ranks x pending x comms is 4503599627370496, must be"));
    }

    /// A workload's stream must never change: published results refer to it.
    #[test]
    fn lines_can_be_read_back_and_stay_the_same() {
        let mut checksum = 0xcbf2_9ce4_8422_2325_u64;
        for &pattern in Pattern::ALL {
            let workload = Workload {
                any: 20,
                ..small(pattern)
            };
            let stream: Vec<_> = workload.events().expect("a workload").collect();
            let text: String = stream.iter().map(|event| format!("{event}\n")).collect();
            let read: Result<Vec<_>, _> = Reader::new(text.as_bytes()).collect();
            assert_eq!(read.expect("good lines"), stream);
            let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            checksum = text.bytes().fold(checksum, step);
            if pattern == Pattern::Iallgather {
                assert_eq!(checksum, 0x7519_13a5_9560_8a93, "{checksum:#x}");
            }
        }
        assert_eq!(checksum, 0x537b_eb8f_bd94_71e9, "{checksum:#x}");
    }
}
