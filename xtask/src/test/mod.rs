//! `cargo xtask test`: every check of the repository, up to the first that fails.
//!
//! The models and the FlexIO emulator, a workspace by itself, have their own target folders. They
//! run in a second row, at the same time as the other steps: a single row leaves processors idle
//! while it links or ends a long test. The row that ends first takes the short steps at the end.

mod counts;
mod step;
mod summary;

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::{Failure, process, root};
pub(crate) use step::{FIRMWARE, STEPS};
use step::{Step, is_root};
use summary::{StepOutcome, StepRow};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Extent {
    /// `--fast`: the checks that find most faults within a minute.
    Fast,
    Everyday,
    /// `--full`: models to their full bounds, and the checks that need a nightly compiler.
    Full,
}

/// Runs the task. `args` are the arguments after `test`.
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
    let (begin, before) = (Instant::now(), process::children_time());
    let steps: Vec<&'static Step> = STEPS.iter().filter(|step| is_part(step, extent)).collect();
    let failed = Mutex::new(None);
    let (models, others): (Vec<&'static Step>, _) = steps.iter().partition(|step| step.is_apart());
    let (last, others): (Vec<&'static Step>, _) =
        others.into_iter().partition(|step| step.for_either_row);
    let last = Mutex::new(last.into_iter());
    let next = || last.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = |own: Vec<&'static Step>| -> Vec<StepRow> {
        let steps = own.into_iter().chain(std::iter::from_fn(next));
        steps.map(|step| run_step(step, &root, &failed)).collect()
    };
    let mut rows = thread::scope(|scope| {
        let models = scope.spawn(|| run(models));
        let mut rows = run(others);
        rows.extend(
            models
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        );
        rows
    });
    rows.sort_by_key(|row| steps.iter().position(|step| step.name == row.name));
    let processor = process::children_time()
        .zip(before)
        .map(|(now, before)| now - before);
    print!("\n{}", summary::table(&rows, begin.elapsed(), processor));
    println!(
        "{}",
        left_out(extent, &|step| is_part(step, extent), is_root())
    );
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.map_or(Ok(()), |message| Err(Failure::Task(message)))
}

fn is_part(step: &Step, extent: Extent) -> bool {
    step.extents.contains(&extent) && (extent == Extent::Full || (step.can_run)())
}

/// Checks that no extent has, each with its command.
const OTHERS: [(&str, &str); 5] = [
    ("MPI", "cargo xtask mpi"),
    ("weakened orderings", "cargo xtask orderings"),
    ("seeded faults", "cargo xtask mutants"),
    ("functions without a model", "cargo xtask unmodelled"),
    (
        "the card's outcomes in every form",
        "cargo xtask rv64 check",
    ),
];

/// Names the checks that are not part of a run, and the commands that run them.
fn left_out(extent: Extent, is_part: &dyn Fn(&Step) -> bool, is_root: bool) -> String {
    let run = |name: &str| STEPS.iter().any(|step| step.name == name && is_part(step));
    let in_full = STEPS
        .iter()
        .filter(|step| step.extents.contains(&Extent::Full));
    let mut full: Vec<&str> = in_full.map(|step| step.name).collect();
    full.retain(|name| !run(name) && *name != FIRMWARE);
    full.dedup();
    let mut all = Vec::new();
    if extent == Extent::Fast {
        all.push("slow tests (cargo xtask test)".to_owned());
    }
    if !full.is_empty() {
        all.push(format!("{} (cargo xtask test --full)", full.join(", ")));
    }
    if !run(FIRMWARE) {
        all.push(format!("{FIRMWARE} (cargo xtask rv64)"));
    }
    if !is_root {
        all.push("other users (cargo xtask test, as root)".to_owned());
    }
    let others = OTHERS.map(|(what, command)| format!("{what} ({command})"));
    all.extend(others);
    format!("not part of this run: {}", all.join("; "))
}

/// Runs a step unless another has failed, and records the first failure.
fn run_step(step: &Step, root: &Path, failed: &Mutex<Option<String>>) -> StepRow {
    let first_failure = || failed.lock().unwrap_or_else(PoisonError::into_inner);
    if first_failure().is_some() {
        return StepRow {
            name: step.name,
            outcome: StepOutcome::Skipped,
        };
    }
    println!("== {}: {step}", step.name);
    let begin = Instant::now();
    let result = step.run(root);
    let wall = begin.elapsed();
    let verdict = if result.is_ok() { "" } else { ", FAILED" };
    println!("   {}: {:.1} s{verdict}", step.name, wall.as_secs_f64());
    let outcome = match result {
        Ok(counts) => StepOutcome::Passed(wall, counts),
        Err(fault) => {
            // The whole output, then the reason, where the reader looks first.
            println!("{}\n   {}: {}", fault.output, step.name, fault.reason);
            first_failure().get_or_insert(format!("{} failed: {}", step.name, fault.reason));
            StepOutcome::Failed(wall)
        }
    };
    StepRow {
        name: step.name,
        outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every step is in the run, or in the line about the others.
    #[test]
    fn what_a_run_leaves_out_is_named() {
        for extent in [Extent::Fast, Extent::Everyday, Extent::Full] {
            for (has_target, is_root) in [(true, true), (false, false)] {
                let is_part = |step: &Step| {
                    step.extents.contains(&extent) && (has_target || step.name != FIRMWARE)
                };
                let line = left_out(extent, &is_part, is_root);
                for step in STEPS {
                    let run = STEPS.iter().any(|it| it.name == step.name && is_part(it));
                    let is_listed = match step.name {
                        FIRMWARE => line.contains(" firmware (cargo xtask rv64)"),
                        name => ["; ", ", ", "run: "].iter().any(|begin| {
                            let named = |end| line.contains(&format!("{begin}{name}{end}"));
                            [" (", ", "].iter().any(named)
                        }),
                    };
                    let is_last = step.extents.contains(&Extent::Full);
                    assert_eq!(
                        is_listed,
                        !run && is_last,
                        "{extent:?} {}: {line}",
                        step.name
                    );
                }
                assert_eq!(line.contains("as root"), !is_root, "{line}");
                assert_eq!(
                    line.contains("slow tests"),
                    extent == Extent::Fast,
                    "{line}"
                );
                assert!(line.contains(" MPI (cargo xtask mpi); "), "{line}");
            }
        }
    }
}
