//! The figures of the pages are what the commands beside them draw, to the byte. Those of rates and
//! times, and of recordings that are not in the repository, have the words of their commands:
//! titles, axes and series in order.

#[path = "../../tests/watchdog/mod.rs"]
mod watchdog;

mod programs;

use std::path::Path;
use std::process::Command;

/// Lines of a command, a figure that it draws, and the name of the figure on the pages. Of the
/// figures after the empty line only the words are compared.
const FIGURES: &str = include_str!("figures.txt");
/// Shortens the commands of rates.
const SHORT_RUN: &str = "--reps 100 --rounds 3 --budget 100 --any-placement --keep-disturbed";
/// The words of a figure, without ticks and without names of recordings, such as `amg-8`.
fn words(figure: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(figure)
        .unwrap_or_else(|error| panic!("{}: {error}", figure.display()));
    let texts = text
        .split("<text")
        .skip(1)
        .filter_map(|it| it.split_once('>'));
    let words = texts.filter_map(|(_, it)| Some(it.split_once('<')?.0.to_owned()));
    let is_name = |word: &str| {
        word.rsplit_once('-')
            .is_some_and(|(_, ranks)| ranks.parse::<u32>().is_ok())
    };
    let is_tick = |word: &str| word.trim_end_matches('k').parse::<f64>().is_ok();
    words
        .filter(|word| !is_name(word) && !is_tick(word))
        .collect()
}

fn pages() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/figures")
}

fn draw(command: &str, folder: &Path) {
    let mut run = Command::new(programs::of(
        &command.split_whitespace().collect::<Vec<_>>(),
    ));
    run.args(command.split_whitespace())
        .arg("--out")
        .arg(folder)
        .env_remove("CLICOLOR_FORCE");
    let output = run.output().expect("it runs");
    assert!(
        output.status.success(),
        "{command}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Compares what the command drew. `DPAMATCH_DRAW=1` writes the figures instead.
fn check(command: &str, drawn: &str, shown: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    draw(command, folder.path());
    let drawn = folder.path().join(drawn);
    let read = |path: &Path| {
        std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    if std::env::var_os("DPAMATCH_DRAW").is_some() {
        std::fs::copy(&drawn, pages().join(shown)).expect("written");
    }
    assert!(
        read(&drawn) == read(&pages().join(shown)),
        "docs/figures/{shown} is not what `dpamatch {command} --out DIR` draws; to draw it again: \
         DPAMATCH_DRAW=1 cargo test -p dpamatch_tools --test figures"
    );
}

/// Compares words, again where a disturbed measurement gave no rate, and so no line.
fn check_words(command: &str, drawn: &str, shown: &str) {
    let short = if command.starts_with("bench") {
        SHORT_RUN
    } else {
        ""
    };
    let shown = words(&pages().join(shown));
    let drawn = |_| {
        let folder = tempfile::tempdir().expect("a folder");
        draw(&format!("{command} {short}"), folder.path());
        words(&folder.path().join(drawn))
    };
    let mut tries = (0..6).map(drawn);
    let first = tries.next().expect("a figure");
    assert!(first.len() > 5, "{first:?}");
    let right = first == shown || (!short.is_empty() && tries.any(|words| words == shown));
    assert!(
        right,
        "`dpamatch {command}` draws {first:?}, the page shows {shown:?}"
    );
}

fn each(part: &str, count: usize, check: fn(&str, &str, &str)) {
    let lines: Vec<&str> = part.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), count);
    for line in lines {
        let [command, drawn, shown] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        check(command, drawn, shown);
    }
}

#[test]
fn every_figure_is_what_its_command_draws() {
    let _watched = watchdog::on("figures that are drawn again");
    let (drawn, words) = FIGURES.split_once("\n\n").expect("two parts");
    each(drawn, 14, check);
    each(words, 6, check_words);
}
