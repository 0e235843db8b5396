//! What is offered: posts and arrivals.

use dpamatch_vocabulary::{CommId, Envelope, Rank, Selector, Tag};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// One event of a stream. Names are the caller's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A receive is posted.
    Post {
        /// Its name.
        receive: u64,
        /// Its communicator.
        comm: CommId,
        /// Accepted source and tag.
        selector: Selector,
    },
    /// A message arrives.
    Arrive {
        /// Its name.
        message: u64,
        /// Its communicator, source and tag.
        envelope: Envelope,
        /// Its length in bytes.
        bytes: u32,
    },
    /// A receive is cancelled.
    Cancel {
        /// Its name.
        receive: u64,
    },
    /// The oldest unexpected message is looked for, and stays.
    Probe {
        /// Its communicator.
        comm: CommId,
        /// Wanted source and tag.
        selector: Selector,
    },
}

/// A window's pattern (O39).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// All receives differ: no conflict.
    Distinct,
    /// All receives are equal: every handler conflicts.
    Equal,
    /// Of 100 messages, so many carry the one common tag, the others one of their own. The seed
    /// says which.
    Mixed {
        /// Percentage, at most 100.
        equal: u32,
        /// Seed of the choice.
        seed: u64,
    },
}

/// Tag of the common key.
const COMMON: u32 = 7;
/// First tag of the others.
const FIRST: u32 = 1000;

/// The envelopes' tags of `count` messages.
fn tags(pattern: Pattern, count: usize) -> Vec<u32> {
    let own = |index: usize| FIRST + index as u32;
    match pattern {
        Pattern::Distinct => (0..count).map(own).collect(),
        Pattern::Equal => vec![COMMON; count],
        Pattern::Mixed { equal, seed } => {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let pick =
                |index| if random.random_range(0..100) < equal { COMMON } else { own(index) };
            (0..count).map(pick).collect()
        }
    }
}

/// `count` receives posted in the order of arrival, then `count` messages of `bytes` bytes.
pub(crate) fn events(pattern: Pattern, count: usize, bytes: u32) -> Vec<Event> {
    let comm = CommId(0);
    let source = Rank::default();
    let numbers = tags(pattern, count);
    let tags: Vec<Tag> =
        numbers.into_iter().map(|tag| Tag::new(tag).expect("a window's tags are small")).collect();
    let post = |(index, &tag): (usize, &Tag)| Event::Post {
        receive: index as u64,
        comm,
        selector: Selector::new(source, tag),
    };
    let arrive = |(index, &tag): (usize, &Tag)| Event::Arrive {
        message: index as u64,
        envelope: Envelope { comm, source, tag },
        bytes,
    };
    tags.iter().enumerate().map(post).chain(tags.iter().enumerate().map(arrive)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_mixed_windows() {
        let share = |equal| {
            let tags = tags(Pattern::Mixed { equal, seed: 1 }, 10_000);
            tags.iter().filter(|&&tag| tag == COMMON).count()
        };
        assert_eq!((share(0), share(100)), (0, 10_000));
        assert!((2_700..3_300).contains(&share(30)));
    }

    #[test]
    fn a_seed_fixes_a_window() {
        let window = |seed| events(Pattern::Mixed { equal: 50, seed }, 64, 8);
        assert_eq!(window(3), window(3));
        assert_ne!(window(3), window(4));
    }
}
