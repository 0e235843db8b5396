//! `cargo xtask walks`: what six kinds of new users try first, step by step, with times.
//!
//! A step is a line that such a user types, in a new folder, and what it must print. `$ROOT` is the
//! repository, and the development build's commands are on the path. Rates are not judged.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::{Failure, process, root, target};

struct Step {
    line: &'static str,
    code: i32,
    /// Stands on standard output or standard error.
    says: &'static str,
}

const fn step(line: &'static str, says: &'static str) -> Step {
    Step {
        line,
        code: 0,
        says,
    }
}

const fn fails(line: &'static str, says: &'static str) -> Step {
    Step {
        line,
        code: 1,
        says,
    }
}

struct Walk {
    name: &'static str,
    steps: &'static [Step],
}

/// The library's user writes the page's example into a program of their own.
const LIBRARY: &str = r#"cargo init -q --name mine . \
    && printf 'dpamatch = { path = "%s" }\n' "$ROOT" >> Cargo.toml \
    && cp "$ROOT/Cargo.lock" . \
    && sed -n '/^```rust$/,/^```$/p' "$ROOT/docs/library.md" | sed '/^```/d' > src/main.rs"#;

const WALKS: &[Walk] = &[
    Walk {
        name: "benchmark",
        steps: &[
            step(
                "dpamatch bench --rounds 1 --keep disturbed,placements",
                "Next: dpamatch bench --all",
            ),
            step(
                "dpamatch bench --scenario NC --bytes 8,64,1024 --windows 100 --rounds 5 --reps 20 \
                 --keep disturbed,placements --save rates.json --out figures \
                 && ls figures",
                "sizes.svg",
            ),
            step("dpamatch diff rates.json rates.json", "No change"),
            step(
                "PYTHONPATH=$ROOT/tools/python python3 -c \
                 'import dpamatch; print(len(dpamatch.load(\"rates.json\").rows(\"rates\")))'",
                "12",
            ),
        ],
    },
    Walk {
        name: "concurrency",
        steps: &[
            step(
                "dpamatch explore --example x5 --fault forcing-ignored --html x5.html; \
                 grep -c 'here the rule is left out' x5.html",
                "x5.html is written",
            ),
            step(
                "cd $ROOT && cargo xtask model block x5_forcing_rule",
                "executions, bounded 3",
            ),
            fails(
                "cd $ROOT && cargo xtask model block x5_forcing_rule --fault ForcingIgnored",
                "the oracle gives: receive 0 has message 0",
            ),
        ],
    },
    Walk {
        name: "dpa",
        steps: &[
            step(
                "CARGO_PROFILE=dev sh $ROOT/port/emulator/install.sh $PWD/prefix && ls prefix/bin",
                "dpacc",
            ),
            step(
                "cp -R $ROOT/port/emulator/examples/counter . \
                 && make -C counter check PREFIX=$PWD/prefix",
                "500 frames",
            ),
        ],
    },
    Walk {
        name: "hpc",
        steps: &[
            step(
                "dpamatch trace check $ROOT/tests/data/traces/minife-16/minife-16.dumpi.tar.xz",
                "agrees with the footer",
            ),
            step(
                "dpamatch analyze $ROOT/tests/data/traces/minife-16/minife-16.dumpi.tar.xz \
                 --out report && ls report",
                "report.html",
            ),
            step(
                "dpamatch offload $ROOT/tests/data/traces/minife-16/minife-16.dumpi.tar.xz",
                "The run ends",
            ),
            step(
                "dpamatch analyze $ROOT/tests/data/traces/minife-16/minife-16.dumpi.tar.xz \
                 --format csv | head -1",
                "table,",
            ),
        ],
    },
    Walk {
        name: "library",
        steps: &[
            step(LIBRARY, ""),
            step("cargo run -q --offline && echo it ran", "it ran"),
        ],
    },
    Walk {
        name: "site",
        steps: &[step(
            "if command -v mdbook > /dev/null; then cd $ROOT && cargo xtask site; \
             else cd $ROOT && cargo test -q -p xtask site:: && echo without mdbook; fi",
            "",
        )],
    },
];

