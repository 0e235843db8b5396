use std::io::Write;

use dpa_model::{DPA_L2_BYTES, DPA_L3_BYTES, Footprint, FootprintLine, NicConfig};
use dpamatch::engine::BinCount;
use dpamatch_tools::table::{Cell, Table};
use indicatif::{HumanBytes, HumanCount};
use serde_json::json;

use super::document::{self, Form};
use super::nic_args::{ByName, NicSize};
use super::table::Wide;
use super::{BadInput, output};

/// Print the memory of an emulated NIC, table by table.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/footprint.txt").trim_end())]
pub(super) struct Args {
    /// Bins of each hash table, 1 to 65536
    #[arg(long, value_name = "B", default_value = "2048")]
    bins: BinCount,
    /// Form of the report
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Form::Text)]
    format: Form,
    #[command(flatten)]
    nic: NicSize,
    #[command(flatten)]
    by_name: ByName,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let config = args.nic.config(args.bins);
    config
        .validate()
        .map_err(|error| BadInput(error.to_string()))?;
    let footprint = Footprint::new(&config);
    let mut out = output::stdout();
    match args.format {
        Form::Text => write!(
            out,
            "{}",
            table(&footprint, &config).text(Wide::default().width())
        )?,
        Form::Json => {
            let table = |line: &FootprintLine| {
                json!({
                    "what": line.what,
                    "count": line.count,
                    "bytes_each": line.bytes_each,
                    "bytes": line.bytes(),
                    "on_nic": line.on_nic,
                })
            };
            let results = json!({
                "bins": config.bins,
                "receives": config.receives,
                "paper_bytes": footprint.paper_bytes(),
                "nic_bytes": footprint.nic_bytes(),
                "nic_limit_bytes": config.memory_bytes,
                "search_bytes": footprint.search_bytes(),
                "tables": footprint.lines().iter().map(table).collect::<Vec<_>>(),
            });
            document::write(
                &mut *out,
                &document::document(&[], document::members(results)),
            )?;
        }
    }
    Ok(out.flush()?)
}

fn table(footprint: &Footprint, config: &NicConfig) -> Table {
    let (paper, all) = (footprint.paper_bytes(), footprint.nic_bytes());
    let share = all as f64 * 100.0 / config.memory_bytes as f64;
    let [bins, receives] = [config.bins, config.receives].map(|count| HumanCount(count as u64));
    let searched = footprint.search_bytes();
    let place = match searched {
        bytes if bytes <= DPA_L2_BYTES => "fits the DPA's L2 cache (1.5 MiB)",
        bytes if bytes <= DPA_L3_BYTES => "fits the DPA's L3 cache (3 MiB), not its L2 (1.5 MiB)",
        _ => "exceeds the DPA's L3 cache (3 MiB)",
    };
    let [paper_size, all, limit, searched] =
        [paper, all, config.memory_bytes, searched].map(HumanBytes);
    let paper = HumanCount(paper);
    Table::with_rows(
        "footprint",
        "Memory of the emulated NIC.",
        footprint.lines(),
    )
    .columns(&[
        ("memory", |it| if it.on_nic { "NIC" } else { "host" }.into()),
        ("table", |it| it.what.into()),
        ("entries", |it| it.count.into()),
        ("bytes each", |it| it.bytes_each.into()),
        ("size", |it| Cell::Bytes(it.bytes())),
    ])
    .note(format!(
        "paper's formula, one communicator: 3 x {bins} bins x 20 + {receives} receives x 64 = \
             {paper} bytes ({paper_size})"
    ))
    .note(format!(
        "NIC memory in all: {all} of {limit} ({share:.2} %)"
    ))
    .note(format!("searched by one communicator: {searched}: {place}"))
}
