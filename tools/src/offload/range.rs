//! An uncertain number.

use std::iter::Sum;
use std::ops::{Add, Mul, Sub};

use serde::{Deserialize, Serialize};

/// Lowest, likely and highest value; in files a list of three.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "[f64; 3]", into = "[f64; 3]")]
pub struct Range {
    pub low: f64,
    pub likely: f64,
    pub high: f64,
}

impl Range {
    pub const fn new(low: f64, likely: f64, high: f64) -> Self {
        Self { low, likely, high }
    }

    pub const fn exact(value: f64) -> Self {
        Self::new(value, value, value)
    }

    /// Whether the numbers are finite, non-negative and do not fall.
    pub fn is_valid(self) -> bool {
        0.0 <= self.low
            && self.low <= self.likely
            && self.likely <= self.high
            && self.high.is_finite()
    }
}

impl From<[f64; 3]> for Range {
    fn from([low, likely, high]: [f64; 3]) -> Self {
        Self::new(low, likely, high)
    }
}

impl From<Range> for [f64; 3] {
    fn from(range: Range) -> Self {
        [range.low, range.likely, range.high]
    }
}

impl Add for Range {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(
            self.low + other.low,
            self.likely + other.likely,
            self.high + other.high,
        )
    }
}

impl Sub for Range {
    type Output = Self;

    /// The operands are independent: the lowest result subtracts the highest value.
    fn sub(self, other: Self) -> Self {
        Self::new(
            self.low - other.high,
            self.likely - other.likely,
            self.high - other.low,
        )
    }
}

/// By a non-negative number.
impl Mul<f64> for Range {
    type Output = Self;

    fn mul(self, times: f64) -> Self {
        Self::new(self.low * times, self.likely * times, self.high * times)
    }
}

impl Sum for Range {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_as_uncertain_as_both() {
        let (now, after) = (Range::new(10.0, 20.0, 40.0), Range::new(5.0, 6.0, 15.0));
        assert_eq!(now - after, Range::new(-5.0, 14.0, 35.0));
        assert_eq!(now + after, Range::new(15.0, 26.0, 55.0));
        assert_eq!(after * 2.0, Range::new(10.0, 12.0, 30.0));
    }

    #[test]
    fn three_numbers_must_rise() {
        assert!(Range::new(0.0, 0.0, 1.0).is_valid());
        for wrong in [
            [2.0, 1.0, 3.0],
            [1.0, 3.0, 2.0],
            [-1.0, 0.0, 1.0],
            [0.0, 1.0, f64::INFINITY],
        ] {
            assert!(!Range::from(wrong).is_valid(), "{wrong:?}");
        }
    }
}
