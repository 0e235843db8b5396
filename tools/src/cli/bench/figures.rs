//! The figures that the results support.

use dpa_model::PaperWorkload;
use dpamatch_predict::figure8;
use dpamatch_tools::bench::{Matching, PERCENTILES, Peer, Point, PointRow, Report};
use dpamatch_tools::counted;
use dpamatch_tools::figure::{Axis, Figure, Lines, Series};

use super::paper::{PAPER_MPI, PAPER_NO_MATCHING};

/// Depths of the figure over the depth, and its window.
pub(super) const DEPTHS: [usize; 7] = [0, 16, 64, 256, 1024, 4096, 8192];
pub(super) const DEPTH_WINDOW: usize = 100;

const RATE: &str = "million messages/s";

/// File names without extension, and figures with something to draw.
pub(super) fn all(report: &Report, nic: Peer) -> Vec<(&'static str, Figure)> {
    let figures = [
        ("figure8", figure8(report)),
        ("handlers", handlers(report)),
        ("depth", depth(report, nic)),
        ("sizes", sizes(report)),
        ("conflicts", conflicts(report)),
        ("latency", latency(report)),
    ];
    figures
        .into_iter()
        .filter_map(|(name, figure)| Some((name, figure?)))
        .filter(|(_, figure)| figure.has_picture())
        .collect()
}

/// The name of a receiver in a legend.
fn name(peer: Peer) -> String {
    match peer.handlers() {
        Some(handlers) => format!("{}, {}", peer.name(), counted(handlers, "handler")),
        None => peer.name().to_owned(),
    }
}

/// Rows of the report, by a part of their point that stays the same in a panel, in order of first
/// appearance.
fn grouped<K: PartialEq>(rows: impl Iterator<Item = (K, usize)>) -> Vec<(K, Vec<usize>)> {
    let mut groups: Vec<(K, Vec<usize>)> = Vec::new();
    for (key, row) in rows {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    groups
}

/// A line of rates for each receiver among the rows, over what `x` says of a row; none for a
/// receiver with one point only.
/// `in_bytes`: million bytes a second in place of million messages.
fn over(
    report: &Report,
    rows: &[usize],
    x: impl Fn(&PointRow) -> usize,
    in_bytes: bool,
) -> Vec<Series> {
    let peers = grouped(rows.iter().map(|&row| (report.rows[row].point.peer, row)));
    let line = |(peer, rows): &(Peer, Vec<usize>)| {
        let point = |&row: &usize| {
            let row = &report.rows[row];
            let rate = row.rate()?;
            let unit = if in_bytes { row.point.size as f64 } else { 1.0 };
            let [median, low, high] = [rate.median, rate.min, rate.max].map(|it| it * unit / 1e6);
            Some((x(row) as f64, median, (low, high)))
        };
        let mut points: Vec<_> = rows.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series::measured(name(*peer), points)
    };
    let lines = peers.iter().map(line);
    lines.filter(|line| line.points.len() > 1).collect()
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
            Matching::OneByOne => format!("{}, one by one", row.point.scenario),
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
                    over_handlers(report, window, calibrated, size, &Matching::OF_BLOCKS),
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

/// Rate and volume over the size of a message.
fn sizes(report: &Report) -> Option<Figure> {
    let plain = report
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| !row.calibrated);
    let groups = grouped(plain.map(|(at, row)| {
        let point = &row.point;
        ((point.scenario.to_string(), point.window), at)
    }));
    let mut figure = Figure::new("Messages over their size");
    figure.columns = 2;
    for ((scenario, window), rows) in &groups {
        for (title, unit, in_bytes) in [("rate", RATE, false), ("volume", "MB/s", true)] {
            let series = over(report, rows, |row| row.point.size, in_bytes);
            let title = format!("{scenario}, window {window}: {title}");
            figure = figure.with(Lines {
                series,
                ..Lines::new(title, Axis::powers("bytes"), Axis::log(unit))
            });
        }
    }
    Some(figure)
}

/// Rates of MIX over the share of messages with one key.
fn conflicts(report: &Report) -> Option<Figure> {
    let mixes = report
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.point.scenario.name().starts_with("MIX-") && !row.calibrated);
    let groups = grouped(mixes.map(|(at, row)| {
        let Point {
            scenario,
            window,
            size,
            ..
        } = &row.point;
        ([scenario.wild, scenario.late, *window, *size], at)
    }));
    let mut figure = Figure::new("Message rate over the share of messages with one key");
    for ([wild, late, window, size], rows) in &groups {
        let title =
            format!("window {window}, {size} bytes, {wild} % wildcards, {late} % posted late");
        let x = Axis::linear("% of messages with one key");
        figure = figure.with(Lines {
            series: over(report, rows, |row| row.point.scenario.hot, false),
            ..Lines::new(title, x, Axis::linear(RATE))
        });
    }
    Some(figure)
}

/// Latencies of single messages: how slow the slowest of so many is.
fn latency(report: &Report) -> Option<Figure> {
    let single = report.rows.iter().enumerate();
    let single = single.filter(|(_, row)| row.latencies().is_some());
    let groups =
        grouped(single.map(|(at, row)| ((row.point.scenario.to_string(), row.point.size), at)));
    let mut figure = Figure::new("Latency of single messages until acknowledged");
    for ((scenario, size), rows) in &groups {
        let x = Axis::log("one of so many messages is slower");
        let mut panel = Lines::new(
            format!("{scenario}, {size} bytes"),
            x,
            Axis::log("nanoseconds"),
        );
        for row in rows.iter().map(|&row| &report.rows[row]) {
            let Some(all) = row.latencies() else { continue };
            let point = |&(percent, _): &(f64, &str)| {
                let so_many = (100.0 / (100.0 - percent)).round();
                Some((so_many, all.percentile_ns(percent)? as f64))
            };
            let points = PERCENTILES.iter().filter_map(point);
            panel = panel.with(Series::line(name(row.point.peer), points));
        }
        figure = figure.with(panel);
    }
    Some(figure)
}
