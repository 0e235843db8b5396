//! `cargo xtask soak`: three test programs run for a long time side by side under changing seeds.
//! The task notes how many rounds each has done, its memory and its open files.

use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Failure, cargo, orderings, root, target};

/// A test that goes on for `DPAMATCH_SECONDS`, and prints lines that begin with the seconds so far
/// and a count, separated by commas.
struct Part {
    name: &'static str,
    counts: &'static str,
    build: &'static [&'static str],
    test: &'static str,
    variables: &'static [(&'static str, &'static str)],
}

const PARTS: [Part; 3] = [
    Part {
        name: "endpoint",
        counts: "messages",
        build: &["-p", "dpamatch", "--test", "soak"],
        test: "a_soak_finds_nothing",
        // A new endpoint for each of these.
        variables: &[("DPAMATCH_MESSAGES", "1000000")],
    },
    Part {
        name: "peers",
        counts: "rounds",
        build: &["-p", "dpamatch_provider", "--lib"],
        test: "tests::soak::peers_come_die_lie_and_stop",
        variables: &[],
    },
    Part {
        name: "streams",
        counts: "streams",
        build: &["-p", "dpamatch", "--test", "random_streams"],
        test: "random_streams_equal_the_oracle",
        variables: &[("DPAMATCH_STREAMS", "1000000000000")],
    },
];

/// Lines of the table per part, about.
const SAMPLES: u32 = 240;
/// More growth of memory than this after a tenth of the time is a fault.
const GROWTH_MAX_BYTES: u64 = 16 << 20;
/// More files than this beside those after a tenth of the time are a fault.
const FILES_MAX: usize = 16;
/// A program that still runs so long after its time hangs.
const PATIENCE: Duration = Duration::from_secs(600);

/// What a program has done and holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sample {
    at: Duration,
    done: u64,
    resident_bytes: u64,
    open_files: usize,
}

/// Runs the task.
///
/// # Errors
/// [`Failure::Task`] when a program cannot be built, fails, or grows.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let (time, is_dev) = parse(args).map_err(Failure::Usage)?;
    let folder = target().join("soak");
    soak(time, is_dev, &folder).map_err(Failure::Task)
}

/// The time, and whether to build without optimisation.
fn parse(args: &[String]) -> Result<(Duration, bool), String> {
    let (mut minutes, mut is_dev) = (60.0, false);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--dev" => is_dev = true,
            "--minutes" => {
                let value = args.next().and_then(|text| text.parse().ok());
                minutes = value
                    .filter(|minutes| (0.05..=1e6).contains(minutes))
                    .ok_or("--minutes needs a number from 0.05 up")?;
            }
            other => return Err(format!("soak has no `{other}`")),
        }
    }
    Ok((Duration::from_secs_f64(60.0 * minutes), is_dev))
}

fn soak(time: Duration, is_dev: bool, folder: &Path) -> Result<(), String> {
    let told = |what: &Path, error: std::io::Error| format!("{}: {error}", what.display());
    fs::create_dir_all(folder).map_err(|error| told(folder, error))?;
    let mut runs = Vec::new();
    for part in &PARTS {
        let program = build(part, is_dev)?;
        runs.push((part, program));
    }
    let mut running = Vec::new();
    for (part, program) in runs {
        let output = folder.join(format!("{}.txt", part.name));
        running.push(Running::start(part, &program, &output, time)?);
    }
    let started = Instant::now();
    let mut table = "part,second,done,resident_bytes,open_files\n".to_owned();
    let pause = (time / SAMPLES).max(Duration::from_secs(1));
    while running.iter().any(|one| one.status.is_none()) {
        thread::sleep(pause.min(Duration::from_secs(1)));
        let at = started.elapsed();
        for one in &mut running {
            one.look(at, pause)?;
            if at > time + PATIENCE && one.status.is_none() {
                one.child.kill().map_err(|error| error.to_string())?;
                return Err(format!("{}: it has not ended", one.part.name));
            }
        }
    }
    for one in &running {
        for sample in &one.samples {
            let _ = writeln!(
                table,
                "{},{:.0},{},{},{}",
                one.part.name,
                sample.at.as_secs_f64(),
                sample.done,
                sample.resident_bytes,
                sample.open_files
            );
        }
    }
    let path = folder.join("soak.csv");
    fs::write(&path, table).map_err(|error| told(&path, error))?;
    let mut faults = Vec::new();
    for one in &running {
        match one.verdict(time) {
            Ok(line) => println!("{line}"),
            Err(fault) => faults.push(fault),
        }
    }
    println!("{}", path.display());
    match faults.as_slice() {
        [] => Ok(()),
        faults => Err(faults.join("\n")),
    }
}

