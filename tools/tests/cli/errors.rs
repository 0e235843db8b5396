//! Wrong calls of all commands: the exit code, and one message that says what is wrong once.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::tables::{file, in_parallel, run, words};
use super::*;

/// `tables/errors.toml`: lines, each with words of its message, and files that they name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    message: Vec<[String; 2]>,
    long: Vec<[String; 2]>,
    usage: Vec<[String; 2]>,
    files: BTreeMap<String, String>,
}

/// Runs a line, and checks that it fails as its list says.
fn check(list: &str, [words, expected]: &[String; 2]) {
    let output = run(words);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{words}: {said}");
    assert!(said.contains(expected.as_str()), "{words}: {said}");
    // Before the error there may be a note about the trace.
    let errors: Vec<&str> = said
        .lines()
        .filter(|line| !line.starts_with("note: "))
        .collect();
    let (first, quiet) = (errors[0], output.stdout.is_empty());
    match list {
        "usage" => assert!(quiet && first.starts_with("error: "), "{words}: {said}"),
        "message" => assert!(quiet && errors.len() == 1, "{words}: {said}"),
        _ => {}
    }
    assert!(
        list == "usage" || first.starts_with(&format!("{}: ", name(words))),
        "{words}: {said}"
    );
    for cause in ["o such file", "ot a directory", "s a directory", "os error"] {
        assert!(said.matches(cause).count() <= 1, "{words}: {said}");
    }
}

#[test]
fn what_is_wrong_is_said_once() {
    let table: Table = toml::from_str(include_str!("tables/errors.toml")).expect("a table");
    for (name, contents) in &table.files {
        file(name, contents);
    }
    for command in ["predict --handlers 1 --scenario nc", "engines"] {
        let name = command.split(' ').next().expect("a word");
        file(name, run(&format!("{command} --format json")).stdout);
    }
    std::fs::create_dir_all(&words("@folder")[0]).expect("a folder");
    for (name, list) in [
        ("message", &table.message),
        ("long", &table.long),
        ("usage", &table.usage),
    ] {
        in_parallel(list, |line| check(name, line));
    }
}

/// Colours are for terminals that want them: never in a file, whatever the variables say.
#[test]
fn there_are_no_colours_in_a_file() {
    for variables in [
        [("NO_COLOR", "1"), ("TERM", "xterm")],
        [("CLICOLOR", "1"), ("TERM", "xterm")],
    ] {
        for words in [&["--help"][..], &["benhc"], &["bench", "--help"]] {
            let mut command = Command::new(DPAMATCH);
            let output = command
                .args(words)
                .envs(variables)
                .output()
                .expect("the program runs");
            assert!(
                !output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b),
                "{words:?}"
            );
        }
    }
}
