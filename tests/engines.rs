//! Conformance: every engine gives the results of the oracle (G4, V8), call by call, whatever its structure.
//!
//! An engine is tested by adding its constructor to [`engines`].

use std::collections::BTreeSet;

use dpa_model::{CommId, Envelope, Rank, Selector, SourceSel, Tag, TagSel};
use dpamatch::engine::{BinCount, BinEngine, Engine, Load, Oracle, QueueStats};
use dpamatch::registry::{ENGINES, EngineEntry, EngineOptions};
use dpamatch::stream::{Event, Generator, Outcome, Profile, StreamMatcher};
use proptest::prelude::*;

/// The software engines of the registry.
fn engines() -> impl Iterator<Item = &'static EngineEntry> {
    ENGINES.iter().filter(|entry| entry.engine(&EngineOptions::default()).is_some())
}

fn bins(number: u32) -> BinCount {
    BinCount::new(number).expect("a possible number of bins")
}

/// Builds one with about this many bins.
fn build(entry: &EngineEntry, number: u32) -> Box<dyn Engine> {
    let options = EngineOptions { bins: bins(number), ..EngineOptions::default() };
    entry.engine(&options).expect("a software engine")
}

/// Numbers of bins that are few, odd, prime, round and the most.
const BINS: [u32; 8] = [1, 2, 3, 7, 31, 100, 1024, 65_536];

/// An engine and the oracle side by side.
struct Pair {
    engine: Box<dyn Engine>,
    oracle: Oracle,
    comms: BTreeSet<CommId>,
    posts: u64,
    arrivals: u64,
    mprobes: u64,
}

impl Pair {
    fn new(engine: Box<dyn Engine>) -> Self {
        Self { engine, oracle: Oracle::new(), comms: BTreeSet::new(), posts: 0, arrivals: 0, mprobes: 0 }
    }

    /// Makes the same call on both and compares what they return.
    fn apply(&mut self, event: Event) {
        let (engine, oracle) = (&mut self.engine, &mut self.oracle);
        match event {
            Event::Post { recv, comm, selector, coll, .. } => {
                self.comms.insert(comm);
                self.posts += 1;
                let matched = match coll {
                    None => engine.post(recv, comm, selector),
                    Some(coll) => engine.post_collective(recv, comm, selector, &coll),
                };
                assert_eq!(matched, oracle.post(recv, comm, selector), "{event}");
            }
            Event::Arrive { msg, envelope, coll, .. } => {
                self.comms.insert(envelope.comm);
                self.arrivals += 1;
                let matched = match coll {
                    None => engine.arrive(msg, envelope),
                    Some(coll) => engine.arrive_collective(msg, envelope, &coll),
                };
                assert_eq!(matched, oracle.arrive(msg, envelope), "{event}");
            }
            Event::Cancel { recv } => assert_eq!(engine.cancel(recv), oracle.cancel(recv), "{event}"),
            Event::Probe { comm, selector, .. } => {
                assert_eq!(engine.probe(comm, selector), oracle.probe(comm, selector), "{event}");
            }
            Event::Mprobe { comm, selector, .. } => {
                let taken = oracle.mprobe(comm, selector);
                self.mprobes += u64::from(taken.is_some());
                assert_eq!(engine.mprobe(comm, selector), taken, "{event}");
            }
        }
    }

    /// Compares what can be seen between two calls.
    fn compare(&mut self) {
        assert_eq!(self.engine.posted(), self.oracle.posted());
        assert_eq!(self.engine.unexpected(), self.oracle.unexpected());
        for &comm in &self.comms {
            assert_eq!(self.engine.is_empty(comm), self.oracle.is_empty(comm), "{comm:?}");
        }
        self.compare_stats();
    }

