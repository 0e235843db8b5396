//! The results as CSV and JSON.

use std::io::{self, Write};

use dpamatch_tools::bench::{PERCENTILES, Paths, Peer, Report, Row, Sample, Ucx};
use dpamatch_tools::results::{Descriptor, Figure, better};
use dpamatch_tools::table::Csv;
use dpamatch_tools::version::NUMBER;
use serde_json::{Map, Value, json};

use super::super::document;
use super::super::nic_args::settings;
use super::{Header, Part};

/// Columns of the CSV form before the latencies; `to_bins` is the ratio to the engine `bins` in the
/// same rounds. Each placement has its row.
const COLUMNS: [&str; 17] = [
    "engine",
    "handlers",
    "version",
    "scenario",
    "window",
    "size_bytes",
    "rate_msgs_per_s",
    "rate_min_msgs_per_s",
    "rate_max_msgs_per_s",
    "rounds",
    "post_ns",
    "receive_ns",
    "to_bins",
    "placement",
    "nic_receives",
    "software",
    "software_posts",
];

/// Columns that identify a row when two documents are compared.
const KEYS: [&str; 7] =
    ["placement", "engine", "handlers", "scenario", "calibrated", "window", "size_bytes"];

fn scenario(row: &Row) -> String {
    format!("{}{}", row.point.scenario, if row.calibrated { "-CAL" } else { "" })
}

fn latency_names() -> impl Iterator<Item = String> {
    PERCENTILES.iter().map(|(_, name)| format!("latency_{name}_ns"))
}

pub(super) fn csv(out: &mut dyn Write, parts: &[Part], ucx: Option<&Ucx>) -> io::Result<()> {
    let columns = COLUMNS.iter().map(|name| (*name).to_owned()).chain(latency_names());
    let mut csv = Csv::new(columns);
    for part in parts {
        let placement = part.short_name();
        for row in &part.report.rows {
            let Some(rate) = row.rate() else { continue };
            let to_bins = part.report.beside(row, Peer::Bins).and_then(|bins| row.ratio_to(bins));
            let latencies = row.latencies();
            let percentile = |&(percent, _): &(f64, &str)| {
                let ns = latencies.as_ref().and_then(|all| all.percentile_ns(percent));
                ns.map_or(String::new(), |ns| ns.to_string())
            };
            let sizes = row.samples.first().and_then(|sample| sample.sizes);
            let fields = [
                row.point.peer.name().to_owned(),
                row.point.peer.handlers().map_or(String::new(), |handlers| handlers.to_string()),
                match ucx {
                    Some(ucx) if row.point.peer == Peer::Ucx => ucx.version().to_owned(),
                    _ => NUMBER.to_owned(),
                },
                scenario(row),
                row.point.window.to_string(),
                row.point.size.to_string(),
                format!("{:.0}", rate.median),
                format!("{:.0}", rate.min),
                format!("{:.0}", rate.max),
                rate.count.to_string(),
                format!("{:.1}", row.median(|sample| sample.post_ns)),
                format!("{:.1}", row.median(|sample| sample.receive_ns)),
                to_bins.map_or(String::new(), |ratio| format!("{ratio:.3}")),
                placement.clone(),
                sizes.map_or(String::new(), |sizes| sizes.receives.to_string()),
                share(software(row)),
                share(software_posts(row)),
            ];
            csv.row(fields.into_iter().chain(PERCENTILES.iter().map(percentile)));
        }
    }
    write!(out, "{}", csv.text())
}

/// Adds the value in each round, and their median under the figure's own name.
fn in_rounds(members: &mut Map<String, Value>, row: &Row, name: &str, of: impl Fn(&Sample) -> f64) {
    // A value of 0 in every round means that it was not measured.
    let rounds: Vec<f64> = row.samples.iter().map(&of).filter(|&value| value > 0.0).collect();
    let median = (!rounds.is_empty()).then(|| row.median(of));
    members.insert(name.to_owned(), json!(median));
    members.insert(format!("{name}_rounds"), json!(rounds));
}

/// Adds the percentiles over all rounds, and of each round.
fn latencies(members: &mut Map<String, Value>, row: &Row) {
    let Some(all) = row.latencies() else { return };
    for (&(percent, _), name) in PERCENTILES.iter().zip(latency_names()) {
        let rounds = row.samples.iter().filter_map(|sample| sample.latencies.as_ref());
        let rounds: Vec<u64> = rounds.filter_map(|round| round.percentile_ns(percent)).collect();
        members.insert(format!("{name}_rounds"), json!(rounds));
        members.insert(name, json!(all.percentile_ns(percent)));
    }
    members.insert("latency_max_ns".to_owned(), all.max_ns().into());
    members.insert("latency_messages".to_owned(), all.count().into());
}

