//! The numbers of a figure as CSV.

use super::{Figure, Panel};
use crate::table::Csv;

/// All numbers, whether the picture can show them or not.
pub(super) fn csv(figure: &Figure) -> String {
    let mut csv = Csv::new(["panel", "series", "x", "y"]);
    let mut row =
        |panel: &str, series: &str, x: &str, y: f64| csv.row([panel, series, x, &y.to_string()]);
    for panel in &figure.panels {
        match panel {
            Panel::Lines(lines) => {
                for series in &lines.series {
                    series
                        .points
                        .iter()
                        .for_each(|&(x, y)| row(&lines.title, &series.name, &x.to_string(), y));
                }
            }
            Panel::Bars(bars) => {
                for (name, values) in &bars.series {
                    bars.groups
                        .iter()
                        .zip(values)
                        .for_each(|(group, &y)| row(&bars.title, name, group, y));
                }
            }
            Panel::Heat(heat) => {
                for (name, values) in &heat.rows {
                    let cells = heat.columns.iter().zip(values);
                    cells.for_each(|(column, &value)| row(&heat.title, name, column, value));
                }
            }
            Panel::Boxes(boxes) => {
                for (name, samples) in &boxes.groups {
                    let numbered = samples.iter().enumerate();
                    numbered
                        .for_each(|(i, &sample)| row(&boxes.title, name, &i.to_string(), sample));
                }
            }
        }
    }
    csv.text()
}
