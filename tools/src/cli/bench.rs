mod cpus;
mod figures;
mod first;
mod latencies;
mod paper;
mod recorded;
mod results;
mod scaling;
mod tables;
mod warnings;

use std::fs;
use std::io::{Write, stderr};
use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use dpamatch::engine::BinCount;
use dpamatch::processors;
use dpamatch_tools::bench::{
    BenchError, CALIBRATION, ClockQuality, Grow, Machine, Matching, Peer, Point, Report, Scenario,
    Settings, Shown, Summary, Ucx, WINDOW_MAX, free_processors,
};
use dpamatch_tools::counted;
use dpamatch_tools::table::wrapped;
use dpamatch_tools::version::VERSION;
use serde_json::Value;

use super::document::{self, Save};
use super::input::did_you_mean;
use super::interrupt::{Early, partial};
use super::nic_args::NicArgs;
use super::progress::bar;
use super::table::{Format, Wide};
use super::{BadInput, command_line, engines, output};

/// Measure message rates of the emulated NIC, of sequential engines, and without matching.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = include_str!("help/bench.txt").trim_end(), mut_arg("workers", |workers| workers.default_value("0")))]
pub(super) struct Args {
    /// Scenarios, by name
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    scenario: Vec<String>,
    /// Messages in a window [default: depends on the scenario]
    #[arg(long, value_name = "K,..", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=WINDOW_MAX as i64))]
    windows: Vec<u32>,
    /// Bytes of a message, or all: 8 bytes to 256 KiB; above the eager limit by rendezvous
    #[arg(long = "bytes", value_name = "BYTES,..", value_delimiter = ',', default_value = "8", value_parser = sizes)]
    sizes: Vec<Sizes>,
    /// Repetitions of a window in each round [default: 500, or 20000 for windows of one message]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    reps: Option<u32>,
    /// Rounds over all windows
    #[arg(long, value_name = "ROUNDS", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Milliseconds for the repetitions of a window; at least ten are made
    #[arg(long, value_name = "MS", default_value_t = 50)]
    budget: u64,
    /// How the NIC matches: optimistically, by the paper's phases on --workers, in order by one
    /// worker, or so one message after the other
    #[arg(long, value_enum, value_name = "HOW,..", value_delimiter = ',', default_values_t = Matching::OF_BLOCKS)]
    matching: Vec<Matching>,
    /// Numbers of handlers to measure, instead of --handlers
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    sweep: Vec<usize>,
    /// Percent of MIX's receives that accept any source or any tag
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=100))]
    wild: Option<u32>,
    /// Percent of MIX's messages that share one key; several percentages are several scenarios
    #[arg(long, value_name = "PERCENT,..", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..=100))]
    conflicts: Vec<u32>,
    /// Percent of MIX's receives that are posted after all messages have arrived
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=100))]
    late: Option<u32>,
    /// Baselines on the same wire: messages go to buffers in arrival order (no-matching), one
    /// thread copies the bytes (memcpy), the NIC's public interface (endpoint), a software engine
    /// or the path of an engine's library, or none [default: no-matching,bins; in the short table
    /// list,bins; with --trace bins]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',',
          value_parser = engines::software(WIRES))]
    baseline: Vec<String>,
    /// Measure UCX's tag matching in the same rounds; the short table does so if UCX is installed
    #[arg(long)]
    peers: bool,
    /// Measure the paper's figure 8 and an overview of all kinds of scenarios, in two minutes
    #[arg(long = "all", conflicts_with_all = ["scenario", "sweep", "scaling", "trace"])]
    full: bool,
    /// Send, match and complete by turns on one thread: no wire between two processors [default if
    /// fewer than two processors are free]
    #[arg(long, conflicts_with_all = ["workers", "like", "scaling", "trace", "peers"])]
    one_thread: bool,
    /// Count also what is left out otherwise
    #[arg(long, value_enum, value_name = "WHAT,..", value_delimiter = ',')]
    keep: Vec<Keep>,
    /// Seed of random orders
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// CPUs to use: the lowest receives, the next one sends, workers get the others
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    cpus: Vec<usize>,
    /// Also write results and figures (SVG, with their numbers as CSV) into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Form of the results
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    save: Save,
    #[command(flatten)]
    wide: Wide,
    /// Measure shards in place of scenarios: a NIC for each processor, on 2, 4, 8 and so on
    #[arg(long, conflicts_with_all = ["scenario", "sweep", "sizes", "out", "wild", "conflicts", "late", "baseline", "peers", "trace", "budget", "keep"])]
    scaling: bool,
    /// Measure the matching rate of a rank's recorded sequence, in place of scenarios
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["scenario", "windows", "sweep", "out", "wild", "conflicts", "late"])]
    trace: Option<PathBuf>,
    /// The rank [default: the one with the most messages]
    #[arg(long, value_name = "R", requires = "trace")]
    rank: Option<u32>,
    /// Bins of each hash table, 1 to 65536 [default: 2048, or the receives posted at a time]
    #[arg(long, value_name = "B")]
    bins: Option<BinCount>,
    /// Run the handlers as the card does: a thread for each, one bitmap as the barrier
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["workers", "slice_min", "scaling", "trace"])]
    like: Option<Like>,
    #[command(flatten)]
    nic: NicArgs,
}

