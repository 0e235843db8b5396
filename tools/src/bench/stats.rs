//! Medians, spreads and the two rate formulas (O38, O40).

#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct Summary {
    /// The median, or the mean of the middle two values.
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub count: usize,
}

impl Summary {
    /// Summarises values in any order; `None` without values.
    pub fn from_values(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let half = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[half]
        } else {
            f64::midpoint(sorted[half - 1], sorted[half])
        };
        Some(Self {
            median,
            min,
            max,
            count: sorted.len(),
        })
    }
}

/// Messages per second of a window (O38): its messages divided by the time from the first send to
/// the acknowledgement.
pub fn window_rate(window: usize, time_ns: f64) -> f64 {
    window as f64 * 1e9 / time_ns
}

/// The two windows of the calibrated rate (O40).
pub const CALIBRATION: [usize; 2] = [1, 128];

/// Messages per second by the formula of the published script (O40): 127 / (t128 - t1), with t1 the
/// median time of a window of one message. `None` if the longer window was not slower.
pub fn calibrated_rate(t1_ns: f64, t128_ns: f64) -> Option<f64> {
    let [one, many] = CALIBRATION;
    (t128_ns > t1_ns).then(|| (many - one) as f64 * 1e9 / (t128_ns - t1_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_extremes() {
        assert_eq!(Summary::from_values(&[]), None);
        let odd = Summary::from_values(&[3.0, 1.0, 2.0]);
        assert_eq!(
            odd,
            Some(Summary {
                median: 2.0,
                min: 1.0,
                max: 3.0,
                count: 3
            })
        );
        let even = Summary::from_values(&[4.0, 1.0, 2.0, 8.0]);
        assert_eq!(
            even,
            Some(Summary {
                median: 3.0,
                min: 1.0,
                max: 8.0,
                count: 4
            })
        );
    }

    #[test]
    fn rates() {
        // 100 messages in 2 microseconds.
        assert_eq!(window_rate(100, 2_000.0), 50e6);
        // A constant 300 ns per window and 20 ns per message: the constant cancels out.
        let time = |messages: f64| 300.0 + 20.0 * messages;
        assert_eq!(calibrated_rate(time(1.0), time(128.0)), Some(50e6));
        assert_eq!(calibrated_rate(500.0, 500.0), None);
        // The paper's round trip and NC rate at 32 threads (O40): t128 follows from both.
        let t128 = 10_000.0 + 127.0 * 1e9 / 7.638e6;
        let rate = calibrated_rate(10_000.0, t128).expect("a rate");
        assert!((rate - 7.638e6).abs() < 1.0, "{rate}");
    }
}
