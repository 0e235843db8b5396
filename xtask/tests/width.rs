//! No line of prose is wider than 100 columns. What rustfmt does not wrap is looked at here:
//! comments, and the text of pages outside of tables and console blocks.

use std::fs;
use std::path::{Path, PathBuf};

const WIDEST: usize = 100;

/// All files below `folder` with this ending, without what is built or fetched.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" {
                files(&path, ending, found);
            }
        } else if path.extension().is_some_and(|end| end == ending) {
            found.push(path);
        }
    }
}

/// A line that holds one long word, an address for example, cannot be wrapped.
fn is_too_wide(line: &str) -> bool {
    let words = line.trim_start_matches(['/', '!', ' ']);
    line.chars().count() > WIDEST && words.contains(' ')
}

/// The comments that are too wide, by line. Tables in them have to stay on one line each.
fn comments(text: &str) -> Vec<usize> {
    let prose = |line: &str| {
        let line = line.trim_start();
        line.starts_with("//") && !line.trim_start_matches(['/', '!', ' ']).starts_with('|')
    };
    let numbered = text.lines().enumerate();
    let wide = numbered.filter(|(_, line)| prose(line) && is_too_wide(line));
    wide.map(|(at, _)| at + 1).collect()
}

/// The lines of a page that are too wide, without tables, headings of links and console blocks.
fn prose(text: &str) -> Vec<usize> {
    let mut fenced = false;
    let mut wide = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        let kept = fenced || fence || line.starts_with("    ") || line.starts_with(['|', '[', '<']);
        if !kept && is_too_wide(line) {
            wide.push(at + 1);
        }
    }
    wide
}

#[test]
fn no_line_of_prose_is_too_wide() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
    let mut wide = Vec::new();
    for (ending, look) in [("rs", comments as fn(&str) -> Vec<usize>), ("md", prose)] {
        let mut found = Vec::new();
        files(root, ending, &mut found);
        assert!(found.len() > 10, "the files are looked for in the wrong place");
        for path in found {
            let text = fs::read_to_string(&path).expect("a text");
            let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            wide.extend(look(&text).into_iter().map(|line| format!("{shown}:{line}")));
        }
    }
    assert!(wide.is_empty(), "wider than {WIDEST} columns:\n{}", wide.join("\n"));
}

#[test]
fn what_is_prose_is_told_from_the_rest() {
    let wide = "word ".repeat(25);
    assert_eq!(comments(&format!("    // {wide}")), [1]);
    assert_eq!(comments(&format!("let x = \"{wide}\";\n/// | {wide} |\n//! {wide}")), [3]);
    assert_eq!(comments(&format!("// {}", "x".repeat(120))), []);
    assert_eq!(prose(&format!("{wide}\n| {wide} |\n```console\n{wide}\n```\n{wide}")), [1, 6]);
}
