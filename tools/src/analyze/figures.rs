//! A report's figures, for one application or for several side by side.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::report::{CommReport, Flows, Report};
use super::stats::{BinStats, Searches, SizeClass, Totals};
use super::waits::{COLUMNS as HEAT_COLUMNS, POWERS, Waits};
use crate::counted;
use crate::figure::{Axis, Bars, Figure, Heat, Lines, Series, Style, cell};
use crate::table::printable;
use indicatif::HumanBytes;

/// Most rows of the heat map of communicators.
const COMMUNICATORS: usize = 16;

/// The figures that compare applications: file name without extension, and figure. Call shares
/// (Figure 6; O33, O34), queue depth by number of bins (Figure 7; O34, O36), both replayed and as
/// the published analyzer counts, and the tables and searches.
pub fn over_applications(reports: &[&Report]) -> Vec<(&'static str, Figure)> {
    let mut all = vec![
        ("figure-calls", calls(reports)),
        ("figure-bins", bins(reports)),
        ("figure-tables", tables(reports)),
    ];
    if reports.iter().all(|report| report.is_of_logs()) {
        all.remove(0);
    }
    all
}

/// All figures of one application: [`over_applications`] with one report, its queues over time and
/// by rank and communicator, waits, expected and unexpected messages, who sends to whom, and the
/// paths of optimistic matching.
pub fn of_application(report: &Report) -> Vec<(&'static str, Figure)> {
    let mut all = over_applications(&[report]);
    all.extend([
        ("figure-sizes", sizes(report)),
        ("figure-depth", depth(report)),
        ("figure-ranks", ranks(report)),
        ("figure-communicators", communicators(report)),
        ("figure-waits", waits(report)),
        ("figure-messages", messages(report)),
        ("figure-flows", flows(report)),
        ("figure-paths", paths(report)),
    ]);
    all
}

fn names(reports: &[&Report]) -> Vec<String> {
    reports
        .iter()
        .map(|report| printable(&report.name))
        .collect()
}

fn percent(part: u64, all: u64) -> f64 {
    part as f64 * 100.0 / all.max(1) as f64
}

fn calls(reports: &[&Report]) -> Figure {
    const KINDS: [&str; 5] = [
        "point-to-point",
        "collective",
        "one-sided",
        "progress",
        "other",
    ];
    let paper: Vec<_> = reports
        .iter()
        .map(|report| report.application.shares.percent())
        .collect();
    let all = |report: &&Report| {
        let shares = report.application.shares;
        let counts = [
            shares.p2p,
            shares.collective,
            shares.one_sided,
            shares.progress,
            shares.other,
        ];
        counts.map(|count| percent(count, counts.iter().sum()))
    };
    let all: Vec<_> = reports.iter().map(all).collect();
    let panel = |title, y| Bars::new(title, "", Axis::linear(y), names(reports)).stacked();
    let mut three = panel("Communication calls", "% of communication calls");
    let mut five = panel("All calls", "% of all calls");
    for (kind, name) in KINDS.into_iter().enumerate() {
        if kind < 3 {
            three = three.with(name, paper.iter().map(|shares| shares[kind]));
        }
        five = five.with(name, all.iter().map(|shares| shares[kind]));
    }
    let mut figure = Figure::new("Calls by class").with(three).with(five);
    if reports.len() > 2 {
        // Side by side, the labels of many applications would be too small to read.
        figure.columns = 1;
    }
    figure
}

/// The mean depth over all numbers of bins, the sort key of applications.
fn first_depth(report: &Report) -> f64 {
    report
        .application
        .bins
        .first()
        .map_or(0.0, |bins| bins.tables.depth_mean())
}

