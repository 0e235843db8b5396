//! `dpamatch engines`.

use std::io::Write;

use dpamatch::registry::ENGINES;

use super::output;

const EXAMPLES: &str = "\
Examples:
  dpamatch engines                               one line for each engine: name, description
  dpamatch match --engine list events.txt        use one of them";

/// List the matching engines.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {}

pub(super) fn run(_: &Args) -> anyhow::Result<()> {
    let mut out = output::stdout();
    let width = ENGINES.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    for entry in ENGINES {
        writeln!(out, "{:width$}  {}", entry.name, entry.summary)?;
    }
    Ok(out.flush()?)
}
