//! Each sentence of .github/SECURITY.md about what is at risk has its tests, or a reason why it has
//! none: `security.txt`.

mod sources;

use sources::{root, tests};

/// The sentences of a section, without their full stops.
fn sentences(page: &str, heading: &str) -> Vec<String> {
    let (_, section) = page.split_once(heading).expect("the heading");
    let section = section.split("\n## ").next().unwrap_or_default();
    let words: Vec<&str> = section.split_whitespace().collect();
    let all = words.join(" ");
    let all = all.trim_end_matches('.').split(". ");
    all.map(str::to_owned).collect()
}

#[test]
fn each_sentence_about_security_has_its_tests() {
    let page = std::fs::read_to_string(root().join(".github/SECURITY.md")).expect("the page");
    let table = include_str!("security.txt");
    let lines = table
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let (mut said, tests) = (Vec::new(), tests());
    for line in lines {
        let Some(held) = line.strip_prefix("    ") else {
            said.push(line);
            continue;
        };
        let sentence = said.last().expect("a sentence before its tests");
        if held.starts_with("- ") {
            continue;
        }
        for name in held.split(' ') {
            assert!(tests.contains(name), "{sentence}: no test {name}");
        }
    }
    assert_eq!(said, sentences(&page, "## What is at risk"));
    assert_eq!(
        table.matches("\n    ").count(),
        said.len(),
        "a line for each sentence"
    );
}
