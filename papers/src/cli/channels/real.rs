//! Experiments on threads, beside virtual time with this machine's costs of polling.

use dpamatch_papers::channels::discovery::{Bursts, Discovery, Gap, discover};
use dpamatch_papers::channels::real::{
    Calibration, ChannelError, RealBursts, RealDiscovered, calibrate, discover_by_threads, way_ns,
};
use dpamatch_papers::channels::thresholds::Transport;
use dpamatch_papers::channels::{PolicySpec, PollCosts};
use dpamatch_tools::bench::Machine;
use dpamatch_tools::counted;
use dpamatch_tools::figure::{Axis, Figure, Lines, Series};
use dpamatch_tools::table::{Cell, Table};

use super::{Args, Interrupted, Results};

/// Runs of each policy, of which the fastest counts: other programs only make one slower.
const ROUNDS: usize = 5;
/// Message lengths of the ways, in bytes, and messages of each.
const WAYS: [usize; 8] = [
    8,
    1 << 10,
    2 << 10,
    4 << 10,
    8 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
];
const WAY_ROUNDS: u32 = 200;

/// The policies, and round-robin, to which they are compared.
fn policies(args: &Args) -> Vec<PolicySpec> {
    let mut all = args.policy.clone();
    if !all.contains(&PolicySpec::RoundRobin) {
        all.insert(0, PolicySpec::RoundRobin);
    }
    all
}

pub(super) fn steps(args: &Args) -> usize {
    args.bursts.len() + WAYS.len()
}

/// The inner result: whether the user has interrupted it.
pub(super) fn run(
    args: &Args,
    results: &mut Results,
) -> Result<Result<(), Interrupted>, ChannelError> {
    let busy = Machine::this().busy();
    let calibration = calibrate()?;
    let costs = calibration.costs();
    let mut polls = polls(&calibration);
    if let Some(busy) = busy {
        polls = polls.note(format!("{busy}: all times on threads may be too long"));
    }
    results.tables.push(polls);
    let bursts = bursts(args, results, &calibration, &costs)?;
    if bursts.is_err() {
        return Ok(bursts);
    }
    ways(results)
}

fn polls(calibration: &Calibration) -> Table {
    let published = PollCosts {
        nodes: 1,
        ..PollCosts::default()
    };
    let rows: [(&str, u64, u64); 3] = [
        ("shared memory", calibration.shared_ns, 60),
        ("kernel", calibration.kernel_ns, published.kernel_ns),
        (
            "network",
            calibration.network_ns,
            published.completion_queue_ns,
        ),
    ];
    let title = format!(
        "An empty poll on this machine, one peer by each channel; receiving a message takes {} ns more.",
        calibration.handle_ns
    );
    let mut table = Table::open("real_polls", title).measured(["empty_ns"]);
    for (channel, empty_ns, published_ns) in rows {
        table.row([
            ("channel", channel.into()),
            ("empty_ns", empty_ns.into()),
            ("published_ns", published_ns.into()),
        ]);
    }
    table
}

