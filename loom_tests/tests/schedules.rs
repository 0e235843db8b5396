//! Many handlers, several blocks, random and PCT schedules.
#![cfg(all(dpamatch_shuttle, not(dpamatch_loom)))]

use std::sync::Arc;

use dpa_model::{Barrier, Domains, FastPath, NicConfig, Options};
use loom_tests::paths::Paths;
use loom_tests::schedules::{Choice, Seeded, explore, random_steps};
use loom_tests::stream::{Stream, tiny};

/// Explores random streams for `handlers`, each under `schedules` schedules.
fn streams(name: &str, handlers: usize, choice: Choice, seeds: u64, schedules: usize) {
    let paths = Arc::new(Paths::default());
    for seed in 0..seeds {
        let mut random = Seeded(!seed);
        let forms = [FastPath::Sequence, FastPath::Prefix, FastPath::Literal, FastPath::Off];
        let fast_path = forms[random.below(4) as usize];
        let early_check =
            matches!(fast_path, FastPath::Sequence | FastPath::Off) && random.below(2) == 0;
        let barrier = [Barrier::Lanes, Barrier::Bitmap][random.below(2) as usize];
        let domains = [Domains::Paper, Domains::Keyed][random.below(2) as usize];
        let options = Options { domains, ..Options::default() };
        let options = Options { fast_path, early_check, barrier, ..options };
        let steps = random_steps(seed, handlers, 3);
        let count = steps.len().next_power_of_two();
        let config = NicConfig {
            bins: 1 + random.below(4) as usize,
            receives: count,
            unexpected: count,
            workers: if random.below(2) == 0 { handlers } else { handlers / 2 },
            ..tiny(handlers, handlers, options)
        };
        explore(seed, choice, schedules, &Stream::new(config, &steps), &paths);
    }
    if std::env::var_os("DPAMATCH_SHUTTLE_SEED").is_none() {
        let expected = [
            "clean",
            "fast",
            "slow",
            "forced",
            "unexpected",
            "refused_mixed",
            "refused_sequence",
            "cancelled",
        ];
        paths.require(name, &expected, &[]);
        println!("shuttle: {name}: {} schedules, {choice:?}", seeds as usize * schedules);
    }
}

#[test]
fn eight_handlers_random() {
    streams("schedules/8 handlers", 8, Choice::Random, 200, 10);
}

#[test]
fn eight_handlers_pct() {
    streams("schedules/8 handlers", 8, Choice::Pct(3), 200, 10);
}

#[test]
fn sixteen_handlers_random() {
    streams("schedules/16 handlers", 16, Choice::Random, 100, 5);
}

#[test]
fn thirty_two_handlers_pct() {
    streams("schedules/32 handlers", 32, Choice::Pct(5), 60, 5);
}
