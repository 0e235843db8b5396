//! Wrong calls of all commands: the exit code, and one message that says what is wrong once.

use super::tables::{Part, Table, file, in_parallel, run, words};
use super::*;

/// Runs a line of the table `errors.txt`, and checks that it fails as its part of the table says.
fn check(part: &Part, line: &str) {
    let (words, expected) = line.split_once(" => ").expect("words of the message");
    let output = run(words);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{words}: {said}");
    assert!(said.contains(expected), "{words}: {said}");
    // Before the error there may be a note about the trace.
    let errors: Vec<&str> = said
        .lines()
        .filter(|line| !line.starts_with("note: "))
        .collect();
    let (first, quiet) = (errors[0], output.stdout.is_empty());
    match part.name.as_str() {
        "usage" => assert!(quiet && first.starts_with("error: "), "{words}: {said}"),
        "message" => assert!(quiet && errors.len() == 1, "{words}: {said}"),
        _ => {}
    }
    assert!(
        part.name == "usage" || first.starts_with(&format!("{}: ", name(words))),
        "{words}: {said}"
    );
    for cause in ["o such file", "ot a directory", "s a directory", "os error"] {
        assert!(said.matches(cause).count() <= 1, "{words}: {said}");
    }
}

#[test]
fn what_is_wrong_is_said_once() {
    let table = Table::read(include_str!("tables/errors.txt"));
    for line in &table.head {
        let file_line = line.strip_prefix("file ").expect("a file");
        let (name, contents) = file_line.split_once(' ').unwrap_or((file_line, ""));
        file(name, contents.replace("\\n", "\n"));
    }
    for command in ["predict --handlers 1 --scenario nc", "engines"] {
        let name = command.split(' ').next().expect("a word");
        file(name, run(&format!("{command} --format json")).stdout);
    }
    std::fs::create_dir_all(&words("@folder")[0]).expect("a folder");
    let lines = table
        .parts
        .iter()
        .flat_map(|part| part.lines.iter().map(move |line| (part, line)));
    in_parallel(&lines.collect::<Vec<_>>(), |(part, line)| check(part, line));
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
