//! Counts in cargo's output how much was checked: a run that checks nothing succeeds, too.

use std::ops::AddAssign;

/// Checks that the steps ran successfully.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    /// Tests, including doc tests.
    pub(crate) tests: u64,
    /// Loom models explored exhaustively.
    pub(crate) models_exhaustive: u64,
    /// Loom models explored up to a preemption bound.
    pub(crate) models_bounded: u64,
    pub(crate) executions: u64,
    pub(crate) benches: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.tests += other.tests;
        self.models_exhaustive += other.models_exhaustive;
        self.models_bounded += other.models_bounded;
        self.executions += other.executions;
        self.benches += other.benches;
    }
}

/// The tests that libtest reports as passed.
///
/// # Errors
/// When a test failed or was ignored, when there was none, or when a result line is unreadable.
pub(crate) fn tests(stdout: &str) -> Result<Counts, String> {
    let counts = doc_tests(stdout)?;
    if counts.tests == 0 {
        Err("not one test ran".to_owned())
    } else {
        Ok(counts)
    }
}

/// Like [`tests`], but accepts none: a crate need not have examples in its documentation.
pub(crate) fn doc_tests(stdout: &str) -> Result<Counts, String> {
    let mut counts = Counts::default();
    let (mut failed, mut ignored) = (0, 0);
    for line in stdout.lines() {
        if let Some(result) = line.strip_prefix("test result: ") {
            let [p, f, i] = result_line(result).ok_or_else(|| format!("cannot read `{line}`"))?;
            counts.tests += p;
            failed += f;
            ignored += i;
        }
    }
    match (failed, ignored) {
        (0, 0) => Ok(counts),
        (0, _) => Err(format!("{ignored} tests are ignored")),
        _ => Err(format!("{failed} tests failed")),
    }
}

/// Passed, failed and ignored of `ok. 3 passed; 0 failed; 0 ignored; 0 measured; ...`.
fn result_line(result: &str) -> Option<[u64; 3]> {
    let (_, numbers) = result.split_once(". ")?;
    let mut fields = numbers.split("; ");
    let mut field = |word: &str| fields.next()?.strip_suffix(word)?.trim_end().parse().ok();
    Some([field("passed")?, field("failed")?, field("ignored")?])
}

/// The models, from lines `loom: <model>: <N> executions, <exhaustive|bounded K>`.
///
/// # Errors
/// When there was no model, when one had a single execution (no two threads met in it), when a test
/// failed or was ignored, or a line is unreadable.
pub(crate) fn models(stdout: &str) -> Result<Counts, String> {
    doc_tests(stdout)?;
    let mut counts = Counts::default();
    for line in stdout.lines() {
        // libtest's half line `test name ... ` may precede it.
        let Some((_, model)) = line.split_once("loom: ") else {
            continue;
        };
        let (executions, bound) =
            model_line(model).ok_or_else(|| format!("cannot read `{line}`"))?;
        if executions <= 1 {
            return Err(format!("a model explored nothing: `{line}`"));
        }
        counts.executions += executions;
        match bound {
            None => counts.models_exhaustive += 1,
            Some(_) => counts.models_bounded += 1,
        }
    }
    if counts.executions == 0 {
        Err("not one model ran".to_owned())
    } else {
        Ok(counts)
    }
}

/// Executions and bound of `<model>: <N> executions, <exhaustive|bounded K>`.
fn model_line(model: &str) -> Option<(u64, Option<u64>)> {
    let (name, result) = model.rsplit_once(": ")?;
    let (executions, extent) = result.split_once(" executions, ")?;
    let bound = match extent.strip_prefix("bounded ") {
        Some(bound) => Some(bound.parse().ok()?),
        None if extent == "exhaustive" => None,
        None => return None,
    };
    if name.is_empty() {
        None
    } else {
        Some((executions.parse().ok()?, bound))
    }
}

/// The benches that ran in criterion's test mode: `Testing <id>`, then `Success`.
pub(crate) fn benches(stdout: &str) -> Result<Counts, String> {
    let started = stdout
        .lines()
        .filter(|line| line.starts_with("Testing "))
        .count();
    let succeeded = stdout.lines().filter(|line| *line == "Success").count();
    match (started, succeeded) {
        (0, _) => Err("not one bench ran".to_owned()),
        _ if started != succeeded => Err(format!("{succeeded} of {started} benches succeeded")),
        _ => Ok(Counts {
            benches: started as u64,
            ..Counts::default()
        }),
    }
}

/// Checks that the compiler gave no warnings for the crates it built. Cargo reports them per crate:
/// ``warning: `name` (lib) generated 1 warning``.
pub(crate) fn no_warnings(output: &str) -> Result<(), String> {
    match output
        .lines()
        .find(|line| line.starts_with("warning: `") && line.contains(") generated "))
    {
        Some(line) => Err(line.to_owned()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each part of `counts.txt`: a counter's name, what it makes of the output below it, and that.
    #[test]
    fn outputs_are_counted_or_refused() {
        let parts = include_str!("counts.txt").split("== ").skip(1);
        assert_eq!(parts.clone().count(), 26);
        for part in parts {
            let (head, output) = part.split_once('\n').expect("an output");
            let (counter, expected) = head.split_once(": ").expect("a result");
            let found = match counter {
                "tests" => tests(output),
                "doc_tests" => doc_tests(output),
                "models" => models(output),
                "benches" => benches(output),
                _ => no_warnings(output).map(|()| Counts::default()),
            };
            let found = found.map_or_else(
                |error| error,
                |Counts {
                     tests,
                     models_exhaustive,
                     models_bounded,
                     executions,
                     benches,
                 }| {
                    format!("{tests} {models_exhaustive} {models_bounded} {executions} {benches}")
                },
            );
            assert_eq!(found, expected, "{part}");
        }
    }
}
