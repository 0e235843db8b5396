//! A blind test: rates of another program on the same card, to which nothing here is fitted.
//!
//! Khalilov et al., SDR-RDMA, SC 2025, let each thread poll its own completion queue, set a
//! bit in a bitmap and repost. No thread waits for another, so the rate shows how cores are shared.
//! The columns of the table are damaged in the copy that this project has; this reading fits the
//! paper's text.

use crate::Profile;

/// Threads and rate in messages per microsecond.
pub const MEASURED: [(usize, f64); 5] =
    [(8, 11.6), (16, 22.9), (32, 42.9), (64, 70.5), (128, 92.1)];

/// Predicts the rate of `threads` threads from the first of [`MEASURED`]. Threads share the issue
/// slots of their core and nothing else.
pub fn predicted(card: &Profile, threads: usize) -> f64 {
    let [(first, rate), ..] = MEASURED;
    rate * progress(card, threads) / progress(card, first)
}

/// Work that `threads` threads do in the time that one alone takes for 1.
fn progress(card: &Profile, threads: usize) -> f64 {
    let placement = card.rules.placement;
    let mut cores = vec![0; card.eus.cores.max(threads)];
    for thread in 0..threads {
        cores[placement.core(thread, card.eus.cores, card.eus.per_core)] += 1;
    }
    let issue = card.costs().issue;
    let of_core = |&threads: &usize| threads as f64 / issue.stretch(threads.max(1), 0);
    cores.iter().map(of_core).sum()
}
