//! The commands of the pages are run, and what they print is what the pages show.
//!
//! A block of commands is a fenced one with a line `$ COMMAND`. A comment right before it may say
//! `<!-- not run: WHY -->`, or `<!-- varies: TEXT, .. -->`: each of these texts stands in the block
//! for a number that is another one each time, such as a time. Before any block
//! `<!-- file: NAME -->` makes it a file for the commands after it. In a page's output a line `...`
//! stands for any lines, and the width of columns does not matter.

#[path = "../../tests/watchdog/mod.rs"]
mod watchdog;

mod programs;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Pages whose Rust blocks are compiled and run as documentation tests of `dpamatch`.
const RUST: [&str; 2] = ["docs/add-an-engine.md", "docs/library.md"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The pages of the repository: Markdown files that git knows or does not ignore.
fn pages() -> Vec<String> {
    let arguments = [
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "*.md",
    ];
    let output = Command::new("git")
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("git");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let listed = String::from_utf8(output.stdout).expect("names in UTF-8");
    let there = |page: &&str| root().join(page).is_file();
    let pages: Vec<String> = listed.lines().filter(there).map(str::to_owned).collect();
    assert!(
        pages.iter().any(|page| page == "README.md"),
        "the wrong folder: {pages:?}"
    );
    pages
}

/// A fenced block, with the comment before it.
#[derive(Debug)]
struct Block {
    /// Line number of its fence, from 1.
    line: usize,
    language: String,
    comment: String,
    lines: Vec<String>,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut inside, mut comment) = (false, String::new());
    for (number, line) in page.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), inside) {
            (Some(language), false) => {
                let (language, comment) = (language.to_owned(), std::mem::take(&mut comment));
                blocks.push(Block {
                    line: number + 1,
                    language,
                    comment,
                    lines: Vec::new(),
                });
                inside = true;
            }
            (Some(_), true) => inside = false,
            (None, true) => {
                if let Some(block) = blocks.last_mut() {
                    block.lines.push(line.to_owned());
                }
            }
            (None, false) if line.starts_with("<!--") => comment = line.to_owned(),
            (None, false) if line.trim().is_empty() => {}
            (None, false) => comment.clear(),
        }
    }
    assert!(!inside, "a block without an end");
    blocks
}

impl Block {
    /// What the comment says behind this word.
    fn said(&self, word: &str) -> Option<&str> {
        self.comment
            .strip_prefix("<!-- ")?
            .strip_prefix(word)?
            .strip_prefix(": ")?
            .strip_suffix(" -->")
    }

    /// Commands, each with the lines of its output.
    fn commands(&self) -> Vec<(String, Vec<&str>)> {
        let mut commands: Vec<(String, Vec<&str>)> = Vec::new();
        let mut goes_on = false;
        for line in &self.lines {
            if let Some(command) = line.strip_prefix("$ ") {
                commands.push((command.to_owned(), Vec::new()));
            } else if let Some((command, output)) = commands.last_mut() {
                if goes_on {
                    *command += &format!("\n{line}");
                } else {
                    output.push(line);
                }
            }
            goes_on = line.ends_with('\\');
        }
        commands
    }
}

fn plain(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a line is as the page shows it, with any number for a text that varies.
fn fits_line(shown: &str, printed: &str, varies: &[&str]) -> bool {
    let here = varies.iter().find_map(|text| shown.strip_prefix(*text));
    if let Some(rest) = here {
        let end = printed
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(printed.len());
        return end > 0 && fits_line(rest, &printed[end..], varies);
    }
    match (shown.chars().next(), printed.chars().next()) {
        (None, None) => true,
        (Some(a), Some(b)) if a == b => {
            fits_line(&shown[a.len_utf8()..], &printed[b.len_utf8()..], varies)
        }
        _ => false,
    }
}

/// Whether an output is as the page shows it.
fn fits(shown: &[&str], printed: &[String], varies: &[&str]) -> bool {
    match (shown, printed) {
        ([], []) => true,
        (["...", rest @ ..], _) => {
            (0..=printed.len()).any(|skipped| fits(rest, &printed[skipped..], varies))
        }
        ([line, shown @ ..], [own, printed @ ..]) => {
            fits_line(&plain(line), own, varies) && fits(shown, printed, varies)
        }
        _ => false,
    }
}

/// A folder in which the commands of a page see what they would see in the project's.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let data = root()
        .join("tests")
        .canonicalize()
        .expect("the project's test data");
    std::os::unix::fs::symlink(data, folder.path().join("tests")).expect("a link can be made");
    folder
}

