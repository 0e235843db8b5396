//! The emulated NIC gives the oracle's result on random streams, whatever its size, threads and
//! options.
//!
//! Each seed fixes a stream and a configuration.

mod seeds;
mod watchdog;

use dpa_model::{
    Barrier, Domains, FastPath, HANDLERS_MAX, Hints, InlineHashes, NicConfig, Offload, Options,
    Removal,
};
use dpamatch::conformance::check_stream;
use dpamatch::engine::BinCount;
use dpamatch::host::NicMatcher;
use dpamatch::registry::EngineOptions;
use dpamatch::stream::{Event, Generator, Profile, StreamMatcher};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use seeds::Totals;

fn pick<T: Copy>(random: &mut ChaCha8Rng, choices: &[T]) -> T {
    choices[random.random_range(0..choices.len())]
}

fn bounded(random: &mut ChaCha8Rng, most: usize) -> usize {
    // Small numbers find most faults.
    let most = pick(random, &[4, 16, most]).min(most);
    random.random_range(1..=most)
}

fn options(random: &mut ChaCha8Rng) -> EngineOptions {
    let widest = pick(random, &[8, 64, HANDLERS_MAX]);
    let handlers: usize = random.random_range(1..=widest);
    let depth = handlers.next_power_of_two();
    let deep = |random: &mut ChaCha8Rng| depth * pick(random, &[1, 1, 2, 16]);
    // Half of the NICs have room for everything, so that the NIC does the matching; the others fall
    // back now and then.
    let roomy: bool = random.random();
    let unexpected = if roomy { 400 } else { bounded(random, 300) };
    let nic = NicConfig {
        handlers,
        workers: random.random_range(1..=4),
        slice_min: pick(random, &[1, 1, 4]),
        receives: if roomy { 400 } else { bounded(random, 2000) },
        communicators: if roomy { 4 } else { random.random_range(1..=4) },
        completion_queue: deep(random),
        bounce_buffers: bounded(random, 64),
        eager_limit: pick(random, &[0, 32, 2000]),
        unexpected,
        unexpected_buffers: if roomy {
            unexpected
        } else {
            random.random_range(0..=unexpected)
        },
        command_queue: 1 << random.random_range(0..8),
        completion_ring: deep(random),
        regions: bounded(random, 64),
        options: Options {
            fast_path: pick(random, FastPath::ALL),
            early_check: random.random(),
            removal: pick(random, Removal::ALL),
            barrier: pick(random, Barrier::ALL),
            domains: pick(random, Domains::ALL),
            inline_hashes: pick(random, InlineHashes::ALL),
            always_shared: random.random(),
            ..Options::default()
        },
        ..NicConfig::default()
    };
    let most_bins = pick(random, &[1, 4, 128, 2048]);
    EngineOptions {
        bins: BinCount::new(random.random_range(1..=most_bins)).expect("a possible number"),
        nic,
        // A few only: with threads most of the time goes into passing work between them.
        threads: random.random_bool(0.125),
        hints: Hints {
            offload: pick(
                random,
                &[Offload::IfItFits, Offload::IfItFits, Offload::Never],
            ),
            ..Hints::default()
        },
        sender_hashes: random.random(),
        ..EngineOptions::default()
    }
}

fn check(seed: u64, totals: &mut Totals) -> Result<(), String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let profile = pick(&mut random, Profile::ALL);
    let length = pick(&mut random, &[20, 100, 400]);
    let events: Vec<Event> = Generator::new(seed, length, profile).collect();
    let options = options(&mut random);
    // Not the engine `optimistic`, which always runs the paper's phases.
    let config = NicConfig {
        bins: options.bins.get() as usize,
        ..options.nic
    };
    let mut nic = NicMatcher::new(config, options.threads, options.hints)
        .map_err(|error| format!("seed {seed}: {error}"))?;
    nic.set_inline_hashes(options.sender_hashes);
    check_stream(&mut nic, &events).map_err(|what| format!("seed {seed}, {options:?}: {what}"))?;
    totals.add(nic.counters());
    Ok(())
}

#[test]
fn random_streams_equal_the_oracle() {
    // A run for a time may be longer than the dog waits.
    let is_long = std::env::var_os("DPAMATCH_SECONDS").is_some();
    let _dog = (!is_long).then(|| watchdog::on("a NIC: random streams equal the oracle"));
    let (count, totals) = seeds::run(20_000, check);
    println!("{count} streams: {totals:?}");
    // Other tests cover these paths, which need another policy or hint, wrong hashes, or a rare
    // race.
    let rare = [
        "overtaking",
        "hash_mismatch",
        "unexpected_full",
        "regions_added",
        "lock_missed",
    ];
    let mut idle = totals.idle();
    idle.retain(|name| !rare.contains(name));
    assert!(
        count < 2000 || idle.is_empty(),
        "never happened in {count} streams: {idle:?}"
    );
}
