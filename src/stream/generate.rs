//! Random streams.
//!
//! A stream is made of bursts of posts or of arrivals with related keys. The choice is random,
//! biased towards a target length of the queues. The target changes, so that in turn the posted and
//! the unexpected queue are long. The same seed, number of events and profile give the same stream
//! on every machine: the generator is named (ChaCha with 8 rounds) and only whole numbers are
//! drawn.

use dpamatch_vocabulary::{
    CommId, Envelope, RANK_MAX, Rank, Selector, SourceSel, TAG_MAX, Tag, TagSel, choices,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::{CollName, Collective, Event, ProbeId, hostile};
use crate::engine::{MsgId, RecvId};

choices! {
    /// The character of a random stream.
    #[derive(Hash)]
    pub enum Profile, by default Mixed {
        /// Some of everything, the largest rank, tag and communicator included.
        Mixed = "mixed",
        /// Few keys in long bursts: many conflicts, long sequences of compatible receives.
        Hot = "hot",
        /// Half of the receives wild in source, tag or both.
        Wild = "wild",
        /// Many keys, long queues.
        Deep = "deep",
        /// Collective operations in their own communicators, with point-to-point traffic.
        Coll = "coll",
        /// Thousands of communicators, each used for a while.
        Comms = "comms",
        /// Keys chosen against hash tables: in one bin of the hashes that engines use, or different
        /// in high bits only.
        Keys = "keys",
    }
}

/// The numbers behind a profile.
struct Shape {
    sources: u32,
    tags: u32,
    comms: u32,
    /// Percentage of selectors' fields that are wild.
    wild: u32,
    burst: u32,
    /// Percentage of burst steps that keep the key.
    same_key: u32,
    /// Greatest surplus of posts or arrivals that is aimed at.
    depth: i64,
    /// Whether odd communicators carry collective operations only.
    collectives: bool,
    /// The numbers of sources, tags and communicators.
    numbers: Numbers,
}

/// How an index maps to a number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// The index itself.
    Plain,
    /// The index itself, but the last source, tag and communicator have the largest valid numbers.
    Extreme,
    /// A number chosen against hash tables (`hostile`).
    Hostile,
}

impl Profile {
    fn shape(self) -> Shape {
        let mixed = Shape {
            sources: 9,
            tags: 6,
            comms: 3,
            wild: 15,
            burst: 12,
            same_key: 50,
            depth: 48,
            collectives: false,
            numbers: Numbers::Extreme,
        };
        match self {
            Self::Mixed => mixed,
            Self::Hot => Shape {
                sources: 2,
                tags: 2,
                comms: 1,
                wild: 4,
                burst: 100,
                same_key: 97,
                depth: 128,
                ..mixed
            },
            Self::Wild => Shape {
                sources: 4,
                tags: 4,
                comms: 2,
                wild: 50,
                ..mixed
            },
            Self::Deep => Shape {
                sources: 64,
                tags: 48,
                comms: 2,
                wild: 5,
                burst: 40,
                depth: 2000,
                ..mixed
            },
            Self::Coll => Shape {
                sources: 32,
                tags: 3,
                comms: 4,
                burst: 32,
                collectives: true,
                ..mixed
            },
            Self::Comms => Shape {
                sources: 3,
                tags: 2,
                comms: COMMS_MANY,
                burst: 8,
                depth: 300,
                numbers: Numbers::Plain,
                ..mixed
            },
            Self::Keys => Shape {
                sources: hostile::SOURCES,
                tags: hostile::TAGS,
                comms: 3,
                wild: 5,
                burst: 24,
                depth: 300,
                numbers: Numbers::Hostile,
                ..mixed
            },
        }
    }
}

const COLLECTIVES: [&str; 6] = [
    "bcast",
    "gather",
    "allgather",
    "allreduce",
    "alltoall",
    "reduce_scatter_block",
];

/// Communicators of the profile with many, and the number in use at a time.
const COMMS_MANY: u32 = 5000;
const COMMS_AT_ONCE: u32 = 8;

const LENGTHS: [u64; 6] = [0, 8, 8, 64, 1024, 70_000];

/// A cancel chooses from this many recent receives.
const CANCEL_WINDOW: u64 = 256;

