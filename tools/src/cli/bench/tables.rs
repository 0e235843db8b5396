//! The results as text.

use dpa_model::PaperWorkload;
use dpamatch_predict::figure8;
use dpamatch_tools::bench::{CALIBRATION, Paths, Peer, Point, Report, Row};
use dpamatch_tools::table::{Grid, wrapped};

use super::paper::{PAPER_MPI, PAPER_NO_MATCHING};

fn mega(rate: Option<f64>) -> String {
    rate.map_or("-".to_owned(), |rate| match rate / 1e6 {
        small if small < 0.1 => format!("{small:.4}"),
        rate => format!("{rate:.2}"),
    })
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"))
}

/// NC, WC-FP and WC-SP over the handlers, beside the paper's values.
pub(super) fn paper(report: &Report, sweep: &[usize], size: Option<usize>, width: usize) -> String {
    let row = |peer, scenario: &str| {
        let scenario = scenario.parse().ok()?;
        report.find(&Point { peer, scenario, window: CALIBRATION[1], size: size? }, true)
    };
    let rate = |row: Option<&Row>| mega(row.and_then(Row::rate).map(|rate| rate.median));
    let over = |own: Option<&Row>, other: Option<&Row>| {
        ratio(own.zip(other).and_then(|(a, b)| a.ratio_to(b)))
    };
    let base = row(Peer::NoMatching, "NC");
    let mut table = Grid::new([
        "handlers", "NC", "WC-FP", "WC-SP", "NC/none", "FP/NC", "SP/NC", "|", "NC", "WC-FP",
        "WC-SP", "NC/none", "FP/NC", "SP/NC",
    ]);
    for &handlers in sweep {
        let own = |scenario| row(Peer::Nic { handlers }, scenario);
        let (nc, fast, slow) = (own("NC"), own("WC-FP"), own("WC-SP"));
        let mut cells = vec![
            handlers.to_string(),
            rate(nc),
            rate(fast),
            rate(slow),
            over(nc, base),
            over(fast, nc),
            over(slow, nc),
            "|".to_owned(),
        ];
        if let Some(place) = figure8::THREADS.iter().position(|&threads| threads == handlers) {
            use PaperWorkload::{FastPath, NoConflict, SlowPath};
            let [nc, fast, slow] =
                [NoConflict, FastPath, SlowPath].map(|workload| figure8::rates(workload)[place]);
            cells.extend([nc, fast, slow].map(|rate| format!("{rate:.2}")));
            cells.extend(
                [nc / PAPER_NO_MATCHING, fast / nc, slow / nc].map(|ratio| format!("{ratio:.2}")),
            );
        }
        table.push(cells);
    }
    let mut text = format!(
        "Calibrated rate, million messages/s; the right half is the paper's measurement on a BlueField-3.\n{}",
        table.text(width)
    );
    for (peer, name) in
        [(Peer::NoMatching, "no matching on this wire"), (Peer::Bins, "sequential bins, NC")]
    {
        if let Some(rate) = row(peer, "NC").and_then(Row::rate) {
            text += &format!("{name}: {}\n", mega(Some(rate.median)));
        }
    }
    text += &format!(
        "the paper's RDMA without matching: {PAPER_NO_MATCHING}; its MPI on the host: {PAPER_MPI}\n\
         On the card each handler is a thread and waits for others. Here one thread runs a block\n\
         unless --workers or --like card says otherwise, so nobody waits and conflicts cost little.\n"
    );
    wrapped(&text, width)
}

/// Columns that a narrow table omits, in this order.
const EXTRA: [&str; 7] = ["per block", "slow", "fast", "post ns", "bytes", "/memcpy", "memcpy"];

/// All scenarios for one number of handlers, or for all.
pub(super) fn overview(report: &Report, nic: Peer, only_nic: bool, width: usize) -> String {
    let shown = |row: &&Row| {
        matches!(row.point.peer, Peer::Nic { .. }) && (!only_nic || row.point.peer == nic)
    };
    let mut header = vec![
        "scenario",
        "handlers",
        "window",
        "bytes",
        "rate",
        "min",
        "max",
        "n",
        "none",
        "bins",
        "/none",
        "/bins",
        "post ns",
        "per block",
        "fast",
        "slow",
    ];
    // Only where something found no room, so that the columns are noticed.
    let any_software = report.rows.iter().filter(shown).any(|row| {
        let sent_on = |paths: &Paths| paths.software + paths.software_posts > 0.0;
        row.samples.iter().filter_map(|sample| sample.paths.as_ref()).any(sent_on)
    });
    if any_software {
        header.extend(["host recv", "host msg"]);
    }
    let mut others: Vec<Peer> = Vec::new();
    for row in &report.rows {
        let peer = row.point.peer;
        let has_column = matches!(peer, Peer::Nic { .. } | Peer::NoMatching | Peer::Bins);
        if !has_column && !others.contains(&peer) {
            others.push(peer);
        }
    }
    let ratios: Vec<String> = others.iter().map(|peer| format!("/{}", peer.name())).collect();
    for (peer, ratio) in others.iter().zip(&ratios) {
        header.extend([peer.name(), ratio]);
    }
    let mut table = Grid::new(header).extra(EXTRA);
    for row in report.rows.iter().filter(shown) {
        let Peer::Nic { handlers } = row.point.peer else { continue };
        let none = report.beside(row, Peer::NoMatching);
        let bins = report.beside(row, Peer::Bins);
        let rate = row.rate();
        let beside = |row: Option<&Row>| mega(row.and_then(Row::rate).map(|rate| rate.median));
        let paths = |value: fn(&Paths) -> f64| {
            let of_sample =
                |sample: &dpamatch_tools::bench::Sample| sample.paths.as_ref().map_or(0.0, value);
            if row.calibrated { String::new() } else { format!("{:.2}", row.median(of_sample)) }
        };
        let mut cells = vec![
            row.point.scenario.to_string(),
            handlers.to_string(),
            if row.calibrated { "cal".to_owned() } else { row.point.window.to_string() },
            row.point.size.to_string(),
            mega(rate.map(|rate| rate.median)),
            mega(rate.map(|rate| rate.min)),
            mega(rate.map(|rate| rate.max)),
            rate.map_or(0, |rate| rate.count).to_string(),
            beside(none),
            beside(bins),
            ratio(none.and_then(|none| row.ratio_to(none))),
            ratio(bins.and_then(|bins| row.ratio_to(bins))),
            if row.calibrated {
                String::new()
            } else {
                format!("{:.1}", row.median(|sample| sample.post_ns))
            },
            paths(|paths| paths.per_block),
            paths(|paths| paths.fast),
            paths(|paths| paths.slow),
        ];
        if any_software {
            cells.extend([paths(|paths| paths.software_posts), paths(|paths| paths.software)]);
        }
        for &peer in &others {
            let other = report.beside(row, peer);
            cells.push(beside(other));
            cells.push(ratio(other.and_then(|other| row.ratio_to(other))));
        }
        table.push(cells);
    }
    let software = if any_software {
        " host recv, host msg: shares of receives and messages that found no room on the NIC."
    } else {
        ""
    };
    let text = format!(
        "Million messages/s, median over n rounds; none: no matching, bins: sequential engine, on the same wire.{software}\n{}",
        table.text(width)
    );
    wrapped(&text, width)
}
