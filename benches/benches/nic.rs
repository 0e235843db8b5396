//! Costs of the emulated NIC that `dpamatch bench` does not separate, on one thread; `barrier` and
//! `removal` on two.
//!
//! Ids are `part/pattern/size`. Throughput is messages (or receives) per second. For `search`,
//! `barrier` and `removal` size has another meaning, so only their time counts.
//!
//! | part | timed |
//! |---|---|
//! | `search` | a block of 32 messages that walk `size` receives of one index in vain, and become unexpected |
//! | `booking` | a block of `size` messages that book, or that skip it by the overtaking hint |
//! | `barrier` | a block of 32 messages in `size` slices, each on its own thread |
//! | `removal` | a block of 32 messages in two slices, all receives in one bin, by removal option |
//! | `cancel` | cancelling `size` receives, both sides |

mod rig;

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use dpa_model::{Hints, NicConfig, Options, Removal};
use dpamatch_vocabulary::{Rank, Selector, SourceSel, TagSel};
use rig::{Rig, envelope, exact, tag};

/// Times `part` alone, without `before` and `after`.
fn timed(
    group: &mut BenchmarkGroup<'_, WallTime>,
    (pattern, size): (&str, usize),
    rig: &mut Rig,
    before: impl Fn(&mut Rig),
    part: impl Fn(&mut Rig),
    after: impl Fn(&mut Rig),
) {
    group.throughput(Throughput::Elements(size as u64));
    group.bench_function(BenchmarkId::new(pattern, size), |bencher| {
        bencher.iter_custom(|iterations| {
            let mut time = Duration::ZERO;
            for _ in 0..iterations {
                before(rig);
                let start = Instant::now();
                part(rig);
                time += start.elapsed();
                after(rig);
            }
            time
        });
    });
}

/// Takes the results and checks their number.
fn expect(events: usize) -> impl Fn(&mut Rig) {
    move |rig| {
        rig.work();
        assert_eq!(rig.collect(), events);
    }
}

fn post(count: usize, selector: impl Fn(usize) -> Selector) -> impl Fn(&mut Rig) {
    move |rig| {
        for i in 0..count {
            rig.post(selector(i));
        }
    }
}

fn send(count: usize, same: bool) -> impl Fn(&mut Rig) {
    move |rig| (0..count).for_each(|i| rig.send(envelope(if same { 0 } else { i })))
}

/// With [`whole_round`], the leader cuts and runs whole blocks.
fn whole_blocks(handlers: usize) -> NicConfig {
    NicConfig { handlers, workers: 2, slice_min: 64, receives: 1024, ..NicConfig::default() }
}

/// A leader that could share waits for a whole block; a lone one would begin with short ones.
fn whole_round(rig: &mut Rig) {
    rig.leader.round(2);
}

/// Each index is one chain here. The fourth accepts everything, so it has no vain search.
fn search(c: &mut Criterion) {
    const MESSAGES: usize = 32;
    /// First of the tags that no receive accepts.
    const ABSENT: usize = 100_000;
    let mut group = c.benchmark_group("search");
    let other_source = |i: usize| Rank::new(2 + i as u32).expect("a small number is a rank");
    let mut chains = |pattern: &str, selector: &dyn Fn(usize) -> Selector| {
        for depth in [0, 16, 256, 1024] {
            let config = NicConfig { receives: 2048, bins: 1, ..whole_blocks(MESSAGES) };
            let mut rig = Rig::with(config, Hints::default());
            post(depth, selector)(&mut rig);
            rig.work();
            let before = |rig: &mut Rig| (0..MESSAGES).for_each(|i| rig.send(envelope(ABSENT + i)));
            let after = |rig: &mut Rig| {
                post(MESSAGES, |i| exact(ABSENT + i))(rig);
                expect(MESSAGES)(rig);
            };
            timed(&mut group, (pattern, depth), &mut rig, before, whole_round, after);
            rig.shared_blocks(MESSAGES);
        }
    };
    chains("none", &exact);
    chains("source", &|i| Selector::new(SourceSel::Any, tag(i)));
    chains("tag", &|i| Selector::new(other_source(i), TagSel::Any));
    group.finish();
}

fn booking(c: &mut Criterion) {
    let mut group = c.benchmark_group("booking");
    for (pattern, allow_overtaking) in [("booked", false), ("overtaking", true)] {
        for size in [8, 32] {
            let mut rig =
                Rig::with(whole_blocks(size), Hints { allow_overtaking, ..Hints::default() });
            let before = |rig: &mut Rig| {
                post(size, exact)(rig);
                rig.work();
                send(size, false)(rig);
            };
            timed(&mut group, (pattern, size), &mut rig, before, whole_round, expect(size));
            rig.shared_blocks(size);
        }
    }
    group.finish();
}

/// Stops the workers when dropped, also after a failed check.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Times blocks of 32 messages in `slices` slices: one on the leader, each other on a polling
/// thread.
fn sliced(
    group: &mut BenchmarkGroup<'_, WallTime>,
    pattern: &str,
    slices: usize,
    bins: usize,
    options: Options,
) {
    const MESSAGES: usize = 32;
    let config =
        NicConfig { slice_min: MESSAGES / slices, bins, options, ..whole_blocks(MESSAGES) };
    let mut rig = Rig::with(config, Hints::default());
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _over = Over(&over);
        for mut worker in std::mem::take(&mut rig.workers) {
            let over = &over;
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    if !worker.round() {
                        std::hint::spin_loop();
                    }
                }
            });
        }
        let before = |rig: &mut Rig| {
            post(MESSAGES, exact)(rig);
            rig.work();
            send(MESSAGES, false)(rig);
        };
        let round = |rig: &mut Rig| {
            rig.leader.round(slices.max(2));
        };
        timed(group, (pattern, slices), &mut rig, before, round, expect(MESSAGES));
        let (shared, all) = rig.shared_blocks(MESSAGES);
        assert_eq!(shared, if slices > 1 { all } else { 0 });
    });
}

fn shared_blocks(c: &mut Criterion) {
    let mut group = c.benchmark_group("barrier");
    for slices in [1, 2] {
        sliced(&mut group, "slices", slices, 1024, Options::default());
    }
    group.finish();
    let mut group = c.benchmark_group("removal");
    for &removal in Removal::ALL {
        sliced(&mut group, removal.name(), 2, 1, Options { removal, ..Options::default() });
    }
    group.finish();
}

fn cancel(c: &mut Criterion) {
    let mut group = c.benchmark_group("cancel");
    for (pattern, size, same) in
        [("distinct", 32, false), ("distinct", 512, false), ("same", 32, true)]
    {
        let requests = RefCell::new(Vec::new());
        let before = |rig: &mut Rig| {
            let post = |i| rig.post(exact(if same { 0 } else { i }));
            requests.borrow_mut().extend((0..size).map(post));
            rig.work();
        };
        let part = |rig: &mut Rig| {
            for request in requests.borrow_mut().drain(..) {
                rig.host.cancel(request, 0).expect("room for a command");
            }
            rig.work();
        };
        let mut rig = Rig::with(whole_blocks(32), Hints::default());
        timed(&mut group, (pattern, size), &mut rig, before, part, expect(size));
    }
    group.finish();
}

criterion_group!(benches, search, booking, shared_blocks, cancel);
criterion_main!(benches);
