//! Messages of virtual time that `dpamatch predict` simulates per second of real time, on one core.
//!
//! Ids are `predict/workload/handlers`: an endless stream without conflicts, all on the slow path,
//! or with a quarter of the receives equal. Times include building the emulated NIC.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dpamatch_predict::{FastPath, Pattern, Profile, Sequence, Setup, simulate};

/// Rounds of a run, each with the receives of the paper's prototype (O30).
const ROUNDS: usize = 8;
const RECEIVES: usize = 1024;

fn predict(criterion: &mut Criterion) {
    let text = Profile::text("bluefield3").expect("built in");
    let profile = Profile::read(text, &[]).expect("a good profile");
    let mut group = criterion.benchmark_group("predict");
    group.throughput(Throughput::Elements((ROUNDS * RECEIVES) as u64));
    for (name, pattern, fast_path) in [
        ("nc", Pattern::Distinct, FastPath::Literal),
        ("wc-sp", Pattern::Equal, FastPath::Off),
        ("mixed-25", Pattern::Mixed { equal: 25, seed: 1 }, FastPath::Literal),
    ] {
        let once = Sequence::window(pattern, RECEIVES, 8);
        let windows = vec![once; ROUNDS];
        for handlers in [1, 8, 32, 128] {
            let setup = Setup { fast_path, ..Setup::new(profile.clone(), handlers) };
            group.bench_function(BenchmarkId::new(name, handlers), |bencher| {
                bencher.iter(|| {
                    let parts = simulate(&setup, &windows, 0).expect("a good set-up");
                    assert!(parts.iter().all(|part| part.matches.len() == RECEIVES), "all match");
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, predict);
criterion_main!(benches);
