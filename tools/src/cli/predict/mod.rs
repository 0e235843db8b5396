pub mod domains;
mod handlers;
mod rates;
pub mod recorded;
mod stream;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context;
use clap::{Subcommand, ValueEnum};
use dpa_model::{Choice, PaperWorkload};
use dpamatch_predict::{
    Domains, FastPath, HANDLERS_MAX, Offer, Pattern, Profile, Removal, Senders, Setup,
    SimulateError,
};

use super::input::{built_in_or_file, choice};
use super::interrupt::Early;
use super::nic_args::{ByName, HEADING};
use super::table::{Format, Wide, write};
use super::{BadInput, document, output};
use dpamatch_tools::counted;
use dpamatch_tools::table::Table;

/// Predict message rates on a DPA, in virtual time.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../help/predict.txt").trim_end(), args_conflicts_with_subcommands = false)]
pub struct Args {
    #[command(subcommand)]
    study: Option<Study>,
    #[command(flatten)]
    rates: rates::RatesArgs,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Subcommand)]
enum Study {
    /// Recorded programs with the paper's rule and with conflict domains
    Domains(domains::DomainsArgs),
    /// One run in detail: a row per handler, its time by phase, a trace for Perfetto
    Handlers(handlers::HandlersArgs),
    /// A stream of events from a file
    Stream(stream::StreamArgs),
    /// Print the profile, with all overrides of --set
    Profile,
}

/// Arguments of all subcommands.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Card, NIC and report")]
pub struct Common {
    /// Card: a built-in profile (bluefield3, bluefield3-instructions, generic) or a TOML file
    #[arg(
        long,
        global = true,
        value_name = "NAME|FILE",
        default_value = "bluefield3"
    )]
    profile: String,
    /// Sets a parameter of the card; repeatable
    #[arg(long = "set", global = true, value_name = "TABLE.KEY=VALUE")]
    overrides: Vec<String>,
    /// Bins of each hash table
    #[arg(long, global = true, value_name = "B", default_value_t = 2048, value_parser = clap::value_parser!(u64).range(1..=65536))]
    bins: u64,
    /// Source of the defaults below [default: nic; prototype for accuracy, ablation, sensitivity
    /// and calibrate]
    #[arg(long, global = true, value_enum, value_name = "WHOM")]
    like: Option<Like>,
    /// Entry rule of the fast path [default: sequence; prefix as in the prototype]
    #[arg(long, global = true, value_parser = choice::<FastPath>(), value_name = "FORM", hide = true, help_heading = HEADING)]
    fast_path: Option<FastPath>,
    /// When consumed receives leave their chain [default: lazy; deferred as in the prototype]
    #[arg(long, global = true, value_parser = choice::<Removal>(), value_name = "WHEN", hide = true, help_heading = HEADING)]
    removal: Option<Removal>,
    /// Which messages of a block wait for each other [default: paper]
    #[arg(long, global = true, value_parser = choice::<Domains>(), value_name = "WHICH", hide = true, help_heading = HEADING)]
    domains: Option<Domains>,
    /// Receive descriptors [default: 1024 as in the paper's prototype; 8192 for traces and streams]
    #[arg(long, global = true, value_name = "R", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    receives: Option<u64>,
    /// Longest eager message in bytes; longer ones are read from the sender's memory
    /// [default: 64, or --bytes up to 4096; 512 for traces and streams]
    #[arg(long, global = true, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(0..=65536), hide = true, help_heading = HEADING)]
    eager_limit: Option<u64>,
    /// Skip receives that a lower handler booked
    #[arg(long, global = true, hide = true, help_heading = HEADING)]
    early_check: bool,
    /// Side that computes the hashes of a message: its sender (trust), or the NIC (absent)
    #[arg(long, global = true, value_name = "WHO", value_parser = ["trust", "absent"], default_value = "trust", hide = true, help_heading = HEADING)]
    hashes: String,
    /// Seed of the mixed scenarios
    #[arg(long, global = true, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Form of the results
    #[arg(long, global = true, value_enum, value_name = "FORMAT", default_value_t = Format::Table)]
    format: Format,
    /// Also write the results into this file, as --format json prints them, for `dpamatch diff`
    #[arg(long, global = true, value_name = "FILE")]
    save: Option<PathBuf>,
    #[command(flatten)]
    nic: ByName,
    #[command(flatten)]
    wide: Wide,
    /// Also write tables (CSV) and figures (SVG) into this folder
    #[arg(long, global = true, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// The source of default options.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Like {
    /// The emulated NIC, as the other commands build it
    Nic,
    /// The paper's prototype, by the options that fit its measured WC-SP
    Prototype,
    /// The paper's text: fast path literal, removal lazy
    Paper,
}

/// A workload, as named on the command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workload {
    pub name: String,
    pub offer: Offer,
    /// The paper's rule of the fast path, which overrides `--fast-path`.
    paper: Option<PaperWorkload>,
    /// Whether posts take time of an EU.
    charge_commands: bool,
}

