//! Third-party test suites, if installed: MPICH's lists and mpi4py's tests.

use std::collections::BTreeSet;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::build::{Tools, compile};
use super::run::{Ended, Job};
use super::{Library, TestTable, hosts, no_namespaces};

/// Too long, too large, or about the library alone: they fail or hang with stock providers, too.
const LEFT_OUT: &[&str] = &["large_message", "pt2pt_large", "sendflood"];
/// Cancels of sends, which neither library supports: the tests are expected to hang.
const ENDLESS: &[&str] = &["scancel", "pscancel", "cancelrecv"];
/// The lists, with a limit of processes per test: beyond it a whole list takes too long on a small
/// machine.
const LISTS: &[(&str, usize)] = &[
    ("pt2pt", 10),
    ("comm", 12),
    ("errors/pt2pt", 10),
    ("threads/pt2pt", 10),
    ("coll", 4),
    ("rma", 10),
];
/// A test that takes longer counts as failed. On a busy machine it may be late by chance: where
/// stock is not, it runs again with four times as much.
const LIMIT: Duration = Duration::from_secs(180);

const POINT_TO_POINT: &[&str] = &["p2p", "msg", "request", "status"];
const COLLECTIVES: &[&str] = &["cco"];
const WINDOWS: &[&str] = &["rma", "win"];
/// Tests that start processes or write files.
const NOT_MESSAGES: &[&str] = &["test_spawn", "test_io"];
/// MPICH builds such a graph by a probe and a wildcard receive, which may get another message of
/// its own. With NOLOCAL it therefore counts neighbors twice with every provider, and later tests
/// hang.
const MPICH_FAULT: &[&str] = &["-x", "*testDistgraphcomm"];
/// Rows of mpi4py's tests: files with these words in their names, or without words all other files.
const MPI4PY: &[(&str, &[&str])] = &[
    ("mpi4py, point-to-point", POINT_TO_POINT),
    ("mpi4py, collectives", COLLECTIVES),
    ("mpi4py, windows", WINDOWS),
    ("mpi4py, all else", &[]),
];

/// The configuration that MPICH's tests expect.
const CONFIGURATION: &str = include_str!("mpitestconf.h");

pub(super) fn rows(table: &mut TestTable, tools: &Tools, library: &Library, sources: &Path) {
    let mpich = sources.join("mpich/test/mpi");
    if mpich.is_dir() {
        for &(list, most) in LISTS {
            let what = format!("MPICH's {list} list");
            let wanted = table.lines.clone();
            table.add(what, library.name, || {
                run_list(tools, library, &mpich, list, most, &wanted, &[])
            });
        }
        let wanted = table.lines.clone();
        table.add(
            "MPICH's pt2pt list, over TCP",
            library.name,
            || match hosts() {
                Some(script) => run_list(
                    tools,
                    library,
                    &mpich,
                    "pt2pt",
                    4,
                    &wanted,
                    &["sh", &script],
                ),
                None => no_namespaces(),
            },
        );
    } else {
        table.not_there("MPICH's tests", &mpich);
    }
    let mpi4py = sources.join("mpi4py/test/main.py");
    if mpi4py.is_file() {
        for (what, words) in MPI4PY {
            table.add(*what, library.name, || {
                let these = words.iter().flat_map(|word| ["-i", word]);
                let others = MPI4PY.iter().flat_map(|(_, words)| words.iter());
                let others = others.chain(NOT_MESSAGES).flat_map(|word| ["-e", word]);
                let others = others.filter(|_| words.is_empty());
                let not_this = if library.name == "mpich" {
                    MPICH_FAULT
                } else {
                    &[]
                };
                let python = library.program("python");
                let job = Job::new(tools, library, &python, 2)
                    .arguments(&[mpi4py.to_string_lossy()])
                    .arguments(not_this);
                run_mpi4py(&job, &these.chain(others).collect::<Vec<_>>())
            });
        }
    } else {
        table.not_there("mpi4py's tests", &mpi4py);
    }
}

