//! Rules for prose: comments, and pages outside of tables, headings and code blocks. No line is
//! wider than 100 columns, no sentence of a page is longer than [`LONGEST`] words, and
//! docs/decisions.md explains every ID.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

const WIDEST: usize = 100;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the repository")
}

/// The repository's files with this ending: paths from its root, and texts.
fn files(ending: &str) -> Vec<(String, String)> {
    let mut git = Command::new("git");
    git.args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        &format!("*.{ending}"),
    ]);
    let listed = git
        .current_dir(root())
        .output()
        .expect("git lists the files");
    let listed = String::from_utf8(listed.stdout).expect("paths in UTF-8");
    let text = |path: &str| Some((path.to_owned(), fs::read_to_string(root().join(path)).ok()?));
    let found: Vec<_> = listed.lines().filter_map(text).collect();
    assert!(
        found.len() > 10,
        "the files are looked for in the wrong place"
    );
    found
}

/// Whether a line is too wide. One long word, an address for example, cannot be wrapped.
fn is_too_wide(line: &str) -> bool {
    let words = line.trim_start_matches(['/', '!', ' ']);
    line.chars().count() > WIDEST && words.contains(' ')
}

/// Numbers of the too wide comment lines. Table rows cannot be wrapped.
fn comments(text: &str) -> Vec<usize> {
    let prose = |line: &str| {
        let line = line.trim_start();
        line.starts_with("//") && !line.trim_start_matches(['/', '!', ' ']).starts_with('|')
    };
    let numbered = text.lines().enumerate();
    let wide = numbered.filter(|(_, line)| prose(line) && is_too_wide(line));
    wide.map(|(at, _)| at + 1).collect()
}

/// Numbers of a page's too wide lines, without tables, link headings and console blocks.
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
    let mut wide = Vec::new();
    for (ending, look) in [("rs", comments as fn(&str) -> Vec<usize>), ("md", prose)] {
        for (shown, text) in files(ending) {
            wide.extend(
                look(&text)
                    .into_iter()
                    .map(|line| format!("{shown}:{line}")),
            );
        }
    }
    assert!(
        wide.is_empty(),
        "wider than {WIDEST} columns:\n{}",
        wide.join("\n")
    );
}

const LONGEST: usize = 35;

/// The sentences of a page with their lines. A list item, a block and a heading end one.
fn sentences(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut open, mut fenced) = (Vec::new(), (0, String::new()), false);
    let mut close = |open: &mut (usize, String)| {
        let (line, sentence) = std::mem::take(open);
        if !sentence.is_empty() {
            found.push((line, sentence));
        }
    };
    for (at, line) in text.lines().enumerate() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        let words = line.trim_start();
        let numbered = words
            .split_once(". ")
            .is_some_and(|(at, _)| at.parse::<u8>().is_ok());
        let code = fenced || fence || (line.starts_with("    ") && open.1.is_empty());
        if code || words.is_empty() || words.starts_with(['|', '#', '<', '!']) {
            close(&mut open);
            continue;
        }
        if numbered || words.starts_with("- ") || words.starts_with("* ") {
            close(&mut open);
        }
        // Code in a line is one word.
        let spans = words
            .trim_start_matches(['-', '*', ' '])
            .split('`')
            .enumerate();
        let words: Vec<&str> = spans
            .map(|(at, span)| if at % 2 == 1 { "code" } else { span })
            .collect();
        for word in words.concat().split_whitespace() {
            if open.1.is_empty() {
                open.0 = at + 1;
            }
            open.1 += word;
            open.1.push(' ');
            let bare = word.trim_end_matches([')', '*', '"', '`']);
            if bare.ends_with(['.', '!', '?', ':']) && bare.len() > 1 {
                close(&mut open);
            }
        }
    }
    close(&mut open);
    found
}

#[test]
fn no_sentence_of_a_page_is_too_long() {
    let mut long = Vec::new();
    for (shown, text) in files("md") {
        for (line, sentence) in sentences(&text) {
            let words = sentence.split_whitespace().count();
            if words > LONGEST {
                long.push(format!("{shown}:{line}: {words} words: {sentence}"));
            }
        }
    }
    assert!(
        long.is_empty(),
        "more than {LONGEST} words:\n{}",
        long.join("\n")
    );
}

