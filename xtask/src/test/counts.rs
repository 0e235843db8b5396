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
    if counts.tests == 0 { Err("not one test ran".to_owned()) } else { Ok(counts) }
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
        let Some((_, model)) = line.split_once("loom: ") else { continue };
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
    if counts.executions == 0 { Err("not one model ran".to_owned()) } else { Ok(counts) }
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
    if name.is_empty() { None } else { Some((executions.parse().ok()?, bound)) }
}

/// The benches that ran in criterion's test mode: `Testing <id>`, then `Success`.
pub(crate) fn benches(stdout: &str) -> Result<Counts, String> {
    let started = stdout.lines().filter(|line| line.starts_with("Testing ")).count();
    let succeeded = stdout.lines().filter(|line| *line == "Success").count();
    match (started, succeeded) {
        (0, _) => Err("not one bench ran".to_owned()),
        _ if started != succeeded => Err(format!("{succeeded} of {started} benches succeeded")),
        _ => Ok(Counts { benches: started as u64, ..Counts::default() }),
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

    const RESULT: &str = "0 measured; 0 filtered out; finished in 0.02s";

    #[test]
    fn passed_tests_of_all_programs_are_added() {
        let stdout = format!(
            "\nrunning 2 tests\ntest a ... ok\ntest b ... ok\n\n\
             test result: ok. 2 passed; 0 failed; 0 ignored; {RESULT}\n\nrunning 0 tests\n\n\
             test result: ok. 0 passed; 0 failed; 0 ignored; {RESULT}\n\
             test result: ok. 1040 passed; 0 failed; 0 ignored; {RESULT}\n"
        );
        assert_eq!(tests(&stdout), Ok(Counts { tests: 1042, ..Counts::default() }));
    }

    #[test]
    fn failed_ignored_or_unreadable_tests_are_errors() {
        let line = |result: &str| format!("test result: {result}; {RESULT}\n");
        let error = |stdout: &str| doc_tests(stdout).expect_err("it must be refused");
        assert_eq!(error(&line("FAILED. 5 passed; 2 failed; 1 ignored")), "2 tests failed");
        assert_eq!(error(&line("ok. 5 passed; 0 failed; 3 ignored")), "3 tests are ignored");
        assert!(
            error(&line("ok. many passed; 0 failed; 0 ignored"))
                .starts_with("cannot read `test result: ok. many")
        );
        assert!(error("test result: ok").starts_with("cannot read"));
    }

    #[test]
    fn no_test_at_all_is_an_error_but_no_doc_test_is_none() {
        let stdout = format!("test result: ok. 0 passed; 0 failed; 0 ignored; {RESULT}\n");
        assert!(tests(&stdout).is_err());
        assert!(tests("").is_err());
        assert_eq!(doc_tests(&stdout), Ok(Counts::default()));
    }

    #[test]
    fn models_are_counted_by_kind() {
        let stdout = "\
            loom: counter/fetch_add: 4 executions, exhaustive\n\
            test counter ... loom: block: two workers: 5500 executions, exhaustive\n\
            ok\n\
            loom: block/three: 25300 executions, bounded 3\n";
        let expected = Counts {
            models_exhaustive: 2,
            models_bounded: 1,
            executions: 30_804,
            ..Counts::default()
        };
        assert_eq!(models(stdout), Ok(expected));
    }

    #[test]
    fn models_that_prove_nothing_are_errors() {
        let error = |stdout: &str| models(stdout).expect_err("it must be refused");
        let empty =
            format!("running 0 tests\ntest result: ok. 0 passed; 0 failed; 0 ignored; {RESULT}\n");
        assert_eq!(error(&empty), "not one model ran");
        let good = "loom: a: 4 executions, exhaustive\n";
        for line in ["loom: b: 1 executions, exhaustive", "loom: b: 0 executions, bounded 2"] {
            assert_eq!(
                error(&format!("{good}{line}\n")),
                format!("a model explored nothing: `{line}`")
            );
        }
        for line in [
            "loom: 4 executions, exhaustive",
            "loom: b: many executions, exhaustive",
            "loom: b: 4 executions, bounded",
            "loom: b: 4 executions, partly",
            "loom: : 4 executions, exhaustive",
        ] {
            assert_eq!(error(&format!("{good}{line}\n")), format!("cannot read `{line}`"));
        }
        let ignored = format!("{good}test result: ok. 1 passed; 0 failed; 1 ignored; {RESULT}\n");
        assert_eq!(error(&ignored), "1 tests are ignored");
    }

    #[test]
    fn benches_must_run_and_succeed() {
        assert_eq!(
            benches(
                "Testing selector/accepts/none\nSuccess\n\nTesting selector/accepts/tag\nSuccess\n"
            ),
            Ok(Counts { benches: 2, ..Counts::default() })
        );
        assert_eq!(
            benches("Testing a\nSuccess\nTesting b\n"),
            Err("1 of 2 benches succeeded".to_owned())
        );
        assert_eq!(benches("running 0 tests\n"), Err("not one bench ran".to_owned()));
    }

    #[test]
    fn warnings_of_a_crate_are_found() {
        let line = "warning: `dpa_model` (lib) generated 1 warning (run `cargo fix` to apply 1 suggestion)";
        assert_eq!(
            no_warnings(&format!("   Checking dpa_model\n{line}\n    Finished\n")),
            Err(line.to_owned())
        );
        assert_eq!(no_warnings("   Checking dpa_model\n    Finished\n"), Ok(()));
    }
}