fn bins(reports: &[&Report]) -> Figure {
    let mut sorted = reports.to_vec();
    sorted.sort_by(|a, b| first_depth(b).total_cmp(&first_depth(a)));
    let mut groups = names(&sorted);
    let several = groups.len() > 1;
    if several {
        groups.push("mean".to_owned());
    }
    let numbers = sorted
        .first()
        .map_or(&[][..], |report| report.application.bins.as_slice());
    let panel =
        |title, groups: &[String]| Bars::new(title, "", Axis::linear("receives"), groups.to_vec());
    let mut mean = panel("Mean depth", &groups);
    let mut most = panel("Maximum depth", &groups);
    let mut never = panel("Mean depth if no receive is matched", &groups);
    for (place, number) in numbers.iter().enumerate() {
        let with_mean = |mut values: Vec<f64>| {
            if several {
                values.push(values.iter().sum::<f64>() / values.len() as f64);
            }
            values
        };
        let of = |value: fn(&BinStats) -> f64| {
            with_mean(
                sorted
                    .iter()
                    .map(|report| value(&report.application.bins[place]))
                    .collect(),
            )
        };
        let name = || counted(number.bins, "bin");
        mean = mean.with(name(), of(|bins| bins.tables.depth_mean()));
        most = most.with(name(), of(|bins| f64::from(bins.tables.depth_max)));
        let depth = |report: &&Report| report.lifetime[place].depth_average;
        never = never.with(name(), with_mean(sorted.iter().map(depth).collect()));
    }
    let mut figure = Figure::new("Depth of posted receives by number of bins")
        .with(mean)
        .with(most)
        .with(never);
    figure.columns = if several { 1 } else { 3 };
    figure
}

fn tables(reports: &[&Report]) -> Figure {
    let panel = |title: &str, y: &str, value: &dyn Fn(&BinStats) -> f64| {
        let series = reports.iter().zip(names(reports)).map(|(report, name)| {
            let mut points: Vec<(f64, f64)> = report
                .application
                .bins
                .iter()
                .map(|bins| (f64::from(bins.bins), value(bins)))
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Series::line(name, points)
        });
        Lines {
            series: series.collect(),
            ..Lines::new(title, Axis::powers("bins"), Axis::linear(y))
        }
    };
    let collisions = |bins: &BinStats| {
        let sum =
            |of: fn(&super::stats::TableStats) -> u64| bins.tables.tables.iter().map(of).sum();
        percent(sum(|table| table.collisions), sum(|table| table.inserted))
    };
    let empty = |bins: &BinStats| {
        percent(
            bins.tables.tables[0].empty_bins_sum,
            bins.tables.samples * u64::from(bins.bins),
        )
    };
    let mut figure = Figure::new("Hash tables and searches by number of bins")
        .with(panel("Collisions", "% of insertions", &collisions))
        .with(panel(
            "Empty bins, table without wildcards",
            "% of bins, mean",
            &empty,
        ))
        .with(panel(
            "Search of posted receives",
            "steps per search",
            &|bins| Searches::mean(&bins.prq),
        ))
        .with(panel(
            "Search of unexpected messages",
            "steps per search",
            &|bins| Searches::mean(&bins.umq),
        ));
    figure.columns = 2;
    figure
}

fn sizes(report: &Report) -> Figure {
    let all = &report.application.sizes;
    let mut groups: Vec<Option<u64>> = all.iter().map(|class| class.up_to).collect();
    groups.dedup();
    let name = |up_to: &Option<u64>| {
        up_to.map_or("unknown".to_owned(), |bytes| HumanBytes(bytes).to_string())
    };
    let panel = |title: &str, y: &str, value: fn(&SizeClass) -> u64| {
        let sum: u64 = all.iter().map(value).sum();
        let share = |rendezvous: bool, up_to: &Option<u64>| {
            let class = all
                .iter()
                .find(|it| (it.rendezvous, &it.up_to) == (rendezvous, up_to));
            percent(class.map_or(0, value), sum)
        };
        Bars::new(
            title,
            "bytes up to",
            Axis::linear(y),
            groups.iter().map(name),
        )
        .stacked()
        .with("eager", groups.iter().map(|group| share(false, group)))
        .with("rendezvous", groups.iter().map(|group| share(true, group)))
    };
    Figure::new("Message sizes")
        .with(panel("Messages", "% of messages", |class| class.messages))
        .with(panel("Volume", "% of bytes", |class| class.bytes))
}

