mod against;
mod summary;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use clap::ValueEnum;
use dpamatch::Rank;
use dpamatch::engine::BinCount;
use dpamatch_tools::analyze::order::Network;
use dpamatch_tools::analyze::stats::Plan;
use dpamatch_tools::analyze::{
    EngineReport, OrderChoice, Question, Report, Run, by_rank, figures, html, pairs, tables,
};
use dpamatch_tools::counted;
use dpamatch_tools::figure::Figure;
use dpamatch_tools::table::Table;
use dpamatch_traces::OpenOptions;

use super::document::{self, Save};
use super::input::did_you_mean;
use super::interrupt::{Interrupt, Interrupted, partial};
use super::nic_args::NicArgs;
use super::progress::bar;
use super::staged::{StagedFile, StagedFolder};
use super::table::{Format, Wide};
use super::trace::{CollectivesArgs, Ranks, load_ranks};
use super::{BadInput, WrongMatching, command_line, engines, output, table};

/// An option that other commands have, whose error names the folder that has its file.
fn see_out(name: &'static str) -> clap::Arg {
    let see = clap::builder::UnknownArgumentValueParser::suggest_arg("--out");
    clap::Arg::new(name)
        .long(name)
        .hide(true)
        .help_heading(None::<&str>)
        .value_parser(see)
}

/// Analyze the matching of recorded MPI programs.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/analyze.txt").trim_end(), mut_arg("workers", |workers| workers.default_value("0")), arg = see_out("html"))]
pub(super) struct Args {
    /// Traces, one after the other
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    /// Numbers of bins, 1 to 65536 each, all in one pass
    #[arg(
        long,
        value_name = "B,..",
        value_delimiter = ',',
        default_value = "1,32,128"
    )]
    bins: Vec<BinCount>,
    /// Order of posts and arrivals
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = Order::Causal)]
    order: Order,
    /// Seed of the random order and of the network's jitter
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Engines that also run the order, paths of engines' libraries, or all
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', value_parser = engines::any(&["all"]))]
    engine: Vec<String>,
    /// Numbers of handlers for the paths of optimistic matching, 1 to 256 each
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_value = "1,2,4,8,16,32,64",
          value_parser = clap::value_parser!(u32).range(1..=256))]
    sweep: Vec<u32>,
    /// Write the matching into this file, in world ranks
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// Write every match with its times into this file, as Parquet
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "FILE", conflicts_with = "against")]
    matches: Option<PathBuf>,
    /// Write all numbers into this folder as CSV files, figures as SVG, and the report as HTML and
    /// JSON
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Show what differs from another run of the application
    #[arg(long, value_name = "TRACE", conflicts_with = "pairs")]
    against: Option<PathBuf>,
    /// Form of the report
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    save: Save,
    #[command(flatten)]
    wide: Wide,
    /// Check all pairs against MPI's rules and between engines; exit code 3 if one is wrong
    #[arg(long)]
    check: bool,
    /// Read the intact part of broken files
    #[arg(long)]
    salvage: bool,
    /// The rank of a single file, if its name does not give it
    #[arg(long, value_name = "R")]
    as_rank: Option<u32>,
    /// Only these ranks, from A to B; the others count as ranks without a trace
    #[arg(long, value_name = "A-B")]
    ranks: Option<Ranks>,
    #[command(flatten)]
    collectives: CollectivesArgs,
    /// Sets a number of the causal order's network; repeatable: latency [ns, 1500], bandwidth
    /// [MB/s, 12500], jitter [ns, the largest random addition to the latency, 500], compute [factor
    /// on the recorded time between calls, 1]
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    #[command(flatten)]
    nic: NicArgs,
}

/// Sets a number of the network from `KEY=VALUE`.
fn set(network: &mut Network, pair: &str) -> Result<(), String> {
    let (key, value) = pair.split_once('=').ok_or("must be KEY=VALUE")?;
    let number = || value.parse::<u64>().map_err(|error| error.to_string());
    match key {
        "latency" => network.latency_ns = number()?,
        "bandwidth" => match number()? {
            0 => return Err("must be at least 1".to_owned()),
            some => network.bytes_per_us = some,
        },
        "jitter" => network.jitter_ns = number()?,
        "compute" => network.compute = factor(value)?,
        _ => {
            let known = ["latency", "bandwidth", "jitter", "compute"];
            let meant = did_you_mean(key, known);
            return Err(format!("unknown{meant}; known: {}", known.join(", ")));
        }
    }
    Ok(())
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(factor) if (0.0..=1e6).contains(&factor) => Ok(factor),
        _ => Err("a number from 0 to 1000000 is needed".to_owned()),
    }
}

