//! What the parts of the emulated NIC cost by themselves, on one thread.
//!
//! Ids `part/pattern/size`; the throughput is messages (or receives) per second.
//!
//! | part | timed |
//! |---|---|
//! | `round` | one block of `size` messages, from the completion queue to the completion ring |
//! | `post_host`, `post_nic` | handing `size` receives over; putting them in the posted queue |
//! | `unexpected_store`, `unexpected_hit` | storing `size` messages; posting the receives that take them |
//! | `poll` | taking `size` completions from the ring |
//! | `cancel` | cancelling `size` receives, both sides |
//! | `send` | putting `size` messages in the completion queue |

mod rig;

use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dpa_model::{FastPath, Options, Selector, SourceSel, TagSel};
use rig::{Rig, envelope, exact, tag};

/// Times `part` alone: `before` and `after` it the clock stands still.
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

/// Takes the results and checks their number: a bench that matches something else is no bench.
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

fn work(rig: &mut Rig) {
    rig.work();
}

fn round(c: &mut Criterion) {
    let mut group = c.benchmark_group("round");
    let off = Options { fast_path: FastPath::Off, ..Options::default() };
    let any_source = |i| Selector::new(SourceSel::Any, tag(i));
    for size in [8, 32, 64] {
        let mut block = |pattern, options, selector: &dyn Fn(usize) -> Selector, same| {
            let before = |rig: &mut Rig| {
                post(size, selector)(rig);
                rig.work();
                send(size, same)(rig);
            };
            let round = |rig: &mut Rig| {
                rig.leader.round(1);
            };
            timed(
                &mut group,
                (pattern, size),
                &mut Rig::new(size, 1024, options),
                before,
                round,
                expect(size),
            );
        };
        block("nc", Options::default(), &exact, false);
        block("nc-reverse", Options::default(), &|i| exact(size - 1 - i), false);
        block("any-source", Options::default(), &any_source, false);
        block("any-both", Options::default(), &|_| Selector::new(SourceSel::Any, TagSel::Any), false);
        block("wc-fast", Options::default(), &|_| exact(0), true);
        block("wc-slow", off, &|_| exact(0), true);
    }
    group.finish();
}

fn posts(c: &mut Criterion) {
    let mut group = c.benchmark_group("post_host");
    for size in [32, 1024] {
        let mut rig = Rig::new(32, 1024, Options::default());
        let finish = |rig: &mut Rig| {
            rig.work();
            send(size, false)(rig);
            expect(size)(rig);
        };
        timed(&mut group, ("exact", size), &mut rig, |_| (), post(size, exact), finish);
    }
    group.finish();
    let mut group = c.benchmark_group("post_nic");
    for size in [32, 1024] {
        for (pattern, same) in [("exact", false), ("same", true)] {
            let mut rig = Rig::new(32, 1024, Options::default());
            let before = post(size, move |i| exact(if same { 0 } else { i }));
            let finish = |rig: &mut Rig| {
                send(size, same)(rig);
                expect(size)(rig);
            };
            timed(&mut group, (pattern, size), &mut rig, before, work, finish);
        }
    }
    group.finish();
}

fn unexpected(c: &mut Criterion) {
    let mut group = c.benchmark_group("unexpected_store");
    for size in [32, 1024] {
        let mut rig = Rig::new(32, 1024, Options::default());
        let finish = |rig: &mut Rig| {
            post(size, exact)(rig);
            expect(size)(rig);
        };
        timed(&mut group, ("exact", size), &mut rig, send(size, false), work, finish);
    }
    group.finish();
    let mut group = c.benchmark_group("unexpected_hit");
    for size in [32, 1024] {
        let before = |rig: &mut Rig| {
            send(size, false)(rig);
            rig.work();
        };
        let mut hit = |pattern, selector: &dyn Fn(usize) -> Selector| {
            let part = |rig: &mut Rig| {
                post(size, selector)(rig);
                rig.work();
            };
            let mut rig = Rig::new(32, 1024, Options::default());
            timed(&mut group, (pattern, size), &mut rig, before, part, expect(size));
        };
        hit("exact", &exact);
        hit("exact-reverse", &|i| exact(size - 1 - i));
        hit("any-source-reverse", &|i| Selector::new(SourceSel::Any, tag(size - 1 - i)));
    }
    group.finish();
}

fn queues(c: &mut Criterion) {
    let mut group = c.benchmark_group("poll");
    for size in [32, 1024] {
        let before = |rig: &mut Rig| {
            post(size, exact)(rig);
            rig.work();
            send(size, false)(rig);
            rig.work();
        };
        let part = |rig: &mut Rig| {
            rig.collect();
        };
        let mut rig = Rig::new(32, 1024, Options::default());
        timed(&mut group, ("received", size), &mut rig, before, part, expect(0));
    }
    group.finish();
    let mut group = c.benchmark_group("send");
    for size in [32, 1024] {
        let before = |rig: &mut Rig| {
            post(size, exact)(rig);
            rig.work();
        };
        let mut rig = Rig::new(32, 1024, Options::default());
        timed(&mut group, ("inline", size), &mut rig, before, send(size, false), expect(size));
    }
    group.finish();
}

fn cancel(c: &mut Criterion) {
    let mut group = c.benchmark_group("cancel");
    for (pattern, size, same) in [("distinct", 32, false), ("distinct", 512, false), ("same", 32, true)] {
        let mut rig = Rig::new(32, 1024, Options::default());
        group.throughput(Throughput::Elements(size as u64));
        group.bench_function(BenchmarkId::new(pattern, size), |bencher| {
            bencher.iter_custom(|iterations| {
                let mut time = Duration::ZERO;
                for _ in 0..iterations {
                    let requests: Vec<_> =
                        (0..size).map(|i| rig.post(exact(if same { 0 } else { i }))).collect();
                    rig.work();
                    let start = Instant::now();
                    for request in requests {
                        rig.host.cancel(request, 0).expect("room for a command");
                    }
                    rig.work();
                    time += start.elapsed();
                    assert_eq!(rig.collect(), size);
                }
                time
            });
        });
    }
    group.finish();
}

criterion_group!(benches, round, posts, unexpected, queues, cancel);
criterion_main!(benches);
