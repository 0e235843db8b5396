//! The rates as a table for programs, and the conditions of the measurement.

use dpamatch_tools::bench::{PERCENTILES, Paths, Peer, PointRow, Report, Sample, Summary};
use dpamatch_tools::table::{Cell, Table};
use dpamatch_tools::version::NUMBER;
use serde_json::{Map, Value, json};

use super::super::document;
use super::super::nic_args::settings;
use super::{Header, Part};

/// Figures that no two documents are compared by, besides those of latencies.
const BESIDE: &str = "rate_min_msgs_per_s rate_max_msgs_per_s rounds to_endpoint to_no_matching \
    to_memcpy to_bins to_list to_ucx nic_receives software software_posts latency_max_ns";

/// A row for each placement, receiver and window. Ratios `to_x` are to x in the same rounds.
pub(super) fn rates(part: &Part, ucx_version: Option<&str>) -> Table {
    let mut table = Table::open("rates", "Message rates, in messages per second")
        .note("rate: median of the rounds; to_x: ratio to x in the same rounds")
        .keyed(7)
        .measured([
            "rate_msgs_per_s",
            "post_ns",
            "receive_ns",
            "latency_messages",
        ])
        .measured(PERCENTILES.map(|(_, name)| name))
        .measured(BESIDE.split(' '));
    for row in &part.shown.report.rows {
        add(&mut table, part, row, ucx_version);
    }
    table
}

fn add(table: &mut Table, part: &Part, row: &PointRow, ucx_version: Option<&str>) {
    let (rate, latencies) = (row.rate(), row.latencies());
    let of_rate = |value: fn(&Summary) -> f64| Cell::from(rate.as_ref().map(value));
    let to = |peer| {
        let other = part.shown.report.beside(row, peer);
        Cell::from(other.and_then(|other| row.ratio_to(other)))
    };
    let version = ucx_version
        .filter(|_| row.point.peer == Peer::Ucx)
        .unwrap_or(NUMBER);
    let sizes = row.samples.first().and_then(|sample| sample.sizes);
    let [post, receive] = [
        |sample: &Sample| sample.post_ns,
        |sample: &Sample| sample.receive_ns,
    ]
    .map(|time| measured(row, time));
    let mut cells: Vec<(&str, Cell)> = vec![
        ("placement", part.short_name().into()),
        ("engine", row.point.peer.name().into()),
        ("handlers", row.point.peer.handlers().into()),
        ("scenario", row.point.scenario.name().into()),
        ("calibrated", row.calibrated.into()),
        ("window", row.point.window.into()),
        ("size_bytes", row.point.size.into()),
        ("version", version.into()),
        ("rate_msgs_per_s", of_rate(|rate| rate.median)),
        ("rate_min_msgs_per_s", of_rate(|rate| rate.min)),
        ("rate_max_msgs_per_s", of_rate(|rate| rate.max)),
        ("rounds", rate.map_or(0, |rate| rate.count).into()),
        ("post_ns", post.0.into()),
        ("receive_ns", receive.0.into()),
        ("to_endpoint", to(Peer::Endpoint)),
        ("to_no_matching", to(Peer::NoMatching)),
        ("to_memcpy", to(Peer::Copy)),
        ("to_bins", to(Peer::Bins)),
        ("to_list", to(Peer::List)),
        ("to_ucx", to(Peer::Ucx)),
        ("nic_receives", sizes.map(|sizes| sizes.receives).into()),
        ("software", of_paths(row, |paths| paths.software).into()),
        (
            "software_posts",
            of_paths(row, |paths| paths.software_posts).into(),
        ),
    ];
    for (percent, name) in PERCENTILES {
        cells.push((
            name,
            latencies
                .as_ref()
                .and_then(|all| all.percentile_ns(percent))
                .into(),
        ));
    }
    cells.push((
        "latency_max_ns",
        latencies.as_ref().map(|all| all.max_ns()).into(),
    ));
    cells.push((
        "latency_messages",
        latencies.as_ref().map(|all| all.count()).into(),
    ));
    table.row(cells);
    table.rounds(
        "rate_msgs_per_s",
        &row.rates.iter().flatten().copied().collect::<Vec<_>>(),
    );
    table.rounds("post_ns", &post.1);
    table.rounds("receive_ns", &receive.1);
    for (percent, name) in PERCENTILES {
        let rounds = row
            .samples
            .iter()
            .filter_map(|sample| sample.latencies.as_ref());
        let rounds = rounds.filter_map(|round| round.percentile_ns(percent));
        table.rounds(name, &rounds.map(|ns| ns as f64).collect::<Vec<_>>());
    }
}

/// A time's median, and the time in each round. A time of 0 means that it was not measured.
fn measured(row: &PointRow, time: fn(&Sample) -> f64) -> (Option<f64>, Vec<f64>) {
    let rounds: Vec<f64> = row
        .samples
        .iter()
        .map(time)
        .filter(|&time| time > 0.0)
        .collect();
    ((!rounds.is_empty()).then(|| row.median(time)), rounds)
}

/// A share of the NIC's, as the median of the rounds; `None` for other receivers.
pub(super) fn of_paths(row: &PointRow, share: fn(&Paths) -> f64) -> Option<f64> {
    row.samples.first()?.paths.as_ref()?;
    Some(row.median(|sample| sample.paths.as_ref().map_or(0.0, share)))
}

/// The table of rates with the samples behind each row, and the conditions of the measurement.
pub(super) fn document(report: &Report, part: &Part, header: &Header) -> Value {
    let table = rates(part, header.ucx_version());
    let mut whole = document::of_tables(&[&table], conditions(report, part, header));
    let objects = whole["results"]["rates"]
        .as_array_mut()
        .into_iter()
        .flatten();
    for (object, row) in objects.zip(&part.shown.report.rows) {
        object["nic"] = json!(row.samples.first().and_then(|sample| sample.sizes));
        object["samples"] = json!(row.samples);
    }
    whole
}

fn conditions(report: &Report, part: &Part, header: &Header) -> Map<String, Value> {
    let disturbance = report.disturbance();
    let left_out = json!({
        "disturbed": disturbance.disturbed_measurements,
        "elsewhere": part.shown.elsewhere,
        "moved": part.shown.moved,
    });
    let mut nic_settings: Map<String, Value> = settings(&header.settings.nic)
        .into_iter()
        .map(|(name, it)| (name.to_owned(), it))
        .collect();
    nic_settings.insert("bins".to_owned(), header.settings.nic.nic.bins.into());
    nic_settings.insert("grow".to_owned(), json!(header.settings.grow));
    nic_settings.insert("like_card".to_owned(), header.settings.like_card.into());
    document::members(json!({
        "ucx_version": header.ucx_version(),
        "load_average": header.machine.load,
        "processor_pair": header.machine.pair,
        "clock": header.clock,
        "rounds": header.rounds,
        "repetitions": header.settings.repetitions,
        "repetitions_single": header.settings.repetitions_single,
        "time_s": header.seconds,
        "hand_over_ns": report.hand_over_ns,
        "payloads_checked": report.checked(),
        "runner": header.runner(),
        "warnings": header.warnings,
        "nic": nic_settings,
        "by_placement": header.settings.look,
        "placement": part.short_name(),
        "measurements": part.shown.measurements,
        "left_out": left_out,
        "windows": disturbance.windows,
        "one_thread": header.settings.one_thread,
        "keep_disturbed": header.settings.keep_disturbed,
    }))
}
