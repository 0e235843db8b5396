//! `cargo xtask test`: every check of the repository, one after the other, up to the first that
//! fails.

mod counts;
mod step;
mod summary;

use std::time::Instant;

use crate::{Failure, root};
use step::STEPS;
use summary::Row;

/// Runs the task with what follows `test` on the command line.
///
/// # Errors
/// [`Failure::Usage`] for an unknown option, [`Failure::Task`] for a step that failed.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let fast = match args {
        [] => false,
        [option] if option == "--fast" => true,
        [other, ..] => {
            return Err(Failure::Usage(format!(
                "`test` takes nothing but one `--fast`, got `{other}`"
            )));
        }
    };

    let root = root();
    let started = Instant::now();
    let mut rows = Vec::new();
    let mut failed = None;
    for step in STEPS {
        if (fast && step.slow) || failed.is_some() {
            rows.push(Row::skipped(step.name));
            continue;
        }
        println!("== {}: {step}", step.name);
        let step_started = Instant::now();
        let result = step.run(&root);
        let wall = step_started.elapsed();
        println!("   {:.1} s{}", wall.as_secs_f64(), if result.is_ok() { "" } else { ", FAILED" });
        match result {
            Ok(counts) => rows.push(Row::passed(step.name, wall, counts)),
            Err(fault) => {
                // The whole output, and the reason below it, where the reader's eye is.
                println!("{}\n   {}: {}", fault.output, step.name, fault.reason);
                rows.push(Row::failed(step.name, wall));
                failed = Some(format!("{} failed: {}", step.name, fault.reason));
            }
        }
    }
    print!("\n{}", summary::table(&rows, started.elapsed()));
    failed.map_or(Ok(()), |message| Err(Failure::Task(message)))
}
