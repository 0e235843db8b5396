//! The command `footprint`: the paper's numbers (O29-O31) as a user reads them.

use super::*;

fn footprint(arguments: &[&str]) -> Output {
    dpamatch(&[&["footprint"], arguments].concat())
}

fn json(arguments: &[&str]) -> Value {
    results(&footprint(&[arguments, &["--format", "json"]].concat()))
}

#[test]
fn the_sum_is_the_sum_of_the_tables() {
    let report = json(&["--handlers", "8", "--unexpected", "100", "--receives", "5"]);
    let tables = report["tables"].as_array().expect("a list of tables");
    let on_nic = tables.iter().filter(|line| line["on_nic"] == true);
    let sum: u64 = on_nic.map(|line| line["bytes"].as_u64().expect("a number")).sum();
    assert_eq!(report["nic_bytes"], sum);
}
