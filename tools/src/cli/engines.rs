use std::ffi::OsStr;
use std::io::Write;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use dpamatch::registry::{self, ENGINES, EngineEntry};
use dpamatch_tools::table::Table;

use super::document::{self, Form};
use super::{BadInput, output};

/// List the matching engines.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/engines.txt").trim_end())]
pub struct Args {
    /// Form of the list
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Form::Text)]
    format: Form,
}

/// The name of an engine, a word that stands for engines, or the path of an engine's library.
#[derive(Clone, Debug)]
pub struct Names(PossibleValuesParser);

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        let open = |path: &str| engine_of(path).map(|_| path.to_owned());
        match value.to_str() {
            Some(path) if path.contains('/') => open.parse_ref(command, argument, value),
            _ => self.0.parse_ref(command, argument, value),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// The engine of this name, or of the library at this path.
#[allow(unsafe_code, reason = "the only way to run an engine of the user's")]
fn engine_of(name: &str) -> Result<&'static EngineEntry, String> {
    // SAFETY: who writes the command line names a library to run, as with the loader's LD_PRELOAD.
    // No path comes from a file.
    unsafe { registry::open(name) }
}

/// Any engine as the value of an argument, or one of the words `more`.
pub fn any(more: &[&'static str]) -> Names {
    let names = ENGINES
        .iter()
        .map(|entry| entry.name)
        .chain(more.iter().copied());
    Names(names.collect::<Vec<_>>().into())
}

/// A software engine as the value of an argument, or one of the words `more`.
pub fn software(more: &[&'static str]) -> Names {
    let software = ENGINES
        .iter()
        .filter(|entry| entry.is_software())
        .map(|entry| entry.name);
    Names(
        software
            .chain(more.iter().copied())
            .collect::<Vec<_>>()
            .into(),
    )
}

/// The engine of this name, which a parser of this module accepted.
pub fn one(name: &str) -> anyhow::Result<&'static EngineEntry> {
    Ok(engine_of(name).map_err(BadInput)?)
}

/// The engines with these names, which a parser of this module accepted; all for the word `all`.
pub fn chosen(names: &[String]) -> Vec<&'static EngineEntry> {
    if names.iter().any(|name| name == "all") {
        return ENGINES.iter().collect();
    }
    names
        .iter()
        .filter_map(|name| engine_of(name).ok())
        .collect()
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut out = output::stdout();
    if args.format == Form::Json {
        let mut table = Table::new("engines", "Matching engines", ["name", "summary"]);
        ENGINES
            .iter()
            .for_each(|entry| table.push([entry.name.into(), entry.summary.into()]));
        document::write(
            &mut *out,
            &document::of_tables(&[&table], serde_json::Map::new()),
        )?;
        return Ok(out.flush()?);
    }
    let width = ENGINES
        .iter()
        .map(|entry| entry.name.len())
        .max()
        .unwrap_or(0);
    for entry in ENGINES {
        writeln!(out, "{:width$}  {}", entry.name, entry.summary)?;
    }
    Ok(out.flush()?)
}
