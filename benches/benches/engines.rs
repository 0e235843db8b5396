//! The sequential engines: `size` posts and as many arrivals, in either order.
//!
//! Ids are `part/pattern/size`. The part is the engine and the timed half: `bins_post` and
//! `bins_arrive` for posting and then matching, `bins_store` and `bins_hit` for arriving and then
//! posting. The pattern is the posting order relative to the messages. Receives differ in the tag,
//! for engines by source (`rank-array`, `4d`) in the source. Reverse orders of engines that search
//! this load like a list are quadratic, so they stop at 1024.

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dpamatch::engine::{
    AdaptiveConfig, AdaptiveEngine, ArrayLife, BinCount, BinEngine, DedicatedConfig,
    DedicatedEngine, Engine, FourDEngine, GridThreshold, ListEngine, MsgId, OptimisticSeqEngine,
    RankArrayEngine, RecvId, SimdEngine, UcxEngine,
};
use dpamatch_vocabulary::{CommId, Envelope, Rank, Selector, Tag};

const COMM: CommId = CommId(0);
/// The bins of the paper's prototype (O30).
const BINS: u32 = 2048;

type Key = fn(number: usize) -> (Rank, Tag);

fn by_tag(number: usize) -> (Rank, Tag) {
    (Rank::default(), Tag::new(number as u32).expect("a small number is a tag"))
}

fn by_source(number: usize) -> (Rank, Tag) {
    (Rank::new(number as u32).expect("a small number is a rank"), Tag::default())
}

/// The message that the receive posted as number `i` of `size` takes.
type Order = fn(i: usize, size: usize) -> usize;

const ORDERS: [(&str, Order); 2] = [("forward", |i, _| i), ("reverse", |i, size| size - 1 - i)];

fn post_all(engine: &mut impl Engine, size: usize, order: Order, key: Key) -> usize {
    let posts = (0..size).filter(|&i| {
        let (source, tag) = key(order(i, size));
        let selector = Selector::new(source, tag);
        engine.post(RecvId(i as u64), COMM, selector).is_some()
    });
    posts.count()
}

fn arrive_all(engine: &mut impl Engine, size: usize, key: Key) -> usize {
    let arrivals = (0..size).filter(|&i| {
        let (source, tag) = key(i);
        let envelope = Envelope { comm: COMM, source, tag };
        engine.arrive(MsgId(i as u64), envelope).is_some()
    });
    arrivals.count()
}

/// Runs a half and returns the matches.
type Half<E> = fn(&mut E, usize, Order, Key) -> usize;

/// Times one half; all matches must come in the second half.
fn half<E: Engine>(
    c: &mut Criterion,
    part: &str,
    new: impl Fn() -> E,
    reverse_max: usize,
    timed_half: usize,
    key: Key,
    halves: [Half<E>; 2],
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
                            let matches = half(&mut engine, size, order, key);
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

fn engine<E: Engine>(
    c: &mut Criterion,
    name: &str,
    new: impl Fn() -> E + Copy,
    reverse_max: usize,
    key: Key,
) {
    let post: Half<E> = post_all;
    let arrive: Half<E> = |engine, size, _, key| arrive_all(engine, size, key);
    half(c, &format!("{name}_post"), new, reverse_max, 0, key, [post, arrive]);
    half(c, &format!("{name}_arrive"), new, reverse_max, 1, key, [post, arrive]);
    half(c, &format!("{name}_store"), new, reverse_max, 0, key, [arrive, post]);
    half(c, &format!("{name}_hit"), new, reverse_max, 1, key, [arrive, post]);
}

fn engines(c: &mut Criterion) {
    let bins = || BinEngine::new(BinCount::new(BINS).expect("a legal number"));
    engine(c, "bins", bins, usize::MAX, by_tag);
    engine(c, "list", ListEngine::new, 1024, by_tag);
    engine(c, "optimistic-seq", OptimisticSeqEngine::new, usize::MAX, by_tag);
    let array = || RankArrayEngine::new(ArrayLife::default(), Some(8192));
    engine(c, "rank-array", array, usize::MAX, by_source);
    let four_d = || FourDEngine::new(GridThreshold::default(), Some(8192));
    engine(c, "4d", four_d, usize::MAX, by_source);
    engine(c, "ucx", UcxEngine::new, usize::MAX, by_tag);
    engine(c, "simd", SimdEngine::new, 8192, by_tag);
    engine(c, "simd_scalar", SimdEngine::scalar, 1024, by_tag);
    engine(c, "adaptive", || AdaptiveEngine::new(AdaptiveConfig::default(), None), 8192, by_tag);
    engine(c, "col_pnp", || DedicatedEngine::new(DedicatedConfig::COL_PNP), 1024, by_tag);
}

criterion_group!(benches, engines);
criterion_main!(benches);
