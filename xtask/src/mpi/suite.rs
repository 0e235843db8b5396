//! Test suites that others wrote: MPICH's `pt2pt` list and mpi4py's, where their sources are.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::build::{Tools, compile};
use super::run::Job;
use super::{Library, Table};

/// Too long, too large, or about the library alone: they fail or hang with stock providers as well.
const LEFT_OUT: &[&str] = &["large_message", "pt2pt_large", "sendflood"];
/// Cancels of sends, which neither library does: they are expected to fail, by not ending.
const ENDLESS: &[&str] = &["scancel", "pscancel", "cancelrecv"];
const PROCESSES_MAX: usize = 4;

/// What MPICH's tests expect their configuration to have found.
const CONFIGURATION: &str = "\
#define HAVE_LONG_DOUBLE 1\n#define HAVE_LONG_LONG 1\n#define HAVE_STDARG_H 1\n\
#define HAVE_SYS_TIME_H 1\n#define HAVE_SYS_RESOURCE_H 1\n#define HAVE_STRDUP 1\n\
#define HAVE_USLEEP 1\n#define HAVE_GETRUSAGE 1\n#define HAVE_PTHREAD_H 1\n\
#define HAVE_UNISTD_H 1\n#define HAVE_STDLIB_H 1\n#define HAVE_STRING_H 1\n\
#define HAVE_STDINT_H 1\n#define HAVE_MPI_WIN_CREATE 1\n#define STDC_HEADERS 1\n\
#define THREAD_PACKAGE_POSIX 1\n#define THREAD_PACKAGE_NONE 0\n\
#define THREAD_PACKAGE_INVALID 0\n#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX\n";

/// The rows of both suites.
pub(super) fn rows(table: &mut Table, tools: &Tools, library: &Library, sources: &Path) {
    let mpich = sources.join("mpich/test/mpi");
    if mpich.is_dir() {
        table.add("MPICH's pt2pt list", library.name, || pt2pt(tools, library, &mpich));
    } else {
        println!("skipped: MPICH's tests are not in {}", mpich.display());
    }
    let mpi4py = sources.join("mpi4py/test/main.py");
    if mpi4py.is_file() {
        table.add("mpi4py, point-to-point", library.name, || {
            let python = library.program("python");
            let test = mpi4py.to_string_lossy();
            let arguments = [&*test, "-i", "p2p", "-i", "msg", "-i", "request", "-i", "status"];
            let job = Job::new(tools, library, &python, 2).arguments(&arguments);
            let ended = job.run()?;
            let count = ended.output.lines().find(|line| line.starts_with("Ran "));
            match (ended.success, count) {
                (true, Some(count)) => Ok(format!("{count}; {}", job.replay()?)),
                _ => Err(ended.output),
            }
        });
    } else {
        println!("skipped: mpi4py's tests are not in {}", mpi4py.display());
    }
}

/// Runs the list; a test passes when it says so and ends well.
fn pt2pt(tools: &Tools, library: &Library, source: &Path) -> Result<String, String> {
    let programs = Programs::prepare(tools, library, source)?;
    let list = ["testlist.in", "testlist"]
        .iter()
        .find_map(|name| fs::read_to_string(source.join("pt2pt").join(name)).ok())
        .ok_or("no list of tests")?;
    let (mut passed, mut expected, mut failed) = (0, 0, Vec::new());
    let (mut logs, mut first_difference) = (0, None);
    for line in list.lines().filter_map(Line::parse) {
        if LEFT_OUT.contains(&line.name) || ENDLESS.contains(&line.name) {
            continue;
        }
        let program = match programs.compile(library, line.name) {
            Ok(program) => program,
            Err(_) => continue,
        };
        let mut job = Job::new(tools, library, &program, line.processes.min(PROCESSES_MAX))
            .arguments(&line.arguments)
            .limit(Duration::from_secs(180));
        for variable in &line.environment {
            job = job.variable(variable);
        }
        let good = job
            .run()
            .is_ok_and(|ended| ended.success && ended.output.to_lowercase().contains("no errors"));
        match (good, line.may_fail) {
            (true, _) => {
                passed += 1;
                match job.replay() {
                    Ok(_) => logs += 1,
                    Err(difference) => drop(first_difference.get_or_insert(difference)),
                }
            }
            (false, true) => expected += 1,
            (false, false) => failed.push(line.name.to_owned()),
        }
    }
    if let Some(difference) = first_difference {
        return Err(difference);
    }
    let text = format!(
        "{passed} passed, the logs of {logs} equal the oracle; {expected} failed as expected"
    );
    if failed.is_empty() {
        Ok(text)
    } else {
        Err(format!("{text}; {} failed: {}", failed.len(), failed.join(" ")))
    }
}

