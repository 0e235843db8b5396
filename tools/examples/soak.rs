//! Draws the table that `cargo xtask soak` writes, as `soak.svg` in a folder:
//!
//! ```text
//! cargo run -p dpamatch_tools --example soak -- target/soak/soak.csv docs/figures
//! ```

use std::error::Error;
use std::path::Path;

use dpamatch_tools::figure::{Axis, Figure, Lines, Series};

/// A row of the table.
#[derive(serde::Deserialize)]
struct Row {
    part: String,
    second: f64,
    done: f64,
    resident_bytes: f64,
    open_files: f64,
}

/// Points of a line, about.
const POINTS: usize = 30;

/// Panels, and what they show of a row and of the row that was drawn before it.
type Shown = fn(&Row, &Row) -> f64;
const PANELS: [(&str, &str, Shown); 3] = [
    ("Memory", "resident MiB", |row, _| {
        row.resident_bytes / 1_048_576.0
    }),
    ("Files", "open files", |row, _| row.open_files),
    (
        "Work",
        "messages, rounds or streams a second",
        |row, before| (row.done - before.done) / (row.second - before.second),
    ),
];

fn figure(rows: &[Row]) -> Figure {
    let mut figure = Figure::new("Soak: an endpoint, peers of the provider, streams");
    for (at, (title, y, shown)) in PANELS.into_iter().enumerate() {
        let y = if at == 2 {
            Axis::log(y)
        } else {
            Axis::linear(y)
        };
        let mut lines = Lines::new(title, Axis::linear("minutes"), y);
        for part in rows.chunk_by(|a, b| a.part == b.part) {
            let every = part.len().div_ceil(POINTS).max(1);
            let drawn: Vec<&Row> = part.iter().step_by(every).collect();
            let points = drawn
                .windows(2)
                .map(|pair| (pair[1].second / 60.0, shown(pair[1], pair[0])));
            lines = lines.with(Series::line(&part[0].part, points));
        }
        figure = figure.with(lines);
    }
    figure
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(table), Some(folder), None) = (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("two arguments: the table and a folder".into());
    };
    let rows: Vec<Row> = csv::Reader::from_path(&table)?
        .deserialize()
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{table}: {error}"))?;
    let svg = figure(&rows).svg();
    let svg = svg.ok_or_else(|| format!("{table}: fewer than two rows"))?;
    std::fs::write(Path::new(&folder).join("soak.svg"), svg)?;
    Ok(())
}
