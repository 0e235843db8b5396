//! Several applications side by side.

use dpamatch_tools::analyze::Report;
use dpamatch_tools::counted;
use dpamatch_tools::table::{Cell, Table};

use crate::cli::table::text;

/// Published shares of calls (Figure 6, read from the picture): application, processes, per cent
/// point-to-point; the others are collective. BigFFT and both HILO have none.
#[rustfmt::skip]
const PUBLISHED_CALLS: [(&str, u32, f64); 16] = [
    ("AMG", 8, 100.0), ("AMR MiniApp", 64, 95.5), ("BigFFT", 1024, 0.0), ("BoxLib CNS", 64, 98.5),
    ("BoxLib MultiGrid", 64, 96.8), ("CrystalRouter", 100, 100.0), ("FillBoundary", 1000, 99.2),
    ("HILO", 256, 0.0), ("HILO 2D", 256, 0.0), ("LULESH", 64, 97.5), ("MiniFe", 1152, 93.5),
    ("MOCFE", 64, 54.0), ("MultiGrid", 1000, 98.3), ("Nekbone", 64, 90.9), ("PARTISN", 168, 99.8),
    ("SNAP", 168, 99.98),
];
/// Published mean depths over all applications (Figure 7), by bins.
const PUBLISHED_DEPTHS: [(u32, f64); 3] = [(1, 8.21), (32, 0.8), (128, 0.33)];

/// The published application of this trace's name, such as `lulesh-27`.
fn published(name: &str) -> Option<(&'static str, u32, f64)> {
    let plain = |text: &str| {
        text.replace(|it: char| !it.is_alphanumeric(), "")
            .to_lowercase()
    };
    let named = |(known, ..): &(&str, u32, f64)| plain(name).starts_with(&plain(known));
    PUBLISHED_CALLS
        .into_iter()
        .filter(named)
        .max_by_key(|(known, ..)| known.len())
}

/// Rows of both tables: the application's shares of calls, and depths by bins, replayed and as the
/// published analyzer counts.
pub(in crate::cli::analyze) struct Depths {
    name: String,
    shares: [f64; 3],
    replayed: Vec<(u32, f64, u32)>,
    never_matched: Vec<(u32, f64, u32)>,
}

impl Depths {
    pub(in crate::cli::analyze) fn new(report: &Report) -> Self {
        let bins = report.application.bins.iter();
        let replayed = bins.map(|it| (it.bins, it.tables.depth_mean(), it.tables.depth_max));
        let lifetime = report.lifetime.iter();
        Self {
            name: report.name.clone(),
            shares: report.application.shares.percent(),
            replayed: replayed.collect(),
            never_matched: lifetime
                .map(|it| (it.bins, it.depth_average, it.depth_max))
                .collect(),
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
    let mut row = |name: &str, calls: [Cell; 3], depths: &[(u32, Cell, Cell)]| {
        let calls = shares.iter().map(|share| (*share).to_owned()).zip(calls);
        let depths = depths.iter().flat_map(|(bins, mean, most)| {
            [
                (counted(bins, "bin"), mean.clone()),
                (format!("max of {bins}"), most.clone()),
            ]
        });
        table.row(
            [("application".to_owned(), name.into())]
                .into_iter()
                .chain(calls)
                .chain(depths),
        );
    };
    for it in all {
        let depths: Vec<_> = of(it)
            .iter()
            .map(|&(bins, mean, most)| (bins, mean.into(), most.into()))
            .collect();
        row(&it.name, it.shares.map(Cell::from), &depths);
        if let Some((name, processes, p2p)) = published(&it.name).filter(|_| with_shares) {
            let none: Vec<_> = depths
                .iter()
                .map(|(bins, ..)| (*bins, Cell::None, Cell::None))
                .collect();
            let calls = [p2p, 100.0 - p2p, 0.0].map(Cell::from);
            row(&format!("  {name} of {processes}, published"), calls, &none);
        }
    }
    let numbers = all.first().map_or(&[][..], of).iter().enumerate();
    let mean = |at: usize| all.iter().map(|it| of(it)[at].1).sum::<f64>() / all.len() as f64;
    let mut of_all = |name: &str, mean: &dyn Fn(usize, u32) -> Option<f64>| {
        let means = numbers
            .clone()
            .map(|(at, &(bins, ..))| (bins, mean(at, bins).into(), Cell::None));
        row(
            name,
            [Cell::None, Cell::None, Cell::None],
            &means.collect::<Vec<_>>(),
        );
    };
    of_all("mean", &|at, _| Some(mean(at)));
    if !with_shares {
        let known = |bins| {
            PUBLISHED_DEPTHS
                .iter()
                .find(|(of, _)| *of == bins)
                .map(|(_, it)| *it)
        };
        of_all("mean of 16, published", &|_, bins| known(bins));
    }
    table
}