/// Runs the mpi4py tests in these files. A failing test must also fail with libfabric's own
/// provider, which runs only those files, because others may hang there.
fn run_mpi4py(job: &Job<'_>, files: &[&str]) -> Result<String, String> {
    let ours = job.clone().arguments(files);
    let ended = ours.run()?;
    let count = ended.output.lines().find(|line| line.starts_with("Ran "));
    let Some(count) = count.map(str::to_owned) else {
        return Err(ended.output);
    };
    let replayed = ours.replay()?;
    if ended.success {
        return Ok(format!("{count}; {replayed}"));
    }
    let failed = failures(&ended.output);
    let these = failed
        .iter()
        .filter_map(|test| file(test))
        .flat_map(|file| ["-i", file]);
    let stock = job.clone().stock().arguments(&these.collect::<Vec<_>>());
    let stock = failures(&stock.run()?.output);
    let worse: Vec<_> = failed.difference(&stock).cloned().collect();
    match (failed.len(), worse.as_slice()) {
        (0, _) => Err(ended.output),
        (all, []) => Ok(format!("{count}, {all} fail as stock; {replayed}")),
        (_, worse) => Err(format!(
            "{count}; with stock these pass: {}",
            worse.join(", ")
        )),
    }
}

/// The failed tests in the output of Python's `unittest`. Two ranks write at once, so a line of one
/// may go on with a line of the other.
fn failures(output: &str) -> BTreeSet<String> {
    let begin = ["FAIL: ", "ERROR: ", "Traceback"];
    let output = begin.iter().fold(output.to_owned(), |all, it| {
        all.replace(it, &format!("\n{it}"))
    });
    let failed = |line: &str| {
        let name = line
            .strip_prefix("FAIL: ")
            .or_else(|| line.strip_prefix("ERROR: "))?;
        Some(name.to_owned())
    };
    output.lines().filter_map(failed).collect()
}

/// The file of a test in `unittest`'s notation: `testRevoke (test_ulfm.TestULFMSelf.testRevoke)`.
fn file(test: &str) -> Option<&str> {
    let (_, path) = test.split_once('(')?;
    path.split_once('.').map(|(file, _)| file)
}

/// Runs a list; a test passes when it prints so and exits with 0. A failing test counts only if it
/// passes three times with libfabric's own provider, since some fail there now and then.
fn run_list(
    tools: &Tools,
    library: &Library,
    source: &Path,
    list: &str,
    processes_max: usize,
    wanted: &Option<RangeInclusive<usize>>,
    wrapper: &[&str],
) -> Result<String, String> {
    let programs = Programs::prepare(tools, library, source, list)?;
    let lines = ["testlist.in", "testlist"]
        .iter()
        .find_map(|name| fs::read_to_string(source.join(list).join(name)).ok())
        .ok_or("no list of tests")?;
    let memory = memory_gib();
    let (mut passed, mut logs, mut too_many, mut too_large) = (0, 0, 0, 0);
    let mut not_built = Vec::new();
    let (mut as_stock, mut failed, mut differences) = (Vec::new(), Vec::new(), Vec::new());
    for (number, line) in (1..).zip(lines.lines().filter_map(ListLine::parse)) {
        if wanted
            .as_ref()
            .is_some_and(|wanted| !wanted.contains(&number))
        {
            continue;
        }
        if LEFT_OUT.contains(&line.name) || ENDLESS.contains(&line.name) {
            continue;
        }
        if line.processes > processes_max {
            too_many += 1;
            continue;
        }
        if memory.is_some_and(|memory| line.memory > memory) {
            too_large += 1;
            continue;
        }
        let Ok(program) = programs.compile(library, line.name) else {
            not_built.push(line.name);
            continue;
        };
        let mut job = Job::new(tools, library, &program, line.processes)
            .arguments(&line.arguments)
            .wrapped(wrapper)
            .limit(LIMIT);
        for variable in &line.environment {
            job = job.variable(variable);
        }
        let outcome = |job: &Job<'_>| Ending::new(job.run());
        let begin = Instant::now();
        let mut ours = outcome(&job);
        let as_in_stock = ours != Ending::Passes
            && (line.may_fail || (0..3).any(|_| outcome(&job.clone().stock()) != Ending::Passes));
        if ours == Ending::Late && !as_in_stock {
            ours = outcome(&job.clone().limit(4 * LIMIT));
        }
        let how = if ours == Ending::Passes {
            passed += 1;
            match job.replay() {
                Ok(_) => logs += 1,
                Err(difference) => differences.push(difference),
            }
            "passes"
        } else if ours != Ending::NotStarted && as_in_stock {
            as_stock.push(line.name);
            if ours == Ending::Late {
                "out of time as stock"
            } else {
                "fails as stock"
            }
        } else {
            failed.push(line.name);
            match ours {
                Ending::Late => "OUT OF TIME, stock is not,",
                Ending::NotStarted => "WAS NOT STARTED",
                _ => "FAILS, stock does not,",
            }
        };
        let seconds = begin.elapsed().as_secs_f64();
        let name = line.name;
        eprintln!(
            "{list}, {}: {number} {name} {how} after {seconds:.0} s",
            library.name
        );
    }
    let names = |names: &[&str]| {
        if names.is_empty() {
            String::new()
        } else {
            format!(" ({})", names.join(" "))
        }
    };
    let text = format!(
        "{passed} passed, the logs of {logs} equal the oracle; {} fail as stock{}; {too_many} want \
         more than {processes_max} processes, {too_large} more memory, {} were not built{}",
        as_stock.len(),
        names(&as_stock),
        not_built.len(),
        names(&not_built),
    );
    if let Some(difference) = differences.first() {
        return Err(format!("{text}; {difference}"));
    }
    match failed.as_slice() {
        [] => Ok(text),
        failed => Err(format!("{text}; {} failed{}", failed.len(), names(failed))),
    }
}

