//! The command `explore`: right results, the same story for the same seed, clear messages.

#[path = "../../tests/watchdog/mod.rs"]
mod watchdog;

use std::process::{Command, Output};

fn explore(args: &[&str]) -> Output {
    let _dog = watchdog::on("`dpamatch explore` to end");
    let mut command = Command::new(env!("CARGO_BIN_EXE_dpamatch"));
    command.arg("explore").args(args).output().expect("the command runs")
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

#[test]
fn bad_input_is_named() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("explore_bad.txt");
    std::fs::write(&path, "post,1,0,0,7\nprobe,1,0,0,7\n").expect("a scratch file");
    let output = explore(&[path.to_str().expect("a path that is text")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("probes are not explored"), "{}", text(&output.stderr));
    assert_eq!(explore(&["/does/not/exist"]).status.code(), Some(1));
    assert_eq!(explore(&["--handlers", "65", "--example", "x1"]).status.code(), Some(2));
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
        assert!(shown.contains("broke the rules; the first, schedule"), "{rule}: {shown}");
    }
    let unknown = explore(&["--example", "x1", "--fault", "sunshine"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("no rule sunshine"));
}
