//! `dpamatch run` around a program that stands for an MPI program: it writes what two ranks of one
//! wrote.

use tempfile::TempDir;

use super::*;

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(DPAMATCH);
    command
        .arg("run")
        .args(["--provider", "tests/run"])
        .args(arguments);
    command
        .env_remove("DPAMATCH_LOG")
        .output()
        .expect("the command runs")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

fn rows<'a>(document: &'a Value, table: &str) -> &'a Vec<Value> {
    document["results"][table]
        .as_array()
        .unwrap_or_else(|| panic!("no table {table}"))
}

/// A program that hangs: rank 0 answers, rank 1 does not. Key, limit and `--attach` show it.
#[test]
fn what_waits_is_shown() {
    let folder = TempDir::new().expect("a folder");
    let out = folder.path().to_str().expect("text");
    let mut command = Command::new(DPAMATCH);
    command
        .args("run --provider tests/run --watch 1 --limit 8 --format json --out".split(' '))
        .arg(out);
    command.args(["--", "tests/run/program.sh", "hang"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !folder.path().join("stats/ready").exists() && std::time::Instant::now() < end {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let second = run(&["--out", out, "--", "true"]);
    assert_eq!(second.status.code(), Some(2));
    let errors = text(&second.stderr);
    assert!(
        errors.contains(&format!("--out {out}: another run writes there")),
        "{errors}"
    );
    let attached = dpamatch(&["run", "--attach", out, "--format", "csv"]);
    let csv = super::text(&attached).to_owned();
    let silent = "rank 1 makes no progress in MPI: it computes, sleeps or is stopped; rank 0 waits";
    assert!(csv.contains(silent), "{csv}");
    let near = "\"rank 1, tag 5, user 0: wrong tag\"";
    let row = format!("waits,,rank 0,message from,rank 1,6,user 0,1,2.5,{near},,\n");
    assert!(csv.contains(&row), "{csv}");
    let quit = Command::new("kill")
        .args(["-QUIT", &child.id().to_string()])
        .status();
    assert!(quit.expect("kill").success());
    let output = child.wait_with_output().expect("it ends");
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(124), "{errors}");
    assert_eq!(
        errors.matches(silent).count(),
        2,
        "after the key and at the limit: {errors}"
    );
    // Rank 0 answers at each look, and has got nothing since the last one.
    let looks: Vec<Vec<&str>> = errors
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for row in ["0 runs 59 0 0 1 1 0", "1 no progress 54 - - - - -"] {
        assert!(
            looks.iter().any(|look| look.join(" ") == row),
            "no {row}: {errors}"
        );
    }
    assert!(
        errors.contains("none of 2 endpoints reached MPI_Finalize"),
        "{errors}"
    );
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(rows(&document, "waits").len(), 1);
    assert_eq!(rows(&document, "unexpected")[0]["tag"], "5");
}