/// Order of posts and arrivals; `help/analyze.txt` describes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Order {
    Causal,
    Time,
    PostsFirst,
    ArrivalsFirst,
    Random,
}

impl Order {
    pub(super) fn choice(self, seed: u64) -> OrderChoice {
        match self {
            Self::Causal => OrderChoice::Causal,
            Self::Time => OrderChoice::Time,
            Self::PostsFirst => OrderChoice::PostsFirst,
            Self::ArrivalsFirst => OrderChoice::ArrivalsFirst,
            Self::Random => OrderChoice::Random { seed },
        }
    }
}

impl Args {
    /// The file of `--matches`.
    fn matches(&self) -> Option<&Path> {
        #[cfg(feature = "parquet")]
        return self.matches.as_deref();
        #[cfg(not(feature = "parquet"))]
        return None;
    }

    /// Whether reports are needed after all traces are read.
    fn needs_reports(&self) -> bool {
        let folder = self.out.is_some() && self.traces.len() > 1;
        folder || self.save.is_wanted() || self.format != Format::Table
    }

    fn question(&self, name: String) -> anyhow::Result<Question> {
        let largest = self.bins.iter().copied().max().unwrap_or_default();
        let options = self.nic.options(largest);
        options
            .nic
            .validate()
            .map_err(|error| BadInput(error.to_string()))?;
        let mut network = Network {
            seed: self.seed,
            ..Network::default()
        };
        for pair in &self.overrides {
            set(&mut network, pair).map_err(|what| BadInput(format!("--set {pair}: {what}")))?;
        }
        Ok(Question {
            name,
            order: self.order.choice(self.seed),
            network,
            plan: Plan {
                bins: self.bins.clone(),
                handlers: self.sweep.clone(),
                nic: options.nic,
            },
            check: self.check,
            engines: engines::chosen(&self.engine),
            options,
        })
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    if args.pairs.is_some() && args.traces.len() > 1 {
        return Err(BadInput("--pairs goes with one trace".to_owned()).into());
    }
    if args.matches().is_some() && args.traces.len() > 1 {
        return Err(BadInput("--matches goes with one trace".to_owned()).into());
    }
    let interrupt = Interrupt::catch()?;
    if let Some(other) = &args.against {
        return against::run(args, other, &interrupt);
    }
    let mut out = output::stdout();
    let mut all = Vec::new();
    let mut reports = Vec::new();
    for (done, path) in args.traces.iter().enumerate() {
        if args.traces.len() > 1 {
            interrupt.hold();
        }
        if interrupt.check().is_err() {
            let note = partial(&format!("{done} of {} traces", args.traces.len()));
            match args.format {
                Format::Table => writeln!(out, "{note}\n")?,
                Format::Csv | Format::Json => eprintln!("note: {note}"),
            }
            break;
        }
        let (run, report) = analyze(args, path)?;
        if interrupt.check().is_ok() {
            write_files(args, &run, &report, None, &interrupt)?;
        }
        drop(run);
        match args.format {
            Format::Table => writeln!(out, "{}\n", text(&report, args.wide))?,
            Format::Csv | Format::Json => {}
        }
        verdict(&report).or_else(|wrong| {
            out.flush()?;
            Err(wrong)
        })?;
        if args.traces.len() > 1 && args.format == Format::Table {
            all.push(summary::Depths::new(&report));
        }
        if args.needs_reports() {
            reports.push(Report {
                pairs: Vec::new(),
                ..report
            });
        }
    }
    let document = || document(&reports);
    args.save.write(document)?;
    if let (Some(folder), [_, _, ..], Ok(())) = (&args.out, &reports[..], interrupt.check()) {
        let figures = figures::over_applications(&reports.iter().collect::<Vec<_>>());
        interrupt
            .shield(|wanted| {
                let staged = StagedFolder::new(folder)?;
                write_figures(staged.path(), &figures, wanted)?;
                Ok(staged.commit()?)
            })
            .with_context(|| format!("cannot write into {}", folder.display()))?;
    }
    match args.format {
        Format::Json => document::write(&mut *out, &document())?,
        Format::Csv => {
            let tables = tables(&by_reference(&reports));
            table::write(&mut *out, &tables, args.format, args.wide)?;
        }
        Format::Table if all.len() > 1 => write!(
            out,
            "{}",
            summary::over_applications(&all, args.wide.width())
        )?,
        Format::Table => {}
    }
    out.flush()?;
    Ok(interrupt.check()?)
}

/// Analyzes one trace of which a run has measured these tables.
pub(super) fn single(args: &Args, measured: &[Table]) -> anyhow::Result<Report> {
    let (run, report) = analyze(args, &args.traces[0])?;
    let more = More {
        title: "Measured by the run",
        prefix: "measured_",
        tables: measured,
    };
    write_files(args, &run, &report, Some(more), &Interrupt::catch()?)?;
    Ok(report)
}

pub(super) fn text(report: &Report, wide: Wide) -> String {
    summary::text(report, wide.width())
}

fn by_reference(reports: &[Report]) -> Vec<&Report> {
    reports.iter().collect()
}

fn document(reports: &[Report]) -> serde_json::Value {
    let tables = tables(&by_reference(reports));
    let whole = document::members(serde_json::json!({ "traces": reports }));
    document::of_tables(&tables.iter().collect::<Vec<_>>(), whole)
}

/// # Errors
/// A check found an illegal matching, or an engine with other pairs.
fn verdict(report: &Report) -> anyhow::Result<()> {
    let Some(checked) = &report.checked else {
        return Ok(());
    };
    let name = &report.name;
    if !checked.is_empty() {
        return Err(WrongMatching(format!("{name}: the matching violates MPI's rules")).into());
    }
    let other = |engine: &&EngineReport| !engine.differs_at.is_empty();
    match report.engines.iter().find(other) {
        None => Ok(()),
        Some(engine) => {
            let (engine, ranks) = (engine.name, engine.differs_at.len());
            let what = format!(
                "{name}: engine {engine} gives other pairs at {}",
                counted(ranks, "rank")
            );
            Err(WrongMatching(what).into())
        }
    }
}

/// The name of a trace in reports: its folder or file name without extensions.
pub(super) fn name_of(path: &Path) -> String {
    let full = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = full.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    );
    let endings = [
        ".xz", ".gz", ".zst", ".tar", ".dumpi", ".bin", ".txt", ".meta",
    ];
    endings.iter().fold(name, |name, ending| {
        name.strip_suffix(ending).unwrap_or(&name).to_owned()
    })
}

