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
    answer: &'static [&'static str],
}

const fn program(
    name: &'static str,
    processes: usize,
    arguments: &'static str,
    answer: &'static [&'static str],
) -> Program {
    Program {
        name,
        processes,
        arguments,
        answer,
    }
}

/// Third-party programs. Their answers do not depend on time.
const PROGRAMS: [Program; 11] = [
    program(
        "lulesh",
        8,
        "-s 4 -i 4",
        &[
            "Iteration count",
            "Final Origin Energy",
            "AbsDiff",
            "RelDiff",
        ],
    ),
    program(
        "comd",
        4,
        "-x 8 -y 8 -z 8 -i 2 -j 2 -k 1 -N 4",
        &["Final energy", "eFinal", "Final atom count"],
    ),
    program(
        "minife",
        4,
        "nx=12",
        &["Initial Residual", "Iteration = ", "Final Resid Norm"],
    ),
    program(
        "hpcg",
        4,
        "--nx=16 --rt=1",
        &["Scaled residual", "Departure from", "Spectral convergence"],
    ),
    // A moving sphere: blocks are refined, joined, moved between processes, and checked.
    program(
        "miniamr",
        4,
        "--nx 4 --ny 4 --nz 4 --npx 2 --npy 2 --npz 1 --num_tsteps 3 --num_vars 4 \
         --stages_per_ts 4 --checksum_freq 2 --num_refine 2 --refine_freq 1 --max_blocks 300 \
         --num_objects 1 --object 2 0 -0.10 -0.10 -0.10 0.130 0.130 0.130 0.6 0.6 0.6 0.0 0.0 \
         0.0",
        &[
            "Number of blocks",
            "otal blocks",
            "Total number of blocks",
            "Max blocks",
        ],
    ),
    program("graph500", 2, "4 4", &["SCALE", "NBFS", "nedge"]),
    // Benchmarks: only the exit code counts.
    program("osu_latency", 2, "-i 50 -x 5", &[]),
    program("osu_multi_lat", 4, "-i 20 -x 5", &[]),
    program("osu_mbw_mr", 4, "", &[]),
    program("osu_allreduce", 4, "-i 20 -x 5", &[]),
    program("msgrate", 4, "-n 2 -p 1 -i 64 -m 16 -s 8 -o", &[]),
];

/// graph500 makes 64 consecutive searches at any graph size: minutes on a busy machine.
const LIMIT: Duration = Duration::from_secs(900);

pub(super) fn rows(table: &mut TestTable, tools: &Tools, library: &Library, programs: &Path) {
    for program in &PROGRAMS {
        let path = programs.join(program.name);
        if !path.exists() {
            table.not_there(program.name, programs);
            continue;
        }
        let words: Vec<_> = program.arguments.split_whitespace().collect();
        let job = Job::new(tools, library, &path, program.processes);
        let job = job.arguments(&words).limit(LIMIT);
        table.add(program.name, library.name, || match program.answer {
            [] => benchmark(&job),
            answer => application(tools, &job, answer),
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
