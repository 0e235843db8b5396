//! Rates by number of handlers.

use dpamatch_explore::Shard;
use dpamatch_predict::{Offer, Part, Prediction, Setup, limits, predict};
use dpamatch_tools::counted;
use dpamatch_tools::figure::{Axis, Figure, Lines, Series};
use rayon::prelude::*;

use super::super::BadInput;
use super::super::interrupt::Early;
use super::super::progress::bar;
use super::recorded::{RecordedArgs, describe};
use super::{Common, Counts, Like, Workload, make, numbers, options, wrong};
use dpamatch_tools::table::{Cell, Table};

#[derive(Debug, clap::Args)]
pub(super) struct RatesArgs {
    /// Numbers of handlers, one per execution unit; N-M for all from N to M
    #[arg(long, value_name = "N,N-M..", value_delimiter = ',', default_value = "1,2,4,8,16,32,64,128,190", value_parser = clap::value_parser!(Counts))]
    handlers: Vec<Counts>,
    /// Scenarios: nc (no conflicts), wc-fp, wc-sp (all receives equal; fast and slow path), mixed:P
    /// (P per cent equal)
    #[arg(long, value_name = "NAME,NAME..", value_delimiter = ',', default_value = "nc,wc-fp,wc-sp,mixed:25", conflicts_with = "trace", value_parser = clap::value_parser!(String))]
    scenario: Vec<String>,
    /// Messages of a window; 0: a continuous stream [default: the profile's driver.window]
    #[arg(long = "windows", value_name = "K", conflicts_with = "trace", value_parser = clap::value_parser!(u64).range(..=65536))]
    window: Option<u64>,
    /// Length of each message in bytes; above 4096 by rendezvous
    #[arg(long, value_name = "BYTES", default_value_t = 8, conflicts_with = "trace", value_parser = clap::value_parser!(u32).range(0..=1_073_741_824))]
    bytes: u32,
    /// Predict only this part of the points, of N; `dpamatch merge` puts the parts together
    #[arg(long, value_name = "I/N", conflicts_with = "out")]
    shard: Option<Shard>,
    #[command(flatten)]
    pub(super) recorded: RecordedArgs,
}

const COLUMNS: &str = "scenario, handlers, rate, us per block, fast, slow, to software %, \
    EUs busy %, limit, gain %";
/// A million messages per second is one per microsecond.
pub(super) const RATE: (&str, &str) = ("rate", "rate_msgs_per_us");
/// Further columns for a sequence: from a message's arrival to the end of its handler.
const LATENCY: [&str; 2] = ["latency us", "longest us"];

pub(super) fn run(args: &RatesArgs, common: &Common) -> anyhow::Result<()> {
    let recorded = args.recorded.load(common)?;
    let change = |setup: Setup| {
        let mut setup = setup;
        setup.profile.driver.window = args
            .window
            .map_or(setup.profile.driver.window, |window| window as usize);
        setup
    };
    let workloads: Vec<Workload> = match &recorded {
        Some(recorded) => vec![recorded.clone()],
        None => {
            let parse = |name: &String| Workload::parse(name, common.seed, args.bytes);
            args.scenario
                .iter()
                .map(parse)
                .collect::<Result<_, BadInput>>()?
        }
    };
    let setup = change(common.common_setup(Like::Nic, &workloads)?);
    let what = match &recorded {
        Some(Workload {
            name,
            offer: Offer::Sequence(sequence),
            ..
        }) => {
            format!("{name}: {}", describe(sequence))
        }
        _ if setup.profile.driver.window == 0 => {
            format!(
                "an endless stream, messages of {}",
                counted(args.bytes, "byte")
            )
        }
        _ => {
            let (window, bytes) = (setup.profile.driver.window, counted(args.bytes, "byte"));
            format!("windows of {window}, messages of {bytes}")
        }
    };
    let title = format!(
        "Predicted rates on {}, {what}, in M messages/s of virtual time.",
        options(&setup)
    );
    let latency: &[&str] = if recorded.is_some() { &LATENCY } else { &[] };
    let mut table = Table::new(
        "rates",
        title,
        COLUMNS.split(", ").chain(latency.iter().copied()),
    )
    .keyed(2)
    .named(&[("scenario", "workload"), RATE]);
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let points = workloads
        .iter()
        .enumerate()
        .flat_map(|(at, workload)| numbers(&args.handlers).map(move |it| (at, workload, it)));
    let points: Vec<_> = (0..).zip(points).filter(|&(at, _)| shard.has(at)).collect();
    let bar = bar(points.len(), "predictions");
    let early = Early::catch()?;
    // The points share nothing: virtual time is of one thread.
    let found = points.par_iter().map(|&(_, (at, workload, handlers))| {
        if early.is_stopped() {
            return Ok(None);
        }
        let setup = change(workload.setup(common, Like::Nic, handlers)?);
        let now = predict(&setup, &workload.offer, 0).map_err(wrong)?;
        let row = row(workload, &setup, &now)?;
        bar.inc(1);
        Ok(Some((at, (handlers as f64, now.rate), row)))
    });
    let found: Vec<anyhow::Result<_>> = found.collect();
    let mut rates: Vec<Vec<(f64, f64)>> = vec![Vec::new(); workloads.len()];
    for point in found {
        // The first error in the order of the points, as if they were predicted one by one.
        if let Some((at, rate, row)) = point? {
            rates[at].push(rate);
            table.push(row);
        }
    }
    let lines: Vec<_> = workloads
        .iter()
        .zip(rates)
        .map(|(workload, points)| Series::line(workload.name.clone(), points))
        .collect();
    early.mark_by(&bar, &mut table)?;
    if let Some(folder) = &common.out {
        make(folder)?;
        let panel = Lines::new(
            "Predicted rate",
            Axis::powers("handlers"),
            Axis::linear("M messages/s, virtual"),
        );
        let panel = lines.into_iter().fold(panel, Lines::with);
        Figure::new(format!("Predicted for {}", setup.profile.name))
            .with(panel)
            .write(folder, "predicted_rates")?;
    }
    common.show(&[table])
}

fn row(workload: &Workload, setup: &Setup, now: &Prediction) -> anyhow::Result<Vec<Cell>> {
    let gains = limits(setup, &workload.offer, now).map_err(wrong)?;
    let first = gains.first().filter(|gain| gain.gain > 0.005);
    let part = &now.part;
    let (block_us, latency) = match workload.offer {
        Offer::Pattern { .. } => (setup.handlers as f64 / now.rate, vec![]),
        Offer::Sequence(_) => {
            let (mean, longest) = part.latency_us();
            (
                part.time as f64 / 1e6 / part.count("blocks").max(1) as f64,
                vec![mean.into(), longest.into()],
            )
        }
    };
    let mut row: Vec<Cell> = vec![
        workload.name.as_str().into(),
        setup.handlers.into(),
        now.rate.into(),
        block_us.into(),
        part.count("fast").into(),
        part.count("slow").into(),
        (100.0 * part.sent_on() as f64 / part.messages.max(1) as f64).into(),
        busy(part).into(),
        first.map(|gain| gain.limit.name()).into(),
        first.map_or(Cell::None, |gain| (gain.gain * 100.0).into()),
    ];
    row.extend(latency);
    Ok(row)
}

/// Percentage of the EUs' time that is not waiting.
fn busy(part: &Part) -> f64 {
    let busy: u64 = part.outcome.eus.iter().map(|eu| eu.time.busy()).sum();
    100.0 * busy as f64 / (part.time.max(1) as f64 * part.outcome.eus.len() as f64)
}
