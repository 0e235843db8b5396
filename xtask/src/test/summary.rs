//! The table at the end: one row per step, then the totals.

use std::time::Duration;

use super::counts::Counts;

/// One step's line of the table.
pub(crate) struct Row {
    name: &'static str,
    outcome: Outcome,
}

enum Outcome {
    Passed(Spent, Counts),
    Failed(Spent),
    Skipped,
}

/// What a step took.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spent {
    /// On the clock.
    pub(crate) wall: Duration,
    /// On processors, where that is known.
    pub(crate) processor: Option<Duration>,
}

impl Row {
    /// A step that found all well.
    pub(crate) fn passed(name: &'static str, spent: Spent, counts: Counts) -> Self {
        Self { name, outcome: Outcome::Passed(spent, counts) }
    }

    /// The step at which the run ended.
    pub(crate) fn failed(name: &'static str, spent: Spent) -> Self {
        Self { name, outcome: Outcome::Failed(spent) }
    }

    /// A step that did not run.
    pub(crate) fn skipped(name: &'static str) -> Self {
        Self { name, outcome: Outcome::Skipped }
    }
}

/// The table of all steps with their times in seconds, and the totals below it.
pub(crate) fn table(rows: &[Row], total_spent: Spent) -> String {
    let mut text =
        format!("{:<12}{:>8}{:>10}{:>12}  counted\n", "step", "result", "wall", "processor");
    let mut total = Counts::default();
    let mut verdict = "ok";
    for Row { name, outcome } in rows {
        text += &match outcome {
            Outcome::Passed(spent, counts) => {
                total += *counts;
                line(name, "ok", Some(*spent), &counted(counts))
            }
            Outcome::Failed(spent) => {
                verdict = "FAILED";
                line(name, "FAILED", Some(*spent), "")
            }
            Outcome::Skipped => line(name, "skipped", None, ""),
        };
    }
    text += &line("total", verdict, Some(total_spent), &totals(&total));
    text
}

fn line(name: &str, result: &str, spent: Option<Spent>, counted: &str) -> String {
    let seconds = |time: Option<Duration>| {
        time.map_or("-".to_owned(), |time| format!("{:.1} s", time.as_secs_f64()))
    };
    let wall = seconds(spent.map(|spent| spent.wall));
    let processor = seconds(spent.and_then(|spent| spent.processor));
    let line = format!("{name:<12}{result:>8}{wall:>10}{processor:>12}  {counted}");
    line.trim_end().to_owned() + "\n"
}

/// What one step counted; a step that counts nothing says nothing.
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

/// The totals, zeros among them: a run without models shall say so.
fn totals(total: &Counts) -> String {
    format!(
        "{} tests, {} loom executions in {} models, {} benches",
        total.tests,
        total.executions,
        total.models_exhaustive + total.models_bounded,
        total.benches
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half as much on processors as on the clock.
    fn spent(tenths: u64) -> Spent {
        let wall = Duration::from_millis(100 * tenths);
        Spent { wall, processor: Some(wall / 2) }
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
            Row::passed("format", spent(4), Counts::default()),
            Row::passed("tests", spent(610), tests(40)),
            Row::passed("doc tests", Spent { processor: None, ..spent(10) }, tests(2)),
            Row::passed("loom", spent(90), models),
            Row::passed("benches", spent(10), Counts { benches: 4, ..Counts::default() }),
        ];
        let expected = "\
            step          result      wall   processor  counted\n\
            format            ok     0.4 s       0.2 s\n\
            tests             ok    61.0 s      30.5 s  40 tests\n\
            doc tests         ok     1.0 s           -  2 tests\n\
            loom              ok     9.0 s       4.5 s  models: 2 exhaustive, 1 bounded; 30804 executions\n\
            benches           ok     1.0 s       0.5 s  4 benches\n\
            total             ok    72.4 s      36.2 s  42 tests, 30804 loom executions in 3 models, 4 benches\n";
        assert_eq!(table(&rows, spent(724)), expected);
    }

    #[test]
    fn a_failed_run_says_so_in_the_last_line() {
        let rows = [
            Row::passed("tests", spent(10), tests(7)),
            Row::failed("docs", spent(20)),
            Row::skipped("loom"),
        ];
        let expected = "\
            step          result      wall   processor  counted\n\
            tests             ok     1.0 s       0.5 s  7 tests\n\
            docs          FAILED     2.0 s       1.0 s\n\
            loom         skipped         -           -\n\
            total         FAILED     3.0 s       1.5 s  7 tests, 0 loom executions in 0 models, 0 benches\n";
        assert_eq!(table(&rows, spent(30)), expected);
    }
}
