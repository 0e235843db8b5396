//! Axes and the labels of their ticks.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    Linear,
    /// Logarithmic, with ticks at powers of ten.
    Log,
    /// Logarithmic, with ticks at powers of two.
    Powers,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    pub title: String,
    pub scale: Scale,
}

impl Axis {
    pub fn linear(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            scale: Scale::Linear,
        }
    }

    pub fn log(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            scale: Scale::Log,
        }
    }

    pub fn powers(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            scale: Scale::Powers,
        }
    }

    pub(super) fn shows(&self, value: f64) -> bool {
        self.scale.shows(value)
    }
}

/// An axis with its ends, which places values and ticks.
#[derive(Clone, Debug)]
pub(super) struct Span {
    scale: Scale,
    low: f64,
    high: f64,
    /// Place from 0 to 1, and label.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Span {
    /// An axis that spans these values. `zero`: it begins or ends at 0 if the scale has one.
    pub(super) fn new(scale: Scale, values: impl Iterator<Item = f64>, zero: bool) -> Self {
        let placed = values.map(|value| scale.place(value));
        let (mut low, mut high) = placed
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let ticks: Vec<(f64, String)> = match scale {
            Scale::Linear => {
                if zero {
                    (low, high) = (low.min(0.0), high.max(0.0));
                }
                if low == high {
                    high = low + low.abs().max(1.0);
                }
                let step = nice_step((high - low) / LINEAR_STEPS);
                (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
                let count = ((high - low) / step).round() as usize;
                (0..=count)
                    .map(|tick| low + tick as f64 * step)
                    .map(|at| (at, label(at)))
                    .collect()
            }
            Scale::Log => {
                (low, high) = (round_down(low), -round_down(-high));
                if low == high {
                    high = low + 1.0;
                }
                let decades = high - low;
                let of_decade = |decade: i32| {
                    let mantissas = if decades > 2.0 {
                        &[1.0][..]
                    } else {
                        &[1.0, 2.0, 5.0]
                    };
                    mantissas
                        .iter()
                        .map(move |mantissa| mantissa * 10_f64.powi(decade))
                };
                let step = (decades / MOST_TICKS).ceil().max(1.0) as usize;
                (low.floor() as i32..=high.ceil() as i32)
                    .step_by(step)
                    .flat_map(of_decade)
                    .map(|value| (value.log10(), label(value)))
                    .filter(|(at, _)| (low - NOISE..=high + NOISE).contains(at))
                    .collect()
            }
            Scale::Powers => {
                (low, high) = (low.floor(), high.ceil().max(low.floor() + 1.0));
                let step = ((high - low) / MOST_TICKS).ceil().max(1.0) as usize;
                (low as i32..=high as i32)
                    .step_by(step)
                    .map(|exponent| (f64::from(exponent), power_label(f64::from(exponent))))
                    .collect()
            }
        };
        let ticks = ticks
            .into_iter()
            .map(|(at, label)| ((at - low) / (high - low), label));
        Self {
            ticks: ticks.collect(),
            scale,
            low,
            high,
        }
    }

    pub(super) fn begins_at_zero(&self) -> bool {
        self.scale == Scale::Linear && self.low == 0.0
    }

    /// The place of a value, from 0 to 1.
    pub(super) fn at(&self, value: f64) -> f64 {
        (self.scale.place(value) - self.low) / (self.high - self.low)
    }
}

impl Scale {
    pub(super) fn shows(self, value: f64) -> bool {
        value.is_finite() && (self == Self::Linear || value > 0.0)
    }

    fn place(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log => value.log10(),
            Self::Powers => value.log2(),
        }
    }
}

/// Approximate steps of a linear axis, and most ticks of the other axes.
const LINEAR_STEPS: f64 = 5.0;
const MOST_TICKS: f64 = 8.0;
/// Far less than the distance of two ticks.
const NOISE: f64 = 1e-9;

/// The least of 1, 2 and 5 times a power of ten that is at least `least`.
fn nice_step(least: f64) -> f64 {
    let unit = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|factor| factor * unit)
        .find(|step| *step >= least * (1.0 - NOISE))
        .unwrap_or(10.0 * unit)
}

