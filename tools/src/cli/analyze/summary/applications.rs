//! A summary of several applications.

use dpamatch_tools::analyze::Report;
use dpamatch_tools::table::{Grid, wrapped};
use serde_json::{Value, json};

pub(in crate::cli::analyze) fn figure_seven(report: &Report) -> Value {
    let bins: Vec<_> = report
        .application
        .bins
        .iter()
        .map(|bins| json!([bins.bins, bins.tables.depth_mean(), bins.tables.depth_max]))
        .collect();
    let lifetime: Vec<_> = report
        .lifetime
        .iter()
        .map(|life| json!([life.bins, life.depth_average, life.depth_max]))
        .collect();
    let shares = report.application.shares.percent();
    json!({ "name": report.name, "shares": shares, "bins": bins, "lifetime": lifetime })
}

/// Shares of calls and depths of several applications (Figures 6 and 7), both replayed and as the
/// published analyzer counts.
pub(in crate::cli::analyze) fn over_applications(rows: &[Value], width: usize) -> String {
    let replayed = side_by_side(
        "Calls and depth of posted receives by bins (Figures 6 and 7)",
        "bins",
        rows,
        width,
    );
    let never = "Depth as the published analyzer counts it: nothing is matched";
    format!("{replayed}\n{}", side_by_side(never, "lifetime", rows, width))
}

fn side_by_side(title: &str, key: &str, rows: &[Value], width: usize) -> String {
    let columns: Vec<String> = rows
        .first()
        .and_then(|row| row[key].as_array())
        .map(|bins| bins.iter().map(|bins| format!("{} bins", bins[0])).collect())
        .unwrap_or_default();
    let shares: &[&str] = if key == "bins" { &["p2p", "collective", "one-sided"] } else { &[] };
    let header: Vec<&str> = ["application"]
        .iter()
        .chain(shares)
        .copied()
        .chain(columns.iter().map(String::as_str))
        .collect();
    let mut table = Grid::new(header);
    let mut sums = vec![0.0; columns.len()];
    for row in rows {
        let mut cells = vec![row["name"].as_str().unwrap_or_default().to_owned()];
        for share in row["shares"].as_array().into_iter().flatten().take(shares.len()) {
            cells.push(format!("{:.1} %", share.as_f64().unwrap_or(0.0)));
        }
        for (sum, bins) in sums.iter_mut().zip(row[key].as_array().into_iter().flatten()) {
            let mean = bins[1].as_f64().unwrap_or(0.0);
            *sum += mean;
            cells.push(format!("{mean:.2} (max {})", bins[2]));
        }
        table.push(cells);
    }
    let mut last = vec!["mean".to_owned()];
    last.resize(1 + shares.len(), String::new());
    last.extend(sums.iter().map(|sum| format!("{:.2}", sum / rows.len().max(1) as f64)));
    table.push(last);
    wrapped(&format!("{title}\n{}", table.text(width)), width)
}
