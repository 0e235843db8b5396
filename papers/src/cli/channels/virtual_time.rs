//! Experiments in virtual time.

use clap::ValueEnum;
use dpamatch_papers::channels::discovery::{Bursts, Discovery, Gap, discover};
use dpamatch_papers::channels::latency::{PUBLISHED, RATIOS, latency_ns};
use dpamatch_papers::channels::thresholds::{Transport, overlap, threshold};
use dpamatch_papers::channels::{Channel, PolicySpec, PollCosts};
use dpamatch_tools::counted;
use dpamatch_tools::figure::{Axis, Bars, Figure, Lines, Series};

use super::{Args, Distribution, Interrupted, Results, What};
use dpamatch_tools::table::{Cell, Table};

const ROUNDS: u32 = 2000;
/// Message lengths of the published latencies.
const BYTES: [u64; 2] = [4, 2048];

pub(super) fn steps(args: &Args, what: What) -> usize {
    match what {
        What::Latency => BYTES.len(),
        What::Discovery => {
            args.kind.len() * args.bursts.len() + HISTORY_BURSTS.len() * HISTORIES.len()
        }
        What::NeverWorse => {
            Distribution::value_variants().len() * Gap::STUDIED.len() * args.bursts.len()
        }
        _ => 0,
    }
}

/// Numbers of nodes of the published sizes and beyond.
const NODES: [u64; 8] = [2, 4, 8, 16, 32, 64, 128, 256];

