//! Options of the commands that run programs, compare documents, or tell what there is.

use super::*;

#[test]
fn every_option_of_footprint() {
    let rows: &[Row] = &[
        ("--bins", "", "--bins 2049", Results),
        ("--handlers", "", "--handlers 31", Results),
        ("--workers", "", "--workers 2", Results),
        ("--receives", "", "--receives 1023", Results),
        ("--communicators", "", "--communicators 15", Results),
        ("--unexpected", "", "--unexpected 4095", Results),
        ("--unexpected-buffers", "", "--unexpected-buffers 1023", Results),
        ("--eager-limit", "", "--eager-limit 4095", Results),
        ("--format", "", "--format json", Results),
    ];
    check("footprint", rows, b"");
}

#[test]
fn every_option_of_run() {
    let usual = "--provider tests/run -- tests/run/program.sh";
    let rows: &[Row] = &[
        ("--log", usual, "--log --provider tests/run -- tests/run/program.sh", Results),
        ("--provider", usual, "--provider tests -- tests/run/program.sh", Exit(2)),
        ("--format", usual, "--format csv --provider tests/run -- tests/run/program.sh", Results),
        (
            "--out",
            usual,
            "--out /dev/null/nothing --provider tests/run -- tests/run/program.sh",
            Exit(2),
        ),
        (
            "--save",
            usual,
            "--save /dev/null/nothing --provider tests/run -- tests/run/program.sh",
            Exit(2),
        ),
        ("--wide", usual, "--wide --provider tests/run -- tests/run/program.sh", Results),
        ("--limit", usual, "--limit 1 --provider tests/run -- sleep 1000", Exit(1)),
    ];
    check("run", rows, b"");
}

#[test]
fn every_option_of_diff() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("options-diff");
    std::fs::create_dir_all(&folder).expect("a folder");
    let save = |name: &str, line: &str| {
        let file = folder.join(name).to_str().expect("a plain path").to_owned();
        let line: Vec<&str> = line.split(' ').chain(["--save", &file]).collect();
        assert_eq!(dpamatch(&line, b"").status.code(), Some(0), "{line:?}");
        file
    };
    // A card whose second cache is a little slower, and one with another removal.
    let quick = "predict --threads 4 --workload nc";
    let base = save("base.json", quick);
    let slow = save("slow.json", &format!("{quick} --set memory.l2_ns=60"));
    let rate =
        "bench --scenario NC --windows 4 --rounds 9 --reps 3 --any-placement --baseline none";
    let one = save("one.json", rate);
    // Rates of two runs may be far apart on a busy machine: the second run is the first, and one
    // per cent faster.
    let two = one.replace("one.json", "two.json");
    let mut faster: Value =
        serde_json::from_slice(&std::fs::read(&one).expect("the file")).expect("a document");
    let rows = faster["results"]["rates"].as_array_mut().expect("rows");
    for rounds in rows.iter_mut().map(|row| &mut row["rate_msgs_per_s_rounds"]) {
        for round in rounds.as_array_mut().expect("rounds") {
            *round = (round.as_f64().expect("a rate") * 1.01).into();
        }
    }
    std::fs::write(&two, faster.to_string()).expect("room");
    let leak = |line: String| -> &'static str { line.leak() };
    let (same, worse) = (leak(format!("{base} {base}")), leak(format!("{base} {slow}")));
    let fine = leak(format!("{worse} --threshold 99"));
    let rates = leak(format!("{one} {two} --threshold 99 --format json"));
    let long = leak(format!("{one} {one} --all"));
    let rows: &[Row] = &[
        ("--threshold", fine, leak(format!("{worse} --threshold 0")), Exit(1)),
        (
            "--confidence",
            rates,
            leak(format!("{rates} --confidence 60")),
            Json("/results/changes/0/from_percent"),
        ),
        ("--all", same, leak(format!("{same} --all")), Results),
        // At a hundred columns the names of the rows are broken.
        ("--wide", long, leak(format!("{long} --wide")), Results),
        ("--format", same, leak(format!("{same} --format json")), Form),
    ];
    check("diff", rows, b"");
}

#[test]
fn every_option_of_engines() {
    check("engines", &[("--format", "", "--format json", Form)], b"");
}
