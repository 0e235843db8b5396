//! `steps`: costs between two steps of the card, for the predictor.

use std::collections::BTreeMap;
use std::fmt::Write;

use dpa_model::PaperWorkload;
use dpa_model::step::StepKind;
use dpamatch::stream::Profile;

use crate::check::interpret;
use crate::job::{Ends, Job, WARM_UP};
use crate::phases::marks;
use crate::report::NotCounted;
use crate::rv64::{CacheSetup, Count, Image, Setup};

/// First-level caches of 1 KiB each.
const CACHES: CacheSetup = CacheSetup { data: 16, code: 16 };
/// Harts, each with one handler of a block.
const HARTS: [usize; 3] = [2, 8, 32];
/// The predictor's options, with the workloads and streams to run.
const OPTIONS: [&str; 7] = [
    "fast=literal removal=deferred barrier=bitmap domains=paper",
    "fast=sequence removal=lazy barrier=bitmap domains=paper book=1",
    "fast=sequence removal=lazy barrier=lanes domains=paper book=1",
    "fast=prefix removal=eager barrier=bitmap domains=paper book=1",
    "fast=off removal=deferred barrier=bitmap early=1 domains=paper",
    "fast=off removal=lazy barrier=bitmap domains=paper book=1",
    "fast=sequence removal=lazy barrier=lanes domains=keyed",
];
/// Smaller slopes over the handler's number, in instructions, count as zero.
const LEAST_SLOPE: f64 = 0.5;

/// After these the card looks for work, or the host's end runs on the same hart.
const BETWEEN_WORK: [&str; 3] = ["EntriesSeen", "BoundaryEnds", "SliceEnds"];

/// Means over all occurrences of a pair of steps.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct StepCosts {
    pub times: u64,
    /// Instructions of handler 0, and the excess of each further handler.
    pub instructions: [f64; 2],
    /// Loads of private lines that missed a first level of 1 KiB, of handler 0 and the excess.
    pub lines: [f64; 2],
    /// Missed loads of lines that one hart writes and another uses; the predictor charges them by
    /// name.
    pub shared: f64,
    /// Lines of code that missed a first level of 1 KiB.
    pub code: f64,
}

pub type Pair = (&'static str, &'static str);

fn workloads(options: &[&str]) -> Vec<Job> {
    let mut jobs = Vec::new();
    for options in options {
        for harts in HARTS {
            let options = format!("receives=512 queue=512 bins=512 {options}");
            let job = |workload| {
                let job = Job::workload(workload, 4 + WARM_UP, 128);
                job.on(harts, harts, Ends::Leader, &options)
            };
            jobs.extend([PaperWorkload::NoConflict, PaperWorkload::FastPath].map(job));
        }
    }
    jobs
}

fn streams(options: &str) -> [Job; 4] {
    let profiles = [Profile::Mixed, Profile::Hot, Profile::Wild, Profile::Keys];
    profiles.map(|profile| Job::stream(profile, 1, 2000).on(8, 8, Ends::Leader, options))
}

/// Sums of one pair, for a line fitted over the harts.
#[derive(Clone, Copy, Default)]
struct Sums {
    all: Count,
    /// Sums over the harts' numbers, occurrences, squares and products with the counts.
    x: f64,
    xx: f64,
    xy: [f64; 2],
}

impl Sums {
    fn add(&mut self, hart: usize, segment: &Count) {
        let (x, times) = (hart as f64, segment.entered as f64);
        self.all.add(segment);
        self.x += x * times;
        self.xx += x * x * times;
        for (sum, y) in self.xy.iter_mut().zip([segment.instructions, segment.own]) {
            *sum += x * y as f64;
        }
    }

