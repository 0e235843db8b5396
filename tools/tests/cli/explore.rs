//! The command `explore`: right results, the same story for the same seed, clear messages.

use super::tables::{run, words};
use super::*;

fn explore(arguments: &str) -> Output {
    run(&format!("explore {arguments}"))
}

/// What the command printed, if it ended with this exit code.
fn ended(output: &Output, code: i32) -> &str {
    let shown = std::str::from_utf8(&output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(code), "{shown}{}", said(output));
    shown
}

/// A schedule of few turns, as text, as a test and as a page beside the one with the rule.
#[test]
fn a_broken_rule_is_shown_in_short() {
    let fault = "--example x5 --fault forcing-ignored";
    let output = explore(&format!("{fault} --html @x5.html --test"));
    let shown = ended(&output, 3);
    assert!(said(&output).lines().count() == 1, "{}", said(&output));
    let turns = shown.lines().find_map(|line| line.split_once("the shortest, turns "));
    let turns = turns.expect("turns").1.trim_end_matches(':');
    assert!(turns.split(' ').count() < 8, "{turns}");
    assert!(shown.contains("assert_ne!(run.result, Ok(expected)"), "{shown}");
    let html = std::fs::read_to_string(&words("@x5.html")[0]).expect("the page");
    assert!(html.contains("Without the rule: forcing-ignored"));
    assert!(html.contains("The same turns with the rule"));
    // The same turns, from their text: broken without the rule, right with it.
    let again = |line: &str| {
        let words = ["explore"].into_iter().chain(line.split(' ')).chain(["--turns"]);
        dpamatch(&words.chain([turns]).collect::<Vec<_>>())
    };
    ended(&again(fault), 3);
    let kept = again("--example x5");
    assert!(ended(&kept, 0).contains("the schedule gave the oracle's result"));
}
