//! Several applications side by side.

use dpamatch_tools::analyze::Report;
use dpamatch_tools::table::{Cell, Table};

use crate::cli::table::text;

/// Rows of both tables: the application's shares of calls, and depths by bins, replayed and as the
/// published analyzer counts.
pub(in crate::cli::analyze) struct Depths {
    name: String,
    shares: [f64; 3],
    replayed: Vec<(u32, f64, u32)>,
    never_matched: Vec<(u32, f64, u32)>,
}

impl Depths {
    pub(in crate::cli::analyze) fn of(report: &Report) -> Self {
        let bins = report.application.bins.iter();
        let replayed = bins.map(|it| (it.bins, it.tables.depth_mean(), it.tables.depth_max));
        let lifetime = report.lifetime.iter();
        Self {
            name: report.name.clone(),
            shares: report.application.shares.percent(),
            replayed: replayed.collect(),
            never_matched: lifetime.map(|it| (it.bins, it.depth_average, it.depth_max)).collect(),
        }
    }
}

/// Shares of calls and depths of several applications (Figures 6 and 7).
pub(in crate::cli::analyze) fn over_applications(all: &[Depths], width: usize) -> String {
    let title = "Calls and depth of posted receives by bins (Figures 6 and 7)";
    let never = "Depth as the published analyzer counts it: nothing is matched";
    let replayed = side_by_side(title, all, true, |it| &it.replayed);
    let never = side_by_side(never, all, false, |it| &it.never_matched);
    format!("{}\n{}", text(&replayed, width), text(&never, width))
}

fn side_by_side(
    title: &str,
    all: &[Depths],
    with_shares: bool,
    of: fn(&Depths) -> &[(u32, f64, u32)],
) -> Table {
    let shares = ["p2p %", "collective %", "one-sided %"];
    let shares = if with_shares { &shares[..] } else { &[] };
    let mut table = Table::open("depths", title);
    let mut row = |name: &str, calls: [Cell; 3], depths: &[(u32, f64, Cell)]| {
        let calls = shares.iter().map(|share| (*share).to_owned()).zip(calls);
        let depths = depths.iter().flat_map(|(bins, mean, most)| {
            [(format!("{bins} bins"), (*mean).into()), (format!("max of {bins}"), most.clone())]
        });
        table.row([("application".to_owned(), name.into())].into_iter().chain(calls).chain(depths));
    };
    for it in all {
        let depths: Vec<_> =
            of(it).iter().map(|&(bins, mean, most)| (bins, mean, most.into())).collect();
        row(&it.name, it.shares.map(Cell::from), &depths);
    }
    let numbers = all.first().map_or(&[][..], of).iter().enumerate();
    let mean = |at: usize| all.iter().map(|it| of(it)[at].1).sum::<f64>() / all.len() as f64;
    let means: Vec<_> = numbers.map(|(at, &(bins, ..))| (bins, mean(at), Cell::None)).collect();
    row("mean", [Cell::None, Cell::None, Cell::None], &means);
    table
}
