//! Random streams under random and PCT schedules, beyond loom's reach: 8 to 32 handlers over
//! several blocks. The streams and their checks are the models' (`loom_tests`), here on shuttle's
//! threads.
//!
//! shuttle treats every atomic as sequentially consistent, so this finds faults of the algorithm,
//! not of the memory orderings.
#![expect(
    unreachable_pub,
    reason = "the models' library is compiled into this program"
)]
#![allow(dead_code, reason = "the models use more of it")]

extern crate dpa_model_explore as dpa_model;

#[path = "../../../loom_tests/src/paths.rs"]
mod paths;
#[path = "../../../loom_tests/src/story.rs"]
mod story;
#[path = "../../../loom_tests/src/stream.rs"]
mod stream;
mod support;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dpa_model::{Barrier, Domains, FastPath, NicConfig, Operation, Options};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::thread as threads;
use shuttle::{Config, Runner};

use paths::Paths;
use stream::{Crew, Stream, cancel, post, send, tiny};
use support::Seeded;

/// Stack of a thread: a worker's scratch is for 64 handlers here.
const STACK_BYTES: usize = 1 << 18;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Choice {
    Random,
    /// Priorities that change at this many points (probabilistic concurrency testing).
    Pct(usize),
}

/// Runs of posts and of messages over few keys, with wildcards: conflicts of every kind.
fn random_steps(seed: u64, handlers: usize, blocks: usize) -> Vec<Operation> {
    let mut random = Seeded(seed);
    let (sources, tags) = (1 + random.below(2), 1 + random.below(2));
    let wild = random.below(4);
    let mut steps = Vec::new();
    let mut posts = 0;
    for _ in 0..blocks {
        for _ in 0..random.below(2 * handlers as u64) {
            let mut key = |end| (random.below(8) >= wild).then(|| random.below(end) as u32);
            let (source, tag) = (key(sources), key(tags));
            for _ in 0..1 + random.below(4) {
                steps.push(post(source, tag));
                posts += 1;
            }
        }
        if posts > 0 && random.below(3) == 0 {
            steps.push(cancel(random.below(posts) as usize));
        }
        for _ in 0..1 + random.below(handlers as u64) {
            steps.push(send(
                random.below(sources) as u32,
                random.below(tags) as u32,
            ));
        }
    }
    steps
}

/// Runs the stream under `count` schedules. `DPAMATCH_SHUTTLE_SEED=<seed>` restricts it to the
/// stream of that seed, `DPAMATCH_SHUTTLE_REPLAY=<schedule>` also to that schedule.
/// When an execution differs from the oracle, shuttle prints the schedule, and this function the
/// seed.
fn explore(seed: u64, choice: Choice, count: usize, stream: &Stream, paths: &Arc<Paths>) {
    if std::env::var("DPAMATCH_SHUTTLE_SEED").is_ok_and(|only| only != seed.to_string()) {
        return;
    }
    let (stream, paths) = (stream.clone(), Arc::clone(paths));
    let executions = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&executions);
    let model = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        paths.add(&stream.run(Crew::Shared, 0));
        paths.add(&stream.run(Crew::Alone, 0));
    };
    let run = || match (std::env::var("DPAMATCH_SHUTTLE_REPLAY"), choice) {
        (Ok(schedule), _) => shuttle::replay(model, &schedule),
        (_, Choice::Random) => run(RandomScheduler::new_from_seed(seed, count), model),
        (_, Choice::Pct(depth)) => run(PctScheduler::new_from_seed(seed, depth, count), model),
    };
    let run = || story::told(&format!("random stream {seed}"), &executions, run);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
        eprintln!(
            "replay with DPAMATCH_SHUTTLE_SEED={seed} DPAMATCH_SHUTTLE_REPLAY=<the schedule above>"
        );
        resume_unwind(panic);
    }
}

fn run(scheduler: impl Scheduler + 'static, model: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    Runner::new(scheduler, config).run(model);
}

fn streams(name: &str, handlers: usize, choice: Choice, seeds: u64, schedules: usize) {
    let paths = Arc::new(Paths::default());
    for seed in 0..seeds {
        let mut random = Seeded(!seed);
        let forms = [
            FastPath::Sequence,
            FastPath::Prefix,
            FastPath::Literal,
            FastPath::Off,
        ];
        let fast_path = forms[random.below(4) as usize];
        let early_check =
            matches!(fast_path, FastPath::Sequence | FastPath::Off) && random.below(2) == 0;
        let barrier = [Barrier::Lanes, Barrier::Bitmap][random.below(2) as usize];
        let domains = [Domains::Paper, Domains::Keyed][random.below(2) as usize];
        let options = Options {
            domains,
            ..Options::default()
        };
        let options = Options {
            fast_path,
            early_check,
            barrier,
            ..options
        };
        let steps = random_steps(seed, handlers, 3);
        let count = steps.len().next_power_of_two();
        let config = NicConfig {
            bins: 1 + random.below(4) as usize,
            receives: count,
            unexpected: count,
            workers: if random.below(2) == 0 {
                handlers
            } else {
                handlers / 2
            },
            ..tiny(handlers, handlers, options)
        };
        explore(
            seed,
            choice,
            schedules,
            &Stream::new(config, &steps),
            &paths,
        );
    }
    if std::env::var_os("DPAMATCH_SHUTTLE_SEED").is_none() {
        let expected: Vec<&str> = "clean fast slow forced unexpected refused_mixed \
            refused_sequence cancelled"
            .split(' ')
            .collect();
        paths.require(name, &expected, &[]);
        println!(
            "shuttle: {name}: {} schedules, {choice:?}",
            seeds as usize * schedules
        );
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
