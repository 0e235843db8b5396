//! The command `bench` as a user meets it: forms of the output, wrong arguments. No test looks at
//! how fast anything is.

use super::*;

/// Columns of the CSV form.
const COLUMNS: &str = "engine,handlers,version,scenario,window,size_bytes,rate_msgs_per_s,rate_min_msgs_per_s,rate_max_msgs_per_s,rounds,post_ns,receive_ns,to_bins,placement,nic_receives,software,software_posts,latency_p50_ns,latency_p90_ns,latency_p99_ns,latency_p99_9_ns,latency_p99_99_ns";

fn bench(arguments: &str) -> Output {
    command("bench", &format!("--reps 3 --rounds 1 --any-placement {arguments}"))
}

fn json(arguments: &str) -> Value {
    results(&bench(&format!("{arguments} --format json")))
}

#[test]
fn csv_has_a_row_for_each_engine() {
    let output = bench("--scenario NC,UNEXP --windows 16 --format csv");
    let mut lines = text(&output).lines();
    assert_eq!(lines.next(), Some(COLUMNS));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let names: Vec<[&str; 2]> = rows.iter().map(|row| [row[0], row[3]]).collect();
    let [nic, none, bins] = ["optimistic", "no-matching", "bins"];
    assert_eq!(names, [[nic, "NC"], [none, "NC"], [bins, "NC"], [nic, "UNEXP"], [bins, "UNEXP"]]);
    for row in &rows {
        assert_eq!(row.len(), COLUMNS.split(',').count());
        assert_eq!([row[2], row[4], row[5], row[9]], [env!("CARGO_PKG_VERSION"), "16", "8", "1"]);
        assert_eq!(row[1], if row[0] == nic { "32" } else { "" });
        let number = |i: usize| row[i].parse::<f64>().expect("a number");
        assert!(number(6) > 0.0 && number(7) <= number(6) && number(6) <= number(8));
        assert!(number(10) >= 0.0);
        assert_eq!(number(11) > 0.0, row[3] == "UNEXP", "only unexpected windows have it");
        assert!(number(12) > 0.0);
        assert_eq!(row[13], "any");
        // The NIC has its usual room, and nothing goes to software.
        let room = if row[0] == nic { ["1024", "0.000", "0.000"] } else { [""; 3] };
        assert_eq!(row[14..17], room);
        assert!(row[17..].iter().all(|field| field.is_empty()), "no single messages");
    }
    assert_eq!(rows[2][12], "1.000", "the sequential engine compared with itself");
    // One round: the ratio is that of the two rates beside it, which are rounded.
    for (own, bins) in [(0, 2), (1, 2), (3, 4)] {
        let rate = |row: usize| rows[row][6].parse::<f64>().expect("a rate");
        let shown = rows[own][12].parse::<f64>().expect("a ratio");
        // On a busy machine the rates are so low that their rounding shows.
        let ratio = rate(own) / rate(bins);
        let rounding = 5e-4 + ratio * (0.5 / rate(own) + 0.5 / rate(bins));
        assert!((shown - ratio).abs() <= 1.1 * rounding, "{rows:?}");
    }
}

/// Windows of a point that were measured in each round.
fn windows_made(options: &str) -> Vec<Vec<u64>> {
    let usual = "--scenario NC --windows 4 --any-placement --format json";
    let report = results(&command("bench", &format!("{usual} {options}")));
    let results = report["rates"].as_array().expect("results").iter();
    let rounds = results.map(|result| result["samples"].as_array().expect("rounds"));
    let count = |round: &Value| round["time_ns"]["count"].as_u64().expect("a number");
    rounds.map(|rounds| rounds.iter().map(count).collect()).collect()
}

#[test]
fn rounds_repetitions_and_budget_are_those_asked_for() {
    let made = windows_made("--rounds 2 --reps 13 --budget 1000000 --baseline memcpy,bins");
    assert_eq!(made, [[13; 2]; 3]);
    // Ten windows are made even if there is no time for them.
    assert_eq!(windows_made("--rounds 1 --reps 100 --budget 0 --baseline memcpy"), [[10]; 2]);
}

#[test]
fn json_says_what_was_measured_and_where() {
    let report = json("--scenario WC --windows 64 --sweep 4,64 --seed 9 --fast-path off --bins 64");
    assert_eq!(report["nic"]["bins"], 64);
    let results = report["rates"].as_array().expect("results");
    let handlers: Vec<u64> =
        results.iter().filter_map(|result| result["handlers"].as_u64()).collect();
    assert_eq!(handlers, [4, 64]);
    for result in results.iter().filter(|result| !result["handlers"].is_null()) {
        let paths = &result["samples"][0]["paths"];
        assert!(paths["per_block"].as_f64() >= Some(1.0));
        assert_eq!(paths["fast"], 0.0, "the fast path is off");
        assert!(result["to_no_matching"].as_f64() > Some(0.0));
    }
}

/// However the processors moved, every measurement stands in one part of the report.
#[test]
fn no_measurement_is_lost_among_the_placements() {
    let line = "--scenario NC --windows 4 --reps 3 --rounds 2 --format json";
    let report = results(&command("bench", line));
    let rows = report["rates"].as_array().expect("rows").iter();
    let rounds = rows.map(|row| row["samples"].as_array().map_or(0, Vec::len));
    // The NIC, no matching and the bins, twice each.
    assert_eq!(rounds.sum::<usize>(), 6, "{report}");
}

#[test]
fn a_folder_gets_the_results_and_the_figures_they_suffice_for() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-out");
    let _ = std::fs::remove_dir_all(&folder);
    let arguments = format!(
        "--windows 1,128 --sweep 1,2 --out {}",
        folder.to_str().expect("a path that is text")
    );
    text(&bench(&arguments));
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a text file");
    assert!(read("results.csv").starts_with(COLUMNS));
    assert!(serde_json::from_str::<Value>(&read("results.json")).is_ok());
    // The calibrated rate has no value if a window of 128 was not slower than one of 1, so only
    // the panels of plain windows are sure to have all lines.
    let figure = read("handlers.svg");
    for line in ["NC", "WC-FP", "WC-SP", "no-matching", "bins"] {
        assert!(figure.contains(&format!(">{line}<")), "{line}");
    }
    let numbers = read("handlers.csv");
    for window in ["window 1,", "window 128,"] {
        // Three scenarios and two limits at two numbers of handlers.
        let of_window = numbers.lines().filter(|line| line.starts_with(window));
        assert_eq!(of_window.count(), 5 * 2, "{window}: {numbers}");
    }
    std::fs::remove_dir_all(&folder).expect("the folder goes away");
}
