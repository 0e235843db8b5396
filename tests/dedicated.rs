//! The engines with dedicated queues give the oracle's result while their queues are being made:
//! small thresholds and caps, so that profiles end, levels are added and partners extracted
//! all the time.
//!
//! Each seed fixes a stream and a configuration.

mod seeds;

use std::collections::BTreeSet;

use dpamatch::conformance::check_stream;
use dpamatch::engine::{DedicatedConfig, DedicatedEngine, Engine, Load};
use dpamatch::stream::{Event, Generator, Profile, StreamMatcher};
use dpamatch_vocabulary::{CommId, Envelope, Rank, Selector, SourceSel};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use seeds::Totals;

fn config(random: &mut ChaCha8Rng) -> DedicatedConfig {
    let k = |random: &mut ChaCha8Rng| random.random_bool(0.8).then(|| random.random_range(0..9));
    DedicatedConfig {
        k_collective: k(random),
        k_partner: k(random),
        theta: random.random_range(1..24),
        processes: None,
    }
}

/// The largest rank, which generated streams contain, lifts the cap out of reach: half of the
/// streams get a small one in its place.
fn lower_ranks(events: &mut [Event], random: &mut ChaCha8Rng) {
    if random.random() {
        return;
    }
    let low = Rank::new(31).expect("a small rank");
    for event in events {
        match event {
            Event::Post {
                selector:
                    Selector {
                        source: SourceSel::Rank(rank),
                        ..
                    },
                ..
            }
            | Event::Arrive {
                envelope: Envelope { source: rank, .. },
                ..
            } => *rank = low.min(*rank),
            _ => {}
        }
    }
}

/// Makes half of the streams harder: both kinds share one communicator, and some receives of a
/// collective are from any source.
fn confuse(events: &mut [Event], random: &mut ChaCha8Rng) {
    if random.random() {
        return;
    }
    for event in events {
        match event {
            Event::Post {
                comm,
                selector,
                coll,
                ..
            } => {
                *comm = CommId(comm.0 & 2);
                if coll.is_some() && random.random_bool(0.1) {
                    selector.source = SourceSel::Any;
                }
            }
            Event::Arrive { envelope, .. } => envelope.comm = CommId(envelope.comm.0 & 2),
            _ => {}
        }
    }
}

fn check(seed: u64, totals: &mut Totals) -> Result<(), String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // Collective streams are what levels are made from.
    let any = Profile::ALL[random.random_range(0..Profile::ALL.len())];
    let profile = if random.random() { Profile::Coll } else { any };
    let mut events: Vec<Event> =
        Generator::new(seed, random.random_range(1..3000), profile).collect();
    lower_ranks(&mut events, &mut random);
    confuse(&mut events, &mut random);
    let config = config(&mut random);
    let mut engine = DedicatedEngine::new(config);
    let size = if random.random() {
        random.random_range(1..200)
    } else {
        0
    };
    if size > 0 {
        engine.set_comm_size(CommId(1), size);
    }
    check_stream(&mut engine, &events)
        .map_err(|what| format!("seed {seed}, {config:?}: {what}"))?;
    let (prq, umq) = (engine.stats().prq.length_max, engine.stats().umq.length_max);
    let named: BTreeSet<CommId> = events
        .iter()
        .filter_map(|event| match event {
            Event::Post { comm, .. } => Some(*comm),
            Event::Arrive { envelope, .. } => Some(envelope.comm),
            _ => None,
        })
        .collect();
    // Setting its size named communicator 1.
    let comms = named.len() as u64 + 1;
    let load = Load {
        posted: prq,
        unexpected: umq,
        comms,
        comm_size: size,
    };
    assert!(
        engine.stats().memory_bytes_max <= engine.memory_bound(&load),
        "seed {seed}"
    );
    let count = |name: &str| {
        engine
            .own_counters()
            .iter()
            .find(|c| c.name == name)
            .expect("a counter")
            .value
    };
    for side in ["prq", "umq"] {
        for part in ["collective", "partner"] {
            let queues = count(&format!("{side}_{part}_queues"));
            let cap = count(&format!("{side}_{part}_cap"));
            assert!(queues <= cap, "seed {seed}: {queues} {part} queues");
        }
    }
    totals.add(engine.counters());
    Ok(())
}

#[test]
fn transitions_under_load_equal_the_oracle() {
    let (count, totals) = seeds::run(600, check);
    let idle = totals.idle();
    assert!(
        count < 300 || idle.is_empty(),
        "never happened in {count} streams: {idle:?}"
    );
}