/// An empty poll of each channel over the size of the system (Figure 1 of the paper).
pub(super) fn overhead(costs: &PollCosts, results: &mut Results) {
    let title = format!(
        "An empty poll of each channel over the number of nodes, {} on each.",
        counted(costs.processes_per_node, "process")
    );
    let rows = NODES.map(|nodes| PollCosts { nodes, ..*costs });
    type Column = (&'static str, fn(&PollCosts) -> u64);
    let columns: [Column; 5] = [
        ("rdma_ns", |it| {
            it.poll_ns(Channel::Network) - it.completion_queue_ns
        }),
        ("completion_queue_ns", |it| it.completion_queue_ns),
        ("network_ns", |it| it.poll_ns(Channel::Network)),
        ("shared_ns", |it| it.poll_ns(Channel::SharedMemory)),
        ("kernel_ns", |it| it.kernel_ns),
    ];
    let mut table = Table::open("overhead", title);
    let mut panel = Lines::new(
        "An empty poll",
        Axis::powers("nodes"),
        Axis::log("nanoseconds"),
    );
    for row in rows {
        let cells = columns
            .iter()
            .map(|(name, of)| (*name, Cell::from(of(&row))));
        table.row([("nodes", row.nodes.into())].into_iter().chain(cells));
    }
    for (name, of) in columns {
        let points = rows.iter().map(|row| (row.nodes as f64, of(row) as f64));
        panel = panel.with(Series::line(
            name.trim_end_matches("_ns").replace('_', " "),
            points,
        ));
    }
    results.tables.push(table);
    results
        .figures
        .push(("poll-overhead", Figure::new("Polling overhead").with(panel)));
}

pub(super) fn latency(
    args: &Args,
    costs: &PollCosts,
    results: &mut Results,
) -> Result<(), Interrupted> {
    let at = |spec: PolicySpec, channel, bytes| {
        latency_ns(
            &mut *spec.build(costs),
            costs,
            channel,
            bytes,
            ROUNDS,
            args.seed,
        )
    };
    // Latency between nodes is often measured with one process on each: there is no local peer to
    // poll.
    let alone_costs = PollCosts {
        processes_per_node: 1,
        ..*costs
    };
    let alone = |spec: PolicySpec, bytes| {
        latency_ns(
            &mut *spec.build(&alone_costs),
            &alone_costs,
            Channel::Network,
            bytes,
            ROUNDS,
            args.seed,
        )
    };
    let title = format!(
        "Latency of single messages; an empty poll costs {} ns on the network, {} ns in shared memory; \
         alone: one process on each node, {} and {} ns. Change: to ratio 1.",
        costs.poll_ns(Channel::Network),
        costs.poll_ns(Channel::SharedMemory),
        alone_costs.poll_ns(Channel::Network),
        alone_costs.poll_ns(Channel::SharedMemory)
    );
    let mut table = Table::open("latency", title)
        .keyed(2)
        .extra(["alone_change", "network_alone_ns"]);
    let mut specs: Vec<PolicySpec> = RATIOS.map(PolicySpec::Static).to_vec();
    specs.extend(
        args.policy
            .iter()
            .filter(|spec| !matches!(spec, PolicySpec::Static(_))),
    );
    let mut figure =
        Figure::new("Latency against the polling ratio of shared memory (virtual time)");
    for bytes in BYTES {
        let base = [Channel::SharedMemory, Channel::Network]
            .map(|channel| at(PolicySpec::Static(1), channel, bytes));
        let base_alone = alone(PolicySpec::Static(1), bytes);
        let mut points = [Vec::new(), Vec::new(), Vec::new()];
        for &spec in &specs {
            let [shared, network] =
                [Channel::SharedMemory, Channel::Network].map(|channel| at(spec, channel, bytes));
            let network_alone = alone(spec, bytes);
            let published = |&(ratio, length, _): &(u32, u64, f64)| {
                spec == PolicySpec::Static(ratio) && length == bytes
            };
            if let PolicySpec::Static(ratio) = spec {
                points[0].push((f64::from(ratio), shared / 1e3));
                points[1].push((f64::from(ratio), network / 1e3));
                points[2].push((f64::from(ratio), network_alone / 1e3));
            }
            table.row([
                ("policy", spec.to_string().into()),
                ("bytes", bytes.into()),
                ("shared_ns", shared.into()),
                ("network_ns", network.into()),
                ("shared_change", (shared / base[0] - 1.0).into()),
                (
                    "published_shared",
                    PUBLISHED
                        .iter()
                        .find(|row| published(row))
                        .map(|&(_, _, change)| change)
                        .into(),
                ),
                ("network_change", (network / base[1] - 1.0).into()),
                ("network_alone_ns", network_alone.into()),
                ("alone_change", (network_alone / base_alone - 1.0).into()),
            ]);
        }
        let axes = || {
            (
                Axis::log("polls of shared memory for each of the network"),
                Axis::linear("microseconds"),
            )
        };
        let publish = PUBLISHED.iter().filter(|&&(_, length, _)| length == bytes);
        let publish =
            publish.map(|&(ratio, _, change)| (f64::from(ratio), base[0] / 1e3 * (1.0 + change)));
        let published: Vec<(f64, f64)> =
            [(1.0, base[0] / 1e3)].into_iter().chain(publish).collect();
        let [shared, network, network_alone] = points;
        results.point()?;
        let (x, y) = axes();
        figure = figure.with(
            Lines::new(format!("{bytes} bytes"), x, y)
                .with(Series::line("shared memory", shared))
                .with(Series::line("network", network))
                .with(Series::line("network, one process a node", network_alone))
                .with(Series::limit("shared memory, published change", published)),
        );
    }
    figure.columns = 2;
    results.tables.push(table);
    results.figures.push(("latency-ratio", figure));
    Ok(())
}

/// Update rates of the figure, and its burst lengths.
const HISTORIES: [u32; 14] = [1, 2, 4, 6, 8, 10, 15, 20, 30, 50, 100, 150, 200, 300];
const HISTORY_BURSTS: [u32; 3] = [10, 100, 200];

const PUBLISHED_POLICIES: [PolicySpec; 3] = [
    PolicySpec::RoundRobin,
    PolicySpec::Static(50),
    PolicySpec::Dynamic(10),
];

fn bench(args: &Args) -> Discovery {
    Discovery {
        pairs: args.rounds,
        gap: args.gap,
        handle_ns: args.handle,
        seed: args.seed,
        ..Discovery::default()
    }
}

pub(super) fn discovery(
    args: &Args,
    costs: &PollCosts,
    results: &mut Results,
) -> Result<(), Interrupted> {
    let bench = bench(args);
    let mean = |spec: PolicySpec, bursts: Bursts| {
        discover(
            &mut *spec.build(costs),
            costs,
            &Discovery {
                shared: bursts,
                network: bursts,
                ..bench
            },
        )
    };
    let gap = match args.gap {
        Gap::Constant(ns) => ns.to_string(),
        Gap::Random(mean) => format!("on average {mean}"),
    };
    let title = format!(
        "Message discovery: bursts by shared memory and network in turn, {gap} ns between messages; mean time \
         from arrival to discovery. The ratio is to the best of round-robin, static:50, dynamic:10.",
    );
    let mut table = Table::open("discovery", title)
        .keyed(3)
        .extra(["empty_per_message"]);
    let mut figure = Figure::new("Message discovery in virtual time");
    figure.columns = 2;
    for &kind in &args.kind {
        let mut series: Vec<Vec<(f64, f64)>> = vec![Vec::new(); args.policy.len()];
        for &length in &args.bursts {
            let of = |spec| mean(spec, kind.bursts(length)).mean_ns;
            let (round_robin, best) = (
                of(PolicySpec::RoundRobin),
                PUBLISHED_POLICIES
                    .map(of)
                    .into_iter()
                    .fold(f64::INFINITY, f64::min),
            );
            for (&spec, points) in args.policy.iter().zip(&mut series) {
                let found = mean(spec, kind.bursts(length));
                points.push((f64::from(length), found.mean_ns / round_robin));
                table.row([
                    ("kind", kind.name().into()),
                    ("bursts", length.into()),
                    ("policy", spec.to_string().into()),
                    ("shared_ns", found.shared_ns.into()),
                    ("network_ns", found.network_ns.into()),
                    ("mean_ns", found.mean_ns.into()),
                    ("to_round_robin", (found.mean_ns / round_robin).into()),
                    ("to_best", (found.mean_ns / best).into()),
                    (
                        "empty_per_message",
                        (found.empty_polls as f64 / found.messages as f64).into(),
                    ),
                ]);
            }
            results.point()?;
        }
        let mut panel = Lines::new(
            format!("lengths of bursts: {}", kind.name()),
            Axis::log("length of a burst"),
            Axis::linear("discovery time to round-robin"),
        );
        for (spec, points) in args.policy.iter().zip(series) {
            panel = panel.with(Series::line(spec.to_string(), points));
        }
        figure = figure.with(panel);
    }
    let title = "Discovery time of the dynamic scheme against its update rate: worst where burst and history are \
                 equally long. Published: up to -0.45 at bursts of 200.";
    let mut updates = Table::new(
        "update_rate",
        title,
        ["burst", "history", "mean_ns", "change_to_round_robin"],
    )
    .keyed(2);
    let axes = (
        Axis::log("messages between updates"),
        Axis::linear("discovery time to round-robin"),
    );
    let mut panel = Lines::new("update rate of the dynamic scheme", axes.0, axes.1);
    for burst in HISTORY_BURSTS {
        let round_robin = mean(PolicySpec::RoundRobin, Bursts::Constant(burst)).mean_ns;
        let mut points = Vec::new();
        for history in HISTORIES {
            let found = mean(PolicySpec::Dynamic(history), Bursts::Constant(burst)).mean_ns;
            points.push((f64::from(history), found / round_robin));
            updates.push([
                burst.into(),
                history.into(),
                found.into(),
                (found / round_robin - 1.0).into(),
            ]);
            results.point()?;
        }
        panel = panel.with(Series::line(format!("bursts of {burst}"), points));
    }
    results.tables.extend([table, updates]);
    results
        .figures
        .push(("message-discovery", figure.with(panel)));
    Ok(())
}

pub(super) fn never_worse(
    args: &Args,
    costs: &PollCosts,
    results: &mut Results,
) -> Result<(), Interrupted> {
    let title = "Worst discovery time over all lengths of --bursts, to the best of round-robin, static:50 and dynamic:10 \
                 at that length.";
    let mut table = Table::new(
        "never_worse",
        title,
        ["kind", "gap_ns", "policy", "worst_to_best", "at_bursts"],
    )
    .keyed(3);
    for &kind in Distribution::value_variants() {
        for gap in Gap::STUDIED {
            let mut worst: Vec<(f64, u32)> = vec![(0.0, 0); args.policy.len()];
            for &length in &args.bursts {
                let bursts = kind.bursts(length);
                let bench = Discovery {
                    shared: bursts,
                    network: bursts,
                    gap,
                    ..bench(args)
                };
                let mean =
                    |spec: PolicySpec| discover(&mut *spec.build(costs), costs, &bench).mean_ns;
                let published = PUBLISHED_POLICIES.map(mean);
                let best = published.into_iter().fold(f64::INFINITY, f64::min);
                for (&spec, worst) in args.policy.iter().zip(&mut worst) {
                    let known = PUBLISHED_POLICIES.iter().position(|&other| other == spec);
                    let ratio = known.map_or_else(|| mean(spec), |place| published[place]) / best;
                    if ratio > worst.0 {
                        *worst = (ratio, length);
                    }
                }
                results.point()?;
            }
            let gap = match gap {
                Gap::Constant(gap_ns) => gap_ns.to_string(),
                Gap::Random(mean_ns) => format!("{mean_ns} random"),
            };
            for (&spec, (ratio, length)) in args.policy.iter().zip(worst) {
                let row: [Cell; 5] = [
                    kind.name().into(),
                    gap.as_str().into(),
                    spec.to_string().into(),
                    ratio.into(),
                    length.into(),
                ];
                table.push(row);
            }
        }
    }
    results.tables.push(table);
    Ok(())
}

/// Candidate lengths in the search for thresholds.
fn sizes() -> Vec<u64> {
    (2..=22).map(|power| 1 << power).collect()
}

/// Message lengths of the published overlap (Figure 6).
const OVERLAP_BYTES: [u64; 2] = [4, 128 << 10];
/// Maximum eager message over the network (ours).
const EAGER_MAX: u64 = 8192;

pub(super) fn thresholds(args: &Args, costs: &PollCosts, results: &mut Results) {
    let sizes = sizes();
    let compute_us = args.compute.iter().copied().max().unwrap_or_default();
    let compute_ns = compute_us * 1000;
    let columns = ["bytes", "way", "latency_us", "bandwidth_mb_s", "overlap"];
    let title = format!(
        "Between two processes of a node; overlap is total time over {} us of computation, 1 at best.",
        compute_us
    );
    let mut table = Table::new("ways", title, columns).keyed(2);
    let (x, y) = (Axis::powers("bytes"), Axis::log("microseconds"));
    let mut latencies = Lines::new("latency", x, y);
    let mut overlaps = Bars::new(
        "overlap metric, 1 is best",
        "bytes",
        Axis::linear("total / computation"),
        ["4", "4096", "131072"],
    );
    for way in Transport::ALL {
        let mut points = Vec::new();
        for &bytes in &sizes {
            let us = way.moving_ns(costs, bytes) as f64 / 1e3;
            points.push((bytes as f64, us));
            let overlap = overlap(costs, way, bytes, EAGER_MAX, compute_ns);
            let row: [Cell; 5] = [
                bytes.into(),
                way.name().into(),
                us.into(),
                (bytes as f64 / us).into(),
                overlap.into(),
            ];
            table.push(row);
        }
        latencies = latencies.with(Series::line(way.name(), points));
        let values =
            [4, 4096, 128 << 10].map(|bytes| overlap(costs, way, bytes, EAGER_MAX, compute_ns));
        overlaps = overlaps.with(way.name(), values);
    }
    let title = "Overlap over the time of computation: total time over computation, 1 at best.";
    let mut overlap_over_time = Table::open("overlap", title).keyed(2);
    let mut panels = Vec::new();
    for bytes in OVERLAP_BYTES {
        let (x, y) = (
            Axis::log("microseconds of computation"),
            Axis::log("total / computation"),
        );
        let mut panel = Lines::new(format!("overlap of {bytes} bytes"), x, y);
        let at = |way, us: u64| overlap(costs, way, bytes, EAGER_MAX, us * 1000);
        for &us in &args.compute {
            let ways = Transport::ALL.map(|way| (way.name(), Cell::from(at(way, us))));
            let keys = [("bytes", bytes.into()), ("compute_us", us.into())];
            overlap_over_time.row(keys.into_iter().chain(ways));
        }
        for way in Transport::ALL {
            let points = args.compute.iter().map(|&us| (us as f64, at(way, us)));
            panel = panel.with(Series::line(way.name(), points));
        }
        panels.push(panel);
    }
    let mut chosen = Table::new(
        "thresholds",
        "Chosen thresholds.",
        ["criterion", "from", "to", "from_bytes", "published"],
    )
    .keyed(3)
    .named(&[("published", "published_bytes")]);
    let by_latency = threshold(costs, Transport::SharedMemory, Transport::Kernel, &sizes);
    chosen.push([
        "latency".into(),
        "shared_memory".into(),
        "kernel".into(),
        by_latency.into(),
        4096_u64.into(),
    ]);
    let better = |bytes: &u64| {
        let of = |way| overlap(costs, way, *bytes, EAGER_MAX, compute_ns);
        of(Transport::Network) <= of(Transport::SharedMemory)
    };
    let place = sizes
        .iter()
        .rposition(|bytes| !better(bytes))
        .map_or(0, |last| last + 1);
    let by_overlap = sizes.get(place).copied();
    chosen.push([
        "overlap".into(),
        "shared_memory".into(),
        "network".into(),
        by_overlap.into(),
        Cell::None,
    ]);
    results.tables.extend([table, overlap_over_time, chosen]);
    let mut figure = Figure::new("Paths within a node (virtual time)")
        .with(latencies)
        .with(overlaps);
    figure = panels.into_iter().fold(figure, Figure::with);
    figure.columns = 2;
    results.figures.push(("ways-by-length", figure));
}
