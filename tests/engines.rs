//! Conformance: every engine of the registry gives the results of the oracle, call by
//! call, whatever its structure. An engine is tested by being registered.
//!
//! Each seed fixes a stream and the engines' options.

mod seeds;

use std::collections::BTreeMap;

use dpamatch::conformance::{Pair, check_engine, check_seed, random_calls};
use dpamatch::engine::{
    AdaptiveConfig, AdaptiveEngine, ArrayLife, BinCount, Engine, FourDEngine, GridThreshold, Load,
    MsgId, RankArrayEngine, RecvId,
};
use dpamatch::registry::{ENGINES, EngineEntry, EngineOptions, find};
use dpamatch::stream::{Generator, Profile};
use dpamatch_vocabulary::{CommId, Envelope, Rank, Selector, Tag};

/// The software engines of the registry.
fn engines() -> impl Iterator<Item = &'static EngineEntry> {
    ENGINES
        .iter()
        .filter(|entry| entry.engine(&EngineOptions::default()).is_some())
}

const fn bins(number: u32) -> BinCount {
    match BinCount::new(number) {
        Ok(bins) => bins,
        Err(_) => panic!("a possible number of bins"),
    }
}

fn build(entry: &EngineEntry, bins: BinCount, comm_size: Option<u32>) -> Box<dyn Engine> {
    let options = EngineOptions {
        bins,
        comm_size,
        ..EngineOptions::default()
    };
    entry.engine(&options).expect("a software engine")
}

/// The bounds of `memory_bounds.txt`, for few and many receives, messages and communicators.
#[test]
fn bounds_on_memory_are_those_of_the_text() {
    let mut text = String::new();
    for entry in engines() {
        let engine = build(entry, bins(32), Some(64));
        let loads = [
            (0, 0, 1, 1),
            (1_000, 300, 4, 64),
            (100_000, 700_000, 9, 5_000),
        ];
        let [none, few, many] = loads.map(|(posted, unexpected, comms, comm_size)| {
            engine.memory_bound(&Load {
                posted,
                unexpected,
                comms,
                comm_size,
            })
        });
        assert!(
            none >= engine.stats().memory_bytes_max,
            "{}: {none}",
            entry.name
        );
        text += &format!("{} {none} {few} {many}\n", entry.name);
    }
    assert_eq!(text, include_str!("memory_bounds.txt"));
}

/// The engines whose counters each option changes are those of `options.txt`.
#[test]
fn each_option_reaches_its_engines() {
    type Change = fn(&mut EngineOptions);
    let changes: [(&str, Change); 9] = [
        ("bins", |it| it.bins = bins(4)),
        ("grow_bins", |it| it.grow_bins = true),
        ("k", |it| it.k = 1),
        ("theta", |it| it.theta = 3),
        ("list_entries", |it| it.list_entries = 5),
        ("grid", |it| it.grid = GridThreshold::Entries(0)),
        ("nic", |it| it.nic.handlers = 3),
        ("hints", |it| it.hints.allow_overtaking = true),
        ("comm_size", |it| it.comm_size = Some(9)),
    ];
    let counted = |entry: &EngineEntry, options: &EngineOptions| {
        [Profile::Coll, Profile::Deep].map(|profile| {
            let mut matcher = entry.build(options).expect("an engine");
            let mut events = Generator::new(3, 1_000, profile);
            matcher.run(&mut events, &mut |_| ()).expect("a whole run");
            let mut counters = matcher.counters();
            counters.retain(|counter| !counter.name.ends_with("_ns"));
            counters
        })
    };
    let (mut text, usual) = (
        String::new(),
        EngineOptions {
            threads: false,
            ..Default::default()
        },
    );
    let as_usual = ENGINES
        .iter()
        .map(|entry| counted(entry, &usual))
        .collect::<Vec<_>>();
    for (option, change) in changes {
        let mut options = usual.clone();
        change(&mut options);
        let mut changed = ENGINES.iter().zip(&as_usual).collect::<Vec<_>>();
        changed.retain(|(entry, as_usual)| counted(entry, &options) != **as_usual);
        let names: String = changed
            .iter()
            .map(|(entry, _)| format!(" {}", entry.name))
            .collect();
        text += &format!("{option}:{names}\n");
    }
    assert_eq!(text, include_str!("options.txt"));
}

/// Freeing a communicator frees the memory of its long, now empty queues.
#[test]
fn a_freed_communicator_leaves_no_memory_behind() {
    let many = 1_000;
    // The oracle need not free memory.
    for entry in engines().filter(|entry| entry.name != "oracle") {
        let mut engine = build(entry, bins(32), Some(64));
        let (name, comm) = (entry.name, CommId(1));
        let tag = |number: u64| Tag::new(number as u32).expect("a small tag");
        let before = engine.stats().memory_bytes;
        for number in 0..many {
            engine.post(
                RecvId(number),
                comm,
                Selector::new(Rank::default(), tag(number)),
            );
        }
        for number in many..2 * many {
            let envelope = Envelope {
                comm,
                source: Rank::default(),
                tag: tag(number),
            };
            assert_eq!(engine.arrive(MsgId(number), envelope), None, "{name}");
        }
        assert!(!engine.free_comm(comm), "{name}: it is in use");
        assert!(engine.stats().memory_bytes > before + 50 * many, "{name}");
        for number in 0..many {
            assert!(engine.cancel(RecvId(number)), "{name}");
        }
        for number in many..2 * many {
            let selector = Selector::new(Rank::default(), tag(number));
            assert_eq!(engine.mprobe(comm, selector), Some(MsgId(number)), "{name}");
        }
        assert!(engine.free_comm(comm), "{name}: it is empty");
        // Dedicated queues stay for the next communicator.
        let stays = if ["col-pnp", "col-ll", "ll-pnp"].contains(&name) {
            1 << 10
        } else {
            0
        };
        let after = engine.stats().memory_bytes;
        assert!(
            (before..=before + stays).contains(&after),
            "{name}: {before}, then {after}"
        );
    }
}