/// What the events of one burst have in common.
#[derive(Clone, Copy)]
struct Burst {
    left: u32,
    posts: bool,
    comm: u32,
    source: u32,
    tag: u32,
    coll: Option<Collective>,
}

/// A random stream, as an iterator over its events in constant memory.
///
/// # Examples
/// ```
/// use dpamatch::stream::{Generator, Profile};
///
/// let stream: Vec<_> = Generator::new(1, 500, Profile::Wild).collect();
/// assert_eq!(stream.len(), 500);
/// assert!(Generator::new(1, 500, Profile::Wild).eq(stream));
/// ```
#[expect(
    missing_debug_implementations,
    reason = "the state of a random generator says nothing"
)]
pub struct Generator {
    random: ChaCha8Rng,
    shape: Shape,
    left: u64,
    receives: u64,
    messages: u64,
    probes: u64,
    bursts: u32,
    /// Surplus of posts (positive) or arrivals that bursts work towards.
    aim: i64,
    burst: Burst,
}

impl Generator {
    /// A stream of `events` events.
    pub fn new(seed: u64, events: u64, profile: Profile) -> Self {
        Self {
            random: ChaCha8Rng::seed_from_u64(seed),
            shape: profile.shape(),
            left: events,
            receives: 0,
            messages: 0,
            probes: 0,
            bursts: 0,
            aim: 0,
            burst: Burst {
                left: 0,
                posts: false,
                comm: 0,
                source: 0,
                tag: 0,
                coll: None,
            },
        }
    }

    fn percent(&mut self, percentage: u32) -> bool {
        self.random.random_range(0..100) < percentage
    }

    fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.random_range(0..from.len() as u64) as usize]
    }

    fn new_burst(&mut self) {
        if self.percent(8) {
            self.aim = self
                .random
                .random_range(-self.shape.depth..=self.shape.depth);
        }
        let surplus = i128::from(self.receives) - i128::from(self.messages);
        let towards_aim = surplus < i128::from(self.aim);
        self.bursts = self.bursts.wrapping_add(1);
        let at_once = self
            .random
            .random_range(0..self.shape.comms.min(COMMS_AT_ONCE));
        // Of many communicators those in use change slowly, or posts and arrivals would never meet.
        let comm = if self.shape.comms == COMMS_MANY {
            (self.bursts / 3 + at_once) % COMMS_MANY
        } else {
            at_once
        };
        self.burst = Burst {
            left: self.random.random_range(1..=self.shape.burst),
            posts: towards_aim == self.percent(75),
            comm,
            source: self.random.random_range(0..self.shape.sources),
            tag: self.random.random_range(0..self.shape.tags),
            coll: None,
        };
        if self.shape.collectives && comm % 2 == 1 {
            let name = self.choose(&COLLECTIVES);
            let bytes = Some(self.choose(&LENGTHS));
            self.burst.coll = CollName::new(name).map(|name| Collective { name, bytes });
        }
    }

    fn next_key(&mut self) {
        if self.burst.coll.is_some() {
            // The ranks of a collective operation follow one another under one tag.
            self.burst.source = (self.burst.source + 1) % self.shape.sources;
        } else if !self.percent(self.shape.same_key) {
            self.burst.source = self.random.random_range(0..self.shape.sources);
            self.burst.tag = self.random.random_range(0..self.shape.tags);
        }
    }

    /// The numbers of the burst's communicator, source and tag.
    fn numbers(&self) -> (u32, u32, u32) {
        let Burst {
            comm, source, tag, ..
        } = self.burst;
        let Shape {
            comms,
            sources,
            tags,
            ..
        } = self.shape;
        let extreme = |index, count, largest| {
            if count > 2 && index == count - 1 {
                largest
            } else {
                index
            }
        };
        match self.shape.numbers {
            Numbers::Plain => (comm, source, tag),
            Numbers::Extreme => (
                extreme(comm, comms, u32::MAX),
                extreme(source, sources, RANK_MAX),
                extreme(tag, tags, TAG_MAX),
            ),
            Numbers::Hostile => hostile::key(comm, source, tag),
        }
    }

    fn envelope(&self) -> Envelope {
        let (comm, source, tag) = self.numbers();
        Envelope {
            comm: CommId(comm),
            source: Rank::new(source).unwrap_or_default(),
            tag: Tag::new(tag).unwrap_or_default(),
        }
    }

    /// The burst's communicator and key, some of it wild unless the burst is collective.
    fn selector(&mut self) -> (CommId, Selector) {
        let Envelope { comm, source, tag } = self.envelope();
        let wild = if self.burst.coll.is_some() {
            0
        } else {
            self.shape.wild
        };
        let source = if self.percent(wild) {
            SourceSel::Any
        } else {
            source.into()
        };
        let tag = if self.percent(wild) {
            TagSel::Any
        } else {
            tag.into()
        };
        (comm, Selector { source, tag })
    }

    /// A cancel of a recent receive, matched or not; rarely of one that is not posted yet.
    fn cancel(&mut self) -> Event {
        let oldest = self.receives.saturating_sub(CANCEL_WINDOW);
        let recv = if self.percent(2) {
            self.receives
        } else {
            self.random.random_range(oldest..self.receives)
        };
        Event::Cancel { recv: RecvId(recv) }
    }

    fn probe(&mut self) -> Event {
        let (comm, selector) = self.selector();
        let probe = ProbeId(self.probes);
        self.probes += 1;
        if self.percent(60) {
            Event::Probe {
                probe,
                comm,
                selector,
            }
        } else {
            Event::Mprobe {
                probe,
                comm,
                selector,
            }
        }
    }

    fn post(&mut self) -> Event {
        let (comm, selector) = self.selector();
        let recv = RecvId(self.receives);
        self.receives += 1;
        let size = self.percent(50).then(|| self.choose(&LENGTHS));
        Event::Post {
            recv,
            comm,
            selector,
            size,
            coll: self.burst.coll,
        }
    }

    fn arrive(&mut self) -> Event {
        let msg = MsgId(self.messages);
        self.messages += 1;
        let bytes = Some(self.choose(&LENGTHS));
        Event::Arrive {
            msg,
            envelope: self.envelope(),
            bytes,
            coll: self.burst.coll,
            lie: 0,
        }
    }
}

