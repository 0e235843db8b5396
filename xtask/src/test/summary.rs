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
    let wall = wall.map_or("-".to_owned(), |wall| format!("{:.1} s", wall.as_secs_f64()));
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

#[cfg(test)]
mod tests {
    use super::StepOutcome::{Failed, Passed, Skipped};
    use super::*;

    fn seconds(tenths: u64) -> Duration {
        Duration::from_millis(100 * tenths)
    }

    fn row(name: &'static str, outcome: StepOutcome) -> StepRow {
        StepRow { name, outcome }
    }

    fn tests(number: u64) -> Counts {
        Counts { tests: number, ..Counts::default() }
    }

    #[test]
    fn a_good_run_adds_up() {
        let models = Counts {
            models_exhaustive: 2,
            models_bounded: 1,
            executions: 30_804,
            ..Counts::default()
        };
        let rows = [
            row("format", Passed(seconds(4), Counts::default())),
            row("tests", Passed(seconds(610), tests(40))),
            row("benches", Passed(seconds(10), Counts { benches: 4, ..Counts::default() })),
            row("loom", Passed(seconds(90), models)),
            row("doc tests", Passed(seconds(10), tests(2))),
        ];
        let expected = "\
            step          result      wall  counted\n\
            format            ok     0.4 s\n\
            tests             ok    61.0 s  40 tests\n\
            benches           ok     1.0 s  4 benches\n\
            loom              ok     9.0 s  models: 2 exhaustive, 1 bounded; 30804 executions\n\
            doc tests         ok     1.0 s  2 tests\n\
            total             ok    72.4 s  42 tests, 30804 loom executions in 3 models, 4 benches";
        assert_eq!(table(&rows, seconds(724), None), format!("{expected}\n"));
        let known = table(&rows, seconds(724), Some(seconds(1_100)));
        assert_eq!(known, format!("{expected}; 110 s of processor time\n"));
    }

    #[test]
    fn a_failed_run_says_so_in_the_last_line() {
        let rows = [
            row("tests", Passed(seconds(10), tests(7))),
            row("docs", Failed(seconds(20))),
            row("loom", Skipped),
        ];
        let expected = "\
            step          result      wall  counted\n\
            tests             ok     1.0 s  7 tests\n\
            docs          FAILED     2.0 s\n\
            loom         skipped         -\n\
            total         FAILED     3.0 s  7 tests, 0 loom executions in 0 models, 0 benches\n";
        assert_eq!(table(&rows, seconds(30), None), expected);
    }
}
