use std::env;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Parser;
use dpamatch_tools::analyze::{self, Report};
use dpamatch_tools::counted;
use dpamatch_tools::private_folder;
use dpamatch_tools::statistics::{self, Endpoint, Live, StatisticsError};
use dpamatch_tools::table::Table;
use serde_json::json;

use super::document::Save;
use super::interrupt::Interrupt;
use super::table::{Format, Wide, write};
use super::{BadInput, Cli, document, guard, output, waits};

/// Run an MPI program with its matching on the emulated NIC, and report.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/run.txt").trim_end())]
pub(super) struct Args {
    /// The launcher, the program and their arguments
    #[arg(
        value_name = "COMMAND",
        required_unless_present = "attach",
        last = true
    )]
    command: Vec<String>,
    /// Folder for every rank's statistics and logs; replaces older ones
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Log the order of every rank's matching and analyze it
    #[arg(long)]
    log: bool,
    /// The provider's library or its folder [default: this command's folder, or
    /// ../lib/libfabric from there]
    #[arg(long, value_name = "DIR")]
    provider: Option<PathBuf>,
    /// End the program after this time, and show what it waits for
    #[arg(long, value_name = "SECONDS")]
    limit: Option<u64>,
    /// Show again and again what each rank does, with a pause of this time; in place on a terminal
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    watch: Option<u64>,
    /// Only show what a running program waits for: the folder of its --out, or its statistics
    #[arg(long, value_name = "DIR", conflicts_with_all = ["command", "out", "log", "limit", "watch"])]
    attach: Option<PathBuf>,
    /// Form of the report
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    save: Save,
    #[command(flatten)]
    wide: Wide,
}

const LIBRARY: &str = "libdpamatch_fi.so";
/// Where an installed command finds it, from its own folder.
const INSTALLED: &str = "../lib/libfabric";

/// Makes MPI libraries use the provider. Each library reads only its own variables.
const VARIABLES: &[(&str, &str)] = &[
    ("FI_PROVIDER", "dpamatch"),
    ("MPIR_CVAR_CH4_NETMOD", "ofi"),
    ("MPIR_CVAR_NOLOCAL", "1"),
    ("OMPI_MCA_pml", "cm"),
    ("OMPI_MCA_mtl", "ofi"),
    ("OMPI_MCA_opal_common_ofi_provider_include", "dpamatch"),
];

impl Args {
    fn provider(&self) -> anyhow::Result<PathBuf> {
        let folders = match &self.provider {
            // The library itself names its folder.
            Some(file) if file.ends_with(LIBRARY) && file.is_file() => {
                vec![file.parent().map(Path::to_owned).unwrap_or_default()]
            }
            Some(folder) => vec![folder.clone()],
            None => {
                let command = env::current_exe().context("cannot find this command's folder")?;
                let folder = command.parent().map(Path::to_owned).unwrap_or_default();
                vec![folder.clone(), folder.join(INSTALLED)]
            }
        };
        let Some(folder) = folders.iter().find(|folder| folder.join(LIBRARY).exists()) else {
            let folders: Vec<_> = folders.iter().map(|it| it.display().to_string()).collect();
            let what = format!(
                "no {LIBRARY} in {}: `cargo build --release -p dpamatch_provider` in a clone builds \
                 it; name its folder by --provider",
                folders.join(" or ")
            );
            return Err(BadInput(what).into());
        };
        // An empty path is the current folder.
        let folder = Path::new(".").join(folder);
        folder
            .canonicalize()
            .with_context(|| folder.display().to_string())
    }

    /// Runs the program; returns its status, or none if it was late, and then what it waited for.
    /// Unless it succeeds, all processes that it started are ended.
    fn launch(
        &self,
        stats: &Path,
        logs: Option<&Path>,
    ) -> anyhow::Result<(Option<ExitStatus>, Vec<Table>)> {
        let [program, arguments @ ..] = self.command.as_slice() else {
            return Err(BadInput("no command".to_owned()).into());
        };
        let mut command = Command::new(program);
        // A key that is a signal shall reach this process alone. Processes behind the terminal's
        // back may not read from it, so this one passes on what it reads.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        if std::io::stdin().is_terminal() {
            command.stdin(Stdio::piped());
        }
        command.args(arguments).envs(VARIABLES.iter().copied());
        command
            .env("FI_PROVIDER_PATH", self.provider()?)
            .env("DPAMATCH_STATS", stats);
        if let Some(logs) = logs {
            command.env("DPAMATCH_LOG", logs);
        }
        let asked = Arc::new(AtomicBool::new(false));
        #[cfg(unix)]
        signal_hook::flag::register(signal_hook::consts::SIGQUIT, Arc::clone(&asked))?;
        let mut last = Vec::new();
        let mut watched = Watched::new(self.watch);
        let mut look = |late: bool| {
            watched.look(stats, self.wide);
            // ordering: the flag guards no other memory.
            if asked.swap(false, Ordering::Relaxed) || late {
                match waits::ask(stats) {
                    Ok(tables) => {
                        eprintln!("{}", waits::told(&tables, self.wide));
                        last = if late { tables } else { Vec::new() };
                    }
                    Err(error) => eprintln!("dpamatch: {error:#}"),
                }
            }
        };
        let limit = self.limit.map(Duration::from_secs);
        let interrupt = Interrupt::catch()?;
        #[cfg(unix)]
        interrupt.catch_hangup()?;
        let status = interrupt.shield(|wanted| {
            guard::guarded(&mut command, limit, wanted, &mut look).with_context(|| program.clone())
        })?;
        Ok((status, last))
    }
}

