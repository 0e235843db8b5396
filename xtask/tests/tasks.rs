//! Whole tasks with fake programs: a shell script stands for cargo, valgrind, MPI's launcher and
//! all others. Each file of `tests/tasks` has command lines, files of a small repository, the
//! script's answers, and what the task must print and call, with arguments, environment and folder.
//!
//! To write the expectations anew: `DPAMATCH_WRITE=1 cargo test -p xtask --test tasks`.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Programs that tasks find by their names.
const PROGRAMS: [&str; 11] = [
    "cargo", "rustup", "rustc", "valgrind", "cc", "mdbook", "nice", "unshare", "setsid", "git",
    "sh-fake",
];

/// The tests that the fast extent skips. Expectations show the first.
const SLOW: &str = include_str!("../src/test/slow.txt");

/// Each call writes its folder and its arguments, then its environment, at once.
const SCRIPT: &str = r#"#!/bin/sh
line="${0##*/} $*"
printf '%s\n' "call $PWD: $line
$(env)" >> "$LOG"
case "$line" in
"#;

/// Variables of each call.
const USUAL: [&str; 9] = [
    "PATH",
    "HOME",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "CARGO",
    "CARGO_MANIFEST_DIR",
    "MPI_VENVS",
];

/// A call as a line: its folder unless that is the root, its variables, its arguments.
fn call(logged: &str) -> String {
    let (line, variables) = logged.split_once('\n').expect("variables");
    let (folder, line) = line.split_once(": ").expect("a folder");
    let place = if folder == "ROOT" {
        String::new()
    } else {
        format!("in {folder}: ")
    };
    let of = |one: &&str| {
        let name = one.split_once('=').map_or("", |(name, _)| name);
        !USUAL.contains(&name) && name != "LOG" && *one != "CARGO_TARGET_DIR=ROOT/target"
    };
    let mut variables: Vec<_> = variables.lines().filter(of).collect();
    variables.sort_unstable();
    variables.push(line);
    place + &variables.join(" ")
}

const EXPECTED: &str = "\n== expected\n";

/// One file of `tests/tasks`.
struct Case {
    path: PathBuf,
    /// All but the expectation.
    given: String,
}

impl Case {
    /// The sections: the words of each heading behind `== `, and its lines.
    fn sections(&self) -> impl Iterator<Item = (&str, &str)> {
        let sections = self
            .given
            .split("\n== ")
            .map(|part| part.trim_start_matches("== "));
        sections.map(|part| part.split_once('\n').unwrap_or((part, "")))
    }

    fn section(&self, heading: &str) -> &str {
        self.sections()
            .find(|(words, _)| *words == heading)
            .map_or("", |(_, lines)| lines)
    }

    /// Runs the task in a repository of its own. Returns what it printed and called.
    fn run(&self) -> String {
        let name = self.path.file_stem().expect("a name").to_string_lossy();
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("task-{name}"));
        let _ = fs::remove_dir_all(&root);
        let write = |path: PathBuf, text: &str, mode: u32| {
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, text).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode");
        };
        let script = format!("{SCRIPT}{}\nesac\n", self.section("answers"));
        let script = script.replace("ROOT", &root.display().to_string());
        for name in PROGRAMS {
            write(root.join("bin").join(name), &script, 0o755);
        }
        for (heading, lines) in self.sections() {
            match heading.split_once(' ') {
                Some(("file", path)) => write(root.join(path), lines, 0o644),
                Some(("program", path)) => write(root.join(path), &script, 0o755),
                _ => {}
            }
        }
        let log = root.join("calls");
        fs::write(&log, "").expect("written");
        let mut text = String::new();
        for line in self.section("run").lines() {
            let mut task = Command::new(env!("CARGO_BIN_EXE_xtask"));
            task.args(line.split_whitespace())
                .current_dir(&root)
                .env_clear();
            task.env(
                "PATH",
                format!("{}:/usr/bin:/bin", root.join("bin").display()),
            );
            task.env("CARGO", root.join("bin/cargo"))
                .env("CARGO_MANIFEST_DIR", root.join("xtask"));
            task.env("CARGO_TARGET_DIR", root.join("target"))
                .env("HOME", &root)
                .env("LOG", &log);
            let ended = task
                .env("MPI_VENVS", root.join("venvs"))
                .output()
                .expect("it starts");
            let (out, errors) = (ended.stdout, ended.stderr);
            let [out, errors] = [out, errors].map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
            let help = errors
                .find("\n\ncargo xtask <task>")
                .unwrap_or(errors.len());
            let _ = writeln!(text, "exit {}", ended.status.code().expect("no signal"));
            let _ = writeln!(text, "{out}{}", errors[..help].trim_end());
        }
        text += "-- calls\n";
        let mut text = text.replace(&root.display().to_string(), "ROOT");
        let calls = fs::read_to_string(&log).expect("the calls");
        let calls = calls.replace(&root.display().to_string(), "ROOT");
        let calls: Vec<_> = calls.split("call ").skip(1).map(call).collect();
        for equal in calls.chunk_by(|one, next| one == next) {
            let times = if equal.len() > 1 {
                format!("{} times ", equal.len())
            } else {
                String::new()
            };
            let _ = writeln!(text, "{times}{}", equal[0]);
        }
        for name in SLOW
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty())
            .skip(1)
        {
            text = text.replace(&format!(" --skip {name}"), "");
        }
        let text = without_times(&text);
        fs::remove_dir_all(root).expect("removed");
        // Two rows of steps run beside each other.
        if text.contains("\n== packages: ") {
            let mut lines: Vec<_> = text.lines().collect();
            lines.sort_unstable();
            return lines.join("\n") + "\n";
        }
        text
    }
}

/// The text with `T s` for times in seconds.
fn without_times(text: &str) -> String {
    let mut parts = text.split(" s").peekable();
    let mut all = String::new();
    while let Some(part) = parts.next() {
        let end = parts
            .peek()
            .is_some_and(|next| !next.starts_with(|c: char| c.is_alphanumeric()));
        let rest = part.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let timed = end && rest.len() < part.len() && rest.ends_with(' ');
        all += if timed {
            rest.trim_end_matches(' ')
        } else {
            part
        };
        all += match (timed, parts.peek()) {
            (true, _) => " T s",
            (false, Some(_)) => " s",
            (false, None) => "",
        };
    }
    all
}

#[test]
fn tasks_call_and_print_what_their_files_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tasks");
    let files = fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("a file").path());
    let mut wrong = String::new();
    let mut count = 0;
    for path in files {
        let text = fs::read_to_string(&path).expect("text");
        let (given, expected) = text.split_once(EXPECTED).unwrap_or((&text, ""));
        let case = Case {
            path,
            given: format!("{}\n", given.trim_end()),
        };
        let found = case.run();
        count += 1;
        if found == *expected {
            continue;
        }
        if env::var_os("DPAMATCH_WRITE").is_some() {
            let text = format!("{}{EXPECTED}{found}", given.trim_end());
            fs::write(&case.path, text).expect("written");
        }
        let different = found
            .lines()
            .zip(expected.lines())
            .find(|(found, told)| found != told);
        let _ = writeln!(wrong, "{}: {different:#?}\n{found}", case.path.display());
    }
    assert!(count > 5 && wrong.is_empty(), "{count} files\n{wrong}");
}
