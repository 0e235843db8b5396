//! Latencies of single messages, and the clock that measures them.

use std::hint::black_box;
use std::time::Instant;

use hdrhistogram::Histogram;

/// Reported percentiles, with their names for programs.
pub const PERCENTILES: [(f64, &str); 5] = [
    (50.0, "latency_p50_ns"),
    (90.0, "latency_p90_ns"),
    (99.0, "latency_p99_ns"),
    (99.9, "latency_p99_9_ns"),
    (99.99, "latency_p99_99_ns"),
];

/// Precision in decimal digits: the error is less than 0.1 %.
const DIGITS: u8 = 3;

/// Latencies of isolated messages, in windows of one message: from just before the send until the
/// sender has the acknowledgement.
#[derive(Clone, PartialEq, Debug)]
pub struct Latencies(Histogram<u64>);

impl Latencies {
    /// Converts times in nanoseconds.
    pub fn from_ns(times: &[f64]) -> Self {
        let mut all = Histogram::new(DIGITS).expect("three digits are allowed");
        for &time in times {
            all.record(time.round() as u64)
                .expect("it grows with the times");
        }
        Self(all)
    }

    pub fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("it grows with the times");
    }

    pub fn count(&self) -> u64 {
        self.0.len()
    }

    pub fn max_ns(&self) -> u64 {
        self.0.max()
    }

    /// The time in nanoseconds that `percent` of the messages do not exceed. `None` without a
    /// sample beyond it, where it would equal the maximum.
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        let beyond = self.count() as f64 * (100.0 - percent) / 100.0;
        // Beyond 99.99 % of 10,000 samples lies one, whatever the rounding.
        (beyond > 0.999).then(|| self.0.value_at_percentile(percent))
    }
}

/// Cost and resolution of the clock, which limit the precision of a latency.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct ClockQuality {
    /// Cost of a reading in nanoseconds.
    pub read_ns: f64,
    /// Smallest step between two readings in nanoseconds.
    pub step_ns: f64,
}

const READINGS: u32 = 1000;
const TIMES: usize = 20;

impl ClockQuality {
    pub fn measure() -> Self {
        let mut found = Self {
            read_ns: f64::INFINITY,
            step_ns: f64::INFINITY,
        };
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
        let all = Latencies::from_ns(&times);
        assert_eq!((all.count(), all.max_ns() >= 10_000), (10_000, true));
        for (percent, _) in PERCENTILES {
            let exact = percent * 100.0;
            let found = all.percentile_ns(percent).expect("enough of them") as f64;
            assert!((found / exact - 1.0).abs() < 2e-3, "{percent}: {found}");
        }
    }

    #[test]
    fn a_percentile_needs_messages_beyond_it() {
        let all = Latencies::from_ns(&vec![7.0; 1000]);
        let told = PERCENTILES.map(|(percent, _)| all.percentile_ns(percent));
        assert_eq!(told, [Some(7), Some(7), Some(7), Some(7), None]);
        assert_eq!(Latencies::from_ns(&[7.0]).percentile_ns(50.0), None);
    }

    #[test]
    fn rounds_are_put_together() {
        let mut all = Latencies::from_ns(&[1.0; 50]);
        all.add(&Latencies::from_ns(&[1e6; 50]));
        assert_eq!((all.count(), all.percentile_ns(50.0)), (100, Some(1)));
        assert!(
            all.percentile_ns(90.0) >= Some(999_000),
            "the histogram has grown"
        );
    }

    #[test]
    fn the_clock_takes_time() {
        let ClockQuality { read_ns, step_ns } = ClockQuality::measure();
        assert!(read_ns > 0.0 && read_ns.is_finite() && step_ns >= 1.0 && step_ns.is_finite());
    }
}
