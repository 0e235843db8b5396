#[cfg(target_os = "linux")]
mod real;
mod virtual_time;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use dpamatch_papers::channels::discovery::{Bursts, Gap};
use dpamatch_papers::channels::{PolicySpec, PollCosts};
use dpamatch_tools::figure::Figure;
use indicatif::ProgressBar;

use dpamatch_tools::cli::interrupt::{Early, Interrupted};
use dpamatch_tools::cli::progress::bar;
use dpamatch_tools::cli::table::{self, Format, Wide};
use dpamatch_tools::cli::{BadInput, output};
use dpamatch_tools::table::Table;

/// Compare policies for polling several channels.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/channels.txt").trim_end())]
pub(super) struct Args {
    /// What to run
    #[arg(long, value_enum, value_name = "WHAT,..", value_delimiter = ',',
          default_values_t = [What::Overhead, What::Latency, What::Discovery, What::NeverWorse, What::Thresholds])]
    only: Vec<What>,
    /// Policies
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', default_values_t = PolicySpec::USUAL)]
    policy: Vec<PolicySpec>,
    /// Lengths of bursts
    #[arg(long, value_name = "N,..", value_delimiter = ',',
          default_value = "1,2,3,4,5,6,8,10,12,16,20,25,32,50,64,100,128,200,400,1000",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    bursts: Vec<u32>,
    /// Time between the messages of a burst in nanoseconds; 0: all at once; ~NS: random, NS on
    /// average
    #[arg(long, value_name = "NS|~NS", default_value = "0", value_parser = gap)]
    gap: Gap,
    /// Distribution of burst lengths
    #[arg(long, value_enum, value_name = "KIND,..", value_delimiter = ',', default_values_t = [Distribution::Constant, Distribution::Uniform])]
    kind: Vec<Distribution>,
    /// Nanoseconds that the receiver handles each message
    #[arg(long, value_name = "NS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    handle: u64,
    /// Pairs of bursts
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rounds: u32,
    /// Computation to overlap with, in microseconds; the longest one counts for thresholds
    #[arg(long, value_name = "US,..", value_delimiter = ',', default_value = "10,20,50,100,200,500,1000",
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    compute: Vec<u64>,
    /// Sets one of the costs; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Seed of all random choices
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Form of the results
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    wide: Wide,
    /// Also write tables (CSV) and figures (SVG) into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn gap(text: &str) -> Result<Gap, String> {
    let (make, number): (fn(u64) -> Gap, _) = match text.strip_prefix('~') {
        Some(mean) => (Gap::Random, mean),
        None => (Gap::Constant, text),
    };
    match number.parse() {
        Ok(ns @ 0..=1_000_000_000) => Ok(make(ns)),
        _ => Err("takes 0 to 1000000000 nanoseconds, or ~ and their mean".to_owned()),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum What {
    Overhead,
    Latency,
    Discovery,
    NeverWorse,
    Thresholds,
    /// On threads that send: not the same bytes again
    #[cfg(target_os = "linux")]
    Real,
}

/// See [`Bursts`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Distribution {
    /// All equal
    Constant,
    /// From 1 to twice the length less 1
    Uniform,
    /// After each message the burst continues with a fixed probability
    Geometric,
    /// n messages or more with probability 1 / n, up to the length
    HeavyTailed,
    /// 1 and the length in turn
    InTurn,
    /// Ten of 1, ten of the length
    Switching,
}

impl Distribution {
    fn bursts(self, length: u32) -> Bursts {
        match self {
            Self::Constant => Bursts::Constant(length),
            Self::Uniform => Bursts::Uniform(length),
            Self::Geometric => Bursts::Geometric(length),
            Self::HeavyTailed => Bursts::HeavyTailed(length),
            Self::InTurn => Bursts::InTurn(1, length),
            Self::Switching => Bursts::Switching(1, length, 10),
        }
    }