/// Windows that do not count by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Keep {
    /// Windows in which other programs had a processor
    Disturbed,
    /// Windows of all placements, in one pool; valid only on pinned CPUs (bare metal)
    Placements,
}

/// An arrangement of the handlers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Like {
    /// A thread for each handler, as on the card
    Card,
}

/// Baselines that are no engines: none; the NIC through the public interface; the wire without
/// matching; one thread that copies the bytes.
const WIRES: &[&str] = &["none", "endpoint", "no-matching", "memcpy"];

const REPETITIONS: u32 = 500;
/// For windows of one message: five rounds suffice for the 99.99th percentile.
const REPETITIONS_SINGLE: u32 = 20_000;
/// The scenario whose shares are options.
const MIX: &str = "MIX";
/// The handlers of the paper's figure, and twice its maximum.
const PAPER_SWEEP: &[usize] = &[1, 2, 4, 8, 16, 32, 64];
const PAPER: &[&str] = &["NC", "WC-FP", "WC-SP"];
/// Windows and their scenarios in the overview beyond the paper's.
const OVERVIEW: [(usize, &str); 4] = [
    (1, "NC"),
    (100, "NC"),
    (
        1024,
        "NC WC NC-REV NC-RND NC-REV-S1021 ANYSRC ANYSRC-REV ANYTAG ANYBOTH UNEXP UNEXP-ANYSRC-REV",
    ),
    (100, "DEPTH-1024 DEPTH-8192 WDEPTH-1024"),
];

/// The number of bins of the paper's prototype (O30).
const BINS: BinCount = match BinCount::new(2048) {
    Ok(bins) => bins,
    Err(_) => panic!("in range"),
};

/// Bytes of a message, of as many messages as they are.
#[derive(Clone, Debug)]
struct Sizes(Vec<usize>);

fn sizes(text: &str) -> Result<Sizes, ParseIntError> {
    match text {
        "all" => Ok(Sizes((0..6).map(|step| 8 << (3 * step)).collect())),
        one => one.parse().map(|size| Sizes(vec![size])),
    }
}

impl Args {
    fn sizes(&self) -> Vec<usize> {
        self.sizes
            .iter()
            .flat_map(|Sizes(sizes)| sizes)
            .copied()
            .collect()
    }

    fn bins(&self) -> BinCount {
        self.bins.unwrap_or(BINS)
    }

    fn keeps(&self, what: Keep) -> bool {
        self.keep.contains(&what)
    }

    fn scenarios(&self) -> Result<Vec<Scenario>, BadInput> {
        let has_shares = self.wild.is_some() || self.late.is_some() || !self.conflicts.is_empty();
        if has_shares && !self.scenario.iter().any(|name| name == MIX) {
            return Err(BadInput(format!(
                "--wild, --conflicts and --late need --scenario {MIX}"
            )));
        }
        let mut scenarios = Vec::new();
        for name in &self.scenario {
            if name == "all" {
                scenarios.extend(Scenario::all());
                continue;
            }
            let wrong = |error| {
                let meant = did_you_mean(name, Scenario::NAMES.split(", ").chain([MIX, "all"]));
                let known = Scenario::NAMES;
                BadInput(format!("{error}{meant}; known: {known}, {MIX}, all"))
            };
            if name == MIX {
                let [wild, late] = [self.wild, self.late].map(Option::unwrap_or_default);
                let conflicts = match self.conflicts.as_slice() {
                    [] => &[0],
                    several => several,
                };
                for conflicts in conflicts {
                    let name = format!("{MIX}-{wild}-{conflicts}-{late}");
                    scenarios.push(name.parse().map_err(wrong)?);
                }
            } else {
                scenarios.push(name.parse().map_err(wrong)?);
            }
        }
        Ok(scenarios)
    }

