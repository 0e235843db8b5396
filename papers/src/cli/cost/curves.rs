use std::path::{Path, PathBuf};

use dpamatch_papers::cost::contention::{Torus, contention_s, line_test};
use dpamatch_papers::cost::fit::{Run, read_csv};
use dpamatch_papers::cost::queue::bound_s;
use dpamatch_papers::cost::transfer::node_aware_s;
use dpamatch_papers::cost::{Distance, Profile};
use dpamatch_tools::counted;
use dpamatch_tools::figure::{Axis, Figure, Lines, Series};

use super::{bad_line, file_or_stdin, folder, us};
use dpamatch_tools::table::{Cell, Table};

/// The model's curves: moving over the size of a message, and all three terms over the number of
/// messages.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../help/cost-curves.txt").trim_end())]
pub(super) struct Args {
    /// Numbers of messages of each process
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_value = "1,10,100,1000,10000",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    messages: Vec<u64>,
    /// Bytes of each process, all its messages together
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    bytes: u64,
    /// Sending processes per node
    #[arg(long, value_name = "P,..", value_delimiter = ',', default_value = "1,4,16",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    senders: Vec<u32>,
    /// Measured runs (CSV as for cost fit; - for standard input), beside the model
    #[arg(long, value_name = "FILE")]
    runs: Option<PathBuf>,
}

/// The model's time for a message of a run, and the measured one, in microseconds.
fn both(profile: &Profile, run: &Run) -> [f64; 2] {
    let messages = run.messages.max(1);
    let model = node_aware_s(profile, run.place, run.bytes / messages, run.ppn);
    [us(model), us(run.seconds / messages as f64)]
}

fn measured(profile: &Profile, runs: &[Run]) -> Table {
    let title = format!(
        "Measured runs beside moving on {}, a message of each.",
        profile.name
    );
    let mut table = Table::open("measured", title)
        .keyed(3)
        .note("The model leaves searching and contention out here.");
    for run in runs {
        let [model, measured] = both(profile, run);
        table.row([
            ("senders_per_node", run.ppn.into()),
            ("place", run.place.name().into()),
            ("bytes", (run.bytes / run.messages.max(1)).into()),
            ("measured_us", measured.into()),
            ("model_us", model.into()),
            ("measured_to_model", Cell::Real(measured / model)),
        ]);
    }
    table
}

/// Lengths of messages, as powers of two.
const POWERS: std::ops::RangeInclusive<u32> = 3..=20;
/// Routers of the published contention test.
const ROUTERS: u32 = 4;

pub(super) fn run(
    args: &Args,
    profile: &Profile,
    out: Option<&Path>,
) -> anyhow::Result<Vec<Table>> {
    let runs = match &args.runs {
        Some(path) => {
            let (name, input) = file_or_stdin(path)?;
            read_csv(input).map_err(|error| bad_line(&name, &error))?
        }
        None => Vec::new(),
    };
    let mut moving = Table::open(
        "moving",
        format!("One message of each sender, {}.", profile.name),
    )
    .keyed(2);
    let mut figure = Figure::new(format!("Model of {}", profile.name));
    let most = profile.layout.processes_per_node;
    let mut counts: Vec<_> = args.senders.iter().map(|&it| it.min(most)).collect();
    counts.dedup();
    for senders in counts {
        let (x, y) = (
            Axis::powers("bytes of a message"),
            Axis::log("microseconds"),
        );
        let mut panel = Lines::new(format!("{} a node", counted(senders, "sender")), x, y);
        let at = |place, bytes| us(node_aware_s(profile, place, bytes, senders));
        let sizes = || POWERS.map(|power| 1_u64 << power);
        for bytes in sizes() {
            let places =
                Distance::ALL.map(|place| (format!("{}_us", place.name()), at(place, bytes)));
            let places = places.into_iter().map(|(name, it)| (name, Cell::Real(it)));
            let keys = [
                ("senders_per_node", senders.into()),
                ("bytes", bytes.into()),
            ];
            moving.row(
                keys.map(|(name, it)| (name.to_owned(), it))
                    .into_iter()
                    .chain(places),
            );
        }
        for place in Distance::ALL {
            let points = sizes().map(|bytes| (bytes as f64, at(place, bytes)));
            panel = panel.with(Series::line(place.name(), points));
            let here = runs
                .iter()
                .filter(|run| run.place == place && run.ppn == senders);
            let mut points: Vec<_> = here
                .map(|run| {
                    let [_, measured] = both(profile, run);
                    let bytes = run.bytes / run.messages.max(1);
                    (bytes as f64, measured, (measured, measured))
                })
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            if !points.is_empty() {
                let name = format!("{}, measured", place.name());
                panel = panel.with(Series::measured(name, points));
            }
        }
        figure = figure.with(panel);
    }
    let title = format!(
        "n messages of each of {} a node, {} of each in all, on a line of \
         {ROUTERS} routers; searching is gamma n^2, and the total is the sum.",
        counted(most, "process"),
        counted(args.bytes, "byte")
    );
    let mut terms = Table::open("terms", title);
    let load = line_test(ROUTERS, most, args.bytes, &profile.layout);
    let torus = Torus::line(ROUTERS, &profile.layout);
    let load = torus
        .loads(&profile.layout, &load)
        .into_values()
        .max()
        .unwrap_or(0);
    let contention = contention_s(profile.contention.delta_s_per_byte, load as f64);
    let mut lines: [(&str, Vec<(f64, f64)>); 4] =
        ["moving_us", "searching_us", "contention_us", "total_us"].map(|name| (name, Vec::new()));
    for &n in &args.messages {
        let bytes = args.bytes.div_ceil(n);
        let moving = n as f64 * node_aware_s(profile, Distance::Network, bytes, most);
        let searching = bound_s(profile.queue.gamma_s, n);
        let values = [
            moving,
            searching,
            contention,
            moving + searching + contention,
        ]
        .map(us);
        let names = lines.each_ref().map(|(name, _)| *name);
        let cells = names.into_iter().zip(values.map(Cell::Real));
        terms.row(
            [("messages", n.into()), ("bytes", bytes.into())]
                .into_iter()
                .chain(cells),
        );
        lines
            .iter_mut()
            .zip(values)
            .for_each(|((_, line), it)| line.push((n as f64, it)));
    }
    let axes = (
        Axis::log("messages of a process"),
        Axis::log("microseconds"),
    );
    let panel = Lines::new(
        format!("{} in n messages", counted(args.bytes, "byte")),
        axes.0,
        axes.1,
    );
    let series = lines
        .into_iter()
        .map(|(name, line)| Series::line(name.trim_end_matches("_us"), line));
    figure = figure.with(series.fold(panel, Lines::with));
    figure.columns = 2;
    if let Some(path) = out {
        folder(path)?;
        figure.write(path, "curves")?;
    }
    let mut tables = vec![moving, terms];
    if args.runs.is_some() {
        tables.push(measured(profile, &runs));
    }
    Ok(tables)
}
