//! The command `compare` as a user meets it, and the numbers of the papers that it must give. Steps
//! are counted, so they are exact; no test looks at how fast anything is.

use super::*;

fn compare(arguments: &str) -> Output {
    command("compare", arguments)
}

/// Rows of the first table.
fn rows(arguments: &str) -> Vec<Value> {
    let output = compare(&format!("{arguments} --rounds 0 --format json"));
    let document: Value = serde_json::from_str(text(&output)).expect("one JSON object");
    first_rows(&document)
}

fn first_rows(document: &Value) -> Vec<Value> {
    let name = document["tables"][0]["name"].as_str().expect("a table");
    document["results"][name].as_array().expect("rows").clone()
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name} of {row}"))
}

#[test]
fn receives_from_any_source_take_the_gain_away() {
    let rows = rows("any --pending 2 --engine rank-array");
    let gains = |queue: &str| -> Vec<f64> {
        let of = |row: &&Value| row["queue"] == queue && row["engine"] == "rank-array";
        rows.iter().filter(of).map(|row| number(row, "fewer_steps_than_list")).collect()
    };
    for queue in ["PRQ", "UMQ"] {
        let gains = gains(queue);
        assert_eq!(gains.len(), 7);
        assert!(gains.windows(2).all(|pair| pair[1] < pair[0]), "{gains:?}");
        assert!(gains[0] > 20.0 && gains[6] < 1.1, "{gains:?}");
    }
}

/// Where a formula is exact, so are we; where it is an average over hash values, we
/// are near.
#[test]
fn steps_follow_the_formulas() {
    let rows = rows("complexity --engine rank-array,4d,bins,ucx,optimistic-seq");
    let mut exact = 0;
    for row in rows.iter().filter(|row| !row["ratio"].is_null()) {
        let ratio = number(row, "ratio");
        if ["list", "rank-array", "4d"].iter().any(|name| row["engine"] == *name) {
            assert_eq!(ratio, 1.0, "{row}");
            exact += 1;
        } else {
            assert!((0.95..1.05).contains(&ratio), "{row}");
        }
    }
    assert_eq!(exact, 5 + 4 + 4);
    let exponent = |engine: &str, case: &str| {
        let row =
            rows.iter().find(|row| row["engine"] == engine && row["case"] == case).expect("a row");
        number(row, "exponent")
    };
    assert_eq!(exponent("list", "PRQ, many senders, reverse"), 1.0);
    assert_eq!(exponent("rank-array", "PRQ, many senders, reverse"), 0.0);
    assert_eq!(exponent("rank-array", "PRQ, one sender, reverse"), 1.0);
}

#[test]
fn without_times_the_output_is_the_same_again() {
    let named = "depth patterns overhead --ranks 64 --engine list,4d,col-pnp,simd";
    for format in ["table", "csv", "json", "markdown"] {
        let arguments = format!("{named} --depths 1,100 --rounds 0 --format {format}");
        let first = compare(&arguments);
        assert_eq!(text(&first), text(&compare(&arguments)), "{format}");
        assert!(first.stderr.is_empty(), "no progress bar without a terminal");
    }
    let csv = compare("depth --engine bins --depths 7 --rounds 0 --format csv");
    let mut lines = text(&csv).lines();
    assert!(
        lines
            .next()
            .is_some_and(|header| header.starts_with("queue,senders,depth,engine,matches,"))
    );
    assert_eq!(
        lines.next().map(|line| line.split(',').take(5).collect::<Vec<_>>()),
        Some(vec!["PRQ", "one", "7", "list", "64"])
    );
    assert_eq!(lines.count(), 2 * 2 * 2 - 1);
}

/// The parameters k, theta and the threshold of 4D's list are those asked for.
#[test]
fn engines_can_be_told_their_parameters() {
    for row in rows("queues --ranks 64 --k 3,5") {
        assert_eq!(row["cap"].as_u64(), row["k"].as_u64().map(|k| 8 * k), "{row}");
    }
    let conversions = |arguments: &str| -> u64 {
        let rows = rows(&format!("{arguments} --ranks 64"));
        rows.iter().filter_map(|row| row["conversions"].as_u64()).sum()
    };
    for (engine, often, never) in [
        ("search --pending 10 --engine 4d", "--threshold 600", "--threshold 700"),
        ("patterns --engine ll-pnp", "--theta 20", "--theta 100000"),
    ] {
        assert!(conversions(&format!("{engine} {often}")) > 0, "{engine}");
        assert_eq!(conversions(&format!("{engine} {never}")), 0, "{engine}");
    }
}

#[test]
fn times_are_ratios_to_the_list() {
    let output = compare("depth --engine simd --depths 64 --rounds 1 --format json");
    let document: Value = serde_json::from_str(text(&output)).expect("one JSON object");
    for row in &first_rows(&document) {
        assert!(number(row, "ns_per_match") > 0.0);
        assert!(row["ns_per_match_rounds"].as_array().is_some_and(|rounds| !rounds.is_empty()));
        assert_eq!(number(row, "faster_than_list") == 1.0, row["engine"] == "list");
    }
}

#[test]
fn a_folder_gets_tables_and_figures() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("compare-out");
    let _ = std::fs::remove_dir_all(&folder);
    let path = folder.to_str().expect("a path that is text");
    let output =
        compare(&format!("depth spans --engine bins --depths 1,16 --rounds 0 --out {path}"));
    let report = text(&output);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a text file");
    assert_eq!(read("report.txt"), report);
    assert!(
        read("depth.csv").starts_with("queue,") && read("spans-example.csv").starts_with("rank,")
    );
    let figure = read("figure-depth.svg");
    for line in ["list", "bins", "PRQ, one sender", "UMQ, many senders"] {
        assert!(figure.contains(&format!(">{line}<")), "{line}");
    }
    // Two engines at two depths in four panels.
    assert_eq!(read("figure-depth.csv").lines().count(), 1 + 2 * 2 * 4);
    std::fs::remove_dir_all(&folder).expect("the folder goes away");
}

/// The same words in front, and the same name in documents.
#[test]
fn a_part_of_study_is_the_command_of_its_name() {
    for arguments in ["spans", "memory --rounds 0 --engine bins --format json"] {
        let short = command("compare", arguments);
        let long = command("study", &format!("compare {arguments}"));
        let named = |output: &Output| text(output).replace("study compare", "compare");
        assert_eq!(named(&long), named(&short));
    }
    let listed = subcommands(&help(""));
    assert!(!listed.iter().any(|name| ["compare", "cost", "channels"].contains(&name.as_str())));
}
