//! The receives and messages of a scenario at one window size, and the message that each receive
//! must get.

use std::ops::Range;

use dpamatch_vocabulary::{CommId, Envelope, Rank, Selector, SourceSel, Tag, TagSel};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

use super::scenario::{Posting, Scenario};
use dpamatch::engine::{Engine, MsgId, Oracle, RecvId};

const FIRST_TAG: u32 = 1_000;
/// Tag of the message that follows an unexpected window.
const DONE_TAG: u32 = 1;
/// First tag of the receives that never match.
const STANDING_TAG: u32 = 1 << 30;

/// What a receive is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) comm: CommId,
    pub(super) selector: Selector,
}

#[derive(Debug)]
pub(super) struct Window {
    /// Receives posted before the first window, which never match.
    pub(super) standing: Vec<Selector>,
    pub(super) receives: Vec<Key>,
    /// Number of receives posted before the messages are sent; the rest follow when all have come.
    pub(super) early: usize,
    /// In sending order, for each of several senders.
    pub(super) messages: Vec<Envelope>,
    /// Number of sending threads: sender `i % senders` sends message i.
    pub(super) senders: usize,
    /// Number of communicators: message i has number `i % comms`.
    pub(super) comms: usize,
    pub(super) expected: Vec<usize>,
    pub(super) done: Envelope,
    pub(super) size: usize,
}

fn tag(number: u32) -> Tag {
    Tag::new(number).expect("windows, depths and strides are bounded so that tags are in range")
}

pub(super) fn rank(number: usize) -> Rank {
    Rank::new(1 + number as u32).expect("windows are bounded so that ranks are in range")
}

fn choose(percent: usize, count: usize, random: &mut ChaCha8Rng) -> Vec<bool> {
    let chosen = (count * percent + 50) / 100;
    let mut all: Vec<bool> = (0..count).map(|i| i < chosen).collect();
    all.shuffle(random);
    all
}

impl Window {
    /// `count` messages of `size` bytes; `seed` determines random orders and the chosen shares.
    pub(super) fn new(scenario: &Scenario, count: usize, size: usize, seed: u64) -> Self {
        let comm_of = |message: usize| CommId((message % scenario.comms) as u32);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut order: Vec<usize> = (0..count).collect();
        match scenario.posting {
            Posting::Forward => {}
            Posting::Reverse => order.reverse(),
            Posting::Random => order.shuffle(&mut random),
        }
        let [hot, wild, late] = [scenario.hot, scenario.wild, scenario.late]
            .map(|share| choose(share, count, &mut random));
        // A stable sort: each part keeps the posting order.
        order.sort_by_key(|&message| late[message]);
        let early = if scenario.unexpected {
            0
        } else {
            order.iter().filter(|&&message| !late[message]).count()
        };

        // The hot key is number 0, so the others begin after it.
        let cold = usize::from(scenario.hot > 0);
        let number = |message: usize| {
            if scenario.same || hot[message] {
                0
            } else {
                message + cold
            }
        };
        let tag_of = |message: usize| tag(FIRST_TAG + number(message) as u32 * scenario.stride);
        // With wildcards each key has its own source, so that a receive with one wildcard accepts
        // no other key and every receive gets a message.
        let source_of = |message: usize| {
            rank(if scenario.wild > 0 {
                number(message)
            } else {
                message % scenario.senders
            })
        };
        let selector = |message: usize| {
            let (any_source, any_tag) = (
                wild[message] && message.is_multiple_of(2),
                wild[message] && !message.is_multiple_of(2),
            );
            Selector {
                source: if scenario.any_source || any_source {
                    SourceSel::Any
                } else {
                    source_of(message).into()
                },
                tag: if scenario.any_tag || any_tag {
                    TagSel::Any
                } else {
                    tag_of(message).into()
                },
            }
        };
        let standing = |i: usize| Selector {
            source: if scenario.standing_wild {
                SourceSel::Any
            } else {
                rank(0).into()
            },
            tag: tag(STANDING_TAG + i as u32).into(),
        };
        let in_order = scenario.same || scenario.any_tag;
        let envelope = |message| Envelope {
            comm: comm_of(message),
            source: source_of(message),
            tag: tag_of(message),
        };
        let mut window = Self {
            standing: (0..scenario.standing).map(standing).collect(),
            receives: order
                .iter()
                .map(|&message| Key {
                    comm: comm_of(message),
                    selector: selector(message),
                })
                .collect(),
            early,
            messages: (0..count).map(envelope).collect(),
            senders: scenario.senders,
            comms: scenario.comms,
            expected: order
                .iter()
                .enumerate()
                .map(|(i, &own)| if in_order { i } else { own })
                .collect(),
            done: Envelope {
                comm: CommId(0),
                source: rank(0),
                tag: tag(DONE_TAG),
            },
            size,
        };
        if scenario.is_mixed() {
            window.expected = window.by_oracle();
        }
        window
    }

    /// What the receive of the message behind an unexpected window is for.
    pub(super) fn done_key(&self) -> Key {
        Key {
            comm: self.done.comm,
            selector: Selector::new(self.done.source, self.done.tag),
        }
    }

    pub(super) fn has_late(&self) -> bool {
        self.early < self.receives.len()
    }

    /// The receives posted after the messages have come.
    pub(super) fn late(&self) -> Range<usize> {
        self.early..self.receives.len()
    }

