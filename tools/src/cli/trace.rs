//! `dpamatch trace`: inspects recorded MPI calls.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use dpamatch::Rank;
use dpamatch_tools::analyze::{LogError, Run, is_log};
use dpamatch_tools::collectives::Library;
use dpamatch_traces::regular::is_no_file;
use dpamatch_traces::{OpenOptions, Tally, TraceError, TraceErrorKind, TraceSource};

use super::failure::is_wrong_file;
use super::input::{choice, default, unusable};
use super::progress::bar;
use super::{BadInput, output};

pub use ranks::Ranks;

mod check;
mod dump;
mod goal;
mod info;
mod need;
mod ranks;
mod timeline;

/// Inspect traces of MPI calls.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/trace.txt").trim_end())]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Info(info::Args),
    Check(check::Args),
    Dump(dump::Args),
    Goal(goal::Args),
    Timeline(timeline::Args),
}

/// The trace, and how to read it.
#[derive(Debug, clap::Args)]
struct TraceArgs {
    /// Folder, archive, .meta file or rank file
    #[arg(value_name = "TRACE")]
    path: PathBuf,
    /// Read the intact part of broken files
    #[arg(long)]
    salvage: bool,
    /// The rank of a single file, if its name does not give it
    #[arg(long, value_name = "R")]
    as_rank: Option<u32>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.command {
        Command::Info(args) => info::run(args),
        Command::Check(args) => check::run(args),
        Command::Dump(args) => dump::run(args),
        Command::Goal(args) => goal::run(args),
        Command::Timeline(args) => timeline::run(args),
    }
}

impl TraceArgs {
    fn open(&self) -> anyhow::Result<Box<dyn TraceSource>> {
        let rank = self
            .as_rank
            .map(Rank::new)
            .transpose()
            .map_err(|error| BadInput(error.to_string()))?;
        open(
            &self.path,
            OpenOptions {
                salvage: self.salvage,
                rank,
            },
        )
    }
}

pub fn open(path: &Path, options: OpenOptions) -> anyhow::Result<Box<dyn TraceSource>> {
    let trace = dpamatch_traces::open(path, &options)
        .map_err(|error| bad_input(error, !options.salvage))?;
    for notice in &trace.run().notices {
        eprintln!("note: {notice}");
    }
    Ok(trace)
}

/// What becomes of collective operations.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct CollectivesArgs {
    /// Add the messages that this MPI library sends inside collective operations
    #[arg(long, value_name = "LIBRARY", default_value = default::<Library>(),
          value_parser = choice::<Library>())]
    pub collectives: Library,
}

/// Loads a trace or a folder with order logs; `what` labels the progress bar.
pub fn load(
    path: &Path,
    options: OpenOptions,
    collectives: CollectivesArgs,
    what: &'static str,
) -> anyhow::Result<Run> {
    load_ranks(path, options, collectives, None, what)
}

/// As [`load`], of these ranks alone. The others count as ranks without a trace.
pub fn load_ranks(
    path: &Path,
    options: OpenOptions,
    CollectivesArgs { collectives }: CollectivesArgs,
    ranks: Option<Ranks>,
    what: &'static str,
) -> anyhow::Result<Run> {
    if is_log(path) {
        if ranks.is_some() {
            let what = "--ranks takes ranks of traces, and these are order logs";
            return Err(BadInput(what.to_owned()).into());
        }
        if collectives != Library::Off {
            let what = "order logs hold the messages inside collective operations already";
            return Err(BadInput(format!("--collectives: {what}")).into());
        }
        return Run::of_logs(path).map_err(|error| match error {
            LogError::Io { .. } => error.into(),
            _ => BadInput(error.to_string()).into(),
        });
    }
    let advise = !options.salvage;
    let mut source = open(path, options)?;
    if let Some(ranks) = ranks {
        source = ranks.of(source)?;
    }
    need::check(path, source.as_ref())?;
    let progress = bar(source.ranks().len(), what);
    let run = Run::load_with(source.as_ref(), collectives, |_| progress.inc(1));
    let run = run.map_err(|error| bad_input(error, advise))?;
    progress.finish_and_clear();
    Ok(run)
}

/// Missing and invalid files are bad input; I/O errors are not. `advise`: the command has
/// `--salvage`, and it is off.
pub fn bad_input(error: TraceError, advise: bool) -> anyhow::Error {
    match error.kind() {
        TraceErrorKind::Io(cause) if is_no_file(cause) => BadInput(error.to_string()).into(),
        TraceErrorKind::Io(cause) if is_wrong_file(cause) => {
            unusable(error.file(), cause.kind().into())
        }
        TraceErrorKind::Io(_) => error.into(),
        TraceErrorKind::Truncated(_) if advise => {
            BadInput(format!("{error}; --salvage reads the intact part")).into()
        }
        _ => BadInput(error.to_string()).into(),
    }
}

fn tallies(trace: &dyn TraceSource) -> Vec<(Rank, Result<Tally, TraceError>)> {
    let bar = bar(trace.ranks().len(), "ranks read");
    let ranks = dpamatch_traces::per_rank(trace, |_, reader| {
        let tally = dpamatch_traces::tally(reader);
        bar.inc(1);
        tally
    });
    bar.finish_and_clear();
    ranks
}

/// Adds what a rank's reader did not read.
fn add_unread(sum: &mut BTreeMap<String, u64>, rank: &BTreeMap<String, u64>) {
    for (what, times) in rank {
        *sum.entry(what.clone()).or_default() += times;
    }
}

/// The line that names what was not read; empty if all was.
fn unread_line(unread: &BTreeMap<String, u64>) -> String {
    if unread.is_empty() {
        return String::new();
    }
    let each: Vec<_> = unread
        .iter()
        .map(|(what, times)| format!("{what}: {times}"))
        .collect();
    format!("not read: {}\n", each.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_file_is_bad_input() {
        let cut = |advise| {
            let kind = TraceErrorKind::Truncated("no end".to_owned());
            bad_input(TraceError::new("a", kind), advise)
        };
        assert!(cut(false).is::<BadInput>() && cut(true).is::<BadInput>());
        assert_eq!(
            cut(true).to_string(),
            "a: truncated: no end; --salvage reads the intact part"
        );
        assert_eq!(cut(false).to_string(), "a: truncated: no end");
    }

    #[test]
    fn a_read_that_fails_is_no_bad_input() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("1.events");
        std::fs::write(log.with_extension("results"), "none").expect("a file");
        std::fs::create_dir(&log).expect("a folder");
        let off = CollectivesArgs {
            collectives: Library::Off,
        };
        let error = load(folder.path(), OpenOptions::default(), off, "").expect_err("no log");
        assert!(!error.is::<BadInput>(), "{error}");
        let failed = |kind: std::io::ErrorKind| {
            bad_input(TraceError::new("a", TraceErrorKind::Io(kind.into())), false)
        };
        assert!(failed(std::io::ErrorKind::NotFound).is::<BadInput>());
        assert!(failed(std::io::ErrorKind::UnexpectedEof).is::<TraceError>());
    }
}