    /// The numbers that no structure can change are equal, and nothing is lost (S28).
    fn compare_stats(&self) {
        let common =
            |queue: &QueueStats| (queue.hits, queue.misses, queue.length, queue.length_max, queue.length_sum);
        let (stats, expected) = (self.engine.stats(), self.oracle.stats());
        assert_eq!(common(&stats.prq), common(&expected.prq));
        assert_eq!(common(&stats.umq), common(&expected.umq));
        assert_eq!((stats.cancelled, stats.too_late), (expected.cancelled, expected.too_late));
        assert_eq!(stats.prq.length, self.engine.posted().len() as u64);
        assert_eq!(stats.umq.length, self.engine.unexpected().len() as u64);
        // A search of the UMQ walks a part of the list. (One of the PRQ may compare more: a candidate of each
        // class.)
        assert!(stats.umq.attempts <= stats.umq.length_sum);
        assert_eq!(stats.prq.attempts, stats.prq.depth_sum);
        let load = Load {
            posted: stats.prq.length_max,
            unexpected: stats.umq.length_max,
            comms: self.comms.len() as u64,
            comm_size: 0,
        };
        assert!(stats.memory_bytes <= stats.memory_bytes_max);
        assert!(stats.memory_bytes_max <= self.engine.memory_bound(&load), "{stats:?} {load:?}");
        // Every post and arrival is matched, cancelled, taken or still there.
        let pairs = self.posts - stats.cancelled - stats.prq.length;
        assert_eq!(pairs, self.arrivals - self.mprobes - stats.umq.length);
    }
}

/// What a stream gives.
fn results<M: StreamMatcher + ?Sized>(matcher: &mut M, mut stream: Generator) -> Vec<Outcome> {
    let mut results = Vec::new();
    matcher.run(&mut stream, &mut |outcome| results.push(outcome)).expect("an engine that runs");
    results
}

/// Whole streams through both: call by call, and as streams.
fn conforms(entry: &EngineEntry, bins: u32, profile: Profile, seed: u64, events: u64) {
    let mut pair = Pair::new(build(entry, bins));
    for (number, event) in Generator::new(seed, events, profile).enumerate() {
        pair.apply(event);
        if number % 97 == 0 {
            pair.compare();
        }
    }
    pair.compare();

    let stream = || Generator::new(seed, events, profile);
    assert_eq!(results(build(entry, bins).as_mut(), stream()), results(&mut Oracle::new(), stream()));
}

/// 300 streams of a profile for each engine, 3,000 in all.
fn random_streams(profile: Profile) {
    for entry in engines() {
        for seed in 0..300 {
            let bins = BINS[seed as usize % if seed < 280 { 7 } else { 8 }];
            let events = 1 + seed * seed % 701;
            // The test's output is shown when it fails: this line makes the failure reproducible.
            println!(
                "{}, {bins} bins, dpamatch gen --seed {seed} --events {events} --profile {profile}",
                entry.name
            );
            conforms(entry, bins, profile, seed, events);
        }
    }
}

#[test]
fn random_mixed_streams() {
    random_streams(Profile::Mixed);
}

#[test]
fn random_hot_streams() {
    random_streams(Profile::Hot);
}

#[test]
fn random_wild_streams() {
    random_streams(Profile::Wild);
}

#[test]
fn random_deep_streams() {
    random_streams(Profile::Deep);
}

#[test]
fn random_collective_streams() {
    random_streams(Profile::Coll);
}

/// Queues thousands of entries long, once.
#[test]
fn one_long_stream() {
    for entry in engines() {
        conforms(entry, 61, Profile::Deep, 4, 20_000);
    }
}

/// Bins divide the work: the compares of an arrival fall as their number rises (V13).
#[test]
fn more_bins_mean_shorter_searches() {
    let depth = |number| {
        let mut engine = BinEngine::new(bins(number));
        engine.run(&mut Generator::new(1, 20_000, Profile::Deep), &mut |_| ()).expect("an engine");
        engine.stats().prq.depth_sum
    };
    let depths = [1, 32, 128, 4096].map(depth);
    assert!(depths.windows(2).all(|pair| pair[1] < pair[0]), "{depths:?}");
    assert!(depths[2] * 10 < depths[0], "{depths:?}");
}

/// A communicator in use is not freed; a freed one works like a new one.
#[test]
fn freed_communicators_start_anew() {
    let (comm, other) = (CommId(5), CommId(6));
    let any = Selector::new(SourceSel::Any, TagSel::Any);
    let envelope = |comm| Envelope { comm, source: Rank::default(), tag: Tag::default() };
    for entry in engines() {
        let (mut engine, name) = (build(entry, 16), entry.name);
        let (recv, msg) = (dpamatch::engine::RecvId, dpamatch::engine::MsgId);
        assert!(engine.free_comm(comm), "{name}: never used");
        engine.post(recv(1), comm, any);
        engine.arrive(msg(1), envelope(other));
        assert!(!engine.free_comm(comm) && !engine.free_comm(other), "{name}: in use");
        assert_eq!(engine.arrive(msg(2), envelope(comm)), Some(recv(1)), "{name}");
        assert!(engine.free_comm(comm) && engine.is_empty(comm), "{name}: empty");
        assert_eq!(engine.unexpected(), [msg(1)], "{name}: others stay");
        assert_eq!(engine.post(recv(1), comm, any), None, "{name}: the id may come back");
        assert_eq!(engine.posted(), [recv(1)], "{name}");
    }
}