/// The title of the time's axis, its end, and how many units of the end one of the axis has.
fn time_axis(report: &Report) -> (&'static str, f64, f64) {
    let units = [
        ("nanoseconds", 1.0),
        ("microseconds", 1e3),
        ("milliseconds", 1e6),
        ("seconds", 1e9),
    ];
    let end = report.end_ns as f64;
    let fits = units.into_iter().rev().find(|(_, unit)| end >= *unit);
    fits.map_or(("% of the run", 100.0, 1.0), |(title, unit)| {
        (title, end, unit)
    })
}

fn depth(report: &Report) -> Figure {
    let (title_x, end, unit) = time_axis(report);
    let panel = |title: &str, of: fn(&Totals) -> &Vec<u32>| {
        let ranks: Vec<&Vec<u32>> = report.ranks.iter().map(|rank| of(&rank.totals)).collect();
        let columns = ranks.iter().map(|depths| depths.len()).max().unwrap_or(0);
        let at = |column: usize| {
            ranks
                .iter()
                .filter_map(move |depths| depths.get(column))
                .map(|&d| f64::from(d))
        };
        let x = |column: usize| column as f64 * end / columns.max(1) as f64 / unit;
        let most = (0..columns).map(|column| (x(column), at(column).fold(0.0, f64::max)));
        let mean = (0..columns).map(|column| {
            (
                x(column),
                at(column).sum::<f64>() / ranks.len().max(1) as f64,
            )
        });
        Lines::new(title, Axis::linear(title_x), Axis::linear("entries"))
            .with(Series::new("highest rank", Style::Steps, most))
            .with(Series::new("mean over ranks", Style::Steps, mean))
    };
    Figure::new("Depth of the queues over time")
        .with(panel("Posted receives", |totals| &totals.depths.posted))
        .with(panel("Unexpected messages", |totals| {
            &totals.depths.unexpected
        }))
}

/// A map of queues over time, with a row for each of `of`.
fn over_time(report: &Report, title: &str, of: &str) -> Heat {
    let (title_x, end, unit) = time_axis(report);
    let columns =
        (1..=HEAT_COLUMNS).map(|column| cell(end * column as f64 / HEAT_COLUMNS as f64 / unit));
    Heat::new(title, title_x, of, "entries at most").with_columns(columns)
}

/// The communicators with the most messages.
fn communicators(report: &Report) -> Figure {
    let mut comms: Vec<_> = report.communicators.iter().collect();
    comms.sort_by_key(|comm| (Reverse(comm.stats.traffic.messages()), comm.id));
    let panel = |title: &str, side: usize| {
        let mut heat = over_time(report, title, "communicator");
        for comm in comms.iter().take(COMMUNICATORS) {
            let queue = report.waits.get(&comm.id).map(|waits| waits.queues[side]);
            let name = format!("{}: {}", comm.id, printable(&comm.name));
            heat = heat.with_row(name, queue.into_iter().flatten().map(f64::from));
        }
        heat
    };
    let mut figure = Figure::new("Depth of the queues by communicator")
        .with(panel("Posted receives", 0))
        .with(panel("Unexpected messages", 1));
    figure.columns = 1;
    figure
}

/// What a communicator's messages are for. Order logs name communicators by kind and number.
fn kind<'a>(report: &Report, comm: &'a CommReport) -> &'a str {
    match comm.name.split(' ').next() {
        Some(kind) if report.is_of_logs() => kind,
        _ if comm.collectives => "collective",
        _ => "point-to-point",
    }
}

fn waits(report: &Report) -> Figure {
    let mut kinds = BTreeMap::<&str, Vec<&Waits>>::new();
    for comm in &report.communicators {
        kinds
            .entry(kind(report, comm))
            .or_default()
            .extend(report.waits.get(&comm.id));
    }
    let panel = |title: &str, side: usize| {
        let mut lines = Lines::new(
            title,
            Axis::log("microseconds, up to"),
            Axis::linear("% of the kind's messages"),
        );
        for (kind, waits) in kinds.iter().filter(|_| report.end_ns > 0) {
            let at = |power: usize| waits.iter().map(|it| it.waited[side][power]).sum::<u64>();
            let all = waits.iter().flat_map(|it| it.waited.as_flattened()).sum();
            let last = (0..POWERS).rev().find(|&power| at(power) > 0);
            let points = (0..last.map_or(0, |last| last + 1))
                .map(|power| ((1_u64 << power) as f64 / 1e3, percent(at(power), all)));
            lines = lines.with(Series::line(*kind, points));
        }
        lines
    };
    Figure::new("How long receives and messages waited for each other")
        .with(panel("Receives that were posted first", 0))
        .with(panel("Messages that came first", 1))
}