fn bursts(
    args: &Args,
    results: &mut Results,
    calibration: &Calibration,
    costs: &PollCosts,
) -> Result<Result<(), Interrupted>, ChannelError> {
    let policies = policies(args);
    let title = format!(
        "Message discovery on threads: {} pairs of bursts by shared memory and TCP in turn, fastest of {ROUNDS} runs; \
         mean time from sending to the end of the receive.",
        args.rounds
    );
    let mut table = Table::open("real", title)
        .keyed(2)
        .measured([
            "shared_ns",
            "network_ns",
            "mean_ns",
            "to_round_robin",
            "virtual_ns",
            "virtual_to_round_robin",
        ])
        .note(
            "virtual: the same bursts in virtual time, with this machine's empty polls, handling \
             and time between messages; moving costs nothing there.",
        )
        .extra(["shared_ns", "network_ns"]);
    // Messages by shared memory and by the network.
    let mut carried = [0; 2];
    let mut lines: [Vec<Vec<(f64, f64)>>; 2] = [(); 2].map(|()| vec![Vec::new(); policies.len()]);
    for &burst in &args.bursts {
        let bench = RealBursts {
            burst,
            pairs: args.rounds,
        };
        let mut runs: Vec<Vec<RealDiscovered>> = vec![Vec::new(); policies.len()];
        for _ in 0..ROUNDS {
            for (spec, runs) in policies.iter().zip(&mut runs) {
                let run = discover_by_threads(spec.build(costs), bench)?;
                let [shared, _, network] = run.polls;
                carried[0] += shared.messages;
                carried[1] += network.messages;
                runs.push(run);
                if results.early.is_stopped() {
                    return Ok(Err(Interrupted));
                }
            }
        }
        let own: Vec<RealDiscovered> = runs.into_iter().map(fastest).collect();
        let gap = own.iter().map(|run| run.gap_ns).sum::<f64>() / own.len() as f64;
        let same = Discovery {
            shared: Bursts::Constant(burst),
            network: Bursts::Constant(burst),
            pairs: args.rounds,
            gap: Gap::Constant(gap as u64),
            handle_ns: calibration.handle_ns,
            seed: args.seed,
        };
        let virtual_ns: Vec<f64> = policies
            .iter()
            .map(|spec| discover(&mut *spec.build(costs), costs, &same).mean_ns)
            .collect();
        let base = policies
            .iter()
            .position(|spec| *spec == PolicySpec::RoundRobin)
            .unwrap_or(0);
        for (i, spec) in policies.iter().enumerate() {
            let to = [
                own[i].mean_ns / own[base].mean_ns,
                virtual_ns[i] / virtual_ns[base],
            ];
            for (lines, to) in lines.iter_mut().zip(to) {
                lines[i].push((f64::from(burst), to));
            }
            table.row([
                ("policy", spec.to_string().into()),
                ("bursts", burst.into()),
                ("shared_ns", own[i].shared_ns.into()),
                ("network_ns", own[i].network_ns.into()),
                ("mean_ns", own[i].mean_ns.into()),
                ("to_round_robin", to[0].into()),
                ("virtual_ns", virtual_ns[i].into()),
                ("virtual_to_round_robin", Cell::Real(to[1])),
            ]);
        }
        if results.point().is_err() {
            results.tables.push(table);
            return Ok(Err(Interrupted));
        }
    }
    let [shared, network] = carried.map(counted_messages);
    let order = format!("{shared} by shared memory and {network} by TCP came in the order sent.");
    results.tables.push(table.note(order));
    let mut figure = Figure::new("Message discovery on threads and in virtual time");
    figure.columns = 2;
    for (title, lines) in ["threads", "virtual time, the same costs"]
        .iter()
        .zip(lines)
    {
        let mut panel = Lines::new(
            *title,
            Axis::log("length of a burst"),
            Axis::log("discovery time to round-robin"),
        );
        for (spec, points) in policies.iter().zip(lines) {
            panel = panel.with(Series::line(spec.to_string(), points));
        }
        figure = figure.with(panel);
    }
    results.figures.push(("real-discovery", figure));
    Ok(Ok(()))
}

fn counted_messages(count: u64) -> String {
    counted(count, "message")
}

fn fastest(runs: Vec<RealDiscovered>) -> RealDiscovered {
    let by_mean = |a: &RealDiscovered, b: &RealDiscovered| a.mean_ns.total_cmp(&b.mean_ns);
    runs.into_iter().min_by(by_mean).unwrap_or_default()
}

fn ways(results: &mut Results) -> Result<Result<(), Interrupted>, ChannelError> {
    let title = format!(
        "One message by each way on threads, median of {WAY_ROUNDS}, from sending to the end of the receive."
    );
    let mut table = Table::open("real_ways", title)
        .measured(["shared_us", "kernel_us", "network_us"])
        .note("The emulated card holds each message, so shared memory and network copy once more.");
    let mut by_kernel = 0;
    let mut lines = Transport::ALL.map(|_| Vec::new());
    for bytes in WAYS {
        let mut us = [0.0; 3];
        for ((way, us), line) in Transport::ALL.into_iter().zip(&mut us).zip(&mut lines) {
            let (ns, [_, kernel, _]) = way_ns(way, bytes, WAY_ROUNDS)?;
            *us = ns as f64 / 1e3;
            by_kernel += kernel.messages;
            line.push((bytes as f64, *us));
        }
        let of = |way| {
            let place = Transport::ALL.iter().position(|it| *it == way);
            Cell::from(place.map(|place| us[place]))
        };
        table.row([
            ("bytes", bytes.into()),
            ("shared_us", of(Transport::SharedMemory)),
            ("kernel_us", of(Transport::Kernel)),
            ("network_us", of(Transport::Network)),
        ]);
        if results.point().is_err() {
            results.tables.push(table);
            return Ok(Err(Interrupted));
        }
    }
    let by_kernel = counted_messages(by_kernel);
    let note = format!("{by_kernel} came by the kernel copy.");
    results.tables.push(table.note(note));
    let mut panel = Lines::new(
        "a message",
        Axis::powers("bytes"),
        Axis::log("microseconds"),
    );
    for (way, line) in Transport::ALL.into_iter().zip(lines) {
        panel = panel.with(Series::line(way.name(), line));
    }
    let figure = Figure::new("Ways within a node on threads").with(panel);
    results.figures.push(("real-ways", figure));
    Ok(Ok(()))
}