/// Whether the file has a C `main`. Many tests of collectives are functions that a common file
/// calls.
fn has_main(source: &str) -> bool {
    source
        .lines()
        .any(|line| line.trim_start().starts_with("int main("))
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    Passes,
    Fails,
    Late,
    /// A library is missing, so the result says nothing about a provider.
    NotStarted,
}

impl Ending {
    fn new(ended: Result<Ended, String>) -> Self {
        match ended {
            Err(_) => Self::Late,
            Ok(ended)
                if ended
                    .output
                    .contains("error while loading shared libraries") =>
            {
                Self::NotStarted
            }
            Ok(ended) if ended.success && ended.output.to_lowercase().contains("no errors") => {
                Self::Passes
            }
            Ok(_) => Self::Fails,
        }
    }
}

/// The machine's memory in GiB, if the system reports it.
fn memory_gib() -> Option<f64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / f64::from(1 << 20))
}

struct ListLine<'a> {
    name: &'a str,
    processes: usize,
    arguments: Vec<&'a str>,
    environment: Vec<&'a str>,
    may_fail: bool,
    /// GiB of all its processes together.
    memory: f64,
}

impl<'a> ListLine<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.split_whitespace().peekable();
        let name = words
            .next()
            .filter(|name| !name.starts_with(['#', '!', '@']))?;
        let processes = words.peek().and_then(|word| word.parse().ok());
        if processes.is_some() {
            words.next();
        }
        let mut parsed = Self {
            name,
            processes: processes.unwrap_or(1),
            arguments: Vec::new(),
            environment: Vec::new(),
            may_fail: false,
            memory: 0.0,
        };
        for word in words {
            if let Some(argument) = word.strip_prefix("arg=") {
                parsed.arguments.push(argument);
            } else if let Some(variable) = word.strip_prefix("env=") {
                parsed.environment.push(variable);
            } else if let Some(memory) = word.strip_prefix("mem=") {
                parsed.memory = memory.parse().unwrap_or(0.0);
            } else if word.starts_with("xfail") {
                parsed.may_fail = true;
            }
        }
        Some(parsed)
    }
}

/// An empty folder for headers. One of MPICH's headers includes `../dtpoolsconf.h`, which the
/// compiler then finds in the folder around it.
const INCLUDE: &str = "include";

