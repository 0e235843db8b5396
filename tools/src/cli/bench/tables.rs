//! The results as tables for people.

use dpa_model::PaperWorkload;
use dpamatch_predict::figure8;
use dpamatch_tools::bench::{CALIBRATION, Peer, Point, PointRow, Report};
use dpamatch_tools::table::{Cell, Table};

use super::paper::{PAPER_MPI, PAPER_NO_MATCHING};
use super::results::of_paths;

fn mega(row: Option<&PointRow>) -> Cell {
    row.and_then(PointRow::rate)
        .map(|rate| rate.median / 1e6)
        .into()
}

fn ratio(own: Option<&PointRow>, other: Option<&PointRow>) -> Cell {
    own.zip(other)
        .and_then(|(own, other)| own.ratio_to(other))
        .into()
}

/// NC, WC-FP and WC-SP over the handlers, beside the paper's values.
pub(super) fn paper(report: &Report, sweep: &[usize], size: Option<usize>) -> Table {
    let row = |peer, scenario: &str| {
        let scenario = scenario.parse().ok()?;
        report.find(
            &Point {
                peer,
                scenario,
                window: CALIBRATION[1],
                size: size?,
            },
            true,
        )
    };
    let base = row(Peer::NoMatching, "NC");
    let half = ["NC", "WC-FP", "WC-SP", "NC/none", "FP/NC", "SP/NC"];
    let columns = ["handlers"]
        .into_iter()
        .chain(half)
        .chain(["|"])
        .chain(half);
    let title = "Calibrated rate, million messages/s; the right half is the paper's measurement on \
                 a BlueField-3.";
    let mut table = Table::new("paper", title, columns);
    for &handlers in sweep {
        let [nc, fast, slow] =
            ["NC", "WC-FP", "WC-SP"].map(|scenario| row(Peer::optimistic(handlers), scenario));
        let ours = [
            mega(nc),
            mega(fast),
            mega(slow),
            ratio(nc, base),
            ratio(fast, nc),
            ratio(slow, nc),
        ];
        let place = figure8::THREADS
            .iter()
            .position(|&threads| threads == handlers);
        let published = place.map_or([const { Cell::None }; 6], |place| {
            use PaperWorkload::{FastPath, NoConflict, SlowPath};
            let [nc, fast, slow] =
                [NoConflict, FastPath, SlowPath].map(|workload| figure8::rates(workload)[place]);
            [nc, fast, slow, nc / PAPER_NO_MATCHING, fast / nc, slow / nc].map(Cell::from)
        });
        let cells = [handlers.into()]
            .into_iter()
            .chain(ours)
            .chain(["|".into()]);
        table.push(cells.chain(published));
    }
    for (peer, name) in [
        (Peer::NoMatching, "no matching on this wire"),
        (Peer::Bins, "sequential bins, NC"),
    ] {
        if let Some(rate) = row(peer, "NC").and_then(PointRow::rate) {
            table = table.note(format!("{name}: {:.2}", rate.median / 1e6));
        }
    }
    table
        .note(format!(
            "the paper's RDMA without matching: {PAPER_NO_MATCHING}; its MPI on the host: \
             {PAPER_MPI}"
        ))
        .note(
            "On the card each handler is a thread and waits for others. Here one thread runs a \
             block unless --workers or --like card says otherwise, so nobody waits and conflicts \
             cost little.",
        )
}

/// Columns that a narrow table omits, in this order; `bytes` only if all sizes are equal.
const EXTRA: [&str; 8] = [
    "per block",
    "again",
    "slow",
    "fast",
    "post ns",
    "/memcpy",
    "memcpy",
    "bytes",
];

/// All scenarios for one number of handlers, or for all.
pub(super) fn overview(report: &Report, nic: Peer, only_nic: bool) -> Table {
    let shown = |row: &&PointRow| {
        matches!(row.point.peer, Peer::Nic { .. })
            && (!only_nic || row.point.peer.handlers() == nic.handlers())
    };
    // Only where something found no room, so that the columns are noticed.
    let any_software = report.rows.iter().filter(shown).any(|row| {
        let paths = row
            .samples
            .iter()
            .filter_map(|sample| sample.paths.as_ref());
        paths
            .map(|paths| paths.software + paths.software_posts)
            .sum::<f64>()
            > 0.0
    });
    let mut others: Vec<Peer> = Vec::new();
    for row in &report.rows {
        let peer = row.point.peer;
        let has_column = matches!(peer, Peer::Nic { .. } | Peer::NoMatching | Peer::Bins);
        if !has_column && !others.contains(&peer) {
            others.push(peer);
        }
    }
    let software = if any_software {
        " host recv, host msg: shares of receives and messages that found no room on the NIC."
    } else {
        ""
    };
    let title = format!(
        "Million messages/s, median over n rounds; none: no matching, bins: sequential engine, on \
         the same wire.{software}"
    );
    let mut sizes = report.rows.iter().map(|row| row.point.size);
    let first = sizes.next();
    let sizes_differ = sizes.any(|size| Some(size) != first);
    let extra = &EXTRA[..EXTRA.len() - usize::from(sizes_differ)];
    let mut table = Table::open("overview", title).extra(extra.iter().copied());
    for row in report.rows.iter().filter(shown) {
        let beside = |peer| report.beside(row, peer);
        let (none, bins, rate) = (beside(Peer::NoMatching), beside(Peer::Bins), row.rate());
        let mut cells: Vec<(String, Cell)> = [
            ("scenario", row.point.scenario.name().into()),
            ("matching", row.point.peer.name().into()),
            ("handlers", row.point.peer.handlers().into()),
            (
                "window",
                if row.calibrated {
                    "cal".into()
                } else {
                    row.point.window.into()
                },
            ),
            ("bytes", row.point.size.into()),
            ("rate", mega(Some(row))),
            ("min", rate.map(|rate| rate.min / 1e6).into()),
            ("max", rate.map(|rate| rate.max / 1e6).into()),
            ("n", rate.map_or(0, |rate| rate.count).into()),
            ("none", mega(none)),
            ("bins", mega(bins)),
            ("/none", ratio(Some(row), none)),
            ("/bins", ratio(Some(row), bins)),
            (
                "post ns",
                (!row.calibrated)
                    .then(|| row.median(|sample| sample.post_ns))
                    .into(),
            ),
            ("per block", of_paths(row, |paths| paths.per_block).into()),
            ("fast", of_paths(row, |paths| paths.fast).into()),
            ("slow", of_paths(row, |paths| paths.slow).into()),
            ("again", of_paths(row, |paths| paths.searched_again).into()),
        ]
        .map(|(name, cell)| (name.to_owned(), cell))
        .into();
        if sizes_differ {
            let volume = rate.map(|rate| rate.median * row.point.size as f64 / 1e6);
            let median = row.latencies().map(|all| all.percentile_ns(50.0));
            let figures = [("MB/s", Cell::from(volume)), ("p50 ns", Cell::from(median))];
            cells.splice(7..7, figures.map(|(name, cell)| (name.to_owned(), cell)));
        }
        if any_software {
            let share = |share| Cell::from(of_paths(row, share));
            cells.push(("host recv".to_owned(), share(|paths| paths.software_posts)));
            cells.push(("host msg".to_owned(), share(|paths| paths.software)));
        }
        for &peer in &others {
            cells.push((peer.name().to_owned(), mega(beside(peer))));
            cells.push((format!("/{}", peer.name()), ratio(Some(row), beside(peer))));
        }
        table.row(cells);
    }
    table
}
