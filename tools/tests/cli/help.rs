//! The help of every command, as a user sees it.

use super::*;

/// Whether a word looks like the name of a fact in the code's comments: a letter and a number.
fn names_a_fact(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let digits = word
        .strip_prefix(|c: char| c.is_ascii_uppercase())
        .unwrap_or_default();
    (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// What the code's comments call O16 or S8 means nothing to a user.
#[test]
fn help_names_no_facts_of_the_code() {
    for command in commands() {
        for line in help(&command).lines() {
            let fact = line.split_whitespace().find(|word| names_a_fact(word));
            assert_eq!(fact, None, "{command}: {line}");
        }
    }
}

/// Options of a group stand last, so that its heading covers no others.
#[test]
fn the_form_of_a_report_stands_under_no_heading_of_the_nic() {
    for command in ["match", "footprint", "analyze", "accuracy"] {
        let mut heading = String::new();
        for line in help(command).lines() {
            if line.ends_with(':') && !line.starts_with(' ') {
                heading = line.to_owned();
            }
            let foreign = heading.contains("Emulated NIC") || heading.contains("recorded program");
            assert!(
                !(foreign && line.contains(" --format ")),
                "{command:?}: {heading}"
            );
        }
    }
}
