//! Third-party benchmarks and applications, if installed.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::build::Tools;
use super::run::Job;
use super::{Library, TestTable};
use crate::process;

struct Program {
    name: &'static str,
    processes: usize,
    /// Separated by spaces.
    arguments: &'static str,
    /// Output lines with these words are its answer; empty: only the exit code counts.
    answer: Vec<&'static str>,
}

/// The programs of `programs.txt`.
fn all() -> impl Iterator<Item = Program> {
    let lines = include_str!("programs.txt").lines();
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let mut columns = line.split('|').map(|column| column.trim_start_matches(' '));
            let mut column = || columns.next().unwrap_or_default();
            let (name, processes) = column()
                .trim_end()
                .split_once(' ')
                .expect("name and processes");
            let processes = processes.parse().expect("a number of processes");
            let (arguments, answer) = (column(), column().split("; "));
            let answer = answer.filter(|words| !words.is_empty()).collect();
            Program {
                name,
                processes,
                arguments,
                answer,
            }
        })
}

/// graph500 makes 64 consecutive searches at any graph size: minutes on a busy machine.
const LIMIT: Duration = Duration::from_secs(900);

pub(super) fn rows(table: &mut TestTable, tools: &Tools, library: &Library, programs: &Path) {
    for program in all() {
        let path = programs.join(program.name);
        if !path.exists() {
            table.not_there(program.name, programs);
            continue;
        }
        let words: Vec<_> = program.arguments.split_whitespace().collect();
        let job = Job::new(tools, library, &path, program.processes);
        let job = job.arguments(&words).limit(LIMIT);
        table.add(program.name, library.name, || {
            match program.answer.as_slice() {
                [] => benchmark(&job),
                answer => application(tools, &job, answer),
            }
        });
    }
}

/// Compares the answer with that of libfabric's own provider, and describes the matching.
fn application(tools: &Tools, job: &Job<'_>, answer: &[&str]) -> Result<String, String> {
    let (stock, ours) = (
        lines_of(&job.clone().stock(), answer)?,
        lines_of(job, answer)?,
    );
    if ours != stock || ours.is_empty() {
        return Err(format!(
            "the answer is {ours:#?}, with libfabric's own provider {stock:#?}"
        ));
    }
    Ok(format!(
        "same answer; {}; {}",
        matching(tools, job)?,
        job.replay()?
    ))
}

fn lines_of(job: &Job<'_>, answer: &[&str]) -> Result<Vec<String>, String> {
    let ended = job.run()?;
    if !ended.success {
        return Err(ended.output);
    }
    let text = ended.output + &job.files();
    let lines = text
        .lines()
        .filter(|line| answer.iter().any(|words| line.contains(words)));
    let mut lines: Vec<_> = lines.map(str::to_owned).collect();
    // Files are read in any order.
    lines.sort();
    Ok(lines)
}

/// A summary of `dpamatch analyze` on the logs.
fn matching(tools: &Tools, job: &Job<'_>) -> Result<String, String> {
    let mut command = Command::new(&tools.command);
    command
        .arg("analyze")
        .arg(job.logs())
        .args(["--bins", "128", "--sweep", "32"]);
    let finished = process::run(&mut command)?;
    let line = finished
        .stdout
        .lines()
        .find(|line| line.starts_with("messages: "));
    let high = finished
        .stdout
        .lines()
        .find(|line| line.starts_with("high water: "));
    match (finished.status.success(), line, high) {
        (true, Some(line), Some(high)) => Ok(format!("{line}; {high}")),
        _ => Err(finished.output),
    }
}

/// The last line with a number, next to the result of libfabric's own provider.
fn benchmark(job: &Job<'_>) -> Result<String, String> {
    let last = |job: &Job<'_>| {
        let ended = job.run()?;
        let mut lines = ended.output.lines().rev();
        let line = lines.find(|line| line.contains(|c: char| c.is_ascii_digit()));
        match (ended.success, line) {
            (true, Some(line)) => Ok(line.split_whitespace().collect::<Vec<_>>().join(" ")),
            _ => Err(ended.output.clone()),
        }
    };
    let stock = last(&job.clone().stock())?;
    let ours = last(job)?;
    Ok(format!("{ours}; stock: {stock}; {}", job.replay()?))
}
