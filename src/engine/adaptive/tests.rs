//! The engine through its conversions.

use dpamatch_vocabulary::{Rank, Tag};

use super::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::engine::{Engine, MsgId, Oracle, RecvId};
use crate::stream::{Event, Outcome, ProbeId, StreamMatcher};

const COMM: CommId = CommId(0);

fn selector(source: u32, tag: u32) -> Selector {
    Selector::new(Rank::new(source).expect("a small rank"), Tag::new(tag).expect("a small tag"))
}

fn envelope(source: u32, tag: u32) -> Envelope {
    let source = Rank::new(source).expect("a small rank");
    Envelope { comm: COMM, source, tag: Tag::new(tag).expect("a small tag") }
}

fn engine() -> AdaptiveEngine {
    AdaptiveEngine::new(AdaptiveConfig::default(), None)
}

/// Source and tag of a number.
type Key = fn(u32) -> (u32, u32);

/// Posts `count` receives and takes them in reverse order; returns the compares.
fn reverse(engine: &mut dyn Engine, count: u32, key: Key) -> u64 {
    let before = engine.stats().prq.attempts;
    for number in 0..count {
        let (source, tag) = key(number);
        assert_eq!(engine.post(RecvId(u64::from(number)), COMM, selector(source, tag)), None);
    }
    for number in (0..count).rev() {
        let (source, tag) = key(number);
        let expected = Some(RecvId(u64::from(number)));
        assert_eq!(engine.arrive(MsgId(u64::from(number)), envelope(source, tag)), expected);
    }
    engine.stats().prq.attempts - before
}

/// Conversions to a list, to ranks and to bins.
fn conversions(engine: &AdaptiveEngine) -> [u64; 3] {
    let conversions = engine.index().conversions;
    assert_eq!(engine.stats().conversions, conversions.iter().sum::<u64>());
    conversions
}

/// Rule 1: entries of many sources of a small job go to ranks, others to bins; from then on the
/// search is short.
#[test]
fn long_searches_make_a_table() {
    let cases: [(Key, [u64; 3]); 3] = [
        (|number| (number, 0), [0, 1, 0]),
        (|number| (3, number), [0, 0, 1]),
        (|number| (number * 1000, 0), [0, 0, 1]),
    ];
    for (key, expected) in cases {
        let mut engine = engine();
        let first = reverse(&mut engine, 200, key);
        assert_eq!(conversions(&engine), expected);
        let second = reverse(&mut engine, 200, key);
        assert!(second <= 400 && first > 10 * second, "{first}, then {second} compares");
    }
}

/// In a table a receive collides with those of its own chain, not with others.
#[test]
fn collisions_are_those_of_a_chain() {
    let mut engine = engine();
    reverse(&mut engine, 200, |number| (number, 0));
    assert_eq!(conversions(&engine), [0, 1, 0], "a chain for each rank");
    let before = engine.stats().prq.collisions;
    for (number, (source, collisions)) in (1000..).zip([(3, 0), (5, 0), (3, 1), (3, 2), (7, 2)]) {
        engine.post(RecvId(number), COMM, selector(source, 0));
        assert_eq!(engine.stats().prq.collisions - before, collisions, "receive {number}");
    }
}

/// Rule 2: ranks give way to bins when one source has many entries.
#[test]
fn ranks_become_bins() {
    let mut engine = engine();
    reverse(&mut engine, 200, |number| (number, 0));
    assert_eq!(conversions(&engine), [0, 1, 0]);
    reverse(&mut engine, 200, |number| (7, number));
    assert_eq!(conversions(&engine), [0, 1, 1]);
}

/// Rule 3: with short queues the table goes, and its memory.
#[test]
fn short_queues_make_a_list_again() {
    let mut engine = engine();
    reverse(&mut engine, 200, |number| (number, 0));
    let with_table = engine.index().bytes();
    assert!(with_table >= 200 * size_of::<Head>());
    let mut rounds = 0;
    while conversions(&engine)[0] == 0 {
        reverse(&mut engine, 3, |number| (number, 0));
        rounds += 1;
        assert!(rounds < 1000, "never a list again");
    }
    assert!(rounds * 6 >= 3 * 64, "{rounds} rounds are fewer than the calm windows");
    assert_eq!((engine.index().bytes(), conversions(&engine)), (0, [1, 1, 0]));
}

