//! Posts and arrivals of the offered patterns.

use dpamatch_vocabulary::{
    CommId, Envelope, MsgId, Operation, PaperWorkload, Rank, RecvId, Selector, Tag,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// All receives differ: no conflict.
    Distinct,
    /// All receives are equal: every handler conflicts.
    Equal,
    /// `equal` of 100 messages share the common tag, the others have distinct ones; the seed
    /// chooses.
    Mixed {
        /// Percentage, at most 100.
        equal: u32,
        seed: u64,
    },
}

impl From<PaperWorkload> for Pattern {
    fn from(workload: PaperWorkload) -> Self {
        if workload.has_conflicts() {
            Self::Equal
        } else {
            Self::Distinct
        }
    }
}

const COMMON: u32 = PaperWorkload::COMMON_TAG.get();
/// First tag of the others.
const FIRST: u32 = 1000;

fn tags(pattern: Pattern, count: usize) -> Vec<u32> {
    let own = |index: usize| FIRST + index as u32;
    match pattern {
        Pattern::Distinct => (0..count).map(own).collect(),
        Pattern::Equal => vec![COMMON; count],
        Pattern::Mixed { equal, seed } => {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let pick = |index| {
                if random.random_range(0..100) < equal {
                    COMMON
                } else {
                    own(index)
                }
            };
            (0..count).map(pick).collect()
        }
    }
}

/// `count` receives posted in arrival order, then `count` messages of `bytes` bytes.
pub(crate) fn operations(pattern: Pattern, count: usize, bytes: u32) -> Vec<Operation> {
    let comm = CommId(0);
    let source = Rank::default();
    let numbers = tags(pattern, count);
    let tags: Vec<Tag> = numbers
        .into_iter()
        .map(|tag| Tag::new(tag).expect("a window's tags are small"))
        .collect();
    let post = |(index, &tag): (usize, &Tag)| Operation::Post {
        recv: RecvId(index as u64),
        comm,
        selector: Selector::new(source, tag),
        bytes,
    };
    let arrive = |(index, &tag): (usize, &Tag)| Operation::Arrive {
        msg: MsgId(index as u64),
        envelope: Envelope { comm, source, tag },
        bytes,
    };
    tags.iter()
        .enumerate()
        .map(post)
        .chain(tags.iter().enumerate().map(arrive))
        .collect()
}
