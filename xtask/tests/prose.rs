//! How prose looks. No line of it is wider than 100 columns: what rustfmt does not wrap is looked
//! at, that is comments, and the text of pages outside of tables and console blocks. And pages name
//! no IDs of facts, which are for the code.

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

/// Pages that may name IDs: that which explains them, and those that point to it.
const ABOUT_IDS: [&str; 4] =
    ["docs/decisions.md", "README.md", "ARCHITECTURE.md", "dpa_model/src/matching/README.md"];

/// Whether it is the ID of a fact or decision, such as O16 or G3b.
fn is_id(word: &str) -> bool {
    let mut letters = word.chars();
    let first = letters.next().is_some_and(|letter| "CFGHMOPSUV".contains(letter));
    let digits = letters.as_str().trim_end_matches(|end: char| end.is_ascii_lowercase());
    let number = digits.len() <= 2 && digits.parse::<u8>().is_ok();
    first && number && letters.as_str().len() <= digits.len() + 1
}

/// The IDs in parentheses on a page: elsewhere such words may be names.
fn ids(text: &str) -> Vec<&str> {
    let inside = text.split('(').skip(1).filter_map(|rest| rest.split_once(')'));
    let words = inside.flat_map(|(inside, _)| inside.split([' ', ',', '-', ';', '\n']));
    words.filter(|word| is_id(word)).collect()
}

#[test]
fn pages_name_no_ids() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
    let mut pages = Vec::new();
    files(root, "md", &mut pages);
    let mut named = Vec::new();
    for page in pages {
        let shown = page.strip_prefix(root).unwrap_or(&page).display().to_string();
        if !ABOUT_IDS.contains(&shown.as_str()) {
            let text = fs::read_to_string(&page).expect("a text");
            named.extend(ids(&text).into_iter().map(|id| format!("{shown}: {id}")));
        }
    }
    assert!(named.is_empty(), "IDs are for code and docs/decisions.md:\n{}", named.join("\n"));
    assert_eq!(
        ids("a (O16), (one, S3 to S5) (B2) (G3b) S7 (C ABI) (128)"),
        ["O16", "S3", "S5", "G3b"]
    );
}

#[test]
fn what_is_prose_is_told_from_the_rest() {
    let wide = "word ".repeat(25);
    assert_eq!(comments(&format!("    // {wide}")), [1]);
    assert_eq!(comments(&format!("let x = \"{wide}\";\n/// | {wide} |\n//! {wide}")), [3]);
    assert_eq!(comments(&format!("// {}", "x".repeat(120))), []);
    assert_eq!(prose(&format!("{wide}\n| {wide} |\n```console\n{wide}\n```\n{wide}")), [1, 6]);
}
