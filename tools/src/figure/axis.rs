//! Axes and the labels of their ticks.

/// How values are placed on an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Equal differences are equally long.
    Linear,
    /// Powers of ten are equally far apart.
    Log,
    /// Powers of two are equally far apart, and are the ticks.
    Powers,
}

/// What an axis shows, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// Beside it, with the unit.
    pub title: String,
    /// Its scale.
    pub scale: Scale,
}

impl Axis {
    /// A linear axis.
    pub fn linear(title: impl Into<String>) -> Self {
        Self { title: title.into(), scale: Scale::Linear }
    }

    /// An axis in powers of ten.
    pub fn log(title: impl Into<String>) -> Self {
        Self { title: title.into(), scale: Scale::Log }
    }

    /// An axis in powers of two.
    pub fn powers(title: impl Into<String>) -> Self {
        Self { title: title.into(), scale: Scale::Powers }
    }

    /// Whether the value has a place on the axis.
    pub(super) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }
}

/// A tick's label: at most four digits, thousands as k, M and G.
pub(super) fn label(value: f64) -> String {
    let unit =
        [(1e9, "G"), (1e6, "M"), (1e4, "k")].into_iter().find(|(least, _)| value.abs() >= *least);
    match unit {
        Some((_, "k")) => plain(value / 1e3) + "k",
        Some((unit, letter)) => plain(value / unit) + letter,
        None => plain(value),
    }
}

/// A number in a cell: three digits.
pub(super) fn cell(value: f64) -> String {
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let unit = 10_f64.powi(magnitude - 2);
    label((value / unit).round() * unit)
}

/// A power of two by its exponent: exact below 10,000, above in units of 1,024 and 1,048,576.
pub(super) fn power_label(exponent: f64) -> String {
    let value = exponent.exp2();
    match exponent {
        30.0.. => plain(value / (1_u64 << 30) as f64) + "Gi",
        20.0.. => plain(value / f64::from(1 << 20)) + "Mi",
        14.0.. => plain(value / f64::from(1 << 10)) + "Ki",
        _ => plain(value),
    }
}

/// Without the noise behind the fourth digit.
fn plain(value: f64) -> String {
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
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
    fn labels_are_short_and_exact() {
        let labels =
            [0.0, 0.1 + 0.2, 1.0, 2.5, 1000.0, 9999.0, 10_000.0, 125_000.0, 1e6, 2.5e9, -20_000.0];
        let expected =
            ["0", "0.3", "1", "2.5", "1000", "9999", "10k", "125k", "1M", "2.5G", "-20k"]
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
