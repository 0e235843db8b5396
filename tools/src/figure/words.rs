//! Describes a figure in words.

use std::fmt::Write;

use super::axis::cell;
use super::{Figure, Panel};

/// Most series of a panel to describe one by one.
const TOLD: usize = 8;

/// The title, then each panel's axes and the range of each series.
pub(super) fn words(figure: &Figure) -> String {
    let mut text = String::new();
    for panel in figure.panels.iter().filter(|panel| panel.has_value()) {
        let _ = match panel {
            Panel::Lines(lines) => {
                let series = lines.series.iter();
                let series = series.map(|it| (&*it.name, it.points.iter().map(|point| point.1)));
                let about = format!("{} over {}", lines.y.title, lines.x.title);
                write!(text, "{}: {about}: {}. ", lines.title, each(series))
            }
            Panel::Bars(bars) => {
                let series = bars.series.iter();
                let series = series.map(|(name, values)| (&**name, values.iter().copied()));
                let about = format!("bars of {} for {}", bars.y.title, bars.groups.join(", "));
                write!(text, "{}: {about}: {}. ", bars.title, each(series))
            }
            Panel::Heat(heat) => {
                let rows = heat.rows.iter();
                let rows = rows.map(|(name, values)| (&**name, values.iter().copied()));
                let about = format!("{} as colours", heat.value_title);
                write!(text, "{}: {about}: {}. ", heat.title, each(rows))
            }
        };
    }
    text.trim_end().to_owned()
}

fn each<S: AsRef<str>, V: Iterator<Item = f64>>(
    series: impl ExactSizeIterator<Item = (S, V)>,
) -> String {
    let more = series.len().saturating_sub(TOLD);
    let told = series.take(TOLD).map(|(name, values)| {
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        match low <= high {
            true if low == high => format!("{} {}", name.as_ref(), cell(low)),
            true => format!("{} {} to {}", name.as_ref(), cell(low), cell(high)),
            false => format!("{} without values", name.as_ref()),
        }
    });
    let mut told: Vec<String> = told.collect();
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    told.join(", ")
}
