//! No test passes without running: what a machine may lack is a `Need` of `tests/needs`, which
//! fails unless the user has left it out beforehand.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// A test's file, name and body.
type Found<'a> = (&'a str, &'a str, &'a str);

/// Characters before a `return` that hold its condition.
const CONDITION: usize = 250;

/// The block that begins at the first brace, without its end.
fn block(text: &str) -> &str {
    let begin = text.find('{').map_or(text.len(), |at| at + 1);
    let mut depth = 1;
    let end = text[begin..].char_indices().find(|(_, c)| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        depth == 0
    });
    &text[begin..end.map_or(text.len(), |(at, _)| begin + at)]
}

/// The tests of a file.
fn tests<'a>(file: &'a str, text: &'a str) -> impl Iterator<Item = Found<'a>> {
    text.split("#[test]").skip(1).filter_map(move |rest| {
        let (_, from) = rest.split_once("fn ")?;
        let (name, _) = from.split_once('(')?;
        Some((file, name, block(from)))
    })
}

/// Whether the test may end early without a `Need`.
fn returns((_, _, body): &Found<'_>) -> bool {
    body.match_indices("return;").any(|(at, _)| {
        let condition = &body.as_bytes()[at.saturating_sub(CONDITION)..at];
        let condition = String::from_utf8_lossy(condition);
        !["Need::", "cfg!(miri)"]
            .iter()
            .any(|known| condition.contains(known))
    })
}

/// Tests that return before their end without a `Need`, each with its reason.
const REASONS: [(&str, &str); 11] = [
    (
        "a_receive_without_memory_leaves_everything_as_it_was",
        "this process starts the one that tests",
    ),
    (
        "without_descriptors_peers_wait",
        "this process is one that another starts",
    ),
    (
        "a_sleeper_is_woken",
        "this process is one that another starts",
    ),
    (
        "a_number_that_another_program_has",
        "this process is one that another starts",
    ),
    (
        "a_stopped_reader_delays_no_close",
        "this process is one that another starts",
    ),
    (
        "a_soak_finds_nothing",
        "an option asks for a long run instead",
    ),
    (
        "beside_busy_programs_windows_are_dropped",
        "the command says that it cannot measure, and the test asserts that",
    ),
    (
        "the_c_engine_gives_the_oracles_results",
        "`library` needs a compiler and says so",
    ),
    (
        "commands_take_the_library_as_an_engine",
        "`library` needs a compiler and says so",
    ),
    (
        "what_is_no_engine_ends_with_one_line",
        "`library` needs a compiler and says so",
    ),
    (
        "a_lie_ends_each_command_with_one_line",
        "`library` needs a compiler and says so",
    ),
];

#[test]
fn a_test_that_cannot_run_fails() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut git = Command::new("git");
    git.args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "*.rs",
    ]);
    let files = git.current_dir(&root).output().expect("git").stdout;
    let files = String::from_utf8(files).expect("names");
    let read = |name| Some((name, std::fs::read_to_string(root.join(name)).ok()?));
    let others = files
        .lines()
        .filter(|name| !name.ends_with("environment.rs"));
    let texts: Vec<(&str, String)> = others.filter_map(read).collect();
    let all: Vec<Found<'_>> = texts
        .iter()
        .flat_map(|(file, text)| tests(file, text))
        .collect();
    assert!(all.len() > 1_000, "{} tests", all.len());
    let early: BTreeSet<&str> = all.iter().filter(|it| returns(it)).map(|it| it.1).collect();
    let known = BTreeSet::from(REASONS.map(|(test, _)| test));
    assert_eq!(
        early, known,
        "tests that return early, and those with a reason"
    );
    for (file, text) in &texts {
        let is_test = file.contains("/tests/") || file.ends_with("tests.rs");
        let tells = text.contains("println!(\"not tested") || text.contains("println!(\"skipped");
        assert!(!(is_test && tells), "{file}");
    }
}

#[test]
fn early_ends_are_found() {
    let text = "#[test]\nfn a() { if !has() { return; } b(); }\n#[test]\nfn b() { if \
                !Need::Git.require(has()) { return; } }\n#[test]\nfn c() { {} }\nfn d() { return; }";
    let found: Vec<Found<'_>> = tests("x.rs", text).collect();
    assert_eq!(
        found.iter().map(|it| it.1).collect::<Vec<_>>(),
        ["a", "b", "c"]
    );
    assert_eq!(
        found.iter().map(returns).collect::<Vec<_>>(),
        [true, false, false]
    );
}