    /// The names of the baselines.
    fn baseline(&self) -> Vec<&str> {
        match self.baseline.as_slice() {
            [] if self.trace.is_some() => vec!["bins"],
            [] if self.is_short() => vec!["list", "bins"],
            [] => vec!["no-matching", "bins"],
            chosen => chosen.iter().map(String::as_str).collect(),
        }
    }

    fn baselines(&self) -> impl Iterator<Item = Peer> {
        let baselines = self.baseline().into_iter().filter_map(|name| match name {
            "none" => None,
            "endpoint" => Some(Peer::Endpoint),
            "no-matching" => Some(Peer::NoMatching),
            "memcpy" => Some(Peer::Copy),
            "bins" => Some(Peer::Bins),
            "list" => Some(Peer::List),
            engine => engines::one(engine).ok().map(Peer::Engine),
        });
        baselines.chain(self.peers.then_some(Peer::Ucx))
    }

    /// Whether nothing says what to measure: then a few rows with contrast.
    fn is_short(&self) -> bool {
        let chosen = [
            self.full,
            !self.scenario.is_empty(),
            !self.sweep.is_empty(),
            !self.windows.is_empty(),
            self.sizes().len() > 1,
            self.like.is_some(),
        ];
        !chosen.contains(&true)
    }

    /// The NIC with this many handlers, once for each way to match.
    fn nics(&self, handlers: usize) -> impl Iterator<Item = Peer> + Clone {
        let peer = move |&matching| Peer::nic(handlers, matching);
        // As the card does it means optimistically.
        let chosen =
            |matching: &&Matching| self.like.is_none() || **matching == Matching::Optimistic;
        self.matching.iter().filter(chosen).map(peer)
    }

    fn depth_points(&self, points: &mut Points<'_>) {
        for kind in ["DEPTH", "WDEPTH"] {
            for depth in figures::DEPTHS {
                let Ok(scenario) = format!("{kind}-{depth}").parse() else {
                    continue;
                };
                for peer in self
                    .nics(self.nic.handlers())
                    .chain(self.baselines())
                    .chain([Peer::List])
                {
                    points.add(peer, &scenario, figures::DEPTH_WINDOW);
                }
            }
        }
    }

    fn settings(&self) -> Settings {
        let size = &self.nic.size;
        let mut nic = self.nic.options(self.bins());
        let like_card = self.like == Some(Like::Card);
        nic.threads |= like_card;
        Settings {
            nic,
            grow: Grow {
                bins: self.bins.is_none(),
                receives: size.receives.is_none(),
                unexpected: size.unexpected.is_none(),
                unexpected_buffers: size.unexpected_buffers.is_none(),
                communicators: size.communicators.is_none(),
            },
            like_card,
            repetitions: self.reps.unwrap_or(REPETITIONS) as usize,
            repetitions_single: self.reps.unwrap_or(REPETITIONS_SINGLE) as usize,
            budget: Duration::from_millis(self.budget),
            seed: self.seed,
            ucx: None,
            look: !self.keeps(Keep::Placements) && !self.one_thread,
            one_thread: self.one_thread,
            keep_disturbed: self.keeps(Keep::Disturbed),
        }
    }