    fn row(&self) -> StepCosts {
        let n = self.all.entered.max(1) as f64;
        let spread = self.xx - self.x * self.x / n;
        let line = |y: u64, xy: f64, least: f64| {
            let y = y as f64;
            let slope = if spread > n {
                (xy - self.x * y / n) / spread
            } else {
                0.0
            };
            let slope = if slope < least { 0.0 } else { slope };
            [((y - slope * self.x) / n).max(0.0), slope]
        };
        StepCosts {
            times: self.all.entered,
            instructions: line(self.all.instructions, self.xy[0], LEAST_SLOPE),
            lines: line(self.all.own, self.xy[1], LEAST_SLOPE / 10.0),
            shared: self.all.shared as f64 / n,
            code: self.all.code as f64 / n,
        }
    }
}

/// Every pair of consecutive steps on a hart.
pub fn steps(marked: &Image) -> Result<BTreeMap<Pair, StepCosts>, NotCounted> {
    let mut sums: BTreeMap<Pair, [Sums; 2]> = BTreeMap::new();
    for job in workloads(&OPTIONS).into_iter().chain(streams(OPTIONS[1])) {
        let setup = Setup {
            caches: Some(CACHES),
            marks: marks(),
            ..Setup::default()
        };
        let (difference, outcome) = interpret(marked, &job, setup);
        if let Some(difference) = difference {
            return Err(NotCounted(job.arguments.clone(), difference));
        }
        for (hart, segments) in outcome.segments.iter().enumerate() {
            for (&(from, to), segment) in segments {
                let name = |mark: u16| StepKind::ALL.get(usize::from(mark)).map(|kind| kind.name());
                if let (Some(from), Some(to)) = (name(from), name(to))
                    && !BETWEEN_WORK.contains(&from)
                {
                    let place = usize::from(hart > 0);
                    sums.entry((from, to)).or_default()[place].add(hart, segment);
                }
            }
        }
    }
    // Hart 0 also runs host and wire, so pairs that other harts have, too, come from those.
    let row = |sums: [Sums; 2]| sums[usize::from(sums[1].all.entered > 0)].row();
    Ok(sums
        .into_iter()
        .map(|(pair, sums)| (pair, row(sums)))
        .collect())
}

/// The predictor's table, below the repository's root.
pub const FILE: &str = "tools/predict/profiles/rv64imac.txt";

const HEAD: &str = "\
# What dpa_model's code does between one step and the next, as RV64IMAC firmware; written by
# `cargo xtask rv64 steps --write`.
#
# instructions: of handler 0, and what each further handler of a block takes more
# own lines:    loads that miss a first level of 1 KiB, of lines that only one hart uses or nobody
#               writes (stack, scratch, counters, views): likewise
# code:         lines of code that miss a first level of 1 KiB
# shared:       loads that miss of lines that one hart writes and another uses; for comparison, the
#               predictor charges them by name
# times:        how often it was seen
#
# from            to                instructions      own lines     code  shared   times
";

/// Relative error of a written table's instructions against the measured ones, over all of them.
pub fn drift(steps: &BTreeMap<Pair, StepCosts>, written: &str) -> f64 {
    let mut table = BTreeMap::new();
    for line in written.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let names = (words.next(), words.next());
        if let ((Some(from), Some(to)), Some(Ok(instructions))) =
            (names, words.next().map(str::parse::<f64>))
        {
            table.insert((from, to), instructions);
        }
    }
    let (mut now, mut off) = (0.0, 0.0);
    for (pair, row) in steps {
        let (measured, times) = (row.instructions[0], row.times as f64);
        now += measured * times;
        off += (table.get(pair).copied().unwrap_or(0.0) - measured).abs() * times;
    }
    off / now.max(1.0)
}

pub fn text(steps: &BTreeMap<Pair, StepCosts>) -> String {
    let mut text = HEAD.to_owned();
    for ((from, to), row) in steps {
        let StepCosts {
            times,
            instructions,
            lines,
            shared,
            code,
        } = row;
        let _ = writeln!(
            text,
            "{from:<18}{to:<18}{:>7.1}{:>7.2}{:>8.2}{:>7.3}{code:>8.2}{shared:>8.2}{times:>8}",
            instructions[0], instructions[1], lines[0], lines[1]
        );
    }
    text
}
