//! Rates by number of handlers.

use dpamatch::figure::{Axis, Figure, Lines, Series};
use dpamatch_predict::{Prediction, Setup, limits, predict};

use super::super::BadInput;
use super::super::table::{Cell, Table};
use super::{Common, Workload, make, wrong};

#[derive(Debug, clap::Args)]
pub(super) struct RatesArgs {
    /// Numbers of handlers, each on an EU of its own
    #[arg(long, value_name = "N,N..", value_delimiter = ',', default_value = "1,2,4,8,16,32,64,128,190")]
    threads: Vec<usize>,
    /// Workloads: nc (no conflicts), wc-fp, wc-sp (all receives equal; fast and slow path), mixed:P (P per cent of
    /// the receives equal)
    #[arg(
        long,
        value_name = "NAME,NAME..",
        value_delimiter = ',',
        default_value = "nc,wc-fp,wc-sp,mixed:25"
    )]
    workload: Vec<String>,
    /// Messages of a window [default: the profile's driver.window]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=65536))]
    window: Option<u64>,
    /// An endless stream in place of windows
    #[arg(long, conflicts_with = "window")]
    stream: bool,
    /// Length of each message in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 8, value_parser = clap::value_parser!(u32).range(0..=4096))]
    bytes: u32,
}

pub(super) fn run(args: &RatesArgs, common: &Common) -> anyhow::Result<()> {
    let mut base = common.setup(1)?;
    if let Some(window) = args.window {
        base.profile.driver.window = window as usize;
    }
    if args.stream {
        base.profile.driver.window = 0;
    }
    base.eager_limit = base.eager_limit.max(args.bytes as usize);
    let names = &args.workload;
    let workloads: Vec<Workload> =
        names.iter().map(|name| Workload::parse(name, common.seed)).collect::<Result<_, BadInput>>()?;
    let driver = match base.profile.driver.window {
        0 => "an endless stream".to_owned(),
        window => format!("windows of {window}"),
    };
    let title = format!(
        "Predicted rates on {} (version {}), {driver}, messages of {} bytes, in M messages/s of virtual time.",
        base.profile.name, base.profile.version, args.bytes
    );
    let columns =
        ["workload", "handlers", "rate", "us per block", "fast", "slow", "EUs busy %", "limit", "gain %"];
    let mut table = Table::new("rates", title, columns);
    let bar = progress(workloads.len() * args.threads.len());
    let mut lines = Vec::new();
    for (name, workload) in names.iter().zip(&workloads) {
        let mut points = Vec::new();
        for &handlers in &args.threads {
            if handlers == 0 {
                return Err(BadInput("--threads takes numbers from 1 on".to_owned()).into());
            }
            let setup = workload.on(&Setup { handlers, ..base.clone() });
            let offer = workload.offer(args.bytes);
            let now = predict(&setup, offer, 0).map_err(wrong)?;
            let gains = limits(&setup, offer, &now).map_err(wrong)?;
            points.push((handlers as f64, now.rate));
            let first = gains.first().filter(|gain| gain.gain > 0.005);
            table.row([
                name.as_str().into(),
                handlers.into(),
                now.rate.into(),
                (handlers as f64 / now.rate).into(),
                now.part.count("fast").into(),
                now.part.count("slow").into(),
                busy(&now).into(),
                first.map(|gain| gain.limit.name()).into(),
                first.map_or(Cell::None, |gain| (gain.gain * 100.0).into()),
            ]);
            bar.inc(1);
        }
        lines.push(Series::line(name.clone(), points));
    }
    bar.finish_and_clear();
    if let Some(folder) = &common.out {
        make(folder)?;
        let panel =
            Lines::new("Predicted rate", Axis::powers("handlers"), Axis::linear("M messages/s, virtual"));
        let panel = lines.into_iter().fold(panel, Lines::with);
        Figure::new(format!("Predicted for {}", base.profile.name))
            .with(panel)
            .write(folder, "predicted_rates")?;
    }
    common.show(&[table])
}

/// Share of the EUs' time that is no waiting, in per cent.
fn busy(prediction: &Prediction) -> f64 {
    let part = &prediction.part;
    let busy: u64 = part.outcome.eus.iter().map(|eu| eu.time.busy()).sum();
    100.0 * busy as f64 / (part.time.max(1) as f64 * part.outcome.eus.len() as f64)
}

/// A bar on standard error, hidden if that is no terminal.
pub(super) fn progress(steps: usize) -> indicatif::ProgressBar {
    let bar = indicatif::ProgressBar::new(steps as u64);
    if let Ok(style) = indicatif::ProgressStyle::with_template("{bar:30} {pos}/{len}") {
        bar.set_style(style);
    }
    bar
}