/// Random streams of every profile through every engine, the emulated NIC included.
#[test]
fn random_streams_of_every_profile() {
    let (streams, _) = seeds::run(1200, |seed, _| check_seed(seed));
    println!("{streams} streams through {} engines", ENGINES.len());
}

/// Queues with hundreds of entries, and thousands of communicators, once.
#[test]
fn long_streams() {
    for profile in [Profile::Deep, Profile::Comms] {
        let calls = random_calls(4, 20_000, profile);
        for entry in engines() {
            let checked = check_engine(build(entry, bins(61), None), calls.iter().copied());
            checked.unwrap_or_else(|difference| panic!("{}, {profile}: {difference}", entry.name));
        }
    }
}

/// Forms that the registry does not offer: arrays that come and go, grids from the first entry or a
/// few on.
#[test]
fn other_forms_of_engines() {
    type Form = fn() -> Box<dyn Engine>;
    const RESTLESS: AdaptiveConfig = AdaptiveConfig {
        bins: bins(100),
        window: 1,
        long: 8,
        short: 8,
        calm: 1,
    };
    let forms: [(&str, Form); 6] = [
        ("array while in use", || {
            Box::new(RankArrayEngine::new(ArrayLife::Entries, Some(8)))
        }),
        ("array of unknown length", || {
            Box::new(RankArrayEngine::new(ArrayLife::Entries, None))
        }),
        ("grid always", || {
            Box::new(FourDEngine::new(GridThreshold::Entries(0), Some(20)))
        }),
        ("grid from 5 on", || {
            Box::new(FourDEngine::new(GridThreshold::Entries(4), None))
        }),
        ("restless, size known", || {
            Box::new(AdaptiveEngine::new(RESTLESS, Some(16)))
        }),
        ("restless", || Box::new(AdaptiveEngine::new(RESTLESS, None))),
    ];
    let mut conversions = BTreeMap::new();
    for seed in 0..140 {
        let profile = Profile::ALL[seed as usize % Profile::ALL.len()];
        let calls = random_calls(seed, 400, profile);
        for (name, form) in forms {
            let mut pair = Pair::new(form());
            let mut applied = calls.iter().try_for_each(|&call| pair.apply(call));
            applied = applied.and_then(|()| pair.compare());
            applied.unwrap_or_else(|difference| {
                panic!("{name}, seed {seed}, {profile}: {difference}")
            });
            for counter in pair.engine().own_counters() {
                *conversions.entry(counter.name).or_insert(0) += counter.value;
            }
        }
    }
    let enough = conversions.values().all(|&count| count > 50);
    assert!(conversions.len() == 3 && enough, "{conversions:?}");
}

#[test]
fn growing_tables_keep_searches_short() {
    let n = 10_000;
    let source = |number| Rank::new(number % 100).expect("a small rank");
    let tag = |number| Tag::new(number).expect("a small tag");
    for (name, doublings) in [("bins", 7), ("optimistic-seq", 12)] {
        for reverse in [false, true] {
            let options = EngineOptions {
                grow_bins: true,
                ..EngineOptions::default()
            };
            let entry = find(name).expect("a registered engine");
            let mut engine = entry.engine(&options).expect("a software engine");
            for number in 0..n {
                let selector = Selector::new(source(number), tag(number));
                engine.post(RecvId(number.into()), CommId(0), selector);
            }
            assert_eq!(engine.stats().conversions, doublings, "{name}");
            for number in 0..n {
                let wanted = if reverse { n - 1 - number } else { number };
                let (comm, source, tag) = (CommId(0), source(wanted), tag(wanted));
                let found = engine.arrive(MsgId(number.into()), Envelope { comm, source, tag });
                assert_eq!(found, Some(RecvId(wanted.into())), "{name}");
            }
            let attempts = engine.stats().prq.attempts;
            assert!(
                attempts < 15_000,
                "{name}: {attempts} compares for {n} messages"
            );
        }
    }
}

/// With equal keys no structure helps a search, and none may make it worse: whatever the
/// engine, n messages in posting order cost n compares.
#[test]
fn equal_keys_in_order_cost_one_compare_each() {
    for entry in engines() {
        let mut engine = build(entry, bins(64), None);
        let selector = Selector::new(Rank::default(), Tag::default());
        for number in 0..500 {
            engine.post(RecvId(number), CommId(0), selector);
        }
        for number in 0..500 {
            assert_eq!(
                engine.arrive(MsgId(number), Envelope::default()),
                Some(RecvId(number))
            );
        }
        // Engines that compare many entries at a time count each compare.
        let attempts = engine.stats().prq.attempts;
        assert!(
            attempts == 500 || entry.name == "simd",
            "{}: {attempts}",
            entry.name
        );
    }
}
