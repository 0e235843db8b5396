//! Instructions of the receiving process for a message and its receive, counted by callgrind.
//!
//! The receiver posts a window of receives, waits until the messages have come, and reads them.
//! Every case runs with two numbers of windows. The difference, divided by the additional messages,
//! contains no set-up. A late sender costs idle polls, so the least of several runs counts.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::Library;
use super::build::Tools;
use super::run::Job;
use crate::Failure;

struct Case {
    /// The transport.
    way: &'static str,
    /// An option of the provider; empty for none.
    option: &'static str,
    /// Messages per window.
    window: u32,
}

const CASES: [Case; 5] = [
    Case::new("dpamatch", "", 64),
    Case::new("dpamatch", "", 1),
    Case::new("dpamatch", "HANDLERS=32", 64),
    Case::new("ucx", "", 64),
    Case::new("ucx", "", 1),
];

impl Case {
    const fn new(way: &'static str, option: &'static str, window: u32) -> Self {
        Self {
            way,
            option,
            window,
        }
    }
}

/// Windows of each run of a pair.
const WINDOWS: [u32; 2] = [20, 120];
/// Runs per number, of which the least counts.
const RUNS: usize = 3;
/// Microseconds in which a sender under any load has sent its window.
const PAUSE: &str = "15000";
const LIMIT: Duration = Duration::from_secs(60);

/// Objects whose names contain one of these words make up a column; the last one has all others.
const COLUMNS: [(&str, &[&str]); 3] = [
    (
        "transport",
        &[
            "libdpamatch_fi",
            "libfabric",
            "libucp",
            "libuct",
            "libucs",
            "libucm",
        ],
    ),
    ("library", &["libmpi", "libopen-pal"]),
    ("other", &[""]),
];

/// Runs all cases and prints the table. A case that does not run under valgrind has no numbers.
pub(super) fn run(tools: &Tools, libraries: &[Library]) -> Result<(), Failure> {
    println!("instructions of the receiver for a message of 8 bytes and its receive");
    let heads: String = COLUMNS
        .iter()
        .map(|(name, _)| format!("{name:>11}"))
        .collect();
    println!(
        "{:<9}{:<25}{:>6}{heads}{:>11}",
        "library", "way", "window", "all"
    );
    for library in libraries {
        let rate = tools.compile(library, "rate")?;
        let mut counted = 0;
        for case in CASES {
            let run = |windows| count(tools, library, &rate, &case, windows);
            let least = |windows| (0..RUNS).filter_map(|_| run(windows)).min_by_key(sum);
            let counts = WINDOWS.map(least);
            let Case {
                way,
                option,
                window,
            } = case;
            let cells: String = match counts {
                [Some(few), Some(many)] => {
                    counted += 1;
                    let messages = f64::from((WINDOWS[1] - WINDOWS[0]) * window);
                    let all = [0, 1, 2].map(|at| (many[at] as f64 - few[at] as f64) / messages);
                    let all = all.into_iter().chain([all.iter().sum()]);
                    all.map(|value| format!("{value:>11.0}")).collect()
                }
                _ => format!("{:>11}", "-"),
            };
            println!(
                "{:<9}{:<25}{window:>6}{cells}",
                library.name,
                format!("{way} {option}")
            );
        }
        if counted == 0 {
            return Err(Failure::Task(format!(
                "nothing of {} ran under valgrind",
                library.name
            )));
        }
    }
    Ok(())
}

fn sum(columns: &[u64; COLUMNS.len()]) -> u64 {
    columns.iter().sum()
}

/// The instructions of a run's windows, by column.
fn count(
    tools: &Tools,
    library: &Library,
    rate: &Path,
    case: &Case,
    windows: u32,
) -> Option<[u64; COLUMNS.len()]> {
    let &Case {
        way,
        option,
        window,
    } = case;
    let file = tools.folder.join(library.name).join("callgrind");
    let _ = fs::remove_file(&file);
    let program = rate.to_string_lossy();
    let (messages, depth) = ((windows * window).to_string(), window.to_string());
    let sides = [&*program, &messages, PAUSE, &depth];
    let to = format!("--callgrind-out-file={}", file.display());
    let job = Job::new(tools, library, Path::new("valgrind"), 1)
        .arguments(&[
            "--tool=callgrind",
            "--quiet",
            "--toggle-collect=window",
            &to,
        ])
        .arguments(&sides)
        .arguments(&[":", "-n", "1"])
        .arguments(&sides);
    let job = if option.is_empty() {
        job
    } else {
        job.option(option)
    };
    let ended = job.over(way).limit(LIMIT).run().ok()?;
    ended
        .success
        .then(|| by_column(&fs::read_to_string(file).unwrap_or_default()))
}

/// Adds up the costs of callgrind's file. A line of `calls` precedes the cost of what was called,
/// which its own lines contain, too.
fn by_column(profile: &str) -> [u64; COLUMNS.len()] {
    let mut names = HashMap::new();
    let (mut column, mut called) = (COLUMNS.len() - 1, false);
    let mut sums = [0; COLUMNS.len()];
    for line in profile.lines() {
        if let Some(object) = line
            .strip_prefix("ob=")
            .or_else(|| line.strip_prefix("cob="))
        {
            let (number, name) = object.split_once(' ').unwrap_or((object, ""));
            let file = name.rsplit('/').next().unwrap_or_default();
            let of = |words: &[&str]| words.iter().any(|word| file.contains(word));
            let named = || {
                COLUMNS
                    .iter()
                    .position(|(_, words)| of(words))
                    .unwrap_or(column)
            };
            let of_object = *names.entry(number).or_insert_with(named);
            if line.starts_with('o') {
                column = of_object;
            }
        } else if line.starts_with("calls=") {
            called = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first))
            && !std::mem::take(&mut called)
        {
            let cost = line
                .split_whitespace()
                .nth(1)
                .and_then(|cost| cost.parse::<u64>().ok());
            sums[column] += cost.unwrap_or(0);
        }
    }
    sums
}
