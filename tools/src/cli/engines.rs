use std::io::Write;

use clap::builder::PossibleValuesParser;
use dpamatch::registry::ENGINES;
use dpamatch_tools::table::Table;

use super::document::{self, Form};
use super::output;

const EXAMPLES: &str = "\
Examples:
  dpamatch engines                               name and description, one engine a line
  dpamatch engines --format json
  dpamatch match --engine list events.txt        use one of them";

/// List the matching engines.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Form of the list
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Form::Text)]
    format: Form,
}

/// Any engine as the value of an argument, or one of the words `more`.
pub(super) fn any(more: &[&'static str]) -> PossibleValuesParser {
    ENGINES.iter().map(|entry| entry.name).chain(more.iter().copied()).collect::<Vec<_>>().into()
}

pub(super) fn software() -> PossibleValuesParser {
    let software = ENGINES.iter().filter(|entry| entry.is_software());
    software.map(|entry| entry.name).collect::<Vec<_>>().into()
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let mut out = output::stdout();
    if args.format == Form::Json {
        let mut table = Table::new("engines", "Matching engines", ["name", "summary"]);
        ENGINES.iter().for_each(|entry| table.push([entry.name.into(), entry.summary.into()]));
        document::write(&mut *out, &document::of_tables(&[&table], serde_json::Map::new()))?;
        return Ok(out.flush()?);
    }
    let width = ENGINES.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    for entry in ENGINES {
        writeln!(out, "{:width$}  {}", entry.name, entry.summary)?;
    }
    Ok(out.flush()?)
}
