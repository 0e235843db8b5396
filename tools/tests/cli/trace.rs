//! The command `trace` as a user sees it.

use super::tables::run;
use super::*;

fn trace(line: &str) -> Output {
    run(&format!("trace {line}"))
}

#[test]
fn info_counts_by_class_and_function() {
    let output = trace("info --format json $minife-16");
    let report = results(&output);
    assert_eq!(report["processes"], 16);
    assert_eq!(report["calls"], 21_008);
    let all = serde_json::json!([{ "format": "DUMPI binary 13.0.0", "ranks": 16 }]);
    assert_eq!(report["formats"], all);
    let of_class = |name: &str| {
        let classes = report["by_class"].as_array().expect("classes").iter();
        let found = classes.filter(|class| class["class"] == name).map(|class| &class["calls"]);
        found.cloned().collect::<Vec<_>>()
    };
    // 6,048 sends and as many receives.
    assert_eq!(of_class("p2p"), [2 * 6_048]);
    assert_eq!(of_class("one-sided"), [0]);
    let output = trace("info $minife-16");
    let text = text(&output);
    assert!(text.starts_with("16 of 16 ranks\nDUMPI binary 13.0.0: 16 ranks\n"), "{text}");
    assert!(text.contains("MPI_Irecv"), "{text}");
}

#[test]
fn check_says_what_is_good_and_what_is_not() {
    let output = trace("check $edge-4-mpich/edge-4-mpich.dumpi.tar.xz");
    assert!(
        text(&output).ends_with("224 calls; 4 of 4 ranks are consistent\n"),
        "{}",
        text(&output)
    );

    let output = trace("check $truncated");
    assert_eq!(output.status.code(), Some(2));
    let expected =
        "truncated/hpcg-0001.bin.xz: byte 30003: truncated: there is no index at the end";
    assert!(said(&output).contains(expected), "{}", said(&output));
    assert!(said(&output).ends_with("; --salvage reads the intact part\n"), "{}", said(&output));

    let output = trace("check --salvage $truncated");
    assert!(text(&output).contains("salvaged: "), "{}", text(&output));
}

#[test]
fn dump_prints_a_call_a_line() {
    let dump = "dump $edge-4-openmpi/rank-0000.txt.xz";
    let output = trace(dump);
    let lines: Vec<_> = text(&output).lines().collect();
    assert_eq!(lines.len(), 56);
    let waitall = "T0 MPI_Waitall count=2 requests=[2,2] statuses=[{-2 -1 0},{-2 -1 0}]";
    assert!(lines[7].ends_with(waitall), "{}", lines[7]);

    let output = trace(&format!("{dump} --format jsonl --limit 8"));
    let last: Value = text(&output)
        .lines()
        .last()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .expect("lines");
    assert_eq!(last["call"], 7);
    assert_eq!(last["class"], "progress");
    assert_eq!(last["arguments"]["statuses"][1]["source"], -2);
    assert_eq!(last["wall_ns"][1], 3_274_613_968_766_u64);
    let output = trace(&format!("{dump} --format json --limit 8"));
    let document: Value = serde_json::from_str(text(&output)).expect("one JSON object");
    assert_eq!(document["results"]["calls"][7], last);
}