    /// The message that the specification gives each receive. Receives name the source, so all
    /// interleavings of several senders agree. The oracle's queues are linear: quadratic time.
    fn by_oracle(&self) -> Vec<usize> {
        let mut oracle = Oracle::new();
        let count = self.receives.len();
        let mut matched = vec![None; count];
        for (i, selector) in self.standing.iter().enumerate() {
            oracle.post(RecvId((count + i) as u64), CommId(0), *selector);
        }
        for slot in 0..self.early {
            let Key { comm, selector } = self.receives[slot];
            oracle.post(RecvId(slot as u64), comm, selector);
        }
        for (i, envelope) in self.messages.iter().enumerate() {
            if let Some(RecvId(slot)) = oracle.arrive(MsgId(i as u64), *envelope) {
                matched[slot as usize] = Some(i);
            }
        }
        for slot in self.late() {
            let Key { comm, selector } = self.receives[slot];
            let message = oracle.post(RecvId(slot as u64), comm, selector);
            matched[slot] = message.map(|MsgId(number)| number as usize);
        }
        assert_eq!(
            oracle.posted().len(),
            self.standing.len(),
            "every receive of a window has a message"
        );
        matched.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::WINDOW_MAX;

    fn window(name: &str, count: usize, seed: u64) -> Window {
        Window::new(&name.parse().expect("a scenario"), count, 8, seed)
    }

    #[test]
    fn the_expected_matches_are_those_of_the_oracle() {
        for scenario in Scenario::all() {
            let window = Window::new(&scenario, 37, 8, 1);
            assert_eq!(window.expected, window.by_oracle(), "{scenario}");
            assert_eq!(window.expected.len(), 37, "{scenario}");
        }
    }

    #[test]
    fn shares_are_kept_and_seeded() {
        let mixed = window("MIX-30-20-10", 1000, 1);
        let wild = |receive: &&Key| {
            receive.selector.source == SourceSel::Any || receive.selector.tag == TagSel::Any
        };
        let hot = |message: &&Envelope| message.tag.get() == FIRST_TAG;
        assert_eq!(mixed.receives.iter().filter(wild).count(), 300);
        assert_eq!(mixed.messages.iter().filter(hot).count(), 200);
        assert_eq!(mixed.late().len(), 100);
        let out_of_order = |window: &Window| (0..1000).filter(|&i| window.expected[i] != i).count();
        assert!(
            out_of_order(&mixed) > 0,
            "late receives get earlier messages"
        );
        assert_eq!(mixed.messages, window("MIX-30-20-10", 1000, 1).messages);
        assert_ne!(mixed.messages, window("MIX-30-20-10", 1000, 2).messages);

        let hot_keys = window("HOT-25", 1000, 1);
        assert_eq!(hot_keys.messages.iter().filter(hot).count(), 250);
        assert_eq!(hot_keys.receives.iter().filter(wild).count(), 0);
        assert!(!hot_keys.has_late());
        assert!(
            window("MIX-0-0-100", 10, 1).early == 0 && window("MIX-100-100-100", 10, 1).early == 0
        );
    }

    /// The first receives of a communicator are not the first of the window.
    #[test]
    fn communicators_take_turns() {
        let window = window("COMMS-3", 7, 1);
        let comms = |messages: &[Envelope]| messages.iter().map(|it| it.comm.0).collect::<Vec<_>>();
        assert_eq!(comms(&window.messages), [0, 1, 2, 0, 1, 2, 0]);
        let received: Vec<u32> = window.receives.iter().map(|it| it.comm.0).collect();
        assert_eq!((received, window.comms), (comms(&window.messages), 3));
    }

    #[test]
    fn a_late_hot_receive_gets_what_the_early_ones_leave() {
        // All keys are equal: the early receives get the first messages in order.
        let all_hot = window("MIX-0-100-40", 10, 3);
        assert_eq!(
            (all_hot.early, all_hot.expected),
            (6, (0..10).collect::<Vec<_>>())
        );
    }

    #[test]
    fn any_interleaving_of_the_senders_gives_the_same() {
        let window = window("MANY-3", 31, 1);
        for first in 0..3 {
            let mut oracle = Oracle::new();
            for (slot, &Key { comm, selector }) in window.receives.iter().enumerate() {
                assert_eq!(oracle.post(RecvId(slot as u64), comm, selector), None);
            }
            for sender in [first, (first + 1) % 3, (first + 2) % 3] {
                for message in (sender..31).step_by(3) {
                    let found = oracle.arrive(MsgId(message as u64), window.messages[message]);
                    let slot = found.expect("a match").0 as usize;
                    assert_eq!(window.expected[slot], message);
                }
            }
        }
    }

    #[test]
    fn standing_receives_are_what_the_name_says() {
        for (name, depth, wild) in [
            ("NC", 0, false),
            ("DEPTH-3", 3, false),
            ("WDEPTH-4", 4, true),
        ] {
            let standing = window(name, 5, 1).standing;
            assert_eq!(standing.len(), depth, "{name}");
            assert!(
                standing
                    .iter()
                    .all(|receive| (receive.source == SourceSel::Any) == wild)
            );
            let tags = (STANDING_TAG..).map(|number| TagSel::Tag(tag(number)));
            assert!(
                standing
                    .iter()
                    .map(|receive| receive.tag)
                    .eq(tags.take(depth)),
                "{name}"
            );
        }
    }

    #[test]
    fn tags_stay_in_range_at_the_largest_sizes() {
        for name in ["NC-REV-S16000", "WDEPTH-65536"] {
            let last = window(name, WINDOW_MAX, 1).messages[WINDOW_MAX - 1]
                .tag
                .get();
            assert!(last < STANDING_TAG, "{name}: {last}");
        }
    }
}
