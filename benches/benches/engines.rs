//! The sequential engines: `size` receives are posted and as many messages arrive, or the other way round.
//!
//! Ids `part/pattern/size`: part is the engine and the half that is timed (`bins_post`, `bins_arrive`,
//! `bins_store`, `bins_hit`: posting before, matching, arriving before, posting after); pattern is the order
//! in which receives are posted against the messages. The reverse orders of engines that search this load like a
//! list take quadratic time, so they stop at 1024.

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dpa_model::{CommId, Envelope, Rank, Selector, Tag};
use dpamatch::engine::{
    AdaptiveConfig, AdaptiveEngine, BinCount, BinEngine, DedicatedConfig, DedicatedEngine, Engine,
    ListEngine, MsgId, RecvId, SimdEngine,
};

const COMM: CommId = CommId(0);
/// As many bins as the paper's prototype (O30).
const BINS: u32 = 2048;

fn tag(number: usize) -> Tag {
    Tag::new(number as u32).expect("a small number is a tag")
}

fn source() -> Rank {
    Rank::new(1).expect("a small number is a rank")
}

/// Which message the receive posted as number `i` of `size` takes.
type Order = fn(i: usize, size: usize) -> usize;

const ORDERS: [(&str, Order); 2] = [("forward", |i, _| i), ("reverse", |i, size| size - 1 - i)];

fn post_all(engine: &mut impl Engine, size: usize, order: Order) -> usize {
    let posts = (0..size).filter(|&i| {
        let selector = Selector::new(source(), tag(order(i, size)));
        engine.post(RecvId(i as u64), COMM, selector).is_some()
    });
    posts.count()
}

fn arrive_all(engine: &mut impl Engine, size: usize) -> usize {
    let arrivals = (0..size).filter(|&i| {
        let envelope = Envelope { comm: COMM, source: source(), tag: tag(i) };
        engine.arrive(MsgId(i as u64), envelope).is_some()
    });
    arrivals.count()
}

/// One half is timed; matches must be none in the first half and all in the second.
fn half<E: Engine>(
    c: &mut Criterion,
    part: &str,
    new: impl Fn() -> E,
    reverse_max: usize,
    timed_half: usize,
    halves: [fn(&mut E, usize, Order) -> usize; 2],
) {
    let mut group = c.benchmark_group(part);
    group.sample_size(10);
    for (pattern, order) in ORDERS {
        for size in [1, 64, 1024, 8192] {
            if pattern == "reverse" && size > reverse_max {
                continue;
            }
            let mut engine = new();
            group.throughput(Throughput::Elements(size as u64));
            group.bench_function(BenchmarkId::new(pattern, size), |bencher| {
                bencher.iter_custom(|iterations| {
                    let mut times = [Duration::ZERO; 2];
                    for _ in 0..iterations {
                        for (which, half) in halves.iter().enumerate() {
                            let start = Instant::now();
                            let matches = half(&mut engine, size, order);
                            times[which] += start.elapsed();
                            assert_eq!(matches, which * size);
                        }
                    }
                    times[timed_half]
                });
            });
        }
    }
    group.finish();
}

fn engine<E: Engine>(c: &mut Criterion, name: &str, new: impl Fn() -> E + Copy, reverse_max: usize) {
    let post: fn(&mut E, usize, Order) -> usize = |engine, size, order| post_all(engine, size, order);
    let arrive: fn(&mut E, usize, Order) -> usize = |engine, size, _| arrive_all(engine, size);
    half(c, &format!("{name}_post"), new, reverse_max, 0, [post, arrive]);
    half(c, &format!("{name}_arrive"), new, reverse_max, 1, [post, arrive]);
    half(c, &format!("{name}_store"), new, reverse_max, 0, [arrive, post]);
    half(c, &format!("{name}_hit"), new, reverse_max, 1, [arrive, post]);
}

fn engines(c: &mut Criterion) {
    let bins = || BinEngine::new(BinCount::new(BINS).expect("a legal number"));
    engine(c, "bins", bins, usize::MAX);
    engine(c, "list", ListEngine::new, 1024);
    engine(c, "simd", SimdEngine::new, 8192);
    engine(c, "simd_scalar", SimdEngine::scalar, 1024);
    engine(c, "adaptive", || AdaptiveEngine::new(AdaptiveConfig::default(), None), 8192);
    engine(c, "col_pnp", || DedicatedEngine::new(DedicatedConfig::COL_PNP), 1024);
}

criterion_group!(benches, engines);
criterion_main!(benches);
