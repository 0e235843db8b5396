//! The engine through its conversions.

use dpamatch_vocabulary::CommId;

use super::*;
use crate::engine::words::{envelope, exact};
use crate::engine::{Engine, MsgId, RecvId};

const COMM: CommId = CommId(0);

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
        assert_eq!(
            engine.post(RecvId(u64::from(number)), COMM, exact(source, tag)),
            None
        );
    }
    for number in (0..count).rev() {
        let (source, tag) = key(number);
        let expected = Some(RecvId(u64::from(number)));
        assert_eq!(
            engine.arrive(MsgId(u64::from(number)), envelope(COMM, source, tag)),
            expected
        );
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
        assert!(
            second <= 400 && first > 10 * second,
            "{first}, then {second} compares"
        );
    }
}

/// In a table a receive collides only with the receives of its own chain.
#[test]
fn collisions_are_those_of_a_chain() {
    let mut engine = engine();
    reverse(&mut engine, 200, |number| (number, 0));
    assert_eq!(conversions(&engine), [0, 1, 0], "a chain for each rank");
    let before = engine.stats().prq.collisions;
    for (number, (source, collisions)) in (1000..).zip([(3, 0), (5, 0), (3, 1), (3, 2), (7, 2)]) {
        engine.post(RecvId(number), COMM, exact(source, 0));
        assert_eq!(
            engine.stats().prq.collisions - before,
            collisions,
            "receive {number}"
        );
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
    assert!(
        rounds * 6 >= 3 * 64,
        "{rounds} rounds are fewer than the calm windows"
    );
    assert_eq!(
        (engine.index().bytes(), conversions(&engine)),
        (0, [1, 1, 0])
    );
}

/// Rule 4: loads between short and long change nothing, and loads that swing cannot make it flap.
#[test]
fn it_does_not_flap() {
    let mut engine = engine();
    for _ in 0..200 {
        reverse(&mut engine, 16, |number| (number, 0));
    }
    assert_eq!(
        conversions(&engine),
        [0, 0, 0],
        "up to 16 compares are not long"
    );
    reverse(&mut engine, 200, |number| (number, 0));
    for _ in 0..200 {
        reverse(&mut engine, 16, |number| (number, 0));
    }
    assert_eq!(conversions(&engine), [0, 1, 0], "nor are they short");
    for round in 0..300 {
        reverse(
            &mut engine,
            if round % 2 == 0 { 100 } else { 2 },
            |number| (number, 0),
        );
    }
    assert_eq!(
        conversions(&engine),
        [0, 1, 0],
        "a swing faster than the calm windows"
    );
}