/// The logarithm of the largest of 1, 2, 5 and 10 times a power of ten up to this logarithm.
fn round_down(exponent: f64) -> f64 {
    let decade = (exponent + NOISE).floor();
    let steps = [5.0_f64, 2.0].map(|factor| decade + factor.log10());
    steps
        .into_iter()
        .find(|step| *step <= exponent + NOISE)
        .unwrap_or(decade)
}

/// A tick's label: at most four digits, thousands as k, M and G.
pub(super) fn label(value: f64) -> String {
    let unit = [(1e9, "G"), (1e6, "M"), (1e4, "k")]
        .into_iter()
        .find(|(least, _)| value.abs() >= *least);
    match unit {
        Some((_, "k")) => plain(value / 1e3) + "k",
        Some((unit, letter)) => plain(value / unit) + letter,
        None => plain(value),
    }
}

/// A number for a cell, with three digits.
pub(crate) fn cell(value: f64) -> String {
    let magnitude = if value == 0.0 {
        0
    } else {
        value.abs().log10().floor() as i32
    };
    let unit = 10_f64.powi(magnitude - 2);
    label((value / unit).round() * unit)
}

/// A power of two from its exponent: exact below 10,000, above in units of 1,024 and 1,048,576.
pub(super) fn power_label(exponent: f64) -> String {
    let value = exponent.exp2();
    match exponent {
        30.0.. => plain(value / (1_u64 << 30) as f64) + "Gi",
        20.0.. => plain(value / f64::from(1 << 20)) + "Mi",
        14.0.. => plain(value / f64::from(1 << 10)) + "Ki",
        _ => plain(value),
    }
}

/// Formats without noise beyond the fourth digit.
fn plain(value: f64) -> String {
    let magnitude = if value == 0.0 {
        0
    } else {
        value.abs().log10().floor() as i32
    };
    let digits = usize::try_from(3 - magnitude).unwrap_or(0).min(12);
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_hold_all_values() {
        let labels = |scale, values: &[f64], zero| {
            let span = Span::new(scale, values.iter().copied(), zero);
            assert!(
                values
                    .iter()
                    .all(|value| (-1e-9..=1.0 + 1e-9).contains(&span.at(*value)))
            );
            span.ticks
                .into_iter()
                .map(|(_, label)| label)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            labels(Scale::Linear, &[3.0, 97.0], true),
            "0 20 40 60 80 100"
        );
        assert_eq!(
            labels(Scale::Linear, &[93.0, 97.0], false),
            "93 94 95 96 97"
        );
        assert_eq!(labels(Scale::Linear, &[-3.0, 1.0], true), "-3 -2 -1 0 1");
        assert_eq!(labels(Scale::Linear, &[7.0], false), "6 8 10 12 14");
        assert_eq!(labels(Scale::Log, &[0.076, 92.0], false), "0.1 1 10 100");
        assert_eq!(labels(Scale::Log, &[30.0, 100.0], false), "20 50 100");
        assert_eq!(
            labels(Scale::Powers, &[1.0, 48.0], false),
            "1 2 4 8 16 32 64"
        );
        let even = "1 4 16 64 256 1024 4096 16Ki 64Ki";
        assert_eq!(labels(Scale::Powers, &[1.0, 65_536.0], false), even);
    }

    #[test]
    fn labels_are_short_and_exact() {
        let labels = [
            0.0,
            0.1 + 0.2,
            1.0,
            2.5,
            1000.0,
            9999.0,
            10_000.0,
            125_000.0,
            1e6,
            2.5e9,
            -20_000.0,
        ];
        let expected = [
            "0", "0.3", "1", "2.5", "1000", "9999", "10k", "125k", "1M", "2.5G", "-20k",
        ]
        .map(str::to_owned);
        assert_eq!(labels.map(label), expected);
        assert_eq!(
            [0.0, 0.12345, 8.687, 97.92, 255.4, 1234.0, 98_765.0].map(cell),
            ["0", "0.123", "8.69", "97.9", "255", "1230", "98.8k"]
        );
        let powers = [-1.0, 0.0, 6.0, 13.0, 14.0, 16.0, 20.0, 31.0];
        let expected = ["0.5", "1", "64", "8192", "16Ki", "64Ki", "1Mi", "2Gi"].map(str::to_owned);
        assert_eq!(powers.map(power_label), expected);
    }
}
