//! The numbers of a figure as CSV.

use super::{Figure, Panel};
use crate::table::Csv;

/// All numbers, even those that the picture cannot show; `low` and `high` for a series with error
/// bars.
pub(super) fn csv(figure: &Figure) -> String {
    let lines = || {
        figure.panels.iter().filter_map(|panel| match panel {
            Panel::Lines(lines) => Some(lines),
            _ => None,
        })
    };
    let bounded = lines().flat_map(|lines| &lines.series).any(|series| !series.bounds.is_empty());
    let columns = if bounded { 6 } else { 4 };
    let header = ["panel", "series", "x", "y", "low", "high"];
    let mut csv = Csv::new(header.into_iter().take(columns));
    let mut row = |panel: &str, series: &str, x: &str, y: f64, bounds: Option<&(f64, f64)>| {
        let text = |value: f64| value.to_string();
        let (low, high) =
            bounds.map_or_else(Default::default, |&(low, high)| (text(low), text(high)));
        csv.row([panel, series, x, &text(y), &low, &high].into_iter().take(columns));
    };
    for panel in &figure.panels {
        match panel {
            Panel::Lines(lines) => {
                for series in &lines.series {
                    for (i, &(x, y)) in series.points.iter().enumerate() {
                        row(&lines.title, &series.name, &x.to_string(), y, series.bounds.get(i));
                    }
                }
            }
            Panel::Bars(bars) => {
                for (name, values) in &bars.series {
                    let values = bars.groups.iter().zip(values);
                    values.for_each(|(group, &y)| row(&bars.title, name, group, y, None));
                }
            }
            Panel::Heat(heat) => {
                for (name, values) in &heat.rows {
                    let cells = heat.columns.iter().zip(values);
                    cells.for_each(|(column, &value)| row(&heat.title, name, column, value, None));
                }
            }
        }
    }
    csv.text()
}