    fn points(&self) -> Result<Vec<Point>, BadInput> {
        if self.baseline.iter().any(|name| name == "ucx") {
            return Err(BadInput(
                "--baseline ucx: --peers measures UCX itself".to_owned(),
            ));
        }
        let handlers = self.nic.handlers();
        let sizes = self.sizes();
        let mut points = Points {
            sizes: &sizes,
            all: Vec::new(),
        };
        let windows = |usual: &[usize]| match self.windows.as_slice() {
            [] => usual.to_vec(),
            chosen => chosen.iter().map(|&window| window as usize).collect(),
        };
        let mut scenarios = self.scenarios()?;
        if self.is_short() {
            for row in first::ROWS {
                let Ok(scenario) = row.scenario.parse() else {
                    continue;
                };
                self.nics(handlers)
                    .chain(self.baselines())
                    .for_each(|peer| points.add(peer, &scenario, row.window));
            }
            return Ok(points.all);
        }
        if self.full {
            for scenario in PAPER
                .iter()
                .filter_map(|name| name.parse::<Scenario>().ok())
            {
                for window in CALIBRATION {
                    for peer in PAPER_SWEEP.iter().flat_map(|&handlers| self.nics(handlers)) {
                        points.add(peer, &scenario, window);
                    }
                    self.baselines()
                        .for_each(|peer| points.add(peer, &scenario, window));
                }
            }
            let cases =
                |(usual, names): (_, &'static str)| names.split(' ').map(move |it| (it, usual));
            for (name, usual) in OVERVIEW.into_iter().flat_map(cases) {
                let Ok(scenario) = name.parse() else { continue };
                for window in windows(&[usual]) {
                    self.nics(handlers)
                        .chain(self.baselines())
                        .for_each(|peer| points.add(peer, &scenario, window));
                }
            }
            if self.out.is_some() {
                self.depth_points(&mut points);
            }
            return Ok(points.all);
        }
        if scenarios.is_empty() {
            let names = if sizes.len() > 1 { &["NC"] } else { PAPER };
            scenarios = names.iter().filter_map(|name| name.parse().ok()).collect();
        }
        for scenario in &scenarios {
            for window in windows(scenario.usual_windows()) {
                let sweep = match self.sweep.as_slice() {
                    [] => &[handlers],
                    sweep => sweep,
                };
                for peer in sweep.iter().flat_map(|&handlers| self.nics(handlers)) {
                    points.add(peer, scenario, window);
                }
                for peer in self.baselines() {
                    // Without matching every scenario equals NC.
                    if matches!(peer, Peer::NoMatching | Peer::Copy)
                        && let Ok(nc) = "NC".parse()
                    {
                        points.add(peer, &nc, window);
                    }
                    points.add(peer, scenario, window);
                }
            }
        }
        Ok(points.all)
    }
}

struct Points<'a> {
    sizes: &'a [usize],
    all: Vec<Point>,
}

impl Points<'_> {
    fn add(&mut self, peer: Peer, scenario: &Scenario, window: usize) {
        for &size in self.sizes {
            let point = Point {
                peer,
                scenario: scenario.clone(),
                window,
                size,
            };
            if peer.takes(scenario) && !self.all.contains(&point) {
                self.all.push(point);
            }
        }
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    if !args.cpus.is_empty() {
        cpus::stay_on(&args.cpus)?;
    }
    if let Some(trace) = &args.trace {
        return recorded::run(args, trace);
    }
    if args.scaling {
        return scaling::run(args);
    }
    if args.one_thread && args.keeps(Keep::Placements) {
        let what = "--one-thread has no placements: leave them out of --keep";
        return Err(BadInput(what.to_owned()).into());
    }
    let mut args = args.clone();
    let machine = Machine::this();
    let why_one_thread = one_thread(&mut args, &machine);
    let args = &args;
    // What the line says wrong comes before what the machine lacks.
    let mut points = args.points()?;
    let mut settings = args.settings();
    settings
        .nic
        .nic
        .validate()
        .map_err(|error| BadInput(error.to_string()))?;
    settings.ucx = ucx(args)?;
    if args.is_short() && settings.ucx.is_some() {
        first::add_ucx(&mut points);
    }
    let like_card = args.like == Some(Like::Card);
    if like_card {
        cpus::enough_processors(&points, processors::allowed().len())?;
    }
    let begin = Instant::now();
    let early = Early::catch()?;
    let report = measure(&points, args.rounds as usize, &settings, &early)?;
    let done = report.disturbance().measurements;
    if early.is_stopped() && done == 0 {
        return early.end();
    }
    let part = Part::new(&report, args);
    if part.shown.report.rows.is_empty() {
        return Err(BadInput(warnings::cannot_measure(&report.disturbance())).into());
    }
    let mut told = warnings::warnings(&machine, &part.shown, &report.disturbance());
    told.extend(why_one_thread);
    if !report.pinned() && machine.processors > 1 {
        told.push("the system refused to pin threads; rates vary more".to_owned());
    }
    told.extend(warnings::without_rate(&points, &part.shown.report));
    if early.is_stopped() {
        let all = points.len() * args.rounds as usize;
        told.insert(
            0,
            partial(&format!("{done} of {}", counted(all, "measurement"))),
        );
    }
    let header = Header {
        machine,
        command: command_line(),
        seconds: begin.elapsed().as_secs_f64(),
        settings,
        rounds: args.rounds,
        warnings: told,
        clock: report
            .rows
            .iter()
            .any(|row| row.latencies().is_some())
            .then(ClockQuality::measure),
    };
    show(args, &report, &part, &header)?;
    early.end()
}

