//! Rates and latencies of small messages, compared with the libraries' own transports.
//!
//! Every round runs all programs in every way once. The first table has the medians of the rounds,
//! the second the medians of each round's ratios, which cancels what slows a whole round down. The
//! programs run at high priority where the system allows it; on a busy machine the numbers still
//! mean little.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::Library;
use super::build::Tools;
use super::run::Job;
use crate::Failure;

/// Transports of a library. Open MPI does not accept libfabric's `shm`, which reaches no other
/// machine; `sm` is its own shared memory with its own matching.
fn ways(library: &Library) -> [&'static str; WAYS] {
    match library.name {
        "mpich" => ["dpamatch", "shm", "ucx"],
        _ => ["dpamatch", "sm", "ucx"],
    }
}

const WAYS: usize = 3;

const COLUMNS: [&str; 8] = [
    "in order",
    "reverse",
    "any source",
    "ping-pong",
    "64 KiB",
    "1 MiB",
    "osu_mbw_mr",
    "osu_latency",
];
/// The column in which more is better.
const MESSAGES_A_SECOND: usize = 6;
/// Rounds disagree if their quartiles differ by more than this factor.
const STEADY: f64 = 1.25;
/// Messages per pattern and round.
const MESSAGES: &str = "20000";
const LIMIT: Duration = Duration::from_secs(60);
/// OSU's programs measure all lengths up to 4 MiB, shortest first, which takes minutes. By this
/// limit they have long measured 8 bytes.
const OSU_LIMIT: Duration = Duration::from_secs(2);
/// Runs a command before others, also before those of other sessions, which a kernel with groups by
/// session treats as equals. The launcher gets its own session; it may give its processes
/// others.
const FIRST: &str = "{ echo -20 >/proc/self/autogroup; } 2>/dev/null; exec nice -n -10 \"$@\"";

/// Runs the rounds and prints the table.
pub(super) fn run(
    tools: &Tools,
    libraries: &[Library],
    programs: &Path,
    rounds: usize,
) -> Result<(), Failure> {
    // Without permission `nice` prints a warning and goes on.
    let first = Command::new("nice").args(["-n", "-10", "true"]).output();
    let first = first.is_ok_and(|output| output.status.success() && output.stderr.is_empty());
    let mut rows = Vec::new();
    for library in libraries {
        let rate = tools.compile(library, "rate")?;
        for way in ways(library) {
            let of = |program: &Path, arguments: &[&str]| {
                let program = program.to_string_lossy();
                let job = if first {
                    Job::new(tools, library, Path::new("sh"), 2)
                        .wrapped(&["setsid", "-w", "sh", "-c", FIRST, "sh"])
                        .arguments(&["-c", FIRST, "sh", &program])
                } else {
                    Job::new(tools, library, Path::new(&*program), 2)
                };
                let job = job.over(way).arguments(arguments);
                job.variable("HYDRA_BINDING=core").limit(LIMIT)
            };
            let osu = |name: &str, arguments: &[&str]| {
                of(&programs.join(library.name).join(name), arguments).limit(OSU_LIMIT)
            };
            let mbw_mr = osu("osu_mbw_mr", &[]);
            let latency = osu("osu_latency", &["-i", "10000", "-x", "100"]);
            rows.push(Compared {
                library: library.name,
                way,
                rate: of(&rate, &[MESSAGES]),
                mbw_mr,
                latency,
                rounds: Vec::new(),
            });
        }
    }
    let begin = Instant::now();
    for round in 1..=rounds {
        rows.iter_mut().for_each(Compared::round);
        let seconds = begin.elapsed().as_secs_f64();
        eprintln!("round {round} of {rounds} is over after {seconds:.0} s");
    }
    let priority = if first {
        "nice -10"
    } else {
        "no priority over others"
    };
    println!("rates: two processes, 8 bytes, medians of {rounds} rounds, {priority}");
    println!("ns a message; us for ping-pong, 64 KiB, 1 MiB, osu_latency; osu_mbw_mr million/s");
    println!("~: rounds disagree, since other programs run or processes share a core");
    print_table(rows.iter().map(|row| {
        (
            row.library,
            row.way.to_owned(),
            std::array::from_fn(|column| row.column(column)),
        )
    }));
    println!("times as long with dpamatch as with the other, in the same round");
    print_table(rows.chunks(WAYS).flat_map(|ways| {
        ways[1..].iter().map(|other| {
            let ratios = |column| times_as_long(&ways[0].rounds, &other.rounds, column);
            (
                other.library,
                format!("/ {}", other.way),
                std::array::from_fn(ratios),
            )
        })
    }));
    let silent = rows
        .iter()
        .find(|row| row.way == "dpamatch" && row.column(0).is_empty());
    match silent {
        Some(row) => Err(Failure::Task(format!(
            "{} with dpamatch printed no rate",
            row.library
        ))),
        None => Ok(()),
    }
}