/// Asks again and again, so that the statistics of a process that dies are not old.
struct Watched {
    every: Duration,
    last: Instant,
    /// What `--watch` shows.
    live: Option<Live>,
}

impl Watched {
    fn new(watch: Option<u64>) -> Self {
        let every = Duration::from_secs(watch.unwrap_or(1));
        Self {
            every,
            last: Instant::now(),
            live: watch.map(|_| Live::default()),
        }
    }

    fn look(&mut self, stats: &Path, wide: Wide) {
        if self.last.elapsed() < self.every {
            return;
        }
        // What fails here is tried again at the next look, like a file that is being written.
        if let Some(live) = &mut self.live {
            if let Ok(answers) = waits::answers(stats, self.every / 2) {
                let table = live.table(&answers, self.last.elapsed().as_secs_f64());
                let home = if std::io::stderr().is_terminal() {
                    "\x1b[H\x1b[2J"
                } else {
                    ""
                };
                eprintln!("{home}{}", waits::told(&[table], wide).trim());
            }
        } else {
            let _ = waits::request(stats);
        }
        self.last = Instant::now();
    }
}

/// Why there are fewer statistics than there should be: `unknown` endpoints have none, `unfinished`
/// files have no end. `None`: there are all.
fn reason(
    known: &[Endpoint],
    [unknown, unfinished]: [usize; 2],
    good: bool,
    log: bool,
) -> Option<String> {
    let open = known.iter().filter(|endpoint| !endpoint.closed).count();
    let (closed, lost) = (known.len() - open, open + unknown);
    Some(match (closed, lost, unfinished) {
        (_, 0, 1..) => "statistics could not be written: is the disk full?".to_owned(),
        (0, 0, _) if good => {
            "no process used the emulated NIC: the MPI library must send through libfabric; \
             `mpichversion` names ch4:ofi or ch4:ucx, and `pip install mpich` brings ch4:ofi"
                .to_owned()
        }
        (0, 0, _) => "no process reached MPI_Init: the launcher or the program failed before, or \
                      the MPI library does not send through libfabric"
            .to_owned(),
        (_, 0, _) => return None,
        _ => {
            let all = counted(closed + lost, "endpoint");
            let who = match closed {
                0 => format!("none of {all} reached MPI_Finalize"),
                _ => format!("{lost} of {all} did not reach MPI_Finalize"),
            };
            let lack = "lack the last second or more";
            let what = match (open, unknown) {
                (0, _) => "they have no statistics".to_owned(),
                (_, 0) => format!("their statistics {lack}"),
                _ => format!("{unknown} have no statistics, and those of {open} {lack}"),
            };
            let logs = if log {
                "; analyze can read the logs"
            } else {
                ""
            };
            format!("{who}; {what}{logs}")
        }
    })
}

/// Keeps other runs out of the folder as long as the result lives.
fn claimed(folder: &Path) -> anyhow::Result<File> {
    let name = || folder.display().to_string();
    std::fs::create_dir_all(folder).with_context(name)?;
    let file = File::create(folder.join("running")).with_context(name)?;
    #[cfg(unix)]
    if let Err(rustix::io::Errno::WOULDBLOCK) =
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)
    {
        return Err(BadInput(format!("--out {}: another run writes there", name())).into());
    }
    Ok(file)
}

