use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use dpamatch_tools::analyze::{self, Report};
use dpamatch_tools::statistics::{self, StatisticsError};
use serde_json::json;
use tempfile::TempDir;

use super::document::Save;
use super::interrupt::Interrupt;
use super::table::{Format, Wide, write};
use super::{BadInput, Cli, document, guard, output};

const EXAMPLES: &str = "\
The program's MPI library must send through libfabric: MPICH built with ch4:ofi, or Open MPI with
the MTL ofi. The provider does the matching; `cargo build --release -p dpamatch_provider` builds it
beside this command. Environment variables choose the engine (DPAMATCH_ENGINE) and the NIC's
options.

Examples:
  dpamatch run -- mpiexec -n 4 ./app
  DPAMATCH_ENGINE=list dpamatch run -- mpiexec -n 4 ./app
  dpamatch run --out report --log -- mpiexec -n 4 ./app
                                                 statistics, order logs, and what analyze says of them";

/// Run an MPI program with its matching on the emulated NIC, and report.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The launcher, the program and their arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<String>,
    /// Folder for every rank's statistics and logs; replaces older ones
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Log the order of every rank's matching and analyze it
    #[arg(long)]
    log: bool,
    /// Folder of the provider's library [default: this command's folder]
    #[arg(long, value_name = "DIR")]
    provider: Option<PathBuf>,
    /// End the program after this time
    #[arg(long, value_name = "SECONDS")]
    limit: Option<u64>,
    /// Form of the report
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    save: Save,
    #[command(flatten)]
    wide: Wide,
}

const LIBRARY: &str = "libdpamatch_fi.so";

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
        let folder = match &self.provider {
            Some(folder) => folder.clone(),
            None => {
                let command = env::current_exe().context("cannot find this command's folder")?;
                command.parent().map(Path::to_owned).unwrap_or_default()
            }
        };
        if !folder.join(LIBRARY).exists() {
            let folder = folder.display();
            let what = format!(
                "no {LIBRARY} in {folder}: cargo build --release -p dpamatch_provider, or --provider"
            );
            return Err(BadInput(what).into());
        }
        folder.canonicalize().with_context(|| folder.display().to_string())
    }

    /// Runs the program; returns whether it succeeded. Otherwise all processes that it started are
    /// ended.
    fn launch(&self, stats: &Path, logs: Option<&Path>) -> anyhow::Result<bool> {
        let [program, arguments @ ..] = self.command.as_slice() else { return Ok(true) };
        let mut command = Command::new(program);
        command.args(arguments).envs(VARIABLES.iter().copied());
        command.env("FI_PROVIDER_PATH", self.provider()?).env("DPAMATCH_STATS", stats);
        if let Some(logs) = logs {
            command.env("DPAMATCH_LOG", logs);
        }
        let limit = self.limit.map(Duration::from_secs);
        let status = Interrupt::catch()?.shield(|wanted| {
            guard::guarded(&mut command, limit, wanted).with_context(|| program.clone())
        })?;
        match status {
            Some(status) if status.success() => return Ok(true),
            Some(status) => eprintln!("dpamatch: {program}: {status}"),
            None => eprintln!("dpamatch: {program}: {}", guard::late(self.limit.unwrap_or(0))),
        }
        Ok(false)
    }
}

/// An empty folder of this name, without the files of an earlier run.
fn emptied(folder: PathBuf, endings: &[&str]) -> anyhow::Result<PathBuf> {
    let name = || folder.display().to_string();
    std::fs::create_dir_all(&folder).with_context(name)?;
    for entry in std::fs::read_dir(&folder).with_context(name)? {
        let path = entry.with_context(name)?.path();
        if path.extension().is_some_and(|ending| endings.iter().any(|one| ending == *one)) {
            std::fs::remove_file(&path).with_context(|| path.display().to_string())?;
        }
    }
    folder.canonicalize().with_context(name)
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let temporary = TempDir::new().context("no temporary folder")?;
    let folder = args.out.as_deref().unwrap_or(temporary.path());
    let stats = emptied(folder.join("stats"), &["json"])?;
    let logs =
        args.log.then(|| emptied(folder.join("logs"), &["events", "results"])).transpose()?;
    let good = args.launch(&stats, logs.as_deref())?;
    let endpoints = statistics::read(&stats).map_err(|error| match error {
        StatisticsError::Content { .. } => BadInput(error.to_string()).into(),
        error => anyhow::Error::from(error),
    })?;
    if endpoints.is_empty() {
        anyhow::bail!(match (good, &args.out) {
            (true, _) =>
                "no process used the emulated NIC: the MPI library must send through \
                          libfabric",
            (false, Some(_)) if args.log =>
                "no process reached MPI_Finalize, so there are no \
                                             statistics; analyze can read the logs",
            (false, _) => "no process reached MPI_Finalize, so there are no statistics",
        });
    }
    let mut tables = statistics::tables(&endpoints);
    let mut out = output::stdout();
    writeln!(out)?;
    if args.format == Format::Table {
        write(&mut *out, &tables, args.format, args.wide)?;
        out.flush()?;
    }
    let report = logs.map(|logs| analyzed(&logs, args.out.as_deref())).transpose()?;
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
    if good { Ok(()) } else { anyhow::bail!("the program failed") }
}

fn analyzed(logs: &Path, out: Option<&Path>) -> anyhow::Result<Report> {
    let mut words = vec!["dpamatch".into(), "analyze".into(), logs.as_os_str().to_owned()];
    if let Some(out) = out {
        words.extend(["--out".into(), out.as_os_str().to_owned()]);
    }
    match Cli::parse_from(words).command {
        Some(super::Command::Analyze(args)) => super::analyze::single(&args),
        _ => unreachable!("these words name the analysis"),
    }
}
