//! The ratio of two samples, with an interval.
//!
//! The Hodges-Lehmann estimate is the median ratio of a value of one sample to a value of the
//! other. The interval holds the ratios that the rank-sum test (Wilcoxon, Mann and Whitney) does
//! not reject. It assumes no distribution, so outliers do no harm, but rounds must be independent.

use statrs::distribution::{ContinuousCDF, Normal};

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    pub low: f64,
    pub likely: f64,
    pub high: f64,
}

/// Largest sample size with the exact distribution; above, the normal approximation.
const EXACT: usize = 30;

/// The ratio of `after` to `before`, with an interval of this confidence (0 to 1). Values must be
/// positive. Four values in each sample are enough for 95 %.
///
/// # Errors
/// With too few values for an interval, the estimate alone; NaN for an empty sample.
///
/// # Complexity
/// Time and memory grow with the product of both sizes.
pub fn ratio(before: &[f64], after: &[f64], confidence: f64) -> Result<Interval, f64> {
    let mut logs: Vec<f64> = before
        .iter()
        .flat_map(|before| after.iter().map(move |after| (after / before).ln()))
        .collect();
    logs.sort_unstable_by(f64::total_cmp);
    if logs.is_empty() {
        return Err(f64::NAN);
    }
    let half = logs.len() / 2;
    let middle = if logs.len() % 2 == 1 {
        logs[half]
    } else {
        f64::midpoint(logs[half - 1], logs[half])
    };
    let likely = middle.exp();
    match cut_off(before.len(), after.len(), (1.0 - confidence) / 2.0) {
        0 => Err(likely),
        cut => {
            let (low, high) = (logs[cut - 1].exp(), logs[logs.len() - cut].exp());
            Ok(Interval { low, likely, high })
        }
    }
}

/// The largest k with P(U < k) at most `tail`. U is the rank-sum statistic of two samples of these
/// sizes from one distribution.
fn cut_off(m: usize, n: usize, tail: f64) -> usize {
    if m.max(n) > EXACT {
        let (m, n) = (m as f64, n as f64);
        let deviation = (m * n * (m + n + 1.0) / 12.0).sqrt();
        let z = Normal::standard().inverse_cdf(tail);
        return (m * n / 2.0 + z * deviation).floor().max(0.0) as usize;
    }
    let ways = ways(m, n);
    let all: f64 = ways.iter().sum();
    let mut below = 0.0;
    ways.iter()
        .take_while(|&&ways| (below += ways, below <= tail * all).1)
        .count()
}

/// The number of orders of m and n values for each value of U: the partitions of U into at most m
/// parts of at most n each.
fn ways(m: usize, n: usize) -> Vec<f64> {
    // Part by part: a column of height h holds partitions into parts up to h.
    let mut ways = vec![vec![0.0; m * n + 1]; m + 1];
    ways[0][0] = 1.0;
    for part in 1..=n {
        for count in 1..=m {
            for sum in part..=m * n {
                ways[count][sum] += ways[count - 1][sum - part];
            }
        }
    }
    (0..=m * n)
        .map(|sum| ways.iter().map(|of_count| of_count[sum]).sum())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts U over every order of m and n values: how often one of the n precedes one of the m.
    fn counted(m: usize, n: usize) -> Vec<f64> {
        let mut ways = vec![0.0; m * n + 1];
        let orders = (0..1_u32 << (m + n)).filter(|order| order.count_ones() as usize == m);
        for order in orders {
            let (mut before, mut u) = (0, 0);
            for place in 0..m + n {
                if order >> place & 1 == 1 {
                    u += before
                } else {
                    before += 1
                }
            }
            ways[u] += 1.0;
        }
        ways
    }

    #[test]
    fn the_distribution_is_that_of_all_orders() {
        for (m, n) in [(1, 1), (3, 3), (4, 4), (5, 5), (5, 7), (8, 3), (1, 9)] {
            assert_eq!(ways(m, n), counted(m, n), "{m} and {n}");
        }
    }

    #[test]
    fn intervals_are_those_of_the_tables() {
        // Published critical values of U, two-sided 5 %: the largest rejected one.
        for (m, n, critical) in [
            (4, 4, 0),
            (5, 5, 2),
            (6, 6, 5),
            (7, 7, 8),
            (10, 10, 23),
            (5, 8, 6),
        ] {
            assert_eq!(cut_off(m, n, 0.025), critical + 1, "{m} and {n}");
        }
        assert_eq!(cut_off(3, 3, 0.025), 0, "three are too few");
        // The normal approximation continues the exact distribution.
        let (exact, normal) = (cut_off(30, 30, 0.025), cut_off(31, 31, 0.025));
        assert_eq!(exact, 318);
        assert!((320..=345).contains(&normal), "{normal}");
    }

    #[test]
    fn a_ratio_is_found_whatever_an_outlier_says() {
        let before = [10.0, 11.0, 10.5, 10.2, 9.9];
        let after = [20.0, 22.0, 21.0, 20.4, 1000.0];
        let found = ratio(&before, &after, 0.95).expect("five are enough");
        assert!((1.9..2.1).contains(&found.likely), "{found:?}");
        assert!(found.low > 1.0 && found.low < found.likely && found.likely < found.high);
        let none = ratio(&before, &before, 0.95).expect("an interval");
        assert!(
            none.low < 1.0 && none.high > 1.0 && none.likely == 1.0,
            "{none:?}"
        );
        assert_eq!(ratio(&[2.0], &[3.0], 0.95), Err(1.5));
        assert!(ratio(&[], &[1.0], 0.95).is_err_and(f64::is_nan));
    }

    /// Ratios 2^1 to 2^25, each once: the two least and the two largest are rejected.
    #[test]
    fn an_interval_ends_behind_what_is_rejected() {
        let before = [0, 1, 2, 3, 4].map(|at| 2_f64.powi(at));
        let after = [1, 2, 3, 4, 5].map(|at| 2_f64.powi(5 * at));
        let Interval { low, likely, high } = ratio(&before, &after, 0.95).expect("enough");
        let powers = [low, likely, high].map(|ratio| (ratio.log2() * 1e6).round() / 1e6);
        assert_eq!(powers, [3.0, 13.0, 23.0]);
        // For an even number, the middle of the two central ones.
        let even = ratio(&[1.0], &[2.0, 8.0], 0.95).expect_err("too few");
        assert!((even - 4.0).abs() < 1e-9, "{even}");
    }
}
