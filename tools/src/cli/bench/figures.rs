//! The figures that the results support.

use dpa_model::PaperWorkload;
use dpamatch_predict::figure8;
use dpamatch_tools::bench::{Matching, Peer, Point, PointRow, Report};
use dpamatch_tools::figure::{Axis, Figure, Lines, Series};

use super::paper::{PAPER_MPI, PAPER_NO_MATCHING};

/// Depths of the figure over the depth, and its window.
pub(super) const DEPTHS: [usize; 7] = [0, 16, 64, 256, 1024, 4096, 8192];
pub(super) const DEPTH_WINDOW: usize = 100;

const RATE: &str = "million messages/s";

/// File names without extension, and figures.
pub(super) fn all(report: &Report, nic: Peer) -> Vec<(&'static str, Figure)> {
    let figures = [
        ("figure8", figure8(report)),
        ("handlers", handlers(report)),
        ("depth", depth(report, nic)),
    ];
    figures
        .into_iter()
        .filter_map(|(name, figure)| Some((name, figure?)))
        .collect()
}

fn mega(row: Option<&PointRow>) -> Option<f64> {
    Some(row?.rate()?.median / 1e6)
}

/// A point at `x`: the median of the rounds, and the slowest and the fastest of them.
fn measured(x: usize, row: Option<&PointRow>) -> Option<(f64, f64, (f64, f64))> {
    let rate = row?.rate()?;
    Some((
        x as f64,
        rate.median / 1e6,
        (rate.min / 1e6, rate.max / 1e6),
    ))
}

fn sweep(report: &Report) -> Vec<usize> {
    let handlers = |row: &PointRow| row.point.peer.handlers();
    let mut all: Vec<usize> = report.rows.iter().filter_map(handlers).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The lines of one window over the handlers, and the other receivers' limits.
fn over_handlers(
    report: &Report,
    window: usize,
    calibrated: bool,
    size: usize,
    ways: &[Matching],
) -> Vec<Series> {
    let sweep = sweep(report);
    let of_window = |row: &&PointRow| {
        row.point.window == window && row.calibrated == calibrated && row.point.size == size
    };
    let mut series: Vec<Series> = Vec::new();
    for row in report.rows.iter().filter(of_window) {
        let matching = row.point.peer.matching();
        let Some(matching) = matching.filter(|matching| ways.contains(matching)) else {
            continue;
        };
        let name = match matching {
            Matching::Optimistic => row.point.scenario.to_string(),
            Matching::InOrder => format!("{}, in order", row.point.scenario),
        };
        if !series.iter().any(|series| series.name == name) {
            let value = |&handlers: &usize| {
                let point = Point {
                    peer: Peer::Nic { handlers, matching },
                    ..row.point.clone()
                };
                measured(handlers, report.find(&point, calibrated))
            };
            series.push(Series::measured(name, sweep.iter().filter_map(value)));
        }
    }
    // A single number of handlers makes no line.
    series.retain(|series| series.points.len() > 1);
    let limits = [(Peer::NoMatching, "no-matching"), (Peer::Bins, "bins")];
    for (peer, name) in limits {
        let limit = report
            .rows
            .iter()
            .filter(of_window)
            .find(|row| row.point.peer == peer);
        if let (Some(limit), false) = (mega(limit), series.is_empty()) {
            series.push(Series::limit(
                name,
                sweep.iter().map(|&handlers| (handlers as f64, limit)),
            ));
        }
    }
    series
}

fn figure8(report: &Report) -> Option<Figure> {
    let calibrated = report.rows.iter().find(|row| row.calibrated)?;
    let ours = over_handlers(
        report,
        calibrated.point.window,
        true,
        calibrated.point.size,
        // The paper's phases beside the paper's rates.
        &[Matching::Optimistic],
    );
    if ours.is_empty() {
        return None;
    }
    let threads = || figure8::THREADS.iter().map(|&threads| threads as f64);
    let column = |workload: PaperWorkload| {
        Series::line(workload.name(), threads().zip(figure8::rates(workload)))
    };
    let limit = |name: &str, rate| Series::limit(name, threads().map(|threads| (threads, rate)));
    let paper = Lines::new(
        "the paper: BlueField-3 DPA",
        Axis::powers("DPA threads"),
        Axis::linear(RATE),
    )
    .with(column(PaperWorkload::NoConflict))
    .with(column(PaperWorkload::FastPath))
    .with(column(PaperWorkload::SlowPath))
    .with(limit("RDMA alone", PAPER_NO_MATCHING))
    .with(limit("MPI on the CPU", PAPER_MPI));
    let here = panel("dpamatch: emulated on this machine".to_owned(), ours);
    Some(
        Figure::new("Calibrated message rate")
            .with(paper)
            .with(here),
    )
}

fn panel(title: String, series: Vec<Series>) -> Lines {
    Lines {
        series,
        ..Lines::new(title, Axis::powers("emulated handlers"), Axis::linear(RATE))
    }
}

fn handlers(report: &Report) -> Option<Figure> {
    let size = report.rows.first()?.point.size;
    let mut windows: Vec<(usize, bool)> = report
        .rows
        .iter()
        .map(|row| (row.point.window, row.calibrated))
        .collect();
    windows.sort_unstable();
    windows.dedup();
    let title = |window, calibrated| {
        if calibrated {
            "calibrated".to_owned()
        } else {
            format!("window {window}")
        }
    };
    let figure = Figure::new(format!("{size}-byte messages over the handlers"));
    Some(
        windows
            .into_iter()
            .fold(figure, |figure, (window, calibrated)| {
                figure.with(panel(
                    title(window, calibrated),
                    over_handlers(report, window, calibrated, size, &Matching::ALL),
                ))
            }),
    )
}

/// Rates behind receives that never match.
fn depth(report: &Report, nic: Peer) -> Option<Figure> {
    let size = report.rows.first()?.point.size;
    let lines = |kind: &str, title: &str| {
        let peers = [
            (nic, "optimistic"),
            (Peer::Bins, "bins"),
            (Peer::List, "list"),
        ];
        // The logarithmic axis cannot show depth 0; the CSV does.
        let panel = Lines::new(title, Axis::powers("receives in front"), Axis::log(RATE));
        peers.into_iter().fold(panel, |panel, (peer, name)| {
            let value = |&depth: &usize| {
                let scenario = format!("{kind}-{depth}").parse().ok()?;
                let row = report.find(
                    &Point {
                        peer,
                        scenario,
                        window: DEPTH_WINDOW,
                        size,
                    },
                    false,
                );
                measured(depth, row)
            };
            let series = Series::measured(name, DEPTHS.iter().filter_map(value));
            if series.points.len() > 1 {
                panel.with(series)
            } else {
                panel
            }
        })
    };
    let figure = Figure::new("Message rate behind receives that never match")
        .with(lines("DEPTH", "receives without wildcards"))
        .with(lines("WDEPTH", "receives from any source"));
    Some(figure)
}