/// Chooses one thread for both ends if two processors are not there or not free. Returns the reason
/// as a sentence.
fn one_thread(args: &mut Args, machine: &Machine) -> Option<String> {
    let cannot = [
        args.one_thread,
        args.nic.size.workers > 0,
        args.like.is_some(),
        args.keeps(Keep::Disturbed),
    ];
    if cannot.contains(&true) {
        return None;
    }
    let why = if machine.processors < 2 {
        "this program may use one processor"
    } else if args.is_short() && free_processors() < 2 {
        "other programs use the processors"
    } else {
        return None;
    };
    args.one_thread = true;
    args.peers = false;
    Some(format!(
        "{why}: one thread sends, matches and completes by turns, without a wire between two \
         processors"
    ))
}

/// UCX, if the arguments require it, or if the short table finds it.
fn ucx(args: &Args) -> anyhow::Result<Option<Ucx>> {
    match args {
        _ if args.peers => Ok(Some(Ucx::find()?)),
        _ if args.is_short() && args.baseline.is_empty() && !args.one_thread => {
            Ok(Ucx::find().ok())
        }
        _ => Ok(None),
    }
}

/// Prints the results and writes the files that the arguments name.
fn show(args: &Args, report: &Report, part: &Part, header: &Header) -> anyhow::Result<()> {
    let first = args.matching.first().copied();
    let nic = Peer::nic(args.nic.handlers(), first.unwrap_or(Matching::Optimistic));
    // The full table has the warnings in its header; elsewhere they would be in the way.
    if args.format != Format::Table || args.is_short() {
        for warning in &header.warnings {
            writeln!(stderr(), "dpamatch: WARNING: {warning}")?;
        }
    }
    let whole = results::document(report, part, header);
    let kept = args.out.as_ref().map_or(Ok(()), |folder| {
        write_folder(folder, &whole, part, header, nic)
            .with_context(|| format!("cannot write into {}", folder.display()))
    });
    let kept = kept.and(args.save.write(|| whole.clone()));
    let mut out = output::stdout();
    match args.format {
        Format::Table if args.is_short() => {
            write!(
                out,
                "{}",
                first::text(&part.shown.report, header, &part.name)
            )?;
        }
        Format::Table => {
            let width = args.wide.width();
            writeln!(out, "{}", wrapped(&header.text(report), width))?;
            writeln!(out, "\n{}", part.heading(report))?;
            let shown = &part.shown.report;
            let size = args.sizes().first().copied();
            let paper = args.full.then(|| tables::paper(shown, PAPER_SWEEP, size));
            let overview = tables::overview(shown, nic, args.full);
            for table in paper
                .into_iter()
                .chain([overview])
                .chain(latencies::table(shown))
            {
                write!(out, "\n{}", table.text(width))?;
            }
        }
        Format::Csv => write!(out, "{}", results::rates(part, header.ucx_version()).csv())?,
        Format::Json => document::write(&mut *out, &whole)?,
    }
    out.flush()?;
    kept
}

/// The measurements that are shown.
struct Part {
    /// The placement in one or two words.
    name: String,
    shown: Shown,
}

impl Part {
    fn new(report: &Report, args: &Args) -> Self {
        if args.one_thread {
            return Self {
                name: "one thread".to_owned(),
                shown: report.in_any_placement(),
            };
        }
        if args.keeps(Keep::Placements) {
            return Self::any(report);
        }
        Self::one(report)
    }

    fn any(report: &Report) -> Self {
        Self {
            name: "any".to_owned(),
            shown: report.in_any_placement(),
        }
    }

