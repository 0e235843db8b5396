//! The table at the end: one row per step, then the totals.

use std::time::Duration;

use super::counts::Counts;

pub(crate) struct StepRow {
    pub(super) name: &'static str,
    pub(super) outcome: StepOutcome,
}

pub(super) enum StepOutcome {
    Passed(Duration, Counts),
    Failed(Duration),
    Skipped,
}

/// The table of all steps with their times in seconds, then the totals, with processor time if
/// known.
pub(crate) fn table(rows: &[StepRow], wall: Duration, processor: Option<Duration>) -> String {
    let mut text = format!("{:<12}{:>8}{:>10}  counted\n", "step", "result", "wall");
    let mut total = Counts::default();
    let mut verdict = "ok";
    for StepRow { name, outcome } in rows {
        text += &match outcome {
            StepOutcome::Passed(wall, counts) => {
                total += *counts;
                line(name, "ok", Some(*wall), &counted(counts))
            }
            StepOutcome::Failed(wall) => {
                verdict = "FAILED";
                line(name, "FAILED", Some(*wall), "")
            }
            StepOutcome::Skipped => line(name, "skipped", None, ""),
        };
    }
    text += &line("total", verdict, Some(wall), &totals(&total, processor));
    text
}

fn line(name: &str, result: &str, wall: Option<Duration>, counted: &str) -> String {
    let wall = wall.map_or("-".to_owned(), |wall| {
        format!("{:.1} s", wall.as_secs_f64())
    });
    let line = format!("{name:<12}{result:>8}{wall:>10}  {counted}");
    line.trim_end().to_owned() + "\n"
}

/// The counts of a step; empty if it counts nothing.
fn counted(counts: &Counts) -> String {
    let mut parts = Vec::new();
    if counts.tests > 0 {
        parts.push(format!("{} tests", counts.tests));
    }
    if counts.executions > 0 {
        parts.push(format!(
            "models: {} exhaustive, {} bounded; {} executions",
            counts.models_exhaustive, counts.models_bounded, counts.executions
        ));
    }
    if counts.benches > 0 {
        parts.push(format!("{} benches", counts.benches));
    }
    parts.join(", ")
}

/// The totals, including zeros: a run without models must show it.
fn totals(total: &Counts, processor: Option<Duration>) -> String {
    let counted = format!(
        "{} tests, {} loom executions in {} models, {} benches",
        total.tests,
        total.executions,
        total.models_exhaustive + total.models_bounded,
        total.benches
    );
    let spent = |spent: Duration| format!("; {:.0} s of processor time", spent.as_secs_f64());
    counted + &processor.map(spent).unwrap_or_default()
}
