//! The measured Figure 8 (O40), and a prediction's distance from it.

use dpamatch_vocabulary::PaperWorkload;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// One or two threads: a fit may use it.
    Fitted,
    /// From the same session, with more threads: it judges the prediction.
    Clean,
    /// Recorded six hours later: for display only.
    Later,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    pub series: PaperWorkload,
    pub threads: usize,
    /// Median rate in messages per microsecond.
    pub rate: f64,
    pub used: Use,
}

/// Medians of 500 repetitions at [`THREADS`] threads with messages of 8 bytes, in messages per
/// microsecond: 127 / (t128 - t1).
pub fn rates(series: PaperWorkload) -> [f64; 6] {
    match series {
        PaperWorkload::NoConflict => [0.523, 1.002, 1.955, 3.848, 5.842, 7.638],
        PaperWorkload::FastPath => [0.523, 0.902, 1.646, 1.313, 2.237, 3.160],
        PaperWorkload::SlowPath => [0.526, 0.824, 1.083, 1.266, 1.217, 1.179],
    }
}

pub const THREADS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// Decisions on the structure of the model that were made with the points in view. Like a fitted
/// number, each could be what makes the points come out.
pub const CHOICES: [&str; 11] = [
    "fast path of form prefix",
    "removal at the block's end",
    "each EU ends its own block",
    "a message starts its handler",
    "clean handlers overlap the next block",
    "handlers spread over cores",
    "a booking is not waited for",
    "a waiter pays a hand-over",
    "a compare costs its load",
    "a note to the leader is charged",
    "a bin at the block's end is charged",
];

pub fn points() -> impl Iterator<Item = Point> {
    PaperWorkload::ALL.iter().flat_map(|&series| {
        THREADS
            .into_iter()
            .zip(rates(series))
            .map(move |(threads, rate)| {
                let used = match (series, threads) {
                    (_, ..=2) => Use::Fitted,
                    // By the time stamps of the raw files.
                    (PaperWorkload::FastPath, 8..) => Use::Later,
                    _ => Use::Clean,
                };
                Point {
                    series,
                    threads,
                    rate,
                    used,
                }
            })
    })
}

/// Mean of the absolute relative errors, in per cent, of (predicted, measured) pairs. 0 for none.
pub fn mape(pairs: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for (predicted, measured) in pairs {
        sum += (predicted / measured - 1.0).abs();
        count += 1;
    }
    100.0 * sum / f64::from(count.max(1))
}