/// A share of the NIC's, as the median of the rounds; `None` for other receivers.
fn of_paths(row: &Row, share: fn(&Paths) -> f64) -> Option<f64> {
    row.samples.first()?.paths.as_ref()?;
    Some(row.median(|sample| sample.paths.as_ref().map_or(0.0, share)))
}

fn software(row: &Row) -> Option<f64> {
    of_paths(row, |paths| paths.software)
}

fn software_posts(row: &Row) -> Option<f64> {
    of_paths(row, |paths| paths.software_posts)
}

fn share(share: Option<f64>) -> String {
    share.map_or(String::new(), |share| format!("{share:.3}"))
}

fn object(part: &Part, row: &Row) -> Value {
    let report = &part.report;
    let ratio = |peer| report.beside(row, peer).and_then(|other| row.ratio_to(other));
    let rate = row.rate();
    let mut members = document::members(json!({
        "placement": part.short_name(),
        "engine": row.point.peer.name(),
        "handlers": row.point.peer.handlers(),
        "scenario": row.point.scenario.name(),
        "calibrated": row.calibrated,
        "window": row.point.window,
        "size_bytes": row.point.size,
        "nic": row.samples.first().and_then(|sample| sample.sizes),
        "software": software(row),
        "software_posts": software_posts(row),
        "rate_msgs_per_s": rate.map(|rate| rate.median),
        "rate_min_msgs_per_s": rate.map(|rate| rate.min),
        "rate_max_msgs_per_s": rate.map(|rate| rate.max),
        "rate_msgs_per_s_rounds": row.rates.iter().flatten().collect::<Vec<_>>(),
        "to_endpoint": ratio(Peer::Endpoint),
        "to_no_matching": ratio(Peer::NoMatching),
        "to_memcpy": ratio(Peer::Copy),
        "to_bins": ratio(Peer::Bins),
        "to_list": ratio(Peer::List),
        "to_ucx": ratio(Peer::Ucx),
        "samples": row.samples,
    }));
    if !row.calibrated {
        in_rounds(&mut members, row, "post_ns", |sample| sample.post_ns);
        in_rounds(&mut members, row, "receive_ns", |sample| sample.receive_ns);
        latencies(&mut members, row);
    }
    Value::Object(members)
}

/// The description of the table `rates`.
fn rates() -> Descriptor {
    let figures = ["rate_msgs_per_s", "post_ns", "receive_ns"].map(str::to_owned);
    let figure = |name: String| Figure { better: better(&name), name };
    Descriptor {
        name: "rates".to_owned(),
        title: "Message rates, in messages per second".to_owned(),
        notes: vec!["rate: median of the rounds; to_x: ratio to x in the same rounds".to_owned()],
        keys: KEYS.map(str::to_owned).to_vec(),
        figures: figures.into_iter().chain(latency_names()).map(figure).collect(),
    }
}

/// The whole report: its rows by placement, and the conditions of the measurement.
pub(super) fn document(report: &Report, parts: &[Part], header: &Header) -> Value {
    document::document(&[rates()], results(report, parts, header))
}

pub(super) fn results(report: &Report, parts: &[Part], header: &Header) -> Map<String, Value> {
    let rates = parts.iter().flat_map(|part| part.report.rows.iter().map(|row| object(part, row)));
    let placement =
        |part: &Part| json!({ "placement": part.short_name(), "measurements": part.measurements });
    let mut nic_settings: Map<String, Value> = settings(&header.settings.nic)
        .into_iter()
        .map(|(name, it)| (name.to_owned(), it))
        .collect();
    nic_settings.insert("bins".to_owned(), header.settings.nic.nic.bins.into());
    nic_settings.insert("grow".to_owned(), json!(header.settings.grow));
    nic_settings.insert("like_card".to_owned(), header.settings.like_card.into());
    document::members(json!({
        "ucx_version": header.settings.ucx.as_ref().map(Ucx::version),
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
        "placements": parts.iter().map(placement).collect::<Vec<_>>(),
        "rates": rates.collect::<Vec<_>>(),
    }))
}