fn run(page: &str) {
    let text = fs::read_to_string(root().join(page)).expect("a page");
    // Both programs are in one folder.
    let program = programs::of(&["cost"]);
    let mut path = program.parent().expect("its folder").as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let folder = folder();
    let mut wrong = String::new();
    for block in blocks(&text) {
        if let Some(file) = block.said("file") {
            fs::write(folder.path().join(file), block.lines.join("\n") + "\n").expect("a file");
            continue;
        }
        if block.said("not run").is_some() {
            continue;
        }
        let varies: Vec<&str> = block
            .said("varies")
            .map_or(Vec::new(), |texts| texts.split(", ").collect());
        for (command, shown) in block.commands() {
            let script = format!("exec 2>&1; {command}");
            let output = Command::new("bash")
                .args(["-c", &script])
                .current_dir(folder.path())
                .env("PATH", &path)
                .output()
                .expect("a shell");
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            let lines: Vec<String> = printed.lines().map(plain).collect();
            if !fits(&shown, &lines, &varies) {
                let shown = shown.join("\n");
                wrong += &format!(
                    "{page}:{}: $ {command}\nshown:\n{shown}\nprinted:\n{printed}\n",
                    block.line
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn commands_print_what_the_pages_show() {
    let _dog = watchdog::on("the commands of the pages to end");
    let names = pages();
    std::thread::scope(|scope| {
        let pages: Vec<_> = names.iter().map(|page| scope.spawn(|| run(page))).collect();
        // Each one says by itself what is wrong.
        let wrong = pages
            .into_iter()
            .map(|page| page.join().is_err())
            .filter(|wrong| *wrong);
        assert_eq!(
            wrong.count(),
            0,
            "pages show something else than what is printed"
        );
    });
}

#[test]
fn every_block_is_run_or_says_why_not() {
    for page in pages() {
        let text = fs::read_to_string(root().join(&page)).expect("a page");
        for block in blocks(&text) {
            let at = format!("{page}:{}", block.line);
            let comment = &block.comment;
            let understood = ["not run", "varies", "file"]
                .iter()
                .any(|word| block.said(word).is_some());
            assert!(comment.is_empty() || understood, "{at}: {comment}");
            assert!(
                block.said("not run").is_none_or(|why| why.len() > 8),
                "{at}: {comment}"
            );
            let commands = block.commands();
            assert!(
                !commands.is_empty() || block.said("varies").is_none(),
                "{at}: no command"
            );
            assert!(
                !commands.is_empty() || block.language != "console",
                "{at}: no command"
            );
            assert!(
                block.language != "rust" || RUST.contains(&page.as_str()),
                "{at}: Rust is not compiled"
            );
        }
    }
}

#[test]
fn an_output_is_compared_word_by_word() {
    let fits = |shown: &str, printed: &str, varies: &[&str]| {
        let shown: Vec<&str> = shown.lines().collect();
        let printed: Vec<String> = printed.lines().map(plain).collect();
        self::fits(&shown, &printed, varies)
    };
    assert!(
        fits("a  b\nc", "a b\nc", &[])
            && !fits("a b", "a b\nc", &[])
            && !fits("a b\nc", "a b", &[])
    );
    assert!(!fits("in 3 s", "in 4 s", &[]) && !fits("", "x", &[]));
    assert!(fits("in 0.3 s (17)", "in 12.75 s (4)", &["0.3", "17"]));
    assert!(!fits("in 0.3 s 5", "in 12.75 s 6", &["0.3"]) && !fits("in 3 s", "in x s", &["3"]));
    assert!(fits("...\nb\n...", "a\nb\nc", &[]) && fits("...", "", &[]));
    assert!(!fits("...\nb", "a\nb\nc", &[]) && !fits("...\nx\n...", "a\nb", &[]));
}
