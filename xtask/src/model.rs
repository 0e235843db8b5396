//! `cargo xtask model`: runs loom models by hand, with one seeded fault or a story on request.

use crate::{Failure, mutants, root};

#[derive(PartialEq, Eq, Debug, Default)]
struct Choice {
    /// A file in `loom_tests/tests` without its ending; none means all.
    file: Option<String>,
    /// A part of the tests' names; none means all.
    test: Option<String>,
    fault: Option<String>,
    story: Option<String>,
    is_full: bool,
}

impl Choice {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut choice = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || {
                args.next()
                    .cloned()
                    .ok_or_else(|| format!("`{arg}` needs a value"))
            };
            match arg.as_str() {
                "--fault" => choice.fault = Some(value()?),
                "--story" => choice.story = Some(value()?),
                "--full" => choice.is_full = true,
                option if option.starts_with('-') => {
                    return Err(format!("`model` has no option `{option}`"));
                }
                file if choice.file.is_none() => choice.file = Some(file.to_owned()),
                test if choice.test.is_none() => choice.test = Some(test.to_owned()),
                other => {
                    return Err(format!(
                        "`model` takes a file and a test, not `{other}`, too"
                    ));
                }
            }
        }
        Ok(choice)
    }
}

/// Runs the task.
///
/// # Errors
/// [`Failure::Usage`] for an unknown option, file or fault; [`Failure::Task`] when a model fails,
/// and when no test has the name.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let choice = Choice::parse(args).map_err(Failure::Usage)?;
    let root = root();
    if let Some(fault) = &choice.fault {
        let known = mutants::faults(&root)?;
        if !known.contains(fault) {
            return Err(Failure::Usage(format!(
                "no fault `{fault}`; loom_tests/mutants.toml names them"
            )));
        }
    }
    let target = match &choice.file {
        Some(file) => {
            let source = root.join("loom_tests/tests").join(format!("{file}.rs"));
            if !source.is_file() {
                return Err(Failure::Usage(format!(
                    "no file loom_tests/tests/{file}.rs"
                )));
            }
            vec!["--test", file.as_str()]
        }
        None => vec!["--tests"],
    };
    let mut cargo = mutants::cargo(&root, &target);
    cargo.args(["--", "--nocapture", "--test-threads=1"]);
    cargo.args(&choice.test);
    for (name, value) in [
        ("DPAMATCH_FAULT", &choice.fault),
        ("DPAMATCH_STORY", &choice.story),
    ] {
        if let Some(value) = value {
            cargo.env(name, value);
        }
    }
    if choice.is_full {
        cargo.env("DPAMATCH_LOOM_FULL", "1");
    }
    let finished = crate::process::run(&mut cargo).map_err(Failure::Task)?;
    print!("{}", finished.output);
    if !finished.status.success() {
        return Err(Failure::Task("a model failed".to_owned()));
    }
    let ran = |line: &str| {
        line.starts_with("test result: ok. ") && !line.starts_with("test result: ok. 0 passed")
    };
    if !finished.stdout.lines().any(ran) {
        return Err(Failure::Task(format!(
            "no model ran: no test is called `{}`",
            choice.test.unwrap_or_default()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Choice, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Choice::parse(&words)
    }

    #[test]
    fn a_line_chooses_models() {
        assert_eq!(parse(""), Ok(Choice::default()));
        let whole = parse("block x5 --fault ForcingIgnored --full --story out.html");
        assert_eq!(
            whole,
            Ok(Choice {
                file: Some("block".to_owned()),
                test: Some("x5".to_owned()),
                fault: Some("ForcingIgnored".to_owned()),
                story: Some("out.html".to_owned()),
                is_full: true,
            })
        );
        assert_eq!(parse("--fault"), Err("`--fault` needs a value".to_owned()));
        assert_eq!(
            parse("--faults X"),
            Err("`model` has no option `--faults`".to_owned())
        );
        assert_eq!(
            parse("block x5 x6"),
            Err("`model` takes a file and a test, not `x6`, too".to_owned())
        );
    }
}
