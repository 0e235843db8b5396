//! One random stream through every engine of the registry.

use dpa_model::NicConfig;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::{Call, check_engine, random_calls};
use crate::engine::{Behind, BinCount, GridThreshold, Oracle};
use crate::registry::{ENGINES, EngineOptions};
use crate::stream::{Event, Outcome, Profile, StreamMatcher};

/// Numbers of bins that are few, odd, prime and round.
const BINS: [u32; 7] = [1, 2, 3, 7, 31, 100, 1024];

fn pick<T: Copy>(random: &mut ChaCha8Rng, choices: &[T]) -> T {
    choices[random.random_range(0..choices.len() as u64) as usize]
}

/// Options of engines as a function of a number: few and many bins, low and high thresholds, right,
/// wrong and missing communicator sizes, and an emulated NIC on the calling thread that is so small
/// that it sometimes falls back.
pub fn seed_options(seed: u64) -> EngineOptions {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let bins = BinCount::new(pick(&mut random, &BINS)).unwrap_or_default();
    let handlers: usize = pick(&mut random, &[1, 2, 7, 16]);
    let depth = handlers.next_power_of_two();
    let nic = NicConfig {
        handlers,
        receives: pick(&mut random, &[2, 64]),
        communicators: 2,
        completion_queue: depth,
        bounce_buffers: 4,
        eager_limit: 32,
        unexpected: pick(&mut random, &[2, 64]),
        unexpected_buffers: 2,
        command_queue: 8,
        completion_ring: depth,
        regions: 2,
        ..NicConfig::default()
    };
    let comm_size = pick(
        &mut random,
        &[None, Some(1), Some(64), Some(300), Some(5000)],
    );
    let grow_bins = pick(&mut random, &[false, false, true]);
    let (k, theta) = (
        pick(&mut random, &[0, 1, 8]),
        pick(&mut random, &[1, 5, 20, 100]),
    );
    let grid = pick(
        &mut random,
        &[
            GridThreshold::Span,
            GridThreshold::Entries(0),
            GridThreshold::Entries(4),
        ],
    );
    EngineOptions {
        bins,
        grow_bins,
        k,
        theta,
        list_entries: pick(&mut random, &[1, 2, 5, 256]),
        grid,
        nic,
        threads: false,
        comm_size,
        behind: pick(&mut random, Behind::ALL),
        behind_cards: pick(&mut random, Behind::ALL),
        ..EngineOptions::default()
    }
}

/// Runs a stream through a matcher and through the oracle, and compares all results and the final
/// queues.
///
/// # Errors
/// The first difference, or the matcher's failure.
pub fn check_stream(matcher: &mut dyn StreamMatcher, events: &[Event]) -> Result<(), String> {
    let run = |matcher: &mut dyn StreamMatcher| -> Result<Vec<Outcome>, String> {
        let mut results = Vec::new();
        let mut sink = |outcome| results.push(outcome);
        matcher
            .run(&mut events.iter().copied(), &mut sink)
            .map_err(|error| error.to_string())?;
        Ok(results)
    };
    let (got, wanted) = (run(matcher)?, run(&mut Oracle::new())?);
    if got == wanted {
        return Ok(());
    }
    let first = got
        .iter()
        .zip(&wanted)
        .take_while(|(got, wanted)| got == wanted)
        .count();
    let word = |results: &[Outcome]| {
        results
            .get(first)
            .map_or("nothing".to_owned(), Outcome::to_string)
    };
    Err(format!(
        "result {first} is {}, the oracle's {}",
        word(&got),
        word(&wanted)
    ))
}

/// A random stream, its length, profile and options fixed by the seed, through every engine of the
/// registry: call by call for software engines, and as a stream.
///
/// # Errors
/// The engine's name, how to make the stream, and the difference.
pub fn check_seed(seed: u64) -> Result<(), String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let profile = pick(&mut random, Profile::ALL);
    let events = pick(&mut random, &[10, 60, 60, 250, 250, 700]);
    let options = seed_options(seed);
    let calls = random_calls(seed, events, profile);
    check_calls(&calls, &options).map_err(|difference| {
        format!(
            "seed {seed} (dpamatch gen --seed {seed} --events {events} --kind {profile}): {difference}"
        )
    })
}

/// Runs the calls through every engine of the registry. Engines that only run streams skip the
/// calls that no stream has.
///
/// # Errors
/// The engine's name and the difference.
pub fn check_calls(calls: &[Call], options: &EngineOptions) -> Result<(), String> {
    let events: Vec<Event> = calls
        .iter()
        .filter_map(|call| match call {
            Call::Event(event) => Some(*event),
            Call::Free(_) | Call::Size(..) => None,
        })
        .collect();
    for entry in ENGINES {
        let named = |what: String| format!("{}: {what}", entry.name);
        match entry.engine(options) {
            Some(engine) => {
                check_engine(engine, calls.iter().copied())
                    .map_err(|error| named(error.to_string()))?;
            }
            None => {
                let mut matcher = entry.build(options).map_err(|error| error.to_string())?;
                check_stream(matcher.as_mut(), &events).map_err(named)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use dpa_model::Hints;
    use dpamatch_vocabulary::{CommId, Selector, SourceSel, TagSel};

    use super::*;
    use crate::engine::RecvId;

    #[test]
    fn a_failing_engine_is_named() {
        let hints = Hints {
            no_any_source: true,
            ..Hints::default()
        };
        let options = EngineOptions {
            hints,
            ..seed_options(1)
        };
        let selector = Selector::new(SourceSel::Any, TagSel::Any);
        let event = Event::Post {
            recv: RecvId(0),
            comm: CommId(0),
            selector,
            size: None,
            coll: None,
        };
        let told = check_calls(&[Call::Event(event)], &options).unwrap_err();
        assert!(
            told.starts_with("optimistic: a receive or probe uses a wildcard"),
            "{told}"
        );
    }
}
