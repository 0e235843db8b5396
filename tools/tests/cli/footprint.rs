//! The command `footprint`: the paper's numbers (O29-O31) as a user reads them.

use super::*;

fn footprint(arguments: &[&str]) -> Output {
    dpamatch(&[&["footprint"], arguments].concat())
}

fn json(arguments: &[&str]) -> Value {
    results(&footprint(&[arguments, &["--format", "json"]].concat()))
}

/// Bytes of a table, by its name.
fn table(report: &Value, what: &str) -> u64 {
    let tables = report["tables"].as_array().expect("a list of tables");
    let line = tables
        .iter()
        .find(|line| line["what"] == what)
        .unwrap_or_else(|| panic!("no table {what}"));
    line["bytes"].as_u64().expect("a number")
}

#[test]
fn the_example_of_the_paper() {
    // O29: 3 x 128 bins x 20 bytes = 7,680; 8,192 receives x 64 bytes = 524,288; printed as "about
    // 520 KiB".
    let report = json(&["--bins", "128", "--receives", "8192"]);
    assert_eq!(report["paper_bytes"], 7_680 + 524_288);
    assert_eq!(table(&report, "receive descriptors"), 524_288);
}

#[test]
fn the_prototype_of_the_paper() {
    // O30: 3 x 2,048 bins x 20 bytes = 122,880, and 1,024 descriptors of 64 bytes.
    let report = json(&[]);
    assert_eq!(report["paper_bytes"], 122_880 + 65_536);
    let real = footprint(&["--communicators", "1"]);
    // The list I3 is one more bin (O31).
    assert!(text(&real).contains(&format!("{:>10} x {:>5} = {:>12} bytes", 6_145, 20, 122_900)));
}

#[test]
fn the_formula_is_a_line_of_its_own() {
    let output = footprint(&["--bins", "128", "--receives", "8192"]);
    let first = text(&output).lines().next();
    let formula = "3 x 128 bins x 20 + 8192 receives x 64 = 531968 bytes (519.5 KiB)";
    assert_eq!(first, Some(&*format!("paper's formula, one communicator: {formula}")));
}

#[test]
fn the_sum_is_the_sum_of_the_tables() {
    let report = json(&["--handlers", "8", "--unexpected", "100", "--receives", "5"]);
    let tables = report["tables"].as_array().expect("a list of tables");
    let on_nic = tables.iter().filter(|line| line["on_nic"] == true);
    let sum: u64 = on_nic.map(|line| line["bytes"].as_u64().expect("a number")).sum();
    assert_eq!(report["nic_bytes"], sum);
}