    fn one(report: &Report) -> Self {
        let shown = report.in_one_placement();
        let name = shown.placement.map(|placement| placement.to_string());
        Self {
            name: name.unwrap_or_else(|| "moving".to_owned()),
            shown,
        }
    }

    fn short_name(&self) -> String {
        self.name.replace(", ", "-").replace(' ', "-")
    }

    fn heading(&self, whole: &Report) -> String {
        let all = whole.disturbance().measurements;
        format!(
            "Placement {}: {} of {}",
            self.name,
            self.shown.measurements,
            counted(all, "measurement")
        )
    }
}

/// Writes the results, and the figures that they support.
fn write_folder(
    folder: &Path,
    whole: &Value,
    part: &Part,
    header: &Header,
    nic: Peer,
) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(
        folder.join("results.csv"),
        results::rates(part, header.ucx_version()).csv(),
    )?;
    let mut json = Vec::new();
    document::write(&mut json, whole)?;
    fs::write(folder.join("results.json"), json)?;
    let figures = figures::all(&part.shown.report, nic);
    if figures.is_empty() {
        writeln!(
            stderr(),
            "dpamatch: no figure for these options; a figure needs --all, or several values of \
             --sweep, --bytes or --conflicts, or windows of one message"
        )?;
    }
    for (name, figure) in figures {
        figure.write(folder, name)?;
    }
    Ok(())
}

/// Runs all rounds up to an interrupt, with a progress bar if standard error is a terminal.
fn measure(
    points: &[Point],
    rounds: usize,
    settings: &Settings,
    early: &Early,
) -> anyhow::Result<Report> {
    let bar = bar(points.len() * rounds, "");
    let report = Report::run(points, rounds, settings, |point| {
        bar.inc(1);
        bar.set_message(point.to_string());
        !early.is_stopped()
    });
    bar.finish_and_clear();
    report.map_err(|error| match error.source {
        BenchError::Config(_)
        | BenchError::MessageSize
        | BenchError::Hint
        | BenchError::NoTables => BadInput(format!("{}: {}", error.point, error.source)).into(),
        _ => error.into(),
    })
}

struct Header {
    machine: Machine,
    command: String,
    settings: Settings,
    rounds: u32,
    seconds: f64,
    warnings: Vec<String>,
    clock: Option<ClockQuality>,
}

impl Header {
    fn ucx_version(&self) -> Option<&str> {
        self.settings.ucx.as_ref().map(Ucx::version)
    }

    fn runner(&self) -> String {
        if self.settings.one_thread {
            "one thread has both ends".to_owned()
        } else if self.settings.nic.threads {
            counted(self.settings.nic.nic.workers, "worker thread")
        } else {
            "the receiving thread runs the NIC".to_owned()
        }
    }

    fn text(&self, report: &Report) -> String {
        let Self {
            machine,
            command,
            settings,
            rounds,
            seconds,
            warnings,
            ..
        } = self;
        let warnings: String = warnings
            .iter()
            .map(|it| format!("\nWARNING: {it}"))
            .collect();
        let hand_over =
            Summary::from_values(&report.hand_over_ns).map_or("unknown".to_owned(), |summary| {
                format!(
                    "{:.0} ns ({:.0} to {:.0})",
                    summary.median, summary.min, summary.max
                )
            });
        let beside = self
            .ucx_version()
            .map_or(String::new(), |version| format!(", beside UCX {version}"));
        let clock = self
            .clock
            .map_or(String::new(), |ClockQuality { read_ns, step_ns }| {
                format!(
                    "\nsingle messages: up to {}; a clock reading takes {read_ns:.0} ns, \
                 its smallest step is {step_ns:.0} ns",
                    counted(settings.repetitions_single, "repetition")
                )
            });
        format!(
            "dpamatch {VERSION}{beside} on {machine}\n\
             {command}\n\
             cache-line round trip: {hand_over}\n\
             {} of up to {}, {}, seed {}; {} checked; {seconds:.1} s{clock}{warnings}",
            counted(rounds, "round"),
            counted(settings.repetitions, "repetition"),
            self.runner(),
            settings.seed,
            counted(report.checked(), "payload"),
        )
    }
}

#[cfg(test)]
mod tests;
