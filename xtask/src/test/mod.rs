//! `cargo xtask test`: every check of the repository, one after the other, up to the first that
//! fails.

mod counts;
mod step;
mod summary;

use std::time::{Duration, Instant};

use crate::{Failure, process, root};
use step::STEPS;
use summary::{Row, Spent};

/// How much is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Extent {
    /// `--fast`: what tells most in a minute.
    Fast,
    /// What must hold before a change is merged.
    Everyday,
    /// `--full`: models to their full bounds, and the checks that need a nightly compiler.
    Full,
}

/// Runs the task with what follows `test` on the command line.
///
/// # Errors
/// [`Failure::Usage`] for an unknown option, [`Failure::Task`] for a step that failed.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let extent = match words[..] {
        [] => Extent::Everyday,
        ["--fast"] => Extent::Fast,
        ["--full"] => Extent::Full,
        [other, ..] => {
            return Err(Failure::Usage(format!(
                "`test` takes nothing but one `--fast` or one `--full`, got `{other}`"
            )));
        }
    };

    let root = root();
    let all = Clock::start();
    let mut rows = Vec::new();
    let mut failed = None;
    for step in STEPS.iter().filter(|step| step.extents.contains(&extent)) {
        if failed.is_some() {
            rows.push(Row::skipped(step.name));
            continue;
        }
        println!("== {}: {step}", step.name);
        let clock = Clock::start();
        let result = step.run(&root);
        let spent = clock.spent();
        let wall = spent.wall.as_secs_f64();
        println!("   {wall:.1} s{}", if result.is_ok() { "" } else { ", FAILED" });
        match result {
            Ok(counts) => rows.push(Row::passed(step.name, spent, counts)),
            Err(fault) => {
                // The whole output, and the reason below it, where the reader's eye is.
                println!("{}\n   {}: {}", fault.output, step.name, fault.reason);
                rows.push(Row::failed(step.name, spent));
                failed = Some(format!("{} failed: {}", step.name, fault.reason));
            }
        }
    }
    print!("\n{}", summary::table(&rows, all.spent()));
    failed.map_or(Ok(()), |message| Err(Failure::Task(message)))
}

/// What is spent from its start on.
struct Clock {
    wall: Instant,
    processor: Option<Duration>,
}

impl Clock {
    fn start() -> Self {
        Self { wall: Instant::now(), processor: process::children_time() }
    }

    fn spent(&self) -> Spent {
        let since = |now: Duration| self.processor.map(|before| now.saturating_sub(before));
        Spent { wall: self.wall.elapsed(), processor: process::children_time().and_then(since) }
    }
}
