//! Which charts the results suffice for.

use dpamatch::bench::{Peer, Point, Report, Row};

use super::chart::{Chart, Series, svg};
use super::paper::{PAPER_MPI, PAPER_NO_MATCHING, PAPER_RATES};

/// Depths of the figure over the depth, and its window.
pub(super) const DEPTHS: [usize; 7] = [0, 16, 64, 256, 1024, 4096, 8192];
pub(super) const DEPTH_WINDOW: usize = 100;

/// File names and pictures.
pub(super) fn all(report: &Report, nic: Peer) -> Vec<(&'static str, String)> {
    let figures = [
        ("figure8.svg", figure8(report)),
        ("handlers.svg", handlers(report)),
        ("depth.svg", depth(report, nic)),
    ];
    figures.into_iter().filter_map(|(name, picture)| Some((name, picture?))).collect()
}

fn mega(row: Option<&Row>) -> Option<f64> {
    Some(row?.rate()?.median / 1e6)
}

/// Numbers of handlers in the report, from few to many.
fn sweep(report: &Report) -> Vec<usize> {
    let handlers =
        |row: &Row| if let Peer::Nic { handlers } = row.point.peer { Some(handlers) } else { None };
    let mut all: Vec<usize> = report.rows.iter().filter_map(handlers).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The lines of one window over the handlers, and the limits of the other receivers.
fn over_handlers(report: &Report, window: usize, calibrated: bool, size: usize) -> Vec<Series> {
    let sweep = sweep(report);
    let of_window =
        |row: &&Row| row.point.window == window && row.calibrated == calibrated && row.point.size == size;
    let mut series: Vec<Series> = Vec::new();
    for row in report.rows.iter().filter(of_window) {
        let name = row.point.scenario.to_string();
        let is_nic = matches!(row.point.peer, Peer::Nic { .. });
        if is_nic && !series.iter().any(|series| series.name == name) {
            let value = |&handlers: &usize| {
                let point = Point { peer: Peer::Nic { handlers }, ..row.point.clone() };
                mega(report.find(&point, calibrated))
            };
            series.push(Series { name, dashed: false, values: sweep.iter().map(value).collect() });
        }
    }
    // What was measured at one number of handlers is no line.
    series.retain(|series| series.values.iter().flatten().count() > 1);
    let limits = [(Peer::NoMatching, "no matching"), (Peer::Bins, "sequential bins")];
    for (peer, name) in limits {
        let limit = report.rows.iter().filter(of_window).find(|row| row.point.peer == peer);
        if let (Some(limit), false) = (mega(limit), series.is_empty()) {
            let values = vec![Some(limit); sweep.len()];
            series.push(Series { name: name.to_owned(), dashed: true, values });
        }
    }
    series
}

/// The paper's figure 8 beside the same measurement here.
fn figure8(report: &Report) -> Option<String> {
    let calibrated = report.rows.iter().find(|row| row.calibrated)?;
    let ours = over_handlers(report, calibrated.point.window, true, calibrated.point.size);
    if ours.is_empty() {
        return None;
    }
    let column = |name: &str, i: usize| Series {
        name: name.to_owned(),
        dashed: false,
        values: PAPER_RATES.iter().map(|(_, rates)| Some(rates[i])).collect(),
    };
    let limit = |name: &str, rate| Series {
        name: name.to_owned(),
        dashed: true,
        values: vec![Some(rate); PAPER_RATES.len()],
    };
    let paper = Chart {
        title: "the paper: BlueField-3 DPA".to_owned(),
        x_title: "DPA threads",
        places: PAPER_RATES.iter().map(|(threads, _)| threads.to_string()).collect(),
        logarithmic: false,
        series: vec![
            column("NC", 0),
            column("WC-FP", 1),
            column("WC-SP", 2),
            limit("RDMA alone", PAPER_NO_MATCHING),
            limit("MPI on the CPU", PAPER_MPI),
        ],
    };
    let here = Chart {
        title: "dpamatch: emulated on this machine".to_owned(),
        x_title: "emulated handlers",
        places: sweep(report).iter().map(usize::to_string).collect(),
        logarithmic: false,
        series: ours,
    };
    svg("Calibrated message rate", &[paper, here])
}

/// One chart per window over the handlers.
fn handlers(report: &Report) -> Option<String> {
    let size = report.rows.first()?.point.size;
    let mut windows: Vec<(usize, bool)> =
        report.rows.iter().map(|row| (row.point.window, row.calibrated)).collect();
    windows.sort_unstable();
    windows.dedup();
    let chart = |&(window, calibrated): &(usize, bool)| Chart {
        title: if calibrated { "calibrated".to_owned() } else { format!("window {window}") },
        x_title: "emulated handlers",
        places: sweep(report).iter().map(usize::to_string).collect(),
        logarithmic: false,
        series: over_handlers(report, window, calibrated, size),
    };
    svg(&format!("{size}-byte messages over the handlers"), &windows.iter().map(chart).collect::<Vec<_>>())
}

/// Rates behind receives that never match.
fn depth(report: &Report, nic: Peer) -> Option<String> {
    let size = report.rows.first()?.point.size;
    let chart = |kind: &str, title: &str| {
        let peers = [(nic, "dpamatch"), (Peer::Bins, "sequential bins"), (Peer::List, "sequential list")];
        let series = peers.map(|(peer, name)| {
            let value = |depth: &usize| {
                let scenario = format!("{kind}-{depth}").parse().ok()?;
                mega(report.find(&Point { peer, scenario, window: DEPTH_WINDOW, size }, false))
            };
            Series { name: name.to_owned(), dashed: false, values: DEPTHS.iter().map(value).collect() }
        });
        Chart {
            title: title.to_owned(),
            x_title: "receives in front",
            places: DEPTHS.iter().map(usize::to_string).collect(),
            logarithmic: true,
            series: series.into_iter().filter(|series| series.values.iter().flatten().count() > 1).collect(),
        }
    };
    let charts = [chart("DEPTH", "receives without wildcards"), chart("WDEPTH", "receives from any source")];
    svg("Message rate behind receives that never match", &charts)
}
