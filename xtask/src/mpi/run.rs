//! One run of an MPI program, and the replay of its logs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Library;
use super::build::{LATE, Tools};
use crate::process;

#[derive(Clone)]
pub(super) struct Job<'a> {
    tools: &'a Tools,
    library: &'a Library,
    command: Vec<PathBuf>,
    processes: usize,
    environment: Vec<(String, String)>,
    limit: Duration,
    provider: &'static str,
    /// Command that starts the launcher.
    wrapper: Vec<String>,
    recorded: bool,
}

/// libfabric's own provider for comparison: every libfabric has it, and it works within one
/// machine.
const STOCK: &str = "tcp";

pub(super) struct Ended {
    pub(super) success: bool,
    pub(super) output: String,
}

impl<'a> Job<'a> {
    pub(super) fn new(
        tools: &'a Tools,
        library: &'a Library,
        program: &Path,
        processes: usize,
    ) -> Self {
        Self {
            tools,
            library,
            command: vec![program.into()],
            processes,
            environment: Vec::new(),
            limit: Duration::from_secs(600),
            provider: "dpamatch",
            wrapper: Vec::new(),
            recorded: true,
        }
    }

    /// A run with a launcher started by this command.
    pub(super) fn wrapped(&self, wrapper: &[&str]) -> Self {
        let wrapper = wrapper.iter().map(|&word| word.to_owned()).collect();
        Self {
            wrapper,
            ..self.clone()
        }
    }

    pub(super) fn stock(mut self) -> Self {
        self.provider = STOCK;
        self
    }

    /// An unrecorded run over another transport of the library.
    pub(super) fn over(mut self, way: &'static str) -> Self {
        self.provider = way;
        self.recorded = false;
        self
    }

    pub(super) fn arguments<S: AsRef<str>>(mut self, arguments: &[S]) -> Self {
        self.command.extend(
            arguments
                .iter()
                .map(|argument| PathBuf::from(argument.as_ref())),
        );
        self
    }

    /// Sets an option of the provider, without `DPAMATCH_`.
    pub(super) fn option(self, option: &str) -> Self {
        self.variable(&format!("DPAMATCH_{option}"))
    }

    pub(super) fn variable(mut self, variable: &str) -> Self {
        if let Some((name, value)) = variable.split_once('=') {
            self.environment.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    pub(super) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    pub(super) fn logs(&self) -> PathBuf {
        self.tools.folder.join(self.library.name).join("logs")
    }

    fn place(&self) -> PathBuf {
        self.tools.folder.join(self.library.name).join("place")
    }

    pub(super) fn files(&self) -> String {
        let entries = fs::read_dir(self.place()).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| fs::read_to_string(entry.path()).ok())
            .collect()
    }

    /// Runs the job.
    pub(super) fn run(&self) -> Result<Ended, String> {
        let logs = self.logs();
        // Files of the previous run.
        let _ = fs::remove_dir_all(&logs);
        let _ = fs::remove_dir_all(self.place());
        fs::create_dir_all(self.place()).map_err(|error| error.to_string())?;
        let mut launcher = self.tools.guarded(self.limit);
        launcher
            .args(&self.wrapper)
            .arg(self.library.program("mpiexec"));
        launcher
            .arg("-n")
            .arg(self.processes.to_string())
            .args(&self.command);
        launcher
            .envs(self.library.environment(self.provider))
            .current_dir(self.place());
        launcher.env("FI_PROVIDER_PATH", &self.tools.provider);
        if self.recorded {
            launcher
                .env("DPAMATCH_LOG", &logs)
                .env("DPAMATCH_STATS", &logs);
        }
        launcher.envs(self.environment.iter().map(|(name, value)| (name, value)));
        self.finish(&mut launcher)
            .map_err(|error| format!("mpiexec: {error}"))?
    }

    /// Runs the job; returns its output, complete or up to the limit.
    pub(super) fn said(&self) -> String {
        let _ = self.run();
        fs::read_to_string(self.output()).unwrap_or_default()
    }

    fn output(&self) -> PathBuf {
        self.tools.folder.join(self.library.name).join("output")
    }

    fn finish(&self, launcher: &mut Command) -> io::Result<Result<Ended, String>> {
        let file = self.output();
        let output = fs::File::create(&file)?;
        let (out, errors) = (output.try_clone()?, output);
        let status = launcher
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(errors)
            .status()?;
        let output = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
        Ok(match status.code() {
            Some(LATE) => Err(format!("no end after {} s", self.limit.as_secs())),
            code => Ok(Ended {
                success: code == Some(0),
                output,
            }),
        })
    }

    /// Runs a program that prints a summary line, and replays its logs.
    pub(super) fn checked(&self) -> Result<String, String> {
        let ended = self.run()?;
        let line = ended.output.lines().find(|line| line.contains(": ok,"));
        match line {
            Some(line) if ended.success => Ok(format!("{line}; {}", self.replay()?)),
            _ => Err(ended.output),
        }
    }

    /// The number of processes whose statistics have these words.
    pub(super) fn stats_with(&self, words: &str) -> usize {
        let entries = fs::read_dir(self.logs()).into_iter().flatten().flatten();
        let stats = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "json"));
        stats
            .filter_map(|path| fs::read_to_string(path).ok())
            .filter(|text| text.contains(words))
            .count()
    }

    pub(super) fn replay(&self) -> Result<String, String> {
        let logs = self.logs();
        let entries =
            fs::read_dir(&logs).map_err(|error| format!("{}: {error}", logs.display()))?;
        let mut count = 0;
        let mut lines = 0;
        for entry in entries.flatten() {
            let events = entry.path();
            let empty = entry.metadata().is_ok_and(|metadata| metadata.len() == 0);
            if empty
                || events
                    .extension()
                    .is_none_or(|extension| extension != "events")
            {
                continue;
            }
            let results = fs::read_to_string(events.with_extension("results"))
                .map_err(|error| format!("{}: {error}", events.display()))?;
            let mut command = Command::new(&self.tools.command);
            command.args(["match", "--engine", "oracle"]).arg(&events);
            let finished = process::run(&mut command)?;
            if !finished.status.success() || finished.stdout.trim() != results.trim() {
                return Err(format!("{} differs from the oracle", events.display()));
            }
            count += 1;
            lines += results.lines().count();
        }
        Ok(format!(
            "{count} logs with {lines} results equal the oracle"
        ))
    }
}
