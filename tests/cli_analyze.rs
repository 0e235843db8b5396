//! `dpamatch analyze` and `dpamatch bench --trace` from the outside.

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::{Command, Output};

fn archive(name: &str) -> String {
    let parts =
        [env!("CARGO_MANIFEST_DIR"), "tests", "data", "traces", name, &format!("{name}.dumpi.tar.xz")];
    parts.iter().collect::<PathBuf>().display().to_string()
}

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dpamatch")).args(args).output().expect("the program runs")
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[test]
fn the_summary_tells_the_main_numbers() {
    let out = text(&run(&["analyze", &archive("lulesh-27"), "--engine", "optimistic"]));
    for line in [
        "lulesh-27: 27 of 27 ranks, 26490 calls in 1.8 MB",
        "calls: 14600 point-to-point, 351 collective, 0 one-sided (97.7 / 2.3 / 0.0 %); 8299 progress, 3240 other",
        "582 unique (source, tag) of 7300 receives (7.97 %), at most 1 of one waiting at once",
        "hints: Set mpi_assert_no_any_source on communicator 2 (world): this run never violates it.",
        "offload: Offload: everything fits, nothing falls back.",
    ] {
        assert!(out.contains(line), "{line}\n{out}");
    }
    assert!(out.lines().all(|line| line == line.trim_end()), "no spaces at the ends of lines");
    assert_eq!(
        out,
        text(&run(&["analyze", &archive("lulesh-27"), "--engine", "optimistic"])),
        "a seed is an output"
    );
}

#[test]
fn a_nic_that_is_too_small_is_told_where_and_why() {
    let args = [
        "analyze",
        &archive("lulesh-27"),
        "--receives",
        "16",
        "--engine",
        "optimistic",
        "--order",
        "posts-first",
    ];
    let out = text(&run(&args));
    assert!(out.contains("runs out of receive descriptors"), "{out}");
    assert!(out.contains("Offload only with a larger NIC: rank 0, call"), "{out}");
    assert!(out.contains("7300      0"), "the pairs are right all the same: {out}");
}

#[test]
fn pairs_and_folder_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let pairs = folder.path().join("pairs.csv");
    let out = folder.path().join("report");
    let [pairs_arg, out_arg] = [&pairs, &out].map(|path| path.display().to_string());
    let trace = archive("minife-16");
    let args =
        ["analyze", &trace, "--order", "random", "--seed", "3", "--pairs", &pairs_arg, "--out", &out_arg];
    text(&run(&args));
    let written = std::fs::read_to_string(&pairs).expect("pairs");
    assert_eq!(
        written.lines().next(),
        Some("comm,recv_rank,recv_op,send_rank,send_op,tag,bytes,posted_src,posted_tag")
    );
    assert_eq!(written.lines().count(), 6049);
    let names: HashSet<String> = std::fs::read_dir(&out)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    for name in ["bins.csv", "blocks.csv", "calls.csv", "depth.csv", "hints.csv", "advice.csv", "report.json"]
    {
        assert!(names.contains(name), "{name} in {names:?}");
    }
    for name in names.iter().filter(|name| name.ends_with(".csv")) {
        let text = std::fs::read_to_string(out.join(name)).expect("a file");
        let commas =
            |line: &str| line.split('"').step_by(2).map(|plain| plain.matches(',').count()).sum::<usize>();
        let columns = text.lines().next().map(commas);
        assert!(
            text.lines().all(|line| Some(commas(line)) == columns),
            "{name}: all lines have the same columns"
        );
    }
}

#[test]
fn several_traces_are_compared() {
    let out = text(&run(&["analyze", &archive("minife-16"), &archive("edge-4-mpich"), "--bins", "1,8"]));
    let last: Vec<_> = out.lines().rev().take_while(|line| !line.starts_with("Calls and depth")).collect();
    assert_eq!(last.len(), 4, "{last:?}");
    assert!(last[0].starts_with("mean"), "{last:?}");
}

#[test]
fn json_holds_the_report() {
    let out = text(&run(&["analyze", &archive("edge-4-openmpi"), "--format", "json", "--sweep", "4"]));
    let value: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let report = &value["traces"][0];
    assert_eq!(report["processes"], 4);
    assert_eq!(report["application"]["traffic"]["receives"], serde_json::json!([20, 8, 4, 16]));
    assert_eq!(report["application"]["blocks"][0]["handlers"], 4);
    assert_eq!(report["ranks"].as_array().map(Vec::len), Some(4));
}

#[test]
fn wrong_arguments_and_missing_files_have_their_exit_codes() {
    let code = |args: &[&str]| {
        let output = run(args);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), message)
    };
    let (two, message) = code(&["analyze", &archive("minife-16"), &archive("minife-16"), "--pairs", "x"]);
    assert_eq!((two, message.trim_end()), (Some(2), "dpamatch: --pairs goes with one trace"));
    assert_eq!(code(&["analyze", &archive("minife-16"), "--bins", "0"]).0, Some(2));
    assert_eq!(code(&["analyze", &archive("minife-16"), "--handlers", "65"]).0, Some(2));
    let (missing, message) = code(&["analyze", "no/such/trace"]);
    assert_eq!(missing, Some(1));
    assert!(message.contains("no/such/trace"), "{message}");
    assert_eq!(code(&["bench", "--trace", &archive("minife-16"), "--rank", "99"]).0, Some(2));
}

#[test]
fn a_recorded_rank_is_a_load() {
    let args = ["bench", "--trace", &archive("lulesh-27"), "--rank", "13", "--rounds", "1", "--budget", "1"];
    let out = text(&run(&[&args[..], &["--format", "csv"]].concat()));
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[0], "rank,messages,events,bytes,engine,rate_median,rate_min,rate_max,pairs");
    let row = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let (nic, bins) = (row(lines[1]), row(lines[2]));
    assert_eq!((nic[0].as_str(), nic[4].as_str(), bins[4].as_str()), ("13", "optimistic", "bins"));
    assert_eq!(nic[1], nic[8], "every message finds its receive");
    assert_eq!(nic[8], bins[8]);
}