    /// The word in tables and on the command line.
    fn name(self) -> String {
        self.to_possible_value()
            .map_or(String::new(), |value| value.get_name().to_owned())
    }
}

struct Results {
    tables: Vec<Table>,
    figures: Vec<(&'static str, Figure)>,
    /// Advances for each point that takes time.
    progress: ProgressBar,
    early: Early,
}

impl Results {
    /// A point is done.
    fn point(&self) -> Result<(), Interrupted> {
        self.progress.inc(1);
        if self.early.is_stopped() {
            Err(Interrupted)
        } else {
            Ok(())
        }
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let costs = costs(&args.overrides)?;
    let chosen = || {
        What::value_variants()
            .iter()
            .filter(|what| args.only.contains(what))
    };
    let steps = |what: &What| match what {
        #[cfg(target_os = "linux")]
        What::Real => real::steps(args),
        what => virtual_time::steps(args, *what),
    };
    let steps = chosen().map(steps).sum();
    let progress = bar(steps, "");
    let early = Early::catch()?;
    let mut results = Results {
        tables: Vec::new(),
        figures: Vec::new(),
        progress,
        early,
    };
    let mut done = 0;
    for what in chosen().copied() {
        if let Some(name) = what.to_possible_value() {
            results.progress.set_message(name.get_name().to_owned());
        }
        let part = match what {
            What::Overhead => {
                virtual_time::overhead(&costs, &mut results);
                Ok(())
            }
            What::Latency => virtual_time::latency(args, &costs, &mut results),
            What::Discovery => virtual_time::discovery(args, &costs, &mut results),
            What::NeverWorse => virtual_time::never_worse(args, &costs, &mut results),
            What::Thresholds => {
                virtual_time::thresholds(args, &costs, &mut results);
                Ok(())
            }
            #[cfg(target_os = "linux")]
            What::Real => match real::run(args, &mut results) {
                Ok(part) => part,
                Err(error) => {
                    results.progress.finish_and_clear();
                    return Err(error.into());
                }
            },
        };
        if part.is_err() {
            break;
        }
        done += 1;
    }
    results.progress.finish_and_clear();
    if results.early.is_stopped() {
        let done = format!("{done} of {} parts", chosen().count());
        results
            .early
            .mark(results.tables.iter_mut().collect(), &done)?;
    }
    let kept = args.out.as_ref().map_or(Ok(()), |folder| {
        write_folder(folder, &results)
            .with_context(|| format!("cannot write into {}", folder.display()))
    });
    let mut out = output::stdout();
    table::write(&mut *out, &results.tables, args.format, args.wide)?;
    out.flush()?;
    kept.and_then(|()| results.early.end())
}

fn write_folder(folder: &Path, results: &Results) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    for table in &results.tables {
        let name = format!("{}.csv", table.name.replace('_', "-"));
        fs::write(folder.join(name), table.csv())?;
    }
    for (name, figure) in &results.figures {
        figure.write(folder, name)?;
    }
    Ok(())
}

fn costs(overrides: &[String]) -> Result<PollCosts, BadInput> {
    let mut costs = serde_json::to_value(PollCosts::default()).expect("plain numbers");
    for text in overrides {
        let wrong = |what: String| BadInput(format!("--set {text}: {what}"));
        let (key, value) = text
            .split_once('=')
            .ok_or_else(|| wrong("must be KEY=VALUE".to_owned()))?;
        let place = costs
            .get_mut(key.trim())
            .ok_or_else(|| wrong(format!("unknown cost {key}")))?;
        // A poll without cost would stop virtual time; the limit of a millisecond keeps all sums
        // exact.
        let number = value
            .trim()
            .parse()
            .ok()
            .filter(|value| (1..=1_000_000).contains(value));
        let number = number.map(|number: u64| number.into());
        *place =
            number.ok_or_else(|| wrong(format!("{value:?} is not a number from 1 to 1000000")))?;
    }
    serde_json::from_value(costs).map_err(|error| BadInput(error.to_string()))
}