/// Runs the task.
///
/// # Errors
/// [`Failure::Usage`] for a walk that does not exist; [`Failure::Task`] when a step has another
/// result. The walk ends there, and the next one begins.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let known = || WALKS.iter().map(|walk| walk.name).collect::<Vec<_>>();
    if let Some(unknown) = args.iter().find(|name| !known().contains(&name.as_str())) {
        let known = known().join(", ");
        return Err(Failure::Usage(format!(
            "no walk `{unknown}`; there are {known}"
        )));
    }
    let chosen = |walk: &&Walk| args.is_empty() || args.iter().any(|name| name == walk.name);
    all(WALKS.iter().filter(chosen)).map_err(Failure::Task)
}

fn all(walks: impl Iterator<Item = &'static Walk>) -> Result<(), String> {
    let mut build = crate::cargo();
    build
        .args([
            "build",
            "-q",
            "-p",
            "dpamatch_tools",
            "-p",
            "dpamatch_papers",
        ])
        .current_dir(root());
    let built = process::run(&mut build)?;
    if !built.status.success() {
        return Err(built.output);
    }
    let mut wrong = Vec::new();
    for walk in walks {
        // Outside of the repository, so that its settings of cargo are not theirs.
        let name = format!("dpamatch-walk-{}-{}", walk.name, std::process::id());
        let folder = env::temp_dir().join(name);
        let at = |result: std::io::Result<()>| {
            result.map_err(|error| format!("{}: {error}", folder.display()))
        };
        at(fs::create_dir_all(&folder))?;
        let walked = walk.steps.iter().try_fold(0.0, |seconds, step| {
            Ok::<_, String>(seconds + one(walk.name, step, &folder)?)
        });
        at(fs::remove_dir_all(&folder))?;
        match walked {
            Ok(seconds) => println!("{:<12} {seconds:>7.1} s  in all", walk.name),
            Err(words) => {
                println!("{:<12}            failed", walk.name);
                wrong.push(words);
            }
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

/// Runs a step; returns its seconds.
fn one(name: &str, step: &Step, folder: &Path) -> Result<f64, String> {
    let begin = Instant::now();
    let path = env::var_os("PATH").unwrap_or_default();
    let own = target().join("debug");
    let path = std::iter::once(own).chain(env::split_paths(&path));
    let path = env::join_paths(path).map_err(|error| error.to_string())?;
    let mut shell = Command::new("sh");
    shell
        .args(["-c", step.line])
        .current_dir(folder)
        .env("ROOT", root())
        .env("PATH", path)
        .env_remove("CARGO_MANIFEST_DIR");
    let ended = process::run(&mut shell)?;
    let seconds = begin.elapsed().as_secs_f64();
    println!("{name:<12} {seconds:>7.1} s  {}", first_line(step.line));
    if ended.status.code() == Some(step.code) && ended.output.contains(step.says) {
        return Ok(seconds);
    }
    Err(format!(
        "{name}: `{}` ended with {} and should print `{}` with status {}:\n{}",
        step.line, ended.status, step.says, step.code, ended.output
    ))
}

fn first_line(line: &str) -> &str {
    line.lines()
        .next()
        .unwrap_or_default()
        .trim_end_matches([' ', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> std::path::PathBuf {
        env::temp_dir()
    }

    #[test]
    fn a_step_judges_status_and_words() {
        let judged = |step: Step| one("w", &step, &folder());
        assert!(judged(step("echo here", "here")).is_ok());
        assert!(judged(step("echo here >&2", "here")).is_ok());
        let wrong = judged(step("echo there", "here ")).expect_err("other words");
        assert!(
            wrong.contains("there") && wrong.contains("should print `here `"),
            "{wrong}"
        );
        assert!(judged(step("false", "")).is_err());
        assert!(judged(fails("false", "")).is_ok());
        assert!(judged(fails("true", "")).is_err());
    }

    #[test]
    fn walks_name_themselves() {
        assert_eq!(WALKS.len(), 6);
        let Err(Failure::Usage(words)) = run(&["hpcc".to_owned()]) else {
            panic!("an unknown walk");
        };
        assert!(
            words.contains("no walk `hpcc`") && words.contains("library, site"),
            "{words}"
        );
    }
}
