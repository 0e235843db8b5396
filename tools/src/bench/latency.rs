//! Times of single messages, and the clock that they are taken with.

use std::hint::black_box;
use std::time::Instant;

use hdrhistogram::Histogram;

/// Percentiles that are told, each with its name.
pub const PERCENTILES: [(f64, &str); 5] =
    [(50.0, "p50"), (90.0, "p90"), (99.0, "p99"), (99.9, "p99_9"), (99.99, "p99_99")];

/// Digits of a time that are kept: it is off by less than one part in a thousand.
const DIGITS: u8 = 3;

/// How long messages took that were alone on their way: from just before the send until the sender
/// knows that the receiver has it (one window of one message each).
#[derive(Clone, PartialEq, Debug)]
pub struct Latencies(Histogram<u64>);

impl Latencies {
    /// Of these times in nanoseconds.
    pub fn of(times: &[f64]) -> Self {
        let mut all = Histogram::new(DIGITS).expect("three digits are allowed");
        for &time in times {
            all.record(time.round() as u64).expect("it grows with the times");
        }
        Self(all)
    }

    /// Adds another round's.
    pub fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("it grows with the times");
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The longest, in nanoseconds.
    pub fn max_ns(&self) -> u64 {
        self.0.max()
    }

    /// So many per cent of the times were at most this long, in nanoseconds. `None` if no message
    /// is left beyond it, so that it would be the longest by another name.
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        let beyond = self.count() as f64 * (100.0 - percent) / 100.0;
        // What is left beyond 99.99 % of 10,000 is one message, whatever the rounding.
        (beyond > 0.999).then(|| self.0.value_at_percentile(percent))
    }
}

/// What the clock costs, and how fine it is: no time of a message is better than that.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct ClockQuality {
    /// One reading, in nanoseconds.
    pub read_ns: f64,
    /// The smallest step between two readings, in nanoseconds.
    pub step_ns: f64,
}

/// Readings in a row, and how often.
const READINGS: u32 = 1000;
const TIMES: usize = 20;

impl ClockQuality {
    /// Of the clock that the measurements use, in less than a few milliseconds.
    pub fn measure() -> Self {
        let mut found = Self { read_ns: f64::INFINITY, step_ns: f64::INFINITY };
        for _ in 0..TIMES {
            let begin = Instant::now();
            let mut last = begin;
            for _ in 0..READINGS {
                let now = black_box(Instant::now());
                let step = (now - last).as_nanos() as f64;
                if step > 0.0 {
                    found.step_ns = found.step_ns.min(step);
                }
                last = now;
            }
            let each = (last - begin).as_nanos() as f64 / f64::from(READINGS);
            found.read_ns = found.read_ns.min(each);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_times() {
        let times: Vec<f64> = (1..=10_000).map(f64::from).collect();
        let all = Latencies::of(&times);
        assert_eq!((all.count(), all.max_ns() >= 10_000), (10_000, true));
        for (percent, _) in PERCENTILES {
            let exact = percent * 100.0;
            let found = all.percentile_ns(percent).expect("enough of them") as f64;
            assert!((found / exact - 1.0).abs() < 2e-3, "{percent}: {found}");
        }
    }

    #[test]
    fn a_percentile_needs_messages_beyond_it() {
        let all = Latencies::of(&vec![7.0; 1000]);
        let told = PERCENTILES.map(|(percent, _)| all.percentile_ns(percent));
        assert_eq!(told, [Some(7), Some(7), Some(7), Some(7), None]);
        assert_eq!(Latencies::of(&[7.0]).percentile_ns(50.0), None);
    }

    #[test]
    fn rounds_are_put_together() {
        let mut all = Latencies::of(&[1.0; 50]);
        all.add(&Latencies::of(&[1e6; 50]));
        assert_eq!((all.count(), all.percentile_ns(50.0)), (100, Some(1)));
        assert!(all.percentile_ns(90.0) >= Some(999_000), "the histogram has grown");
    }

    #[test]
    fn the_clock_takes_time() {
        let ClockQuality { read_ns, step_ns } = ClockQuality::measure();
        assert!(read_ns > 0.0 && read_ns.is_finite() && step_ns >= 1.0 && step_ns.is_finite());
    }
}
