//! Latencies as text.

use dpamatch_tools::bench::{PERCENTILES, Report};
use dpamatch_tools::table::{Cell, Table};

/// A row for each receiver with windows of one message; `None` without such windows.
pub(super) fn table(report: &Report) -> Option<Table> {
    let columns = ["engine", "handlers", "scenario", "bytes", "messages"].map(str::to_owned);
    let percentiles = PERCENTILES.iter().map(|(percent, _)| format!("p{percent}"));
    let columns = columns
        .into_iter()
        .chain(percentiles)
        .chain(["max".to_owned()]);
    let title = "Latency of single messages until acknowledged, in nanoseconds";
    let mut table = Table::new("latencies", title, columns)
        .note("percentiles without a message beyond them are omitted");
    for row in &report.rows {
        let Some(all) = row.latencies() else { continue };
        let percentile = |&(percent, _): &(f64, &str)| Cell::from(all.percentile_ns(percent));
        let head = [
            row.point.peer.name().into(),
            row.point.peer.handlers().into(),
            row.point.scenario.to_string().into(),
            row.point.size.into(),
            all.count().into(),
        ];
        let cells = head.into_iter().chain(PERCENTILES.iter().map(percentile));
        table.push(cells.chain([all.max_ns().into()]));
    }
    (!table.rows.is_empty()).then_some(table)
}