impl Iterator for Generator {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        self.left = self.left.checked_sub(1)?;
        if self.burst.left == 0 {
            self.new_burst();
        }
        let event = match self.random.random_range(0..100) {
            0 | 1 if self.receives > 0 => self.cancel(),
            2 | 3 => self.probe(),
            _ => {
                self.burst.left -= 1;
                if self.burst.posts {
                    self.post()
                } else {
                    self.arrive()
                }
            }
        };
        self.next_key();
        Some(event)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Reader;

    #[test]
    fn every_line_can_be_read_back() {
        for &profile in Profile::ALL {
            let stream: Vec<_> = Generator::new(9, 3_000, profile).collect();
            let text: String = stream.iter().map(|event| format!("{event}\n")).collect();
            let read: Result<Vec<_>, _> = Reader::new(text.as_bytes()).collect();
            assert_eq!(read.expect("good lines"), stream);
        }
    }

    /// The stream of a seed must never change: results are quoted with their seeds.
    #[test]
    fn a_seed_is_a_stream_for_ever() {
        let mut start = Generator::new(1, 2, Profile::Mixed).map(|event| event.to_string());
        assert_eq!(start.next().as_deref(), Some("arrive,0,1,1,3,bytes=1024"));
        // Checksums (FNV-1a) of longer streams.
        let checksum = |profile| {
            let text: String = Generator::new(1, 3_000, profile)
                .map(|event| format!("{event}\n"))
                .collect();
            let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
        };
        let expected: [u64; 7] = [
            0xe4aa_f8db_dd73_10a7,
            0xcfdd_25b5_c726_ae07,
            0x2d6e_623a_0f64_032b,
            0x77c8_c53d_8908_4db4,
            0x9cc7_57b0_b4d6_b19e,
            0x83da_d9fa_0565_0971,
            0x7f94_a53c_7c09_e485,
        ];
        let sums: Vec<u64> = Profile::ALL.iter().copied().map(checksum).collect();
        assert_eq!(sums, expected);
    }
}
