//! Search steps, counted by any engine of the registry.

use std::collections::BTreeMap;

use dpa_model::NicConfig;
use dpamatch_vocabulary::{CommId, Envelope, Rank, Selector, Tag};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

use super::message_list::Message;
use dpamatch::engine::{MsgId, RecvId};
use dpamatch::registry::{BuildError, EngineEntry, EngineOptions};
use dpamatch::stream::{Event, RunError};
use dpamatch_tools::counted_steps;

/// The order in which a process posts its receives, all before the first message arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Posting {
    /// Arrival order: n steps in a list (the benchmark's best case).
    InOrder,
    /// Reverse arrival order: n (n + 1) / 2 steps in a list (the benchmark's worst case).
    Reverse,
    /// A random permutation, seeded by this number and the receiving rank.
    Random(u64),
    /// The given order of the receives: [`Message::post`].
    Given,
}

impl Posting {
    /// The word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::InOrder => "best",
            Self::Reverse => "worst",
            Self::Random(_) => "random",
            Self::Given => "given",
        }
    }

    /// Indices of the messages that one rank receives, in the order of its receives.
    pub fn order(self, messages: &[Message]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..messages.len()).collect();
        match self {
            Self::InOrder => {}
            Self::Given => order.sort_by_key(|&place| messages[place].post),
            Self::Reverse => order.reverse(),
            Self::Random(seed) => {
                // A ChaCha stream per rank, so that the orders of different ranks never coincide.
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                random.set_stream(messages.first().map_or(0, |message| message.dst.into()));
                order.shuffle(&mut random);
            }
        }
        order
    }
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StepsError {
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("engine {0} does not count the steps of all its searches")]
    Uncounted(&'static str),
}

/// Events at the process that receives these messages: a post for each, then the arrivals in the
/// given order.
///
/// Communicators are numbered by their first message, because a NIC has room for few at a time.
pub fn events(messages: &[Message], posting: Posting) -> Vec<Event> {
    let mut comms: BTreeMap<u32, u32> = BTreeMap::new();
    for message in messages {
        let next = comms.len() as u32;
        comms.entry(message.comm).or_insert(next);
    }
    let envelope = |message: &Message| Envelope {
        comm: CommId(comms[&message.comm]),
        source: Rank::new(message.src).unwrap_or_default(),
        tag: Tag::new(message.tag).unwrap_or_default(),
    };
    let post = |(place, index): (usize, usize)| {
        let Envelope { comm, source, tag } = envelope(&messages[index]);
        let recv = RecvId(place as u64);
        Event::Post {
            recv,
            comm,
            selector: Selector::new(source, tag),
            size: None,
            coll: None,
        }
    };
    let arrive = |(index, message): (usize, &Message)| Event::Arrive {
        msg: MsgId(index as u64),
        envelope: envelope(message),
        bytes: Some(message.bytes),
        coll: None,
        lie: 0,
    };
    let posts = posting.order(messages).into_iter().enumerate().map(post);
    posts
        .chain(messages.iter().enumerate().map(arrive))
        .collect()
}

/// Steps of every rank that receives some of these messages, each rank with a new engine.
pub fn steps_by_rank(
    entry: &EngineEntry,
    options: &EngineOptions,
    messages: &[Message],
    posting: Posting,
) -> Result<BTreeMap<u32, u64>, StepsError> {
    let mut received: BTreeMap<u32, Vec<Message>> = BTreeMap::new();
    for message in messages {
        received.entry(message.dst).or_default().push(*message);
    }
    let of_rank = |(rank, messages): (u32, Vec<Message>)| {
        Ok((rank, steps(entry, options, &events(&messages, posting))?))
    };
    received.into_iter().map(of_rank).collect()
}

/// Options that give the emulated NIC room for this many receives and communicators, so that
/// software matches none.
pub fn roomy(options: &EngineOptions, receives: usize, communicators: usize) -> EngineOptions {
    let nic = NicConfig {
        receives: options.nic.receives.max(receives + 1),
        communicators: options.nic.communicators.max(communicators),
        ..options.nic
    };
    EngineOptions {
        nic,
        ..options.clone()
    }
}

/// Envelopes that a new engine compares for these events, in both queues.
pub fn steps(
    entry: &EngineEntry,
    options: &EngineOptions,
    events: &[Event],
) -> Result<u64, StepsError> {
    let comms = events.iter().filter_map(|event| match event {
        Event::Post { comm, .. } => Some(comm.0 as usize + 1),
        _ => None,
    });
    let (posts, communicators) =
        comms.fold((0, 0), |(posts, most), comm| (posts + 1, most.max(comm)));
    let mut matcher = entry.build(&roomy(options, posts, communicators))?;
    matcher.run(&mut events.iter().copied(), &mut |_| ())?;
    counted_steps(&matcher.counters()).ok_or(StepsError::Uncounted(entry.name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cost::queue::steps_reverse;
    use dpamatch::registry::{ENGINES, find};

    fn from_one_sender(count: u32) -> Vec<Message> {
        (0..count)
            .map(|tag| Message {
                dst: 1,
                tag,
                bytes: 8,
                ..Message::default()
            })
            .collect()
    }

    fn steps_of(name: &str, messages: &[Message], posting: Posting) -> u64 {
        let entry = find(name).expect("a known engine");
        let options = EngineOptions {
            threads: false,
            ..EngineOptions::default()
        };
        steps(entry, &options, &events(messages, posting)).expect("steps")
    }

    #[test]
    fn each_seed_and_rank_has_an_order_of_its_own() {
        let order = |seed, dst| {
            let message = Message {
                dst,
                bytes: 8,
                ..Message::default()
            };
            Posting::Random(seed).order(&[message; 20])
        };
        let all: Vec<_> = (0..40)
            .flat_map(|seed| (0..40).map(move |rank| (seed, rank)))
            .collect();
        let orders: BTreeSet<_> = all.iter().map(|&(seed, rank)| order(seed, rank)).collect();
        assert_eq!(orders.len(), all.len());
        assert_eq!(order(3, 5), order(3, 5));
    }

    #[test]
    fn given_orders_are_kept_and_communicators_do_not_meet() {
        // Receive positions 2, 0, 1: the list takes 2 steps, then 2, then 1.
        let posts = [1, 2, 0];
        let message = |(tag, post)| Message {
            dst: 1,
            tag,
            post,
            ..Message::default()
        };
        let mut messages: Vec<Message> = (0..).zip(posts).map(message).collect();
        assert_eq!(steps_of("list", &messages, Posting::Given), 5);
        assert_eq!(steps_of("list", &messages, Posting::Reverse), 6);
        // A communicator for each of 40 messages: the list passes the receives of the others; a NIC
        // with room for all of them does not.
        messages = (0..40)
            .map(|comm| Message {
                dst: 1,
                comm: comm * 7,
                ..Message::default()
            })
            .collect();
        assert_eq!(
            steps_of("list", &messages, Posting::Reverse),
            steps_reverse(40)
        );
        assert_eq!(steps_of("optimistic", &messages, Posting::Reverse), 40);
    }

    #[test]
    fn every_engine_counts_and_bins_count_less() {
        let messages = from_one_sender(2000);
        for entry in ENGINES {
            let steps = steps_of(entry.name, &messages, Posting::Reverse);
            assert!(
                steps <= steps_reverse(2000) && steps > 0,
                "{}: {steps}",
                entry.name
            );
        }
        assert!(steps_of("bins", &messages, Posting::Reverse) < steps_reverse(2000) / 20);
    }
}
