//! The short table: four scenarios with contrast, as bars.

use std::fmt::Write;

use dpamatch_tools::bench::{Matching, Peer, Point, PointRow, Report};
use dpamatch_tools::version::VERSION;

use super::Header;

/// A scenario of the short table.
pub(super) struct First {
    pub(super) scenario: &'static str,
    pub(super) window: usize,
    label: &'static str,
}

pub(super) const ROWS: [First; 4] = [
    First {
        scenario: "NC",
        window: 1024,
        label: "no conflict",
    },
    First {
        scenario: "WC",
        window: 1024,
        label: "all in conflict",
    },
    First {
        scenario: "ANYSRC-REV",
        window: 1024,
        label: "any source, reversed",
    },
    First {
        scenario: "DEPTH-8192",
        window: 100,
        label: "behind 8,192 receives",
    },
];

/// Columns of the longest bar.
const BAR: usize = 50;
/// The last column of a bar by eighths.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Adds UCX to each window of the short table.
pub(super) fn add_ucx(points: &mut Vec<Point>) {
    let mut ucx: Vec<Point> = Vec::new();
    for point in points.iter() {
        let point = Point {
            peer: Peer::Ucx,
            ..point.clone()
        };
        if !ucx.contains(&point) {
            ucx.push(point);
        }
    }
    points.extend(ucx);
}

/// At most 25 lines of at most 100 columns.
pub(super) fn text(report: &Report, header: &Header, placement: &str) -> String {
    let rates = report.rows.iter().filter_map(PointRow::rate);
    let longest = rates.map(|rate| rate.median).fold(0.0, f64::max);
    let how = if header.settings.one_thread {
        "one thread has both ends".to_owned()
    } else {
        format!("processors {placement}")
    };
    let mut out = format!(
        "Matching rates in million messages/s: 8-byte messages, {} handlers; {how}\n",
        header.settings.nic.nic.handlers
    );
    for first in &ROWS {
        let mut label = first.label;
        for row in rows_of(report, first) {
            let Some(rate) = row.rate() else { continue };
            let bar = bar(rate.median / longest);
            let name = name(row.point.peer);
            let rate = rate.median / 1e6;
            // A digit more where one is not enough to compare.
            let digits = if rate < 10.0 { 2 } else { 1 };
            _ = writeln!(out, "{label:<22} {name:<10} {bar} {rate:.digits$}");
            label = "";
        }
    }
    meaning(report, &mut out);
    out += "Next: dpamatch bench --all (all scenarios), analyze TRACE (your program), predict (a card)\n";
    let has_ucx = report.rows.iter().any(|row| row.point.peer == Peer::Ucx);
    if !has_ucx && !header.settings.one_thread {
        out += "UCX is not installed: pip install libucx-cu12 adds its row\n";
    }
    let Header {
        machine,
        settings,
        seconds,
        ..
    } = header;
    let (cpu, seed) = (&machine.cpu, settings.seed);
    _ = writeln!(
        out,
        "dpamatch {VERSION} on {cpu}, seed {seed}, {seconds:.1} s"
    );
    out
}

fn rows_of<'a>(report: &'a Report, first: &First) -> impl Iterator<Item = &'a PointRow> {
    report.rows.iter().filter(|row| {
        row.point.scenario.name() == first.scenario && row.point.window == first.window
    })
}

fn name(peer: Peer) -> &'static str {
    match peer {
        Peer::Nic {
            matching: Matching::InOrder,
            ..
        } => "in order",
        Peer::Nic {
            matching: Matching::OneByOne,
            ..
        } => "one by one",
        Peer::Ucx => "UCX",
        peer => peer.name(),
    }
}

/// A bar for a share of the longest one.
fn bar(share: f64) -> String {
    let eighths = ((share * (8 * BAR) as f64).round() as usize).clamp(1, 8 * BAR);
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// Two sentences of what the rates mean. A ratio is the median of those of the same rounds, which
/// may differ a little from that of the bars.
fn meaning(report: &Report, out: &mut String) {
    let row = |scenario: usize, wanted: &str| {
        rows_of(report, &ROWS[scenario]).find(|row| name(row.point.peer) == wanted)
    };
    let ratio =
        |scenario, own: &str, other: &str| row(scenario, own)?.ratio_to(row(scenario, other)?);
    if let Some(share) = ratio(0, "optimistic", "in order") {
        _ = writeln!(
            out,
            "optimistic: a card's phases on one core, {:.0} % of the rate in order; a card runs them in \
             parallel.",
            100.0 * share
        );
    }
    let against = [
        ("UCX", 0, "UCX without conflicts"),
        ("list", 3, "a list behind 8,192 receives"),
    ];
    let told: Vec<String> = against
        .into_iter()
        .filter_map(|(other, scenario, what)| {
            let ratio = ratio(scenario, "in order", other)?;
            let digits = if ratio < 10.0 { 1 } else { 0 };
            Some(format!("{ratio:.digits$} times {what}"))
        })
        .collect();
    if !told.is_empty() {
        _ = writeln!(out, "in order, round by round: {}.", told.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_exact_to_an_eighth() {
        let width = BAR as f64;
        assert_eq!(bar(1.0), "█".repeat(BAR));
        assert_eq!(bar(2.0 / width), "██");
        assert_eq!(bar(2.5 / width), "██▌");
        assert_eq!(bar(2.875 / width), "██▉");
        assert_eq!(bar(2.99 / width), "███");
        assert_eq!(bar(0.0), "▏", "a rate is never invisible");
    }
}