fn analyze(args: &Args, path: &Path) -> anyhow::Result<(Run, Report)> {
    let rank = args
        .as_rank
        .map(Rank::new)
        .transpose()
        .map_err(|error| BadInput(format!("--as-rank: {error}")))?;
    let question = args.question(name_of(path))?;
    let options = OpenOptions {
        salvage: args.salvage,
        rank,
    };
    let run = load_ranks(path, options, args.collectives, args.ranks, "ranks read")?;
    if rank.is_some() && run.programs.len() > 1 {
        let what = "--as-rank names the rank of a single file, and this trace has";
        let ranks = run.programs.len();
        return Err(BadInput(format!("{}: {what} {ranks} ranks", path.display())).into());
    }
    let progress = bar(run.programs.len(), "ranks replayed");
    let report = Report::make(&run, &question, |_| progress.inc(1));
    progress.finish_and_clear();
    Ok((run, report?))
}

/// Tables beside the report's in its folder and on its page.
#[derive(Clone, Copy, Debug)]
struct More<'a> {
    title: &'a str,
    /// Of the names of their files.
    prefix: &'a str,
    tables: &'a [Table],
}

/// Writes the files of `--out` and `--pairs`: all of them, or none after an interrupt.
fn write_files(
    args: &Args,
    run: &Run,
    report: &Report,
    more: Option<More<'_>>,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    if args.out.is_none() && args.pairs.is_none() && args.matches().is_none() {
        return Ok(());
    }
    interrupt.shield(|wanted| write_shielded(args, run, report, more, wanted))
}