/// Longest message of a synthetic workload that is eager by default.
const EAGER_MAX: usize = 4096;

impl Workload {
    /// Parses `nc`, `wc-fp`, `wc-sp`, `mixed:<percent>`, or `senders:<percent>` with what
    /// `senders` knows.
    pub fn parse(name: &str, seed: u64, bytes: u32) -> Result<Self, BadInput> {
        let name = name.to_ascii_lowercase();
        let paper = PaperWorkload::named(&name.to_ascii_uppercase());
        let pattern = match paper {
            Some(workload) => workload.into(),
            None => {
                let mixed = || {
                    let equal = percent(name.strip_prefix("mixed:")?)?;
                    Some(Pattern::Mixed { equal, seed })
                };
                let senders = || senders(&name, seed).map(Pattern::Senders);
                mixed().or_else(senders).ok_or_else(|| {
                    BadInput(format!(
                        "unknown scenario {name}; known: nc, wc-fp, wc-sp, mixed:0 to mixed:100, \
                         senders:0 to senders:100 with +hot:K, +any-source:P, +any-tag:P, +standing"
                    ))
                })?
            }
        };
        let offer = Offer::Pattern { pattern, bytes };
        Ok(Self {
            name,
            offer,
            paper,
            charge_commands: false,
        })
    }

    /// The set-up for this workload, with this number of handlers and these defaults.
    pub fn setup(&self, common: &Common, like: Like, handlers: usize) -> anyhow::Result<Setup> {
        let setup = common.setup_like(like, handlers)?;
        let (receives, eager_limit) = match self.offer {
            Offer::Pattern { bytes, .. } if bytes as usize > EAGER_MAX => {
                (setup.receives, setup.eager_limit)
            }
            Offer::Pattern { bytes, .. } => (setup.receives, setup.eager_limit.max(bytes as usize)),
            // Queue and bounce buffers fit into the caches of the built-in profiles.
            Offer::Sequence(_) => (8192, 512),
        };
        Ok(Setup {
            receives: common
                .receives
                .map_or(receives, |receives| receives as usize),
            eager_limit: common
                .eager_limit
                .map_or(eager_limit, |limit| limit as usize),
            fast_path: self.paper.map_or(setup.fast_path, |workload| {
                workload.fast_path(setup.fast_path)
            }),
            charge_commands: self.charge_commands,
            ..setup
        })
    }
}

fn percent(text: &str) -> Option<u32> {
    text.parse().ok().filter(|&percent| percent <= 100)
}

/// `senders:P` and parts behind plus signs: `hot:K` pairs that P per cent of the messages share,
/// `any-source:P` and `any-tag:P` per cent of the receives, and `standing` wildcards that match
/// nothing.
fn senders(name: &str, seed: u64) -> Option<Senders> {
    let mut parts = name.split('+');
    let mut senders = Senders {
        equal: percent(parts.next()?.strip_prefix("senders:")?)?,
        hot: 1,
        any_source: 0,
        any_tag: 0,
        standing: false,
        seed,
    };
    for part in parts {
        match part.split_once(':') {
            None if part == "standing" => senders.standing = true,
            Some(("hot", keys)) => {
                senders.hot = keys.parse().ok().filter(|keys| (1..=900).contains(keys))?;
            }
            Some(("any-source", share)) => senders.any_source = percent(share)?,
            Some(("any-tag", share)) => senders.any_tag = percent(share)?,
            _ => return None,
        }
    }
    Some(senders)
}

/// `N` or `N-M`: numbers of handlers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts {
    first: usize,
    last: usize,
}

impl FromStr for Counts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| {
            text.trim()
                .parse()
                .ok()
                .filter(|number| (1..=HANDLERS_MAX).contains(number))
        };
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => Ok(Self { first, last }),
            _ => Err(format!("takes N or N-M, numbers from 1 to {HANDLERS_MAX}")),
        }
    }
}

pub fn numbers(handlers: &[Counts]) -> impl Iterator<Item = usize> {
    handlers
        .iter()
        .flat_map(|counts| counts.first..=counts.last)
}

impl Common {
    pub fn profile(&self) -> anyhow::Result<(String, Profile)> {
        let text = profile_text(&self.profile)?;
        let profile = Profile::read(&text, &self.overrides)
            .map_err(|error| BadInput(format!("{}: {error}", self.profile)))?;
        Ok((text, profile))
    }

    /// A set-up with these defaults unless `--like` names others.
    pub fn setup_like(&self, like: Like, handlers: usize) -> anyhow::Result<Setup> {
        let (_, setup) = self.text_and_setup(like)?;
        Ok(Setup { handlers, ..setup })
    }

