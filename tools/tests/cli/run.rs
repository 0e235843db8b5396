//! `dpamatch run` around a program that stands for an MPI program: it writes what two ranks of one
//! wrote.

use std::fs;

use tempfile::TempDir;

use super::*;

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(DPAMATCH);
    command.arg("run").args(["--provider", "tests/run"]).args(arguments);
    command.env_remove("DPAMATCH_LOG").output().expect("the command runs")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

fn rows<'a>(document: &'a Value, table: &str) -> &'a Vec<Value> {
    document["results"][table].as_array().unwrap_or_else(|| panic!("no table {table}"))
}

/// The one document, which follows the program's own words.
fn document(output: &Output) -> Value {
    let text = text(&output.stdout);
    let document = text.strip_prefix("the program's own words\n").expect("the program's words");
    serde_json::from_str(document).expect("one JSON document")
}

#[test]
fn a_run_is_reported() {
    let output = run(&["--format", "json", "--", "tests/run/program.sh"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document = document(&output);
    let ranks = rows(&document, "ranks");
    assert_eq!(ranks.len(), 2);
    let sum = |table: &str, column: &str| {
        rows(&document, table).iter().map(|row| row[column].as_u64().expect("a count")).sum::<u64>()
    };
    // The same messages, taken apart in four ways.
    assert!(sum("ranks", "messages") > 100);
    for table in ["kinds", "communicators", "depth"] {
        assert_eq!(sum(table, "messages"), sum("ranks", "messages"), "{table}");
    }
    for table in ["kinds", "communicators"] {
        assert_eq!(sum(table, "posts"), sum("ranks", "posts"), "{table}");
    }
    let kinds: Vec<_> = rows(&document, "kinds").iter().map(|row| &row["kind"]).collect();
    assert_eq!(kinds, ["user", "collective", "control"]);
    assert_eq!(rows(&document, "depth").len(), 16);
}

#[test]
fn logs_are_analyzed_and_kept() {
    let folder = TempDir::new().expect("a folder");
    let out = folder.path().join("out");
    let out_name = out.to_str().expect("text");
    let arguments = ["--log", "--out", out_name, "--", "tests/run/program.sh"];
    for _ in 0..2 {
        let output = run(&arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        assert!(said.contains("order: recorded (order logs)"), "{said}");
        assert!(said.contains("480  user"), "{said}");
        assert_eq!(fs::read_dir(out.join("stats")).expect("a folder").count(), 2);
        assert_eq!(fs::read_dir(out.join("logs")).expect("a folder").count(), 4);
    }
    let report = fs::read_to_string(out.join("report.json")).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["order"]["name"], "recorded");
    assert_eq!(report["processes"], 2);
    // All results were recorded, and the replay agrees.
    let agreement = &report["application"]["agreement"];
    assert_eq!((agreement["other"].as_u64(), agreement["missing"].as_u64()), (Some(0), Some(0)));
    assert!(agreement["same"].as_u64() > Some(100), "{agreement}");
}

#[test]
fn statistics_and_logs_are_one_document() {
    let folder = TempDir::new().expect("a folder");
    let save = folder.path().join("saved.json");
    let save_name = save.to_str().expect("text");
    let options = ["--log", "--format", "json", "--save", save_name, "--", "tests/run/program.sh"];
    let output = run(&options);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document = document(&output);
    let saved = fs::read_to_string(save).expect("the document");
    assert_eq!(
        serde_json::from_str::<Value>(&saved).expect("JSON")["results"],
        document["results"]
    );
    assert_eq!(document["command"], "run");
    // The same messages, counted by the NICs and in the logs.
    let counted = |table: &str, column: &str| {
        rows(&document, table).iter().map(|row| row[column].as_u64().expect("a count")).sum::<u64>()
    };
    assert_eq!(counted("ranks", "messages"), counted("logs_applications", "messages"));
    assert_eq!(document["results"]["traces"][0]["processes"], 2);
    let csv = run(&["--log", "--format", "csv", "--", "tests/run/program.sh"]);
    let csv = text(&csv.stdout);
    assert!(csv.contains("\n# ranks\n") && csv.contains("\n# logs_engines\n"), "{csv}");
}

#[test]
fn other_commands_read_the_logs() {
    let command = |arguments: &[&str]| super::text(&dpamatch(arguments)).to_owned();
    for file in fs::read_dir("tests/run/logs").expect("a folder") {
        let path = file.expect("an entry").path();
        if path.extension().is_some_and(|ending| ending == "events") {
            let events = path.to_str().expect("text");
            let results = fs::read_to_string(path.with_extension("results")).expect("results");
            assert_eq!(command(&["match", "--engine", "oracle", events]), results);
        }
    }
    let logs = "tests/run/logs";
    let analyzed = command(&["analyze", logs, "--check", "--engine", "all"]);
    assert!(analyzed.contains("checked: all pairs obey MPI's rules"), "{analyzed}");
    let weighed = command(&["offload", logs, "--ranks", "--format", "csv"]);
    assert_eq!(weighed.lines().count(), 1 + 3, "{weighed}");
    for times in ["fast", "recorded"] {
        let predicted = command(&["predict", "--trace", logs, "--times", times, "--threads", "2"]);
        assert!(predicted.contains("rank 0 of logs"), "{predicted}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let cases: [(&[&str], i32, &str); 7] = [
        (&["--", "tests/run/program.sh", "fail"], 3, "exit status: 3"),
        (&["--", "tests/run/program.sh", "open"], 0, "1 of 2 endpoints did not reach MPI_Finalize"),
        (&["--", "tests/run/program.sh", "full"], 1, "could not be written: is the disk full?"),
        (&["--", "tests/run/program.sh", "early"], 7, "no process reached MPI_Init"),
        (&["--", "tests/run/program.sh", "silent"], 1, "no process used the emulated NIC"),
        (&["--", "tests/run/program.sh", "killed"], 137, "signal: 9"),
        (&["--", "tests/run/program.sh", "rubbish"], 2, "rank-0-1.json: missing field"),
    ];
    for (arguments, code, words) in cases {
        let output = run(arguments);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
        assert!(errors.contains(words), "{arguments:?}: {errors}");
    }
}

/// A program that hangs: rank 0 answers, rank 1 does not. Key, limit and `--attach` show it.
#[test]
fn what_waits_is_shown() {
    let folder = TempDir::new().expect("a folder");
    let out = folder.path().to_str().expect("text");
    let mut command = Command::new(DPAMATCH);
    command.args([
        "run",
        "--provider",
        "tests/run",
        "--limit",
        "4",
        "--format",
        "json",
        "--out",
        out,
    ]);
    command.args(["--", "tests/run/program.sh", "hang"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !folder.path().join("stats/ready").exists() && std::time::Instant::now() < end {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let attached = dpamatch(&["run", "--attach", out, "--format", "csv"]);
    let csv = super::text(&attached).to_owned();
    let silent = "rank 1 makes no progress in MPI: it computes, sleeps or is stopped; rank 0 waits";
    assert!(csv.contains(silent), "{csv}");
    let near = "\"rank 1, tag 5, user 0: wrong tag\"";
    let row = format!("rank 0,message from,rank 1,6,user 0,1,2.5,{near}\n");
    assert!(csv.contains(&row), "{csv}");
    let quit = Command::new("kill").args(["-QUIT", &child.id().to_string()]).status();
    assert!(quit.expect("kill").success());
    let output = child.wait_with_output().expect("it ends");
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(124), "{errors}");
    assert_eq!(errors.matches(silent).count(), 2, "after the key and at the limit: {errors}");
    assert!(errors.contains("none of 2 endpoints reached MPI_Finalize"), "{errors}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(rows(&document, "waits").len(), 1);
    assert_eq!(rows(&document, "unexpected")[0]["tag"], "5");
}
