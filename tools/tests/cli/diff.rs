//! The command `diff` as a user meets it, and `analyze --against`.

use serde_json::json;

use super::*;

fn folder(name: &str) -> PathBuf {
    super::folder(&format!("diff-{name}"))
}

fn run(folder: &Path, line: &str) -> Output {
    let _dog = watchdog::on("`dpamatch` to end");
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/traces");
    let word = |word: &str| match word.strip_prefix('$') {
        Some(name) => traces.join(format!("{name}/{name}.dumpi.tar.xz")),
        None => PathBuf::from(word),
    };
    let mut command = Command::new(DPAMATCH);
    command.current_dir(folder).args(line.split_whitespace().map(word));
    command.output().expect("the program runs")
}

fn text(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A document of the bench with these rates of one scenario, by round, and placement.
fn rates(folder: &Path, name: &str, placement: &str, rounds: &[f64]) {
    let row = |engine: &str, rounds: &[f64]| {
        json!({
            "engine": engine, "handlers": 32, "scenario": "NC", "calibrated": false, "window": 100,
            "size_bytes": 8, "placement": placement, "rate_msgs_per_s": rounds[rounds.len() / 2],
            "rate_msgs_per_s_rounds": rounds,
        })
    };
    let keys =
        ["placement", "engine", "handlers", "scenario", "calibrated", "window", "size_bytes"];
    let document = json!({
        "schema": "dpamatch-results-1", "command": "bench", "command_line": "dpamatch bench",
        "options": { "seed": 1 }, "seed": 1, "version": "0.1.0", "commit": null, "modified": false,
        "machine": { "cpu_model": "Abacus", "processors": 2, "kernel": "wood" },
        "tables": [{
            "name": "rates", "title": "", "notes": [], "keys": keys,
            "figures": [{ "name": "rate_msgs_per_s", "better": "higher" }],
        }],
        "results": { "rates": [row("optimistic", rounds), row("bins", &[5.0, 5.1, 5.2, 5.3, 5.4])] },
    });
    std::fs::write(folder.join(name), document.to_string()).expect("written");
}

const ROUNDS: [f64; 5] = [30e6, 31e6, 32e6, 33e6, 34e6];

#[test]
fn what_moved_is_told_with_its_interval_and_an_exit_code() {
    let folder = folder("rates");
    rates(&folder, "before", "near", &ROUNDS);
    rates(&folder, "worse", "near", &ROUNDS.map(|rate| rate / 2.0));
    rates(&folder, "better", "near", &ROUNDS.map(|rate| rate * 2.0));
    rates(&folder, "few", "near", &ROUNDS[..2]);
    let (code, out, err) = text(&run(&folder, "diff before worse --wide"));
    assert_eq!(code, Some(1), "{out}{err}");
    assert_eq!(err, "dpamatch: 1 of 2 figures are worse by more than 5 %\n");
    assert!(out.starts_with("2 figures compared: 1 worse, 1 no change.\n"), "{out}");
    let row = out.lines().find(|line| line.starts_with("worse")).expect("a row");
    let of = "rates: near, optimistic, handlers 32, NC, window 100, size bytes 8";
    assert!(row.contains("-50.0") && row.ends_with(of), "{row}");
    assert!(out.contains("1 of 2 figures with intervals moved; by chance alone about 0.1 would"));

    assert_eq!(run(&folder, "diff before worse --threshold 60").status.code(), Some(0));
    let (code, out, _) = text(&run(&folder, "diff before better"));
    assert_eq!((code, out.contains("1 better, 1 no change")), (Some(0), true), "{out}");
    let (code, out, _) = text(&run(&folder, "diff before before"));
    assert_eq!(code, Some(0));
    assert!(out.starts_with("No change: 2 figures compared.\n"), "{out}");
    let (code, out, _) = text(&run(&folder, "diff before few"));
    assert_eq!(code, Some(0));
    assert!(out.contains("1 unclear") && out.contains("unclear: too few rounds"), "{out}");

    // Programs get all figures.
    let (_, out, _) = text(&run(&folder, "diff before worse --format json"));
    let document: Value = serde_json::from_str(&out).expect("JSON");
    let changes = document["results"]["changes"].as_array().expect("rows");
    assert_eq!((changes.len(), &changes[1]["verdict"]), (2, &json!("no change")));
    let (from, to) = (&changes[0]["from_percent"], &changes[0]["to_percent"]);
    assert!(from.as_f64() < Some(-50.0) && to.as_f64() > Some(-50.0), "{from} {to}");
    assert_eq!(document["results"]["worse_beyond_threshold"], 1);
    let (_, out, _) = text(&run(&folder, "diff before worse --format csv"));
    assert_eq!(out.lines().count(), 3, "{out}");
}

#[test]
fn only_equal_placements_are_compared() {
    let folder = folder("placements");
    rates(&folder, "near", "near", &ROUNDS);
    rates(&folder, "far", "far", &ROUNDS.map(|rate| rate / 3.0));
    let (code, out, err) = text(&run(&folder, "diff near far"));
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("there is no row that both have"), "{err}");
}

