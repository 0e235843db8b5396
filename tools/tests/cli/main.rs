//! The commands as a user meets them: output, messages, exit codes, files.

mod analyze;
mod bench;
mod compare;
mod cost;
mod errors;
mod explore;
#[cfg(unix)]
mod files;
mod goal;
#[cfg(target_os = "linux")]
mod guard;
mod help;
mod install;
#[cfg(feature = "parquet")]
mod matches;
mod matching;
mod options;
#[cfg(unix)]
mod plugin;
#[path = "../programs/mod.rs"]
mod programs;
#[cfg(feature = "pandas")]
mod python;
mod ranges;
mod results;
mod run;
mod shards;
mod shown;
mod tables;
#[path = "../../../tests/watchdog/mod.rs"]
mod watchdog;
mod width;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const DPAMATCH: &str = env!("CARGO_BIN_EXE_dpamatch");

fn dpamatch(arguments: &[&str]) -> Output {
    dpamatch_reads(arguments, b"")
}

/// Runs the program with this input. A thread writes it, as a command may end without reading all.
fn dpamatch_reads(arguments: &[&str], input: &[u8]) -> Output {
    let _dog = watchdog::on("`dpamatch` to end");
    let mut command = Command::new(programs::of(arguments));
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // No test builds the peer of a bench.
    command.env("CC", "/nonexistent/cc");
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("its input");
    std::thread::scope(|scope| {
        scope.spawn(move || _ = stdin.write_all(input));
        child.wait_with_output().expect("the program ends")
    })
}

/// The name of the program that has this command.
fn name(line: &str) -> &str {
    let program = programs::of(&line.split_whitespace().collect::<Vec<_>>()).file_stem();
    program.and_then(|name| name.to_str()).expect("text")
}

fn command(name: &str, line: &str) -> Output {
    let words = std::iter::once(name).chain(line.split_whitespace());
    dpamatch(&words.collect::<Vec<_>>())
}

fn text(output: &Output) -> &str {
    assert!(output.status.success(), "{}", said(output));
    std::str::from_utf8(&output.stdout).expect("text")
}

fn said(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("text")
}

/// The results in the document that a program printed.
fn results(output: &Output) -> Value {
    let document: Value = serde_json::from_str(text(output)).expect("one JSON document");
    document["results"].clone()
}

/// A new folder, which no other test uses, also of another run of the tests.
fn folder(name: &str) -> TempDir {
    let made = tempfile::Builder::new().prefix(name).tempdir();
    made.expect("a folder")
}

fn help(command: &str) -> String {
    text(&self::command("help", command)).to_owned()
}

/// The commands that a help lists. What a command does may take several lines.
fn subcommands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.map_while(|line| line.strip_prefix("  "));
    let lines = lines.filter(|line| !line.starts_with(' '));
    let names = lines
        .filter_map(|line| line.split(' ').next())
        .filter(|&name| name != "help");
    names.map(str::to_owned).collect()
}

/// The commands of both programs.
fn commands() -> Vec<String> {
    let top = [
        subcommands(&help("")),
        programs::PAPERS.map(str::to_owned).to_vec(),
    ]
    .concat();
    assert!(top.len() > 20, "{top:?}");
    let within = |command: &String| {
        let inner = subcommands(&help(command)).into_iter();
        inner
            .map(|inner| format!("{command} {inner}"))
            .collect::<Vec<_>>()
    };
    let inner: Vec<String> = top.iter().flat_map(within).collect();
    [top, inner].concat()
}