/// A line of the list.
struct Line<'a> {
    name: &'a str,
    processes: usize,
    arguments: Vec<&'a str>,
    environment: Vec<&'a str>,
    may_fail: bool,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.split_whitespace().peekable();
        let name = words.next().filter(|name| !name.starts_with(['#', '!', '@']))?;
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
        };
        for word in words {
            if let Some(argument) = word.strip_prefix("arg=") {
                parsed.arguments.push(argument);
            } else if let Some(variable) = word.strip_prefix("env=") {
                parsed.environment.push(variable);
            } else if word.starts_with("xfail") {
                parsed.may_fail = true;
            }
        }
        Some(parsed)
    }
}

/// What all tests are compiled with.
struct Programs {
    folder: PathBuf,
    source: PathBuf,
    common: Vec<PathBuf>,
}

impl Programs {
    fn prepare(tools: &Tools, library: &Library, source: &Path) -> Result<Self, String> {
        let folder = tools.folder.join(library.name).join("pt2pt");
        let write = |name: &str, text: &str| {
            fs::create_dir_all(&folder)
                .and_then(|()| fs::write(folder.join(name), text))
                .map_err(|error| format!("{}: {error}", folder.display()))
        };
        write("mpitestconf.h", CONFIGURATION)?;
        write("dtpoolsconf.h", CONFIGURATION)?;
        write("mtest_mpix.h", "")?;
        let threads = source.join("include/mpithreadtest.h.in");
        if let Ok(text) = fs::read_to_string(threads) {
            write("mpithreadtest.h", &text)?;
        }
        let mut common: Vec<_> = ["mtest", "mtest_common", "dtypes", "mtest_single"]
            .iter()
            .map(|name| source.join("util").join(format!("{name}.c")))
            .collect();
        let pools = fs::read_dir(source.join("dtpools/src")).map_err(|error| error.to_string())?;
        common.extend(
            pools
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|extension| extension == "c")),
        );
        Ok(Self { folder, source: source.into(), common })
    }

    fn compile(&self, library: &Library, name: &str) -> Result<PathBuf, String> {
        let program = self.folder.join(name);
        if program.exists() {
            return Ok(program);
        }
        // One test is built from another's source.
        let (file, define) = match name {
            "irecv_any" => ("recv_any", "-DTEST_NB"),
            name => (name, "-DTEST"),
        };
        let source = self.source.join("pt2pt").join(format!("{file}.c"));
        let includes = [
            format!("-I{}", self.folder.display()),
            format!("-I{}", self.source.join("include").display()),
            format!("-I{}", self.source.join("dtpools/include").display()),
        ];
        let mut arguments: Vec<&Path> = vec![define.as_ref(), source.as_ref()];
        arguments.extend(includes.iter().map(Path::new));
        arguments.extend(self.common.iter().map(PathBuf::as_path));
        compile(library, &arguments, &program)?;
        Ok(program)
    }
}

#[cfg(test)]
mod tests {
    use super::Line;

    #[test]
    fn a_line_is_taken_apart() {
        let line = Line::parse("icsend 4 arg=-randomize=1 env=A=b xfail=ticket0").expect("a test");
        assert_eq!((line.name, line.processes, line.may_fail), ("icsend", 4, true));
        assert_eq!((line.arguments, line.environment), (vec!["-randomize=1"], vec!["A=b"]));
        assert_eq!(Line::parse("probenull").map(|line| line.processes), Some(1));
        assert!(Line::parse("# nothing").is_none() && Line::parse("").is_none());
        assert!(Line::parse("@conditional@test 2").is_none());
    }
}