fn build(part: &Part, is_dev: bool) -> Result<PathBuf, String> {
    let mut command = cargo();
    command
        .current_dir(root())
        .args(["test", "--no-run"])
        .args(part.build);
    if !is_dev {
        command.arg("--release");
    }
    match orderings::programs(&mut command) {
        Ok(programs) => Ok(programs[0].clone()),
        Err(Failure::Task(why) | Failure::Usage(why)) => Err(why),
        Err(Failure::Reported) => Err(part.name.to_owned()),
    }
}

struct Running {
    part: &'static Part,
    child: Child,
    output: PathBuf,
    samples: Vec<Sample>,
    status: Option<ExitStatus>,
}

impl Running {
    fn start(
        part: &'static Part,
        program: &Path,
        output: &Path,
        time: Duration,
    ) -> Result<Self, String> {
        let told = |error: std::io::Error| format!("{}: {error}", part.name);
        let file = File::create(output).map_err(told)?;
        let mut command = std::process::Command::new(program);
        command
            .args(["--exact", part.test, "--nocapture", "--test-threads=1"])
            .env("DPAMATCH_SECONDS", time.as_secs().max(1).to_string())
            .envs(part.variables.iter().copied())
            .current_dir(root())
            .stdin(Stdio::null())
            .stderr(file.try_clone().map_err(told)?)
            .stdout(file);
        Ok(Self {
            part,
            child: command.spawn().map_err(told)?,
            output: output.to_owned(),
            samples: Vec::new(),
            status: None,
        })
    }

    /// Notes what the program holds, if it runs and `pause` is over since the last time.
    fn look(&mut self, at: Duration, pause: Duration) -> Result<(), String> {
        if self.status.is_some() {
            return Ok(());
        }
        self.status = self.child.try_wait().map_err(|error| error.to_string())?;
        let last = self.samples.last().map(|sample| sample.at);
        if self.status.is_some() || last.is_some_and(|last| at < last + pause) {
            return Ok(());
        }
        let output = fs::read_to_string(&self.output).unwrap_or_default();
        // A program that ends just now has no memory.
        if let Some((resident_bytes, open_files)) = held(self.child.id()) {
            self.samples.push(Sample {
                at,
                done: done(&output).unwrap_or_default(),
                resident_bytes,
                open_files,
            });
        }
        Ok(())
    }

    fn verdict(&self, time: Duration) -> Result<String, String> {
        let output = fs::read_to_string(&self.output).unwrap_or_default();
        let ran_one = output.contains("test result: ok. 1 passed");
        if !self.status.is_some_and(|status| status.success()) || !ran_one {
            let lines: Vec<&str> = output.lines().collect();
            let last = lines[lines.len().saturating_sub(20)..].join("\n");
            return Err(format!("{} fails\n{last}", self.part.name));
        }
        let summary = summary(&self.samples, time / 10, self.part.counts);
        let named = |line| format!("{}: {line}", self.part.name);
        summary.map(named).map_err(named)
    }
}

/// The count of the last whole line that begins with seconds and a count.
fn done(output: &str) -> Option<u64> {
    let (whole, _) = output.rsplit_once('\n')?;
    let counts = |line: &str| {
        let mut cells = line.split(',');
        let _: f64 = cells.next()?.parse().ok()?;
        cells.next()?.parse().ok()
    };
    whole.lines().rev().find_map(counts)
}