fn ranks(report: &Report) -> Figure {
    let group = Flows::group(report.ranks.len() as u32) as usize;
    let panel = |title: &str, of: fn(&Totals) -> &Vec<u32>| {
        let mut heat = over_time(report, title, "rank");
        for ranks in report.ranks.chunks(group) {
            let (first, last) = (ranks[0].rank, ranks[ranks.len() - 1].rank);
            let name = if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            };
            let value = |column: usize| {
                let most = ranks.iter().flat_map(|rank| {
                    let depths = of(&rank.totals);
                    let [from, to] =
                        [column, column + 1].map(|column| column * depths.len() / HEAT_COLUMNS);
                    &depths[from..to]
                });
                f64::from(most.copied().max().unwrap_or(0))
            };
            heat = heat.with_row(name, (0..HEAT_COLUMNS).map(value));
        }
        heat
    };
    let mut figure = Figure::new("Depth of the queues by rank")
        .with(panel("Posted receives", |totals| &totals.depths.posted))
        .with(panel("Unexpected messages", |totals| {
            &totals.depths.unexpected
        }));
    figure.columns = 1;
    figure
}

fn messages(report: &Report) -> Figure {
    let share = |part: u64, totals: &Totals| percent(part, totals.traffic.messages());
    let all = &report.application;
    let bars = Bars::new(
        "All ranks",
        "",
        Axis::linear("% of messages"),
        [printable(&report.name)],
    )
    .stacked()
    .with("expected", [share(all.traffic.expected, all)])
    .with("unexpected", [share(all.traffic.unexpected, all)]);
    let by_rank = report.ranks.iter().map(|rank| {
        (
            f64::from(rank.rank),
            share(rank.totals.traffic.unexpected, &rank.totals),
        )
    });
    let lines = Lines::new(
        "By rank",
        Axis::linear("rank"),
        Axis::linear("% of messages"),
    )
    .with(Series::new("unexpected", Style::Points, by_rank));
    Figure::new("Expected and unexpected messages")
        .with(bars)
        .with(lines)
}

fn flows(report: &Report) -> Figure {
    let Flows { group, rows } = &report.flows;
    let name = |at: usize| {
        let first = at as u32 * group;
        let last = (first + group - 1).min(report.processes.saturating_sub(1));
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    };
    let panel = |title: &str, value: usize| {
        let mut heat = Heat::new(title, "to rank", "from rank", title.to_lowercase())
            .with_columns((0..rows.len()).map(name));
        heat.logarithmic = true;
        for (at, row) in rows.iter().enumerate() {
            heat = heat.with_row(name(at), row.iter().map(|cell| cell[value] as f64));
        }
        heat
    };
    Figure::new("Who sends to whom")
        .with(panel("Messages", 0))
        .with(panel("Bytes", 1))
}

fn paths(report: &Report) -> Figure {
    let blocks = &report.application.blocks;
    let groups = blocks.iter().map(|block| block.handlers.to_string());
    let share = |of: fn(&super::stats::BlockStats) -> u64| {
        blocks
            .iter()
            .map(move |block| percent(of(block), block.messages))
    };
    let bars = Bars::new(
        "Paths of the messages",
        "handlers",
        Axis::linear("% of messages"),
        groups,
    )
    .stacked()
    .with("clean", share(|block| block.clean))
    .with("fast", share(|block| block.fast))
    .with("slow", share(|block| block.slow))
    // Some slow-path messages end up unexpected, so the bar may be shorter than the total.
    .with(
        "no candidate",
        share(|block| block.messages - block.clean - block.fast - block.slow),
    );
    Figure::new("Optimistic matching by number of handlers").with(bars)
}

#[cfg(test)]
mod tests;