struct Programs {
    folder: PathBuf,
    source: PathBuf,
    list: PathBuf,
    /// The list's makefile, for tests built from several files.
    makefile: String,
    common: Vec<PathBuf>,
    define: Option<&'static str>,
}

impl Programs {
    fn prepare(
        tools: &Tools,
        library: &Library,
        source: &Path,
        list: &str,
    ) -> Result<Self, String> {
        let folder = tools.folder.join(library.name).join(list);
        let write = |name: &str, text: &str| {
            fs::create_dir_all(folder.join(INCLUDE))
                .and_then(|()| fs::write(folder.join(name), text))
                .map_err(|error| format!("{}: {error}", folder.display()))
        };
        write("mpitestconf.h", CONFIGURATION)?;
        write("dtpoolsconf.h", CONFIGURATION)?;
        write("mtest_mpix.h", "")?;
        let header = source.join("include/mpithreadtest.h.in");
        if let Ok(text) = fs::read_to_string(header) {
            write("mpithreadtest.h", &text)?;
        }
        let threads = list.starts_with("threads");
        let last = if threads {
            "mtest_thread"
        } else {
            "mtest_single"
        };
        let names = ["mtest", "mtest_common", "dtypes", last];
        let mut files: Vec<_> = names
            .iter()
            .map(|name| source.join("util").join(format!("{name}.c")))
            .collect();
        let pools = fs::read_dir(source.join("dtpools/src")).map_err(|error| error.to_string())?;
        files.extend(
            pools
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|extension| extension == "c")),
        );
        let mut programs = Self {
            makefile: fs::read_to_string(source.join(list).join("Makefile.am")).unwrap_or_default(),
            folder,
            source: source.into(),
            list: source.join(list),
            common: Vec::new(),
            define: threads.then_some("-DMTEST_USE_THREAD"),
        };
        for file in files {
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            let object = programs.folder.join(format!("{name}.o"));
            if !object.exists() {
                programs.run_compiler(library, &["-c".as_ref(), &file], &object)?;
            }
            programs.common.push(object);
        }
        Ok(programs)
    }

    /// The makefile's words for this test under `name`.
    fn of_makefile(&self, test: &str, name: &str) -> impl Iterator<Item = &str> {
        let variable = format!("{test}_{name}");
        let line = self.makefile.lines().find_map(|line| {
            let (left, right) = line.split_once('=')?;
            (left.trim() == variable).then_some(right)
        });
        line.unwrap_or_default().split_whitespace()
    }

    fn compile(&self, library: &Library, name: &str) -> Result<PathBuf, String> {
        let program = self.folder.join(name);
        if program.exists() {
            return Ok(program);
        }
        let mut sources: Vec<_> = self
            .of_makefile(name, "SOURCES")
            .map(|file| self.list.join(file))
            .collect();
        if sources.is_empty() {
            sources.push(self.list.join(format!("{name}.c")));
        }
        let read = |source: &PathBuf| fs::read_to_string(source).unwrap_or_default();
        if !sources.iter().any(|source| has_main(&read(source))) {
            sources.push(self.source.join("util/run_mpitests.c"));
        }
        let defines = self
            .of_makefile(name, "CPPFLAGS")
            .filter(|word| word.starts_with("-D"));
        let mut arguments: Vec<&Path> = defines.map(Path::new).collect();
        arguments.extend(sources.iter().chain(&self.common).map(PathBuf::as_path));
        self.run_compiler(library, &arguments, &program)?;
        Ok(program)
    }

    fn run_compiler(
        &self,
        library: &Library,
        arguments: &[&Path],
        output: &Path,
    ) -> Result<(), String> {
        let includes = [
            format!("-I{}", self.folder.display()),
            format!("-I{}", self.folder.join(INCLUDE).display()),
            format!("-I{}", self.source.join("include").display()),
            format!("-I{}", self.source.join("dtpools/include").display()),
            format!("-I{}", self.source.join("util").display()),
        ];
        let mut all: Vec<&Path> = self.define.iter().map(Path::new).collect();
        all.extend(arguments.iter().copied());
        all.extend(includes.iter().map(Path::new));
        compile(library, &all, output)
    }
}
