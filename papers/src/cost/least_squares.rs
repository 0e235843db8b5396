//! Weighted linear least squares with confidence intervals.
//!
//! Modified Gram-Schmidt, applied twice to each column, makes the columns orthogonal; this is as
//! accurate as Householder's method. A column that depends on earlier ones gets no estimate, and
//! the fit goes on without it.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A fitted parameter with its 95 % confidence interval (Student's t).
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// The most likely value.
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Estimate {
    /// The estimate of 1 / parameter, if the parameter is above 0. An end that is not above 0
    /// becomes infinite.
    pub fn inverse(self) -> Option<Self> {
        let end = |end: f64| if end > 0.0 { 1.0 / end } else { f64::INFINITY };
        (self.value > 0.0).then(|| Self {
            value: 1.0 / self.value,
            low: end(self.high),
            high: end(self.low),
        })
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Solution {
    /// By column; `None` for a column that depends on earlier ones.
    pub(super) estimates: Vec<Option<Estimate>>,
    pub(super) residual: f64,
    /// Rows minus estimated columns.
    pub(super) freedom: usize,
}

/// A column whose remainder is smaller than this, relative to the column, is dependent.
const DEPENDENT: f64 = 1e-7;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Fits `values` by a linear combination of `columns`, with a weight for each row.
pub(super) fn solve(columns: &[Vec<f64>], values: &[f64], weights: &[f64]) -> Solution {
    let weighted = |column: &Vec<f64>| -> Vec<f64> {
        column.iter().zip(weights).map(|(x, w)| x * w).collect()
    };
    let mut rest = weighted(&values.to_vec());
    // Orthonormal columns, each with its row of the triangular factor.
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut used: Vec<usize> = Vec::new();
    let mut triangle: Vec<Vec<f64>> = Vec::new();
    let mut along: Vec<f64> = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        let mut column = weighted(column);
        let length = dot(&column, &column).sqrt();
        let mut parts = vec![0.0; basis.len()];
        for _ in 0..2 {
            for (part, direction) in parts.iter_mut().zip(&basis) {
                let by = dot(direction, &column);
                // Common: links have rows of their own.
                if by == 0.0 {
                    continue;
                }
                *part += by;
                column
                    .iter_mut()
                    .zip(direction)
                    .for_each(|(x, d)| *x -= by * d);
            }
        }
        let left = dot(&column, &column).sqrt();
        if left.is_nan() || left <= length * DEPENDENT {
            continue;
        }
        column.iter_mut().for_each(|x| *x /= left);
        parts.push(left);
        let by = dot(&column, &rest);
        rest.iter_mut().zip(&column).for_each(|(r, d)| *r -= by * d);
        along.push(by);
        basis.push(column);
        triangle.push(parts);
        used.push(place);
    }
    let residual = dot(&rest, &rest);
    let freedom = values.len().saturating_sub(used.len());
    let variance = if freedom > 0 {
        residual / freedom as f64
    } else {
        f64::INFINITY
    };
    let reach = if freedom > 0 {
        student_t_quantile(0.975, freedom)
    } else {
        f64::INFINITY
    };
    let inverse = inverse(&triangle);
    let mut estimates = vec![None; columns.len()];
    for (row, &place) in used.iter().enumerate() {
        let value = dot(&inverse[row], &along);
        // Covariance of the parameters: variance * inverse * inverse^T.
        let half = reach * (variance * dot(&inverse[row], &inverse[row])).sqrt();
        estimates[place] = Some(Estimate {
            value,
            low: value - half,
            high: value + half,
        });
    }
    Solution {
        estimates,
        residual,
        freedom,
    }
}

/// Inverse of the upper triangular matrix with these columns, row by row.
fn inverse(columns: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let size = columns.len();
    let mut inverse = vec![vec![0.0; size]; size];
    for column in 0..size {
        inverse[column][column] = 1.0 / columns[column][column];
        for row in (0..column).rev() {
            let sum: f64 = (row + 1..=column)
                .map(|k| columns[k][row] * inverse[k][column])
                .sum();
            inverse[row][column] = -sum / columns[row][row];
        }
    }
    inverse
}

/// The quantile of Student's t with `freedom` degrees of freedom, for `0.5 < probability < 1`.
///
/// # Panics
/// When `freedom` is 0.
pub fn student_t_quantile(probability: f64, freedom: usize) -> f64 {
    assert!(
        freedom > 0,
        "Student's t has at least one degree of freedom"
    );
    let distribution = StudentsT::new(0.0, 1.0, freedom as f64).expect("freedom is above 0");
    distribution.inverse_cdf(probability)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let tables = [
            (1, 12.706),
            (2, 4.303),
            (5, 2.571),
            (10, 2.228),
            (30, 2.042),
            (1000, 1.962),
            (1_000_000, 1.960),
        ];
        for (freedom, expected) in tables {
            let quantile = student_t_quantile(0.975, freedom);
            assert!((quantile - expected).abs() < 6e-4, "{freedom}: {quantile}");
        }
        assert!((student_t_quantile(0.95, 7) - 1.895).abs() < 6e-4);
    }

    #[test]
    fn a_line_through_points_by_hand() {
        // y = 1 + 2 x with errors -1, 2, -1: the line through them is 1 + 2 x again.
        let columns = [vec![1.0; 3], vec![0.0, 1.0, 2.0]];
        let solution = solve(&columns, &[0.0, 5.0, 4.0], &[1.0; 3]);
        let [constant, slope] =
            [solution.estimates[0], solution.estimates[1]].map(|e| e.expect("independent"));
        assert!((constant.value - 1.0).abs() < 1e-12 && (slope.value - 2.0).abs() < 1e-12);
        assert!((solution.residual - 6.0).abs() < 1e-12);
        assert_eq!(solution.freedom, 1);
        // Variance 6; of the slope 6 / sum (x - 1)^2 = 3; t with one degree of freedom.
        let half = student_t_quantile(0.975, 1) * 3f64.sqrt();
        assert!((slope.high - 2.0 - half).abs() < 1e-9 && (2.0 - slope.low - half).abs() < 1e-9);
    }

    #[test]
    fn weights_decide_between_rows() {
        let solution = solve(&[vec![1.0; 2]], &[0.0, 10.0], &[3.0, 1.0]);
        assert!((solution.estimates[0].expect("one column").value - 1.0).abs() < 1e-12);
    }

    #[test]
    fn dependent_columns_get_no_estimate() {
        let columns = [
            vec![1.0, 2.0, 3.0],
            vec![2.0, 4.0, 6.0],
            vec![0.0; 3],
            vec![1.0, 0.0, 0.0],
        ];
        let solution = solve(&columns, &[1.0, 2.0, 3.0], &[1.0; 3]);
        let known: Vec<bool> = solution.estimates.iter().map(Option::is_some).collect();
        assert_eq!(known, [true, false, false, true]);
        assert_eq!(solution.freedom, 1);
    }

    #[test]
    fn the_interval_of_the_inverse_is_turned_round() {
        let estimate = Estimate {
            value: 2.0,
            low: 1.0,
            high: 4.0,
        };
        assert_eq!(
            estimate.inverse(),
            Some(Estimate {
                value: 0.5,
                low: 0.25,
                high: 1.0
            })
        );
        let wide = Estimate {
            low: -1.0,
            ..estimate
        };
        assert_eq!(
            wide.inverse().map(|inverse| inverse.high),
            Some(f64::INFINITY)
        );
        assert_eq!(
            Estimate {
                value: -2.0,
                ..estimate
            }
            .inverse(),
            None
        );
    }
}
