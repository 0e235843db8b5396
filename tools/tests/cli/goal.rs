//! GOAL texts: written from traces, read back, and written again.

use super::*;

const RECORDER: &str = "../tests/data/traces/recorder";

/// Each trace as GOAL, and that text as a trace: the same messages for the host's engine in each
/// order, the same pairs, and the same text again.
#[test]
fn a_goal_text_says_what_the_trace_says() {
    let folder = folder("goal");
    for (name, note) in [
        ("fan-in-4", "not in the GOAL text: 12 collective calls"),
        ("lammps-4", "not in the GOAL text: 488 collective calls"),
    ] {
        let trace = format!("{RECORDER}/{name}.dumpi.tar.xz");
        let file = folder.path().join(format!("{name}.goal"));
        let file = file.to_str().expect("UTF-8");
        let written = dpamatch(&["trace", "goal", &trace, "--out", file]);
        assert_eq!(text(&written), "");
        assert_eq!(said(&written), format!("note: {note}\n"), "{name}");
        let again = dpamatch(&["trace", "goal", file]);
        let first = std::fs::read_to_string(file).expect("a text");
        assert_eq!(text(&again), first, "{name}");
        assert_eq!(said(&again), "", "{name}");
        let traffic = |path: &str| {
            let line = [
                "analyze",
                path,
                "--order",
                "posts-first",
                "--format",
                "json",
            ];
            let report = results(&dpamatch(&line))["traces"][0].clone();
            report["application"]["traffic"].clone()
        };
        assert_eq!(traffic(file), traffic(&trace), "{name}");
    }
}

#[test]
fn a_broken_goal_text_is_named_with_its_line() {
    let folder = folder("goal");
    let file = folder.path().join("a.goal");
    std::fs::write(&file, "num_ranks 1\nrank 0 {\nsend 8b to\n}\n").expect("a file");
    let file = file.to_str().expect("UTF-8");
    let output = dpamatch(&["trace", "info", file]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("a.goal:3: damaged: the target is missing"),
        "{}",
        said(&output)
    );
}
