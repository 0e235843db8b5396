use std::io::Write;

use dpa_model::{Footprint, FootprintLine};
use dpamatch::engine::BinCount;
use serde_json::json;

use super::document::{self, Form};
use super::nic_args::NicSize;
use super::{BadInput, output};

/// Print the memory of an emulated NIC, table by table.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/footprint.txt").trim_end(), mut_args(|it| it.hide(false)))]
pub(super) struct Args {
    /// Bins of each hash table, 1 to 65536
    #[arg(long, value_name = "B", default_value = "2048")]
    bins: BinCount,
    /// Form of the report
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Form::Text)]
    format: Form,
    #[command(flatten)]
    nic: NicSize,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let config = args.nic.config(args.bins);
    config.validate().map_err(|error| BadInput(error.to_string()))?;
    let footprint = Footprint::of(&config);
    let mut out = output::stdout();
    match args.format {
        Form::Text => writeln!(out, "{footprint}")?,
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
            document::write(&mut *out, &document::document(&[], document::members(results)))?;
        }
    }
    Ok(out.flush()?)
}