/// What is computed is the same or it is not; the options that differ are told.
#[test]
fn predictions_and_comparisons_are_compared() {
    let folder = folder("counted");
    let predict = "predict --threads 8 --workload nc,wc-fp";
    run(&folder, &format!("{predict} --save one"));
    run(&folder, &format!("{predict} --seed 2 --save two"));
    run(&folder, &format!("{predict} --set memory.l2_ns=200 --save slow"));
    let (code, out, _) = text(&run(&folder, "diff one two"));
    assert_eq!(code, Some(0));
    assert!(out.starts_with("No change: ") && out.contains("seed: 1, then 2"), "{out}");
    let (code, out, err) = text(&run(&folder, "diff one slow"));
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("set: [], then [\"memory.l2_ns=200\"]"), "{out}");
    assert!(err.contains("worse by more than 5 %"), "{err}");
    let (code, out, _) = text(&run(&folder, "diff slow one"));
    assert_eq!(code, Some(0), "{out}");

    let compare = "compare search --ranks 16 --pending 2 --engine";
    run(&folder, &format!("{compare} bins --rounds 4 --save timed"));
    run(&folder, &format!("{compare} bins,simd --rounds 0 --save counted"));
    // Steps are compared, times only where both have them.
    let (code, out, _) = text(&run(&folder, "diff timed counted --format json"));
    assert_eq!(code, Some(0));
    let document: Value = serde_json::from_str(&out).expect("JSON");
    let changes = document["results"]["changes"].as_array().expect("rows");
    assert!(changes.len() > 10 && changes.iter().all(|change| change["verdict"] == "no change"));
    assert!(document["results"]["rows_only_after"].as_u64() > Some(0));
    let (_, out, _) = text(&run(&folder, "diff timed timed --all"));
    assert!(out.contains("ns_per_match"), "{out}");
}

#[test]
fn analyses_are_compared() {
    let folder = folder("analyses");
    let line = "analyze $edge-4-openmpi --sweep 4 --bins 1,32";
    run(&folder, &format!("{line} --save one"));
    run(&folder, &format!("{line} --order posts-first --save two"));
    let (code, out, _) = text(&run(&folder, "diff one one"));
    assert_eq!(code, Some(0));
    assert!(out.starts_with("No change: "), "{out}");
    let (_, out, _) = text(&run(&folder, "diff one two --wide"));
    assert!(out.contains("order: causal, then posts-first"), "{out}");
    let row = out.lines().find(|line| line.contains(" unexpected_percent ")).expect("a row");
    assert!(row.ends_with("edge-4-openmpi") && row.starts_with("changed"), "{row}");
}

/// Two MPI libraries ran the same program.
#[test]
fn two_runs_stand_side_by_side() {
    let folder = folder("against");
    let line = "analyze $edge-4-mpich --sweep 4 --against";
    let (code, out, err) = text(&run(&folder, &format!("{line} $edge-4-openmpi")));
    assert_eq!(code, Some(0), "{err}");
    let title = out.strip_prefix("edge-4-mpich and edge-4-openmpi differ in ");
    let (differ, rest) = title.and_then(|title| title.split_once(" of ")).expect(&out);
    let (all, rest) = rest.split_once(" figures\n").expect("how many were compared");
    let numbers = [differ, all].map(|number| number.parse::<usize>().expect("a number"));
    // Notes, and the rest of a row with a long name, stand further right.
    let shown = rest.lines().skip(1).filter(|line| !line.starts_with(' ')).count();
    assert!(numbers[0] == shown && numbers[1] > shown, "{numbers:?}, {shown} shown: {out}");
    assert!(!out.contains("rows of one run only"), "{out}");
    for name in ["edge-4-mpich", "edge-4-openmpi"] {
        assert!(out.contains(&format!("offload {name}: ")), "{out}");
    }
    let (_, out, _) = text(&run(&folder, &format!("{line} $edge-4-openmpi --format json")));
    let document: Value = serde_json::from_str(&out).expect("JSON");
    let results = &document["results"];
    let calls = results["applications"].as_array().expect("rows");
    let of = |row: usize, name: &str| calls[row][name].as_f64().expect("a number");
    let differences = results["differences"].as_array().expect("rows");
    // The figures are those of the two reports, and what differs is what is told to differ.
    for row in differences.iter().filter(|row| row["of"] == "applications") {
        let name = row["figure"].as_str().expect("a name");
        assert_eq!((&row["first"], &row["second"]), (&json!(of(0, name)), &json!(of(1, name))));
        assert_eq!(row["differs"], of(0, name) != of(1, name), "{row}");
    }
    let slow = differences.iter().find(|row| row["of"] == "paths" && row["figure"] == "slow");
    let slow = slow.expect("a row");
    let paths = results["paths"].as_array().expect("rows");
    assert_eq!((&slow["first"], &slow["differs"]), (&json!(2.0), &json!(true)));
    assert_eq!(slow["second"].as_f64(), paths[1]["slow"].as_f64(), "{slow}");
    let named = |name: &str| differences.iter().any(|row| row["figure"] == name);
    for name in ["calls", "messages", "posted_max", "unexpected_percent", "wildcards_percent"] {
        assert!(named(name), "{name}");
    }
    assert_eq!(results["offload"][1]["application"], "edge-4-openmpi");
    assert!(results["offload"][1]["advice"]["verdict"]["answer"].is_string());

    let (_, out, _) = text(&run(&folder, &format!("{line} $edge-4-mpich")));
    assert!(out.starts_with("edge-4-mpich (1) and edge-4-mpich (2) do not differ: "), "{out}");
    let two = "analyze $edge-4-mpich $edge-4-mpich --against $edge-4-openmpi";
    let (code, _, err) = text(&run(&folder, two));
    assert_eq!((code, err.as_str()), (Some(2), "dpamatch: --against goes with one trace\n"));
}
