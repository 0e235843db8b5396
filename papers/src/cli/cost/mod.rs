mod contention;
mod curves;
mod fit;
mod hierarchy;
mod messages;
mod ping_pong;
mod product;
mod vectors;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Subcommand, ValueEnum};
use dpamatch_papers::cost::steps::{Posting, StepsError};
use dpamatch_papers::cost::{BUILT_IN, InputError, Profile};

use dpamatch_tools::cli::input::{built_in_or_file, file_or_stdin};
use dpamatch_tools::cli::interrupt::Early;
use dpamatch_tools::cli::table::{self, Format, Wide};
use dpamatch_tools::cli::{BadInput, document, output};
use dpamatch_tools::table::Table;

/// Predict what communication costs: moving, matching, contention; fit the model's parameters.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../help/cost.txt").trim_end())]
pub(super) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Subcommand)]
enum What {
    Messages(messages::Args),
    Fit(fit::Args),
    PingPong(ping_pong::Args),
    Spmv(product::Args),
    Hierarchy(hierarchy::Args),
    Contention(contention::Args),
    Curves(curves::Args),
    /// Print the parameters of the machine (--profile) as TOML
    Profile,
}

#[derive(Debug, clap::Args)]
struct Common {
    /// Machine: the name of a built-in profile (blue-waters) or a TOML file
    #[arg(
        long,
        global = true,
        value_name = "NAME|FILE",
        default_value = "blue-waters"
    )]
    profile: String,
    /// Sets a parameter of the machine; repeatable
    #[arg(long = "set", global = true, value_name = "TABLE.KEY=VALUE")]
    overrides: Vec<String>,
    /// Form of the results
    #[arg(long, global = true, value_enum, value_name = "FORMAT", default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    wide: Wide,
    /// Also write tables (CSV) and figures (SVG) into this folder
    #[arg(long, global = true, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The order in which receives are posted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum PostingArg {
    /// In the order of arrival
    Best,
    /// In reverse
    Worst,
    /// A random one
    Random,
    /// As in the input: by the column post, or as recorded; else best
    Given,
}

impl PostingArg {
    fn with_seed(self, seed: u64) -> Posting {
        match self {
            Self::Best => Posting::InOrder,
            Self::Worst => Posting::Reverse,
            Self::Random => Posting::Random(seed),
            Self::Given => Posting::Given,
        }
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let common = &args.common;
    let profile = common.profile()?;
    let tables = match &args.what {
        Some(What::Messages(args)) => messages::run(args, &profile)?,
        Some(What::Fit(args)) => fit::run(args, &profile)?,
        Some(What::PingPong(args)) => ping_pong::run(args, common.out.as_deref())?,
        Some(What::Spmv(args)) => product::run(args, &profile, common.out.as_deref())?,
        Some(What::Hierarchy(args)) => hierarchy::run(args, &profile, common.out.as_deref())?,
        Some(What::Contention(args)) => contention::run(args, &profile, common.out.as_deref())?,
        Some(What::Curves(args)) => curves::run(args, &profile, common.out.as_deref())?,
        Some(What::Profile) => {
            let mut out = output::stdout();
            let text = profile.to_toml();
            match common.format {
                Format::Json => document::write(&mut *out, &document::of_toml("profile", &text)?)?,
                Format::Table | Format::Csv => write!(out, "{text}")?,
            }
            return Ok(out.flush()?);
        }
        None => {
            let early = Early::catch()?;
            let out = common.out.as_deref();
            type Part<'a> = &'a dyn Fn() -> anyhow::Result<Vec<Table>>;
            let parts: [Part<'_>; 4] = [
                &|| Ok(vectors::run(&profile)),
                &|| contention::run(&defaults(), &profile, out),
                &|| ping_pong::run(&defaults(), out),
                &|| hierarchy::run(&defaults(), &profile, out),
            ];
            let mut tables = Vec::new();
            for (done, part) in parts.iter().enumerate() {
                if early.is_stopped() {
                    early.mark(tables.iter_mut().collect(), &format!("{done} of 4 parts"))?;
                    break;
                }
                tables.extend(part()?);
            }
            tables
        }
    };
    common.finish(&tables)
}

/// A subcommand's arguments where the command line gives none.
fn defaults<A: clap::Args>() -> A {
    let matches = A::augment_args(clap::Command::new("cost")).get_matches_from(["cost"]);
    A::from_arg_matches(&matches).expect("every argument has a default")
}

impl Common {
    fn profile(&self) -> anyhow::Result<Profile> {
        let text = built_in_or_file(&self.profile, BUILT_IN.iter().copied())?;
        let wrong = |error: &dyn std::fmt::Display| BadInput(format!("{}: {error}", self.profile));
        if self.overrides.is_empty() {
            return Ok(Profile::parse(&text).map_err(|error| wrong(&error))?);
        }
        Profile::parse(&text).map_err(|error| wrong(&error))?;
        let mut document: toml::Table = text.parse().map_err(|error| wrong(&error))?;
        for text in &self.overrides {
            set(&mut document, text).map_err(|what| BadInput(format!("--set {text}: {what}")))?;
        }
        let overridden = |error| BadInput(format!("{} with --set: {error}", self.profile));
        Ok(Profile::parse(&document.to_string()).map_err(overridden)?)
    }

    fn finish(&self, tables: &[Table]) -> anyhow::Result<()> {
        // From here on it ends when all is written.
        let early = Early::catch()?;
        if let Some(path) = &self.out {
            folder(path)?;
            for table in tables {
                let name = path.join(format!("{}.csv", table.name.replace('_', "-")));
                fs::write(&name, table.csv())
                    .with_context(|| format!("cannot write {}", name.display()))?;
            }
        }
        let mut out = output::stdout();
        table::write(&mut *out, tables, self.format, self.wide)?;
        out.flush()?;
        early.end()
    }
}

/// Sets `table.key=value` in a file of parameters.
fn set(document: &mut toml::Table, text: &str) -> Result<(), String> {
    let (path, value) = text.split_once('=').ok_or("must be TABLE.KEY=VALUE")?;
    let parse = |value: &str| {
        format!("v = {}", value.trim())
            .parse::<toml::Table>()
            .ok()?
            .remove("v")
    };
    let value = parse(value).ok_or_else(|| format!("{value:?} is not a number"))?;
    let (tables, key) = path
        .trim()
        .rsplit_once('.')
        .ok_or("must be TABLE.KEY=VALUE")?;
    let mut table = document;
    for name in tables.split('.') {
        table = match table.get_mut(name) {
            Some(toml::Value::Table(inner)) => inner,
            _ => return Err(format!("unknown table {tables}")),
        };
    }
    // Rates are floating-point numbers even without a decimal point.
    let value = match (table.get(key), &value) {
        (Some(toml::Value::Float(_)), toml::Value::Integer(number)) => {
            toml::Value::Float(*number as f64)
        }
        _ => value,
    };
    table.insert(key.to_owned(), value);
    Ok(())
}

pub(super) fn bad_line(name: &str, error: &InputError) -> BadInput {
    BadInput(format!("{name}:{}: {}", error.line, error.what))
}

fn folder(path: &Path) -> anyhow::Result<()> {
    Early::catch()?;
    fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))
}

fn us(seconds: f64) -> f64 {
    seconds * 1e6
}

/// Why steps could not be counted. An engine that rejects these options is a wrong argument.
fn not_counted(error: StepsError) -> anyhow::Error {
    match error {
        StepsError::Build(error) => BadInput(error.to_string()).into(),
        error => error.into(),
    }
}
