//! The command `explore`: right results, the same story for the same seed, clear messages.

use super::tables::{file, run, words};
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

#[test]
fn every_worked_example_gives_the_oracles_result() {
    for example in ["x1", "x2", "x3", "x4", "x5"] {
        for form in ["off", "literal", "prefix", "sequence"] {
            let line = format!("--example {example} --fast-path {form} --schedules 300");
            let output = explore(&line);
            let shown = ended(&output, 0);
            assert!(shown.contains("every schedule gave the oracle's result"), "{shown}");
        }
    }
}

/// Paths that only some schedules take do occur among a thousand.
#[test]
fn schedules_differ() {
    let output = explore("--example x5 --schedules 1000");
    let shown = ended(&output, 0);
    for paths in ["clean slow slow-none", "clean clean slow-none"] {
        assert!(shown.contains(paths), "{paths} in {shown}");
    }
}

#[test]
fn a_seed_fixes_the_story() {
    let story = |seed: u32| ended(&explore(&format!("--example x2 --story {seed}")), 0).to_owned();
    assert_eq!(story(11), story(11));
    assert_ne!(story(11).lines().nth(2), None);
    let different = (1..20).any(|seed| story(seed)[20..] != story(11)[20..]);
    assert!(different, "twenty seeds told one story");
}

#[test]
fn streams_with_cancels_and_several_blocks_agree() {
    let stream = "post,1,0,0,7\npost,2,0,0,7\npost,3,3,*,*\ncancel,1\narrive,1,0,0,7\narrive,2,0,0,7\narrive,3,3,9,9\n\
                  cancel,2\npost,4,0,*,7\narrive,4,0,5,7\narrive,5,0,5,7\narrive,6,0,5,7\npost,5,0,5,*\n";
    file("explored", stream);
    ended(&explore("--handlers 2 --schedules 300 --eager-removal @explored"), 0);
}

/// Each of these rules matters: without it some schedule of some worked example goes wrong, in
/// seconds.
#[test]
fn a_missing_rule_is_noticed() {
    for (rule, example) in [
        ("forcing-ignored", "x5"),
        ("barrier-missing", "x1"),
        ("slow-previous-only", "x4"),
        ("fast-ignores-sequence", "x4"),
        ("unexpected-reversed", "x3"),
    ] {
        let line = format!("--example {example} --fault {rule} --schedules 20000");
        let output = explore(&line);
        let shown = ended(&output, 3);
        assert!(shown.contains("broke the rules; the shortest, turns"), "{rule}: {shown}");
    }
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

#[test]
fn every_schedule_is_counted() {
    let all = "--example x5 --exhaustive --handlers 3 --bound 1";
    let output = explore(all);
    let shown = ended(&output, 0);
    assert!(shown.contains("         2  with at most 0 preemptions: all there are"), "{shown}");
    assert!(shown.contains("with at most 1 preemptions: all there are"), "{shown}");
    let cut = explore(&format!("{all} --schedules 5"));
    assert!(ended(&cut, 0).contains("more were left out"), "{}", ended(&cut, 0));
}

/// A block of a recorded rank: its receives come from the trace, and its numbers are checked.
#[test]
fn a_block_of_a_trace_is_explored() {
    let trace = "--trace $minife-16/minife-16.dumpi.tar.xz --rank 3 --handlers 8";
    ended(&explore(&format!("{trace} --schedules 50 --html @traced.html")), 0);
    let html = std::fs::read_to_string(&words("@traced.html")[0]).expect("the page");
    assert!(html.contains("of rank 3 of minife-16"), "the title");
    assert_eq!(html.matches("\"kind\":\"block\"").count(), 1, "one block is shown");
}