/// Every engine of the registry gives the same results for a stream.
#[test]
fn registered_engines_agree() {
    let stream = || Generator::new(8, 5_000, Profile::Mixed);
    let expected = results(&mut Oracle::new(), stream());
    for entry in ENGINES {
        let mut matcher = entry.build(&EngineOptions::default()).expect("the defaults");
        assert!(results(matcher.as_mut(), stream()) == expected, "{}", entry.name);
        assert!(!matcher.counters().is_empty(), "{}", entry.name);
    }
}

/// A call with small numbers, so that shrinking ends at something short.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Post(u32, Option<u32>, Option<u32>),
    Arrive(u32, u32, u32),
    /// Of the receive posted so many posts ago.
    Cancel(u64),
    Probe(u32, Option<u32>, Option<u32>),
    Mprobe(u32, Option<u32>, Option<u32>),
    Free(u32),
}

fn operation() -> impl Strategy<Value = Operation> {
    let comm = 0..2_u32;
    let field = 0..3_u32;
    let wild = || prop::option::weighted(0.7, 0..3_u32);
    prop_oneof![
        6 => (comm.clone(), wild(), wild()).prop_map(|(c, s, t)| Operation::Post(c, s, t)),
        6 => (comm.clone(), field.clone(), field).prop_map(|(c, s, t)| Operation::Arrive(c, s, t)),
        2 => (1..8_u64).prop_map(Operation::Cancel),
        1 => (comm.clone(), wild(), wild()).prop_map(|(c, s, t)| Operation::Probe(c, s, t)),
        1 => (comm.clone(), wild(), wild()).prop_map(|(c, s, t)| Operation::Mprobe(c, s, t)),
        1 => comm.prop_map(Operation::Free),
    ]
}

fn selector(source: Option<u32>, tag: Option<u32>) -> Selector {
    let source = source.map_or(SourceSel::Any, |number| Rank::new(number).expect("a small rank").into());
    let tag = tag.map_or(TagSel::Any, |number| Tag::new(number).expect("a small tag").into());
    Selector { source, tag }
}

/// Runs the operations on a pair; the ids are their places among the posts and arrivals.
fn run_operations(pair: &mut Pair, operations: &[Operation]) {
    use dpamatch::engine::{MsgId, RecvId};
    use dpamatch::stream::ProbeId;
    let probe = ProbeId(0);
    for &operation in operations {
        let event = match operation {
            Operation::Post(comm, source, tag) => Event::Post {
                recv: RecvId(pair.posts),
                comm: CommId(comm),
                selector: selector(source, tag),
                size: None,
                coll: None,
            },
            Operation::Arrive(comm, source, tag) => Event::Arrive {
                msg: MsgId(pair.arrivals),
                envelope: Envelope {
                    comm: CommId(comm),
                    source: Rank::new(source).expect("a small rank"),
                    tag: Tag::new(tag).expect("a small tag"),
                },
                bytes: None,
                coll: None,
            },
            Operation::Cancel(back) => Event::Cancel { recv: RecvId(pair.posts.wrapping_sub(back)) },
            Operation::Probe(comm, source, tag) => {
                Event::Probe { probe, comm: CommId(comm), selector: selector(source, tag) }
            }
            Operation::Mprobe(comm, source, tag) => {
                Event::Mprobe { probe, comm: CommId(comm), selector: selector(source, tag) }
            }
            Operation::Free(comm) => {
                let comm = CommId(comm);
                assert_eq!(pair.engine.free_comm(comm), pair.oracle.free_comm(comm));
                continue;
            }
        };
        pair.apply(event);
        pair.compare();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn operations_agree_with_the_oracle(
        operations in prop::collection::vec(operation(), 1..120),
        bins in prop::sample::select(BINS.split_last().map_or(&BINS[..], |(_, small)| small)),
    ) {
        for entry in engines() {
            run_operations(&mut Pair::new(build(entry, bins)), &operations);
        }
    }
}