fn write_shielded(
    args: &Args,
    run: &Run,
    report: &Report,
    more: Option<More<'_>>,
    wanted: &AtomicBool,
) -> anyhow::Result<()> {
    let folder = args.out.as_ref().map(|folder| {
        if args.traces.len() > 1 {
            folder.join(&report.name)
        } else {
            folder.clone()
        }
    });
    let in_folder = || {
        format!(
            "cannot write into {}",
            folder.as_deref().unwrap_or(Path::new("")).display()
        )
    };
    let staged = folder
        .as_deref()
        .map(StagedFolder::new)
        .transpose()
        .with_context(in_folder)?;
    if let Some(staged) = &staged {
        write_folder(staged.path(), report, more, wanted).with_context(in_folder)?;
    }
    let in_file = || {
        format!(
            "cannot write {}",
            args.pairs.as_deref().unwrap_or(Path::new("")).display()
        )
    };
    let mut file = args
        .pairs
        .as_deref()
        .map(StagedFile::new)
        .transpose()
        .with_context(in_file)?;
    if let Some(file) = &mut file {
        file.fill(|out| pairs(run, &report.pairs, out))
            .with_context(in_file)?;
    }
    let matches = args.matches().unwrap_or(Path::new(""));
    let in_matches = || format!("cannot write {}", matches.display());
    let mut rows = args
        .matches()
        .map(StagedFile::new)
        .transpose()
        .with_context(in_matches)?;
    #[cfg(feature = "parquet")]
    if let Some(file) = &mut rows {
        // The report keeps no order, so it is made again: the same one.
        let question = args.question(String::new())?;
        let (orders, ..) = run
            .orders(question.order, question.network)
            .context("some ranks of the trace have no wall times")?;
        file.fill(|out| {
            dpamatch_tools::analyze::write_parquet(run, &orders, &report.pairs, out).map(drop)
        })
        .with_context(in_matches)?;
    }
    go_on(wanted)?;
    rows.map(StagedFile::commit)
        .transpose()
        .with_context(in_matches)?;
    staged
        .map(StagedFolder::commit)
        .transpose()
        .with_context(in_folder)?;
    file.map(StagedFile::commit)
        .transpose()
        .with_context(in_file)?;
    Ok(())
}

/// # Errors
/// The user interrupted the command.
fn go_on(wanted: &AtomicBool) -> Result<(), Interrupted> {
    // ordering: the flag guards no other memory.
    if wanted.load(Ordering::Relaxed) {
        Err(Interrupted)
    } else {
        Ok(())
    }
}

fn write_folder(
    folder: &Path,
    report: &Report,
    more: Option<More<'_>>,
    wanted: &AtomicBool,
) -> anyhow::Result<()> {
    if let Some(More { prefix, tables, .. }) = more {
        for table in tables {
            fs::write(
                folder.join(format!("{prefix}{}.csv", table.name)),
                table.csv(),
            )?;
        }
    }
    for table in by_rank(report) {
        fs::write(folder.join(format!("{}.csv", table.name)), table.csv())?;
    }
    let figures = figures::of_application(report);
    write_figures(folder, &figures, wanted)?;
    let context = html::Context {
        summary: &summary::short(report),
        command: &command_line(),
        more: more.map(|More { title, tables, .. }| (title, tables)),
        tables: if report.is_of_logs() {
            "Modelled from the order logs"
        } else {
            "Tables"
        },
    };
    fs::write(
        folder.join("report.html"),
        html::page(report, &figures, &context),
    )?;
    Ok(fs::write(
        folder.join("report.json"),
        serde_json::to_vec_pretty(report)?,
    )?)
}

fn write_figures(
    folder: &Path,
    figures: &[(&str, Figure)],
    wanted: &AtomicBool,
) -> anyhow::Result<()> {
    for (name, figure) in figures {
        go_on(wanted)?;
        figure.write(folder, name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use dpa_model::NicConfig;
    use dpamatch::registry::EngineOptions;
    use dpamatch_tools::analyze::Agreement;

    use super::*;

    fn report(checked: Option<Vec<(u32, String)>>, differs_at: Vec<u32>) -> Report {
        let engine = EngineReport {
            name: "list",
            agreement: Agreement::default(),
            differs_at,
            counters: Vec::new(),
        };
        let run = Run::new(Vec::new(), Some(1));
        let question = Question {
            name: "run".to_owned(),
            order: OrderChoice::Causal,
            network: Network::default(),
            plan: Plan {
                bins: Vec::new(),
                handlers: Vec::new(),
                nic: NicConfig::default(),
            },
            check: false,
            engines: Vec::new(),
            options: EngineOptions::default(),
        };
        let report = Report::make(&run, &question, |_| ()).expect("a report of nothing");
        Report {
            checked,
            engines: vec![engine],
            ..report
        }
    }

    #[test]
    fn a_wrong_matching_is_an_error_where_it_is_checked() {
        let illegal = vec![(3, "receive 1 does not accept message 2".to_owned())];
        let said = |checked, differs| {
            verdict(&report(checked, differs))
                .expect_err("it is wrong")
                .to_string()
        };
        assert!(verdict(&report(None, vec![2])).is_ok(), "nobody asked");
        assert!(verdict(&report(Some(Vec::new()), Vec::new())).is_ok());
        let rules = "run: the matching violates MPI's rules";
        assert_eq!(said(Some(illegal), Vec::new()), rules);
        let other = "run: engine list gives other pairs at 2 ranks";
        assert_eq!(said(Some(Vec::new()), vec![2, 5]), other);
    }
}
