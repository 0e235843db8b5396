//! The numbers of a figure as CSV.

use super::{Figure, Panel};
use crate::table::{Cell, Table};

/// All numbers, even those that the picture cannot show; `low` and `high` for a series with error
/// bars.
pub(super) fn csv(figure: &Figure) -> String {
    let lines = || {
        figure.panels.iter().filter_map(|panel| match panel {
            Panel::Lines(lines) => Some(lines),
            _ => None,
        })
    };
    let bounded = lines()
        .flat_map(|lines| &lines.series)
        .any(|series| !series.bounds.is_empty());
    let columns = if bounded { 6 } else { 4 };
    let header = ["panel", "series", "x", "y", "low", "high"];
    let mut table = Table::new("figure", "", header.into_iter().take(columns));
    let mut row = |panel: &str, series: &str, x: Cell, y: f64, bounds: Option<&(f64, f64)>| {
        let [low, high] = [bounds.map(|it| it.0), bounds.map(|it| it.1)].map(Cell::from);
        let cells = [panel.into(), series.into(), x, y.into(), low, high];
        table.push(cells.into_iter().take(columns));
    };
    for panel in &figure.panels {
        match panel {
            Panel::Lines(lines) => {
                for series in &lines.series {
                    for (i, &(x, y)) in series.points.iter().enumerate() {
                        row(
                            &lines.title,
                            &series.name,
                            x.into(),
                            y,
                            series.bounds.get(i),
                        );
                    }
                }
            }
            Panel::Bars(bars) => {
                for (name, values) in &bars.series {
                    let values = bars.groups.iter().zip(values);
                    values.for_each(|(group, &y)| {
                        row(&bars.title, name, group.as_str().into(), y, None)
                    });
                }
            }
            Panel::Heat(heat) => {
                for (name, values) in &heat.rows {
                    let cells = heat.columns.iter().zip(values);
                    cells.for_each(|(column, &value)| {
                        row(&heat.title, name, column.as_str().into(), value, None)
                    });
                }
            }
        }
    }
    table.csv()
}