/// The resident bytes and the open files of a process that runs.
fn held(process: u32) -> Option<(u64, usize)> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let files = fs::read_dir(format!("/proc/{process}/fd")).ok()?;
    Some((kilobytes * 1024, files.count()))
}

/// One line: what a program has done, and what it held at a tenth of its time, at its end and at
/// most in between.
///
/// # Errors
/// It has grown, or nothing is known of it.
fn summary(samples: &[Sample], warm: Duration, counts: &str) -> Result<String, String> {
    let after = || samples.iter().filter(|sample| sample.at >= warm);
    let (Some(first), Some(last)) = (after().next(), samples.last()) else {
        return Err("it ended before it was warm".to_owned());
    };
    let bytes = after().map(|sample| sample.resident_bytes).max();
    let files = after().map(|sample| sample.open_files).max();
    let (bytes, files) = (bytes.unwrap_or_default(), files.unwrap_or_default());
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let line = format!(
        "{} {counts}; resident MiB {:.1} after {:.0} s, {:.1} after {:.0} s, {:.1} at most; \
         open files {}, {}, {files}",
        last.done,
        mib(first.resident_bytes),
        first.at.as_secs_f64(),
        mib(last.resident_bytes),
        last.at.as_secs_f64(),
        mib(bytes),
        first.open_files,
        last.open_files
    );
    let grew = last.resident_bytes > first.resident_bytes + GROWTH_MAX_BYTES
        || last.open_files > first.open_files + FILES_MAX;
    match grew {
        true => Err(format!("it grew: {line}")),
        false => Ok(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let parse = |line: &str| parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(
            parse("--minutes 0.05 --dev"),
            Ok((Duration::from_secs(3), true))
        );
        assert_eq!(super::parse(&[]), Ok((Duration::from_secs(3600), false)));
        let bad = Err("--minutes needs a number from 0.05 up".to_owned());
        for line in [
            "--minutes",
            "--minutes 0.04",
            "--minutes NaN",
            "--minutes x",
        ] {
            assert_eq!(parse(line), bad, "{line}");
        }
        assert_eq!(parse("--hours 1"), Err("soak has no `--hours`".to_owned()));
    }

    #[test]
    fn the_last_whole_line_of_numbers_counts() {
        let head = "running 1 test\nseconds,messages,messages_per_s\n";
        assert_eq!(done(head), None);
        let lines = format!("{head}1.0,17,17\n2.1,40,23\nnote\n3");
        assert_eq!(done(&lines), Some(40));
        assert_eq!(done("1.0,17"), None, "the line goes on");
    }

    #[test]
    fn a_process_holds_memory_and_files() {
        let (bytes, files) = held(std::process::id()).expect("this process");
        assert!(bytes > 1 << 18 && files >= 3, "{bytes} {files}");
        assert_eq!(held(u32::MAX), None);
    }

    #[test]
    fn growth_after_a_tenth_of_the_time_is_a_fault() {
        const MIB: u64 = 1 << 20;
        let sample = |second, done, mib, open_files| Sample {
            at: Duration::from_secs(second),
            done,
            resident_bytes: mib * MIB,
            open_files,
        };
        let warm = Duration::from_secs(10);
        let with = |mib, files| {
            let samples = [
                sample(1, 5, 3, 4),
                sample(10, 60, 7, 9),
                sample(50, 300, 41, 50),
                sample(100, 610, mib, files),
            ];
            summary(&samples, warm, "rounds")
        };
        let line = "610 rounds; resident MiB 7.0 after 10 s, 23.0 after 100 s, 41.0 at most; \
                    open files 9, 25, 50";
        assert_eq!(with(7 + 16, 9 + 16), Ok(line.to_owned()));
        for (mib, files) in [(7 + 17, 9), (7, 9 + 17)] {
            let fault = with(mib, files).expect_err("it grew");
            assert!(fault.starts_with("it grew: 610 rounds"), "{fault}");
        }
        let early = Err("it ended before it was warm".to_owned());
        assert_eq!(summary(&[sample(9, 1, 1, 1)], warm, "rounds"), early);
    }
}
