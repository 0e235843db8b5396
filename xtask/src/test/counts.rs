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

    /// Counters, lines of output, and what is counted: tests, exhaustive and bounded models,
    /// executions, benches.
    #[test]
    fn outputs_are_counted_or_refused() {
        type Expected = Result<[u64; 5], &'static str>;
        type Counter = fn(&str) -> Result<Counts, String>;
        let warnings: Counter = |output| no_warnings(output).map(|()| Counts::default());
        let cases: [(Counter, &[&str], Expected); 26] = [
            (
                tests,
                &[
                    "running 2 tests",
                    "test a ... ok",
                    "test result: ok. 2 passed; 0 failed; 0 ignored",
                    "test result: ok. 0 passed; 0 failed; 0 ignored",
                    "test result: ok. 1040 passed; 0 failed; 0 ignored",
                ],
                Ok([1042, 0, 0, 0, 0]),
            ),
            (
                doc_tests,
                &["test result: FAILED. 5 passed; 2 failed; 1 ignored"],
                Err("2 tests failed"),
            ),
            (
                doc_tests,
                &["test result: ok. 5 passed; 0 failed; 3 ignored"],
                Err("3 tests are ignored"),
            ),
            (
                doc_tests,
                &["test result: ok. many passed; 0 failed"],
                Err("cannot read `test result: ok. many passed; 0 failed`"),
            ),
            (
                doc_tests,
                &["test result: ok"],
                Err("cannot read `test result: ok`"),
            ),
            (
                tests,
                &["test result: ok. 0 passed; 0 failed; 0 ignored"],
                Err("not one test ran"),
            ),
            (tests, &[], Err("not one test ran")),
            (
                doc_tests,
                &["test result: ok. 0 passed; 0 failed; 0 ignored"],
                Ok([0, 0, 0, 0, 0]),
            ),
            (
                models,
                &[
                    "loom: counter/fetch_add: 4 executions, exhaustive",
                    "test counter ... loom: block: two workers: 5500 executions, exhaustive",
                    "ok",
                    "loom: block/three: 25300 executions, bounded 3",
                ],
                Ok([0, 2, 1, 30804, 0]),
            ),
            (
                models,
                &[
                    "running 0 tests",
                    "test result: ok. 0 passed; 0 failed; 0 ignored",
                ],
                Err("not one model ran"),
            ),
            (
                models,
                &[
                    "loom: a: 4 executions, exhaustive",
                    "loom: b: 1 executions, exhaustive",
                ],
                Err("a model explored nothing: `loom: b: 1 executions, exhaustive`"),
            ),
            (
                models,
                &[
                    "loom: a: 4 executions, exhaustive",
                    "loom: b: 0 executions, bounded 2",
                ],
                Err("a model explored nothing: `loom: b: 0 executions, bounded 2`"),
            ),
            (
                models,
                &[
                    "loom: a: 4 executions, exhaustive",
                    "loom: b: 2 executions, exhaustive",
                ],
                Ok([0, 2, 0, 6, 0]),
            ),
            (
                models,
                &[
                    "loom: a: 4 executions, exhaustive",
                    "loom: 4 executions, exhaustive",
                ],
                Err("cannot read `loom: 4 executions, exhaustive`"),
            ),
            (
                models,
                &[
                    "loom: a: 4 executions, exhaustive",
                    "loom: b: many executions, exhaustive",
                ],
                Err("cannot read `loom: b: many executions, exhaustive`"),
            ),
            (
                models,
                &[
                    "loom: a: 4 executions, exhaustive",
                    "loom: b: 4 executions, bounded",
                ],
                Err("cannot read `loom: b: 4 executions, bounded`"),
            ),
            (
                models,
                &[
                    "loom: a: 4 executions, exhaustive",
                    "loom: b: 4 executions, partly",
                ],
                Err("cannot read `loom: b: 4 executions, partly`"),
            ),
            (
                models,
                &[
                    "loom: a: 4 executions, exhaustive",
                    "loom: : 4 executions, exhaustive",
                ],
                Err("cannot read `loom: : 4 executions, exhaustive`"),
            ),
            (
                models,
                &[
                    "loom: a: 4 executions, exhaustive",
                    "test result: ok. 1 passed; 0 failed; 1 ignored",
                ],
                Err("1 tests are ignored"),
            ),
            (
                benches,
                &[
                    "Testing selector/accepts/none",
                    "Success",
                    "",
                    "Testing selector/accepts/tag",
                    "Success",
                ],
                Ok([0, 0, 0, 0, 2]),
            ),
            (
                benches,
                &["Testing a", "Success", "Testing b"],
                Err("1 of 2 benches succeeded"),
            ),
            (benches, &["running 0 tests"], Err("not one bench ran")),
            (
                warnings,
                &["   Checking dpa_model", "    Finished"],
                Ok([0, 0, 0, 0, 0]),
            ),
            (
                warnings,
                &["warning: unused manifest key"],
                Ok([0, 0, 0, 0, 0]),
            ),
            (
                warnings,
                &[
                    "   Checking dpa_model",
                    "warning: `dpa_model` (lib) generated 1 warning (run `cargo fix`)",
                    "    Finished",
                ],
                Err("warning: `dpa_model` (lib) generated 1 warning (run `cargo fix`)"),
            ),
            (
                tests,
                &[
                    "test result: FAILED. 1 passed; 1 failed; 0 ignored",
                    "test result: FAILED. 1 passed; 3 failed; 0 ignored",
                ],
                Err("4 tests failed"),
            ),
        ];
        // How libtest ends such a line.
        let rest = " ignored; 0 measured; 0 filtered out; finished in 0.02s\n";
        for (counter, lines, expected) in cases {
            let output = (lines.join("\n") + "\n").replace(" ignored\n", rest);
            let found = counter(&output).map(
                |Counts {
                     tests,
                     models_exhaustive,
                     models_bounded,
                     executions,
                     benches,
                 }| {
                    [
                        tests,
                        models_exhaustive,
                        models_bounded,
                        executions,
                        benches,
                    ]
                },
            );
            assert_eq!(found, expected.map_err(str::to_owned), "{lines:?}");
        }
    }
}