/// An empty folder of this name, without the files of an earlier run.
fn emptied(folder: PathBuf, endings: &[&str]) -> anyhow::Result<PathBuf> {
    let name = || folder.display().to_string();
    std::fs::create_dir_all(&folder).with_context(name)?;
    for entry in std::fs::read_dir(&folder).with_context(name)? {
        let path = entry.with_context(name)?.path();
        let ending = path.extension().or(path.file_name());
        if ending.is_some_and(|ending| endings.iter().any(|one| ending == *one)) {
            std::fs::remove_file(&path).with_context(|| path.display().to_string())?;
        }
    }
    folder.canonicalize().with_context(name)
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(folder) = &args.attach {
        return attach(args, folder);
    }
    let temporary = private_folder("dpamatch-run-").context("no temporary folder")?;
    let folder = args.out.as_deref().unwrap_or(temporary.path());
    let _claim = claimed(folder)?;
    let stats = emptied(folder.join("stats"), &["json", "unfinished", "ask"])?;
    let logs = args
        .log
        .then(|| emptied(folder.join("logs"), &["events", "results"]))
        .transpose()?;
    let (status, waited) = args.launch(&stats, logs.as_deref())?;
    let program = args.command.first().map_or("", String::as_str);
    let ended = guard::Ended::from_status(program, status, args.limit);
    let endpoints = statistics::read(&stats).map_err(|error| match error {
        StatisticsError::Content { .. } => BadInput(error.to_string()).into(),
        error => anyhow::Error::from(error),
    })?;
    let all = endpoints.len();
    let known: Vec<_> = endpoints.into_iter().filter(Endpoint::is_known).collect();
    let lacking = [all - known.len(), unfinished(&stats)];
    let why = reason(
        &known,
        lacking,
        ended.is_none(),
        args.log && args.out.is_some(),
    );
    if known.is_empty() && (all == 0 || logs.is_none()) {
        let why = why.unwrap_or_default();
        return Err(match ended {
            Some(ended) => anyhow::Error::from(ended).context(why),
            None => anyhow::Error::msg(why),
        });
    }
    let mut tables = statistics::tables(&known);
    let shown = tables.len();
    tables.extend(waited);
    let mut out = output::stdout();
    writeln!(out)?;
    if args.format == Format::Table && !known.is_empty() {
        write(&mut *out, &tables[..shown], args.format, args.wide)?;
        out.flush()?;
    }
    if let Some(why) = why {
        eprintln!("dpamatch: {why}");
    }
    let report = logs
        .map(|logs| analyzed(&logs, args.out.as_deref(), &tables))
        .transpose()?;
    if let (Format::Table, Some(report)) = (args.format, &report) {
        writeln!(out, "\n{}", super::analyze::text(report, args.wide))?;
    }
    for mut table in report.iter().flat_map(|report| analyze::tables(&[report])) {
        table.name.insert_str(0, "logs_");
        tables.push(table);
    }
    let document = || {
        let whole = report.as_ref().map(|report| json!({ "traces": [report] }));
        let whole = whole.map(document::members).unwrap_or_default();
        document::of_tables(&tables.iter().collect::<Vec<_>>(), whole)
    };
    args.save.write(document)?;
    match args.format {
        Format::Table => {}
        Format::Csv => write(&mut *out, &tables, args.format, args.wide)?,
        Format::Json => document::write(&mut *out, &document())?,
    }
    out.flush()?;
    ended.map_or(Ok(()), |ended| Err(ended.into()))
}

/// Files of statistics that were begun and not completed.
fn unfinished(stats: &Path) -> usize {
    let entries = std::fs::read_dir(stats).into_iter().flatten().flatten();
    entries
        .filter(|it| it.path().extension().is_some_and(|it| it == "unfinished"))
        .count()
}

fn attach(args: &Args, folder: &Path) -> anyhow::Result<()> {
    let inner = folder.join("stats");
    let stats = if inner.is_dir() {
        inner
    } else {
        folder.to_owned()
    };
    let tables = waits::ask(&stats)?;
    let mut out = output::stdout();
    match args.format {
        Format::Table => write!(out, "{}", waits::told(&tables, args.wide))?,
        format => write(&mut *out, &tables, format, args.wide)?,
    }
    Ok(out.flush()?)
}

/// Analyzes the logs. The page and the CSV files of `out` also get the measured tables.
fn analyzed(logs: &Path, out: Option<&Path>, measured: &[Table]) -> anyhow::Result<Report> {
    let mut words = vec![
        "dpamatch".into(),
        "analyze".into(),
        logs.as_os_str().to_owned(),
    ];
    if let Some(out) = out {
        words.extend(["--out".into(), out.as_os_str().to_owned()]);
    }
    match Cli::parse_from(words).command {
        Some(super::Command::Analyze(args)) => super::analyze::single(&args, measured),
        _ => unreachable!("these words name the analysis"),
    }
}