    /// What the set-ups of these workloads have in common, for a table's title.
    pub fn common_setup(&self, like: Like, workloads: &[Workload]) -> anyhow::Result<Setup> {
        let setup = self.setup_like(like, 1)?;
        let first = workloads
            .first()
            .map(|first| first.setup(self, like, 1))
            .transpose()?;
        Ok(Setup {
            receives: first.map_or(setup.receives, |first| first.receives),
            ..setup
        })
    }

    pub fn overrides(&self) -> &[String] {
        &self.overrides
    }

    /// The profile's text without overrides, and a set-up with one handler.
    pub fn text_and_setup(&self, like: Like) -> anyhow::Result<(String, Setup)> {
        let (text, profile) = self.profile()?;
        let prototype = Setup::new(profile.clone(), 1);
        let defaults = match self.like.unwrap_or(like) {
            Like::Nic => Setup::shipped(profile, 1),
            Like::Prototype => prototype.clone(),
            Like::Paper => Setup::published(profile, 1),
        };
        let setup = Setup {
            bins: self.bins as usize,
            fast_path: self.fast_path.unwrap_or(defaults.fast_path),
            removal: self.removal.unwrap_or(defaults.removal),
            domains: self.domains.unwrap_or(defaults.domains),
            early_check: self.early_check,
            always_book: defaults.always_book,
            inline_hashes: self.hashes == "trust",
            ..prototype
        };
        Ok((text, setup))
    }

    /// Writes the tables to standard output, and into the folder if requested.
    pub fn show(&self, tables: &[Table]) -> anyhow::Result<()> {
        // From here on it ends when all is written.
        let early = Early::catch()?;
        if let Some(folder) = &self.out {
            make(folder)?;
            for table in tables {
                let path = folder.join(format!("{}.csv", table.name));
                fs::write(&path, table.csv()).with_context(|| path.display().to_string())?;
            }
        }
        if let Some(path) = &self.save {
            let tables: Vec<&Table> = tables.iter().collect();
            document::save(path, &document::of_tables(&tables, serde_json::Map::new()))?;
        }
        let mut out = output::stdout();
        write(&mut *out, tables, self.format, self.wide)?;
        out.flush()?;
        early.end()
    }
}

pub fn profile_text(name: &str) -> anyhow::Result<String> {
    let text = |name| Some((name, Profile::text(name).ok()?));
    built_in_or_file(name, Profile::NAMES.iter().copied().filter_map(text))
}

/// A short description of the card and the options.
pub fn options(setup: &Setup) -> String {
    let Setup {
        profile,
        fast_path,
        removal,
        domains,
        receives,
        bins,
        ..
    } = setup;
    let mut words = format!("fast path {fast_path:?}, removal {removal:?}").to_lowercase();
    if *domains == Domains::Keyed {
        words += ", domains keyed";
    }
    format!(
        "{} (version {}; {words}; {}, {})",
        profile.name,
        profile.version,
        counted(receives, "receive"),
        counted(bins, "bin")
    )
}

pub fn make(folder: &Path) -> anyhow::Result<()> {
    Early::catch()?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

pub fn wrong(error: SimulateError) -> anyhow::Error {
    BadInput(error.to_string()).into()
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.study {
        None => rates::run(&args.rates, &args.common),
        Some(Study::Domains(domains)) => domains::run(domains, &args.common),
        Some(Study::Handlers(handlers)) => handlers::run(handlers, &args.common),
        Some(Study::Stream(stream)) => stream::run(stream, &args.common),
        Some(Study::Profile) => {
            let (text, _) = args.common.profile()?;
            let mut out = output::stdout();
            let text = dpamatch_predict::override_text(&text, &args.common.overrides);
            let text = text.map_err(|error| BadInput(error.to_string()))?;
            match args.common.format {
                Format::Json => document::write(&mut *out, &document::of_toml("profile", &text)?)?,
                Format::Table | Format::Csv => write!(out, "{text}")?,
            }
            Ok(out.flush()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        common: Common,
    }

    /// Messages of a pattern are eager up to 4,096 bytes. Longer ones have the card's own limit.
    #[test]
    fn messages_of_a_pattern_are_eager_up_to_4096_bytes() {
        let limit = |line: &[&str], bytes| {
            let common = <Line as clap::Parser>::parse_from(line).common;
            let workload = Workload::parse("nc", 1, bytes).expect("a scenario");
            let setup = workload.setup(&common, Like::Nic, 4).expect("a set-up");
            let own = common.setup_like(Like::Nic, 4).expect("a set-up");
            (setup.eager_limit, own.eager_limit)
        };
        let (_, own) = limit(&["it"], 8);
        assert!(own < 4095, "{own}");
        for (bytes, expected) in [(4095, 4095), (4096, 4096), (4097, own), (8, own)] {
            assert_eq!(limit(&["it"], bytes).0, expected, "{bytes} bytes");
        }
        assert_eq!(limit(&["it", "--eager-limit", "100"], 4096).0, 100);
    }
}
