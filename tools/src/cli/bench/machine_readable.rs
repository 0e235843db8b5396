//! The results for programs.

use std::io::{self, Write};

use dpamatch_tools::bench::{Peer, Report, Row, Ucx};
use serde_json::{Map, Value, json};

use super::super::nic_args::settings;
use super::{Header, Part};

/// Columns of the CSV form; `x_ref_seq_hash` is the ratio to the sequential hash-bin engine in the
/// same rounds. A row for each placement.
const COLUMNS: &str = "peer,version,scenario,window,msg_size,rate_msgs_per_s,round_min,round_max,rounds,post_ns,rx_ns,x_ref_seq_hash,placement";

/// A peer's name: the NIC with the usual number of handlers has none behind it.
fn name(peer: Peer, nic: Peer) -> String {
    if peer == nic { "dpamatch".to_owned() } else { peer.to_string() }
}

fn scenario(row: &Row) -> String {
    format!("{}{}", row.point.scenario, if row.calibrated { "-CAL" } else { "" })
}

pub(super) fn csv(
    out: &mut dyn Write,
    parts: &[Part],
    nic: Peer,
    ucx: Option<&Ucx>,
) -> io::Result<()> {
    writeln!(out, "{COLUMNS}")?;
    for part in parts {
        let placement = part.short_name();
        for row in &part.report.rows {
            let Some(rate) = row.rate() else { continue };
            let to_bins = part.report.beside(row, Peer::Bins).and_then(|bins| row.ratio_to(bins));
            writeln!(
                out,
                "{},{},{},{},{},{:.0},{:.0},{:.0},{},{:.1},{:.1},{},{placement}",
                name(row.point.peer, nic),
                match ucx {
                    Some(ucx) if row.point.peer == Peer::Ucx => ucx.version(),
                    _ => env!("CARGO_PKG_VERSION"),
                },
                scenario(row),
                row.point.window,
                row.point.size,
                rate.median,
                rate.min,
                rate.max,
                rate.count,
                row.median(|sample| sample.post_ns),
                row.median(|sample| sample.receive_ns),
                to_bins.map_or(String::new(), |ratio| format!("{ratio:.3}")),
            )?;
        }
    }
    Ok(())
}

fn object(report: &Report, row: &Row) -> Value {
    let handlers = if let Peer::Nic { handlers } = row.point.peer { Some(handlers) } else { None };
    let ratio = |peer| report.beside(row, peer).and_then(|other| row.ratio_to(other));
    json!({
        "peer": if handlers.is_some() { "dpamatch".to_owned() } else { row.point.peer.to_string() },
        "handlers": handlers,
        "scenario": row.point.scenario.name(),
        "calibrated": row.calibrated,
        "window": row.point.window,
        "size_bytes": row.point.size,
        "rate_msgs_per_s": row.rate(),
        "to_no_matching": ratio(Peer::NoMatching),
        "to_memcpy": ratio(Peer::Copy),
        "to_seq_bins": ratio(Peer::Bins),
        "to_ucx": ratio(Peer::Ucx),
        "rounds": row.samples,
    })
}

fn results(report: &Report) -> Value {
    report.rows.iter().map(|row| object(report, row)).collect()
}

/// The whole report, and its parts by placement: `results` are those of the first part.
pub(super) fn json(
    out: &mut dyn Write,
    report: &Report,
    parts: &[Part],
    header: &Header,
) -> io::Result<()> {
    let by_placement = |part: &Part| {
        json!({
            "placement": part.short_name(),
            "measurements": part.measurements,
            "results": results(&part.report),
        })
    };
    let mut nic_settings: Map<String, Value> = settings(&header.settings.nic)
        .into_iter()
        .map(|(name, it)| (name.to_owned(), it))
        .collect();
    nic_settings.insert("bins".to_owned(), header.settings.nic.nic.bins.into());
    nic_settings.insert("bins_grow".to_owned(), header.settings.grow_bins.into());
    let document = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "ucx_version": header.settings.ucx.as_ref().map(Ucx::version),
        "machine": header.machine,
        "command": header.command,
        "seed": header.settings.seed,
        "rounds": header.rounds,
        "repetitions": header.settings.repetitions,
        "seconds": header.seconds,
        "hand_over_ns": report.hand_over_ns,
        "payloads_checked": report.checked(),
        "runner": header.runner(),
        "nic": nic_settings,
        "by_placement": header.settings.look,
        "placement": parts[0].short_name(),
        "results": results(&parts[0].report),
        "other_placements": parts[1..].iter().map(by_placement).collect::<Vec<_>>(),
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}