/// Whether a word looks like the ID of a fact or decision, such as O16 or S8c. Indexes (I0), worked
/// examples (X1), handlers (T0, N1) and caches (L1) are none.
fn is_id(word: &str) -> bool {
    let digits = word.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
    let letters = word.len() - digits.len();
    let digits = digits.trim_end_matches(|end: char| end.is_ascii_lowercase());
    let known = (1..=2).contains(&letters) && !word.starts_with(['I', 'X', 'T', 'N', 'L']);
    let number = (1..=2).contains(&digits.len()) && digits.parse::<u8>().is_ok();
    known && number && word.len() <= letters + digits.len() + 1
}

/// The IDs in parentheses; elsewhere such words may be names.
fn ids(text: &str) -> Vec<&str> {
    let inside = text
        .split('(')
        .skip(1)
        .filter_map(|rest| rest.split_once(')'));
    let words = inside.flat_map(|(inside, _)| inside.split([' ', ',', '-', ';', '\n']));
    words.filter(|word| is_id(word)).collect()
}

fn comments_of(text: &str) -> String {
    let comments = text.lines().filter_map(|line| line.split_once("//"));
    comments
        .map(|(_, comment)| comment.trim_start_matches(['/', '!']).to_owned() + "\n")
        .collect()
}

/// The invariants that a source file numbers in its head, as in `K1: a candidate is constant`.
fn invariants(text: &str) -> BTreeSet<&str> {
    let head = text.lines().filter_map(|line| line.strip_prefix("//!"));
    let words = head.flat_map(str::split_whitespace);
    words
        .filter_map(|word| word.strip_suffix(':'))
        .filter(|word| is_id(word))
        .collect()
}

/// The IDs that docs/decisions.md explains, from the first cells of its tables.
fn explained(page: &str) -> Vec<&str> {
    let cells = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" |"));
    let words = cells.flat_map(|(cell, _)| cell.split([',', ' ']));
    words.filter(|word| is_id(word)).collect()
}

#[test]
fn ids_are_explained_and_only_code_names_them() {
    let page = fs::read_to_string(root().join("docs/decisions.md")).expect("the page on IDs");
    let explained = explained(&page);
    assert!(
        explained.contains(&"O16") && explained.contains(&"S8"),
        "{explained:?}"
    );
    let known = |id: &str| {
        let id = id.trim_end_matches(|end: char| end.is_ascii_lowercase());
        explained.contains(&id)
    };
    let mut numbered = BTreeSet::new();
    for (shown, text) in files("rs") {
        for id in invariants(&text) {
            let is_new = known(id) || numbered.insert(id.to_owned());
            assert!(is_new, "{shown}: another file numbers an {id}, too");
        }
    }
    let mut named = Vec::new();
    for (ending, is_page) in [("md", true), ("rs", false)] {
        for (shown, text) in files(ending) {
            if shown == "docs/decisions.md" {
                continue;
            }
            // The page on the protocol is the code's, and its reader has the code open.
            let no_ids = is_page && !shown.starts_with("dpa_model/src/");
            let read = if is_page { text } else { comments_of(&text) };
            let wrong = ids(&read)
                .into_iter()
                .filter(|id| no_ids || !known(id) && !numbered.contains(*id));
            named.extend(wrong.map(|id| format!("{shown}: {id}")));
        }
    }
    assert!(
        named.is_empty(),
        "IDs without an explanation, or on pages:\n{}",
        named.join("\n")
    );
    assert_eq!(
        ids("a (O16), (one, S3 to S5) (B2) (G3b) S7 (CI) (128)"),
        ["O16", "S3", "S5", "B2", "G3b"]
    );
}

#[test]
fn sentences_end_where_they_end() {
    let page =
        "# A b\n\nOne two.\nThree (four.) Five\nsix:\n- seven\n- eight\n  nine.\n\n    code x\n";
    let found: Vec<(usize, String)> = sentences(page);
    let shown: Vec<(usize, &str)> = found.iter().map(|(at, text)| (*at, text.trim())).collect();
    let expected = [
        (3, "One two."),
        (4, "Three (four.)"),
        (4, "Five six:"),
        (6, "seven"),
        (7, "eight nine."),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn what_is_prose_is_told_from_the_rest() {
    let wide = "word ".repeat(25);
    assert_eq!(comments(&format!("    // {wide}")), [1]);
    assert_eq!(
        comments(&format!("let x = \"{wide}\";\n/// | {wide} |\n//! {wide}")),
        [3]
    );
    assert_eq!(comments(&format!("// {}", "x".repeat(120))), []);
    assert_eq!(
        prose(&format!(
            "{wide}\n| {wide} |\n```console\n{wide}\n```\n{wide}"
        )),
        [1, 6]
    );
}