fn print_table(rows: impl Iterator<Item = (&'static str, String, [Vec<f64>; COLUMNS.len()])>) {
    let heads: String = COLUMNS
        .iter()
        .map(|column| format!("{column:>12} "))
        .collect();
    println!("{:<8} {:<9}{heads}", "library", "way");
    for (library, way, columns) in rows {
        let cells: String = columns.iter().map(|values| cell(values)).collect();
        println!("{library:<8} {way:<9}{cells}");
    }
}

/// Results of a round, by column.
type Measured = [Option<f64>; COLUMNS.len()];

struct Compared<'a> {
    library: &'static str,
    way: &'static str,
    rate: Job<'a>,
    mbw_mr: Job<'a>,
    latency: Job<'a>,
    rounds: Vec<Measured>,
}

impl Compared<'_> {
    fn round(&mut self) {
        let output = |job: &Job<'_>| match job.run() {
            Ok(ended) if ended.success => ended.output,
            _ => String::new(),
        };
        let [in_order, reverse, any_source, ping_pong, middle, large] =
            of_rate(&output(&self.rate));
        let rate = of_osu(&self.mbw_mr.said(), 2).map(|rate| rate / 1e6);
        let latency = of_osu(&self.latency.said(), 1);
        let round = [
            in_order, reverse, any_source, ping_pong, middle, large, rate, latency,
        ];
        self.rounds.push(round);
    }

    fn column(&self, at: usize) -> Vec<f64> {
        self.rounds.iter().filter_map(|round| round[at]).collect()
    }
}

fn times_as_long(one: &[Measured], other: &[Measured], column: usize) -> Vec<f64> {
    let both = one
        .iter()
        .zip(other)
        .filter_map(|(one, other)| Some((one[column]?, other[column]?)));
    both.map(|(one, other)| {
        if column == MESSAGES_A_SECOND {
            other / one
        } else {
            one / other
        }
    })
    .collect()
}

/// The numbers of the repository's program.
fn of_rate(output: &str) -> [Option<f64>; 6] {
    let line = output
        .lines()
        .find_map(|line| line.strip_prefix("rate: "))
        .unwrap_or_default();
    [
        "in-order",
        "reverse",
        "any-source",
        "ping-pong",
        "64-KiB",
        "1-MiB",
    ]
    .map(|name| {
        let rest = line.split_once(name)?.1;
        rest.split_whitespace().next()?.parse().ok()
    })
}

/// A column of the line for 8 bytes.
fn of_osu(output: &str, column: usize) -> Option<f64> {
    let mut lines = output
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = lines.find(|words| words.first() == Some(&"8"))?;
    line.get(column)?.parse().ok()
}

/// The median; marked if the rounds disagree.
fn cell(values: &[f64]) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(&median) = sorted.get(sorted.len() / 2) else {
        return format!("{:>12} ", "-");
    };
    let (low, high) = (sorted[sorted.len() / 4], sorted[(sorted.len() - 1) * 3 / 4]);
    let mark = if high > low * STEADY { '~' } else { ' ' };
    let digits = if median >= 100.0 { 0 } else { 2 };
    format!("{median:>12.digits$}{mark}")
}
