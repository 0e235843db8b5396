//! The command `explore`: right results, the same story for the same seed, clear messages.

use super::*;

fn explore(args: &[&str]) -> Output {
    dpamatch(&[&["explore"], args].concat())
}

fn text(output: &[u8]) -> &str {
    std::str::from_utf8(output).expect("text")
}

#[test]
fn every_worked_example_gives_the_oracles_result() {
    for example in ["x1", "x2", "x3", "x4", "x5"] {
        for form in ["off", "literal", "prefix", "sequence"] {
            let output =
                explore(&["--example", example, "--fast-path", form, "--schedules", "300"]);
            let shown = text(&output.stdout);
            assert_eq!(
                output.status.code(),
                Some(0),
                "{example} {form}: {shown}{}",
                text(&output.stderr)
            );
            assert!(shown.contains("every schedule gave the oracle's result"), "{shown}");
        }
    }
}

/// Paths that only some schedules take do occur among a thousand.
#[test]
fn schedules_differ() {
    let output = explore(&["--example", "x5", "--schedules", "1000"]);
    let shown = text(&output.stdout);
    for paths in ["clean slow slow-none", "clean clean slow-none"] {
        assert!(shown.contains(paths), "{paths} in {shown}");
    }
}

#[test]
fn a_seed_fixes_the_story() {
    let story = |seed: &str| explore(&["--example", "x2", "--story", seed]).stdout;
    assert_eq!(story("11"), story("11"));
    assert_ne!(text(&story("11")).lines().nth(2), None);
    let different = (1..20).any(|seed: u32| story(&seed.to_string())[20..] != story("11")[20..]);
    assert!(different, "twenty seeds told one story");
}

#[test]
fn streams_with_cancels_and_several_blocks_agree() {
    let stream = "post,1,0,0,7\npost,2,0,0,7\npost,3,3,*,*\ncancel,1\narrive,1,0,0,7\narrive,2,0,0,7\narrive,3,3,9,9\n\
                  cancel,2\npost,4,0,*,7\narrive,4,0,5,7\narrive,5,0,5,7\narrive,6,0,5,7\npost,5,0,5,*\n";
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("explore.txt");
    std::fs::write(&path, stream).expect("a scratch file");
    let file = path.to_str().expect("a path that is text");
    let output = explore(&["--handlers", "2", "--schedules", "300", "--eager-removal", file]);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
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
        let output = explore(&["--example", example, "--fault", rule, "--schedules", "20000"]);
        let shown = text(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{rule}: {shown}");
        assert!(shown.contains("broke the rules; the shortest, turns"), "{rule}: {shown}");
    }
}

/// A schedule of few turns, as text, as a test and as a page beside the one with the rule.
#[test]
fn a_broken_rule_is_shown_in_short() {
    let page = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("explore_x5.html");
    let file = page.to_str().expect("a path that is text");
    let fault = ["--example", "x5", "--fault", "forcing-ignored"];
    let output = explore(&[&fault[..], &["--html", file, "--test"]].concat());
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{shown}");
    assert!(text(&output.stderr).lines().count() == 1, "{}", text(&output.stderr));
    let turns = shown.lines().find_map(|line| line.split_once("the shortest, turns "));
    let turns = turns.expect("turns").1.trim_end_matches(':');
    assert!(turns.split(' ').count() < 8, "{turns}");
    assert!(shown.contains("assert_ne!(run.result, Ok(expected)"), "{shown}");
    let html = std::fs::read_to_string(&page).expect("the page");
    assert!(html.contains("Without the rule: forcing-ignored"));
    assert!(html.contains("The same turns with the rule"));
    // The same turns, from their text: broken without the rule, right with it.
    let again = explore(&[&fault[..], &["--turns", turns]].concat());
    assert_eq!(again.status.code(), Some(3), "{}", text(&again.stdout));
    let kept = explore(&["--example", "x5", "--turns", turns]);
    assert_eq!(kept.status.code(), Some(0), "{}", text(&kept.stdout));
    assert!(text(&kept.stdout).contains("the schedule gave the oracle's result"));
}

#[test]
fn every_schedule_is_counted() {
    let all = ["--example", "x5", "--exhaustive", "--handlers", "3"];
    let output = explore(&[&all[..], &["--bound", "1"]].concat());
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.contains("         2  with at most 0 preemptions: all there are"), "{shown}");
    assert!(shown.contains("with at most 1 preemptions: all there are"), "{shown}");
    let cut = explore(&[&all[..], &["--bound", "1", "--schedules", "5"]].concat());
    assert!(text(&cut.stdout).contains("more were left out"), "{}", text(&cut.stdout));
}

/// A block of a recorded rank: its receives come from the trace, and its numbers are checked.
#[test]
fn a_block_of_a_trace_is_explored() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/traces/minife-16");
    let trace = format!("{data}/minife-16.dumpi.tar.xz");
    let page = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("explore_trace.html");
    let file = page.to_str().expect("a path that is text");
    let block = ["--trace", &trace, "--rank", "3", "--handlers", "8", "--schedules", "50"];
    let output = explore(&[&block[..], &["--html", file]].concat());
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", text(&output.stderr));
    let html = std::fs::read_to_string(&page).expect("the page");
    assert!(html.contains("of rank 3 of minife-16"), "the title");
    assert_eq!(html.matches("\"kind\":\"block\"").count(), 1, "one block is shown");
}