/// Rule 4: loads between short and long change nothing, and loads that swing cannot make it flap.
#[test]
fn it_does_not_flap() {
    let mut engine = engine();
    for _ in 0..200 {
        reverse(&mut engine, 16, |number| (number, 0));
    }
    assert_eq!(conversions(&engine), [0, 0, 0], "up to 16 compares are not long");
    reverse(&mut engine, 200, |number| (number, 0));
    for _ in 0..200 {
        reverse(&mut engine, 16, |number| (number, 0));
    }
    assert_eq!(conversions(&engine), [0, 1, 0], "nor are they short");
    for round in 0..300 {
        reverse(&mut engine, if round % 2 == 0 { 100 } else { 2 }, |number| (number, 0));
    }
    assert_eq!(conversions(&engine), [0, 1, 0], "a swing faster than the calm windows");
}

/// A wave of one communicator: some posts or arrivals, then as many of the other kind with keys of
/// the same range, then cancels and probes until little is left. Some selectors have wildcards.
fn wave(random: &mut ChaCha8Rng, comm: CommId, next: &mut u64) -> Vec<Event> {
    let (sources, tags) = (random.random_range(1..20), random.random_range(1..4));
    let count = random.random_range(1..40);
    let first = *next;
    *next += count;
    let posts_first = random.random();
    let mut event = |posts: bool, id: u64| {
        let (source, tag) = (random.random_range(0..sources), random.random_range(0..tags));
        let mut key = selector(source, tag);
        if !posts {
            return Event::Arrive {
                msg: MsgId(id),
                envelope: Envelope { comm, ..envelope(source, tag) },
                bytes: None,
                coll: None,
            };
        }
        if random.random_bool(0.1) {
            key.source = SourceSel::Any;
        }
        if random.random_bool(0.1) {
            key.tag = TagSel::Any;
        }
        Event::Post { recv: RecvId(id), comm, selector: key, size: None, coll: None }
    };
    let mut events: Vec<Event> = (first..*next).map(|id| event(posts_first, id)).collect();
    events.extend((first..*next).map(|id| event(!posts_first, id)));
    events.extend((first..*next).map(|id| Event::Cancel { recv: RecvId(id) }));
    let any = Selector::new(SourceSel::Any, TagSel::Any);
    events.extend((first..*next).map(|id| Event::Mprobe {
        probe: ProbeId(id),
        comm,
        selector: any,
    }));
    events
}

/// The order stays exact while every threshold is small, so that structures change all the time, in
/// both directions and with wildcards in all of them.
#[test]
fn conversions_under_load_equal_the_oracle() {
    let mut seen = [0; 3];
    for seed in 0..200 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let config = AdaptiveConfig {
            bins: BinCount::new(random.random_range(1..40)).expect("a possible number"),
            window: random.random_range(1..9),
            long: random.random_range(1..9),
            short: random.random_range(0..9),
            calm: random.random_range(1..3),
        };
        let mut next = 0;
        let comms = [CommId(0), CommId(1)];
        let events: Vec<Event> =
            (0..30).flat_map(|number| wave(&mut random, comms[number % 2], &mut next)).collect();
        let results = |matcher: &mut dyn StreamMatcher| {
            let mut results: Vec<Outcome> = Vec::new();
            let sink = &mut |outcome| results.push(outcome);
            matcher.run(&mut events.iter().copied(), sink).expect("an engine that runs");
            results
        };
        let mut engine =
            AdaptiveEngine::new(config, (seed % 2 == 0).then_some(1 + seed as u32 % 16));
        assert!(results(&mut engine) == results(&mut Oracle::new()), "seed {seed}: {config:?}");
        let stats = engine.stats();
        let (posted, unexpected) = (stats.prq.length_max, stats.umq.length_max);
        let load = Load { posted, unexpected, comms: 2, comm_size: 0 };
        assert!(stats.memory_bytes_max <= engine.memory_bound(&load), "seed {seed}");
        seen.iter_mut().zip(conversions(&engine)).for_each(|(seen, more)| *seen += more);
    }
    assert!(seen.iter().all(|&count| count > 400), "conversions to list, ranks, bins: {seen:?}");
}
