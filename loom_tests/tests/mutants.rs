//! The table of seeded faults names each fault exactly once.
#![cfg(dpamatch_loom)]

use dpa_model::Fault;

#[test]
fn every_fault_has_its_line() {
    let table: Vec<&str> = include_str!("../mutants.toml")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let elsewhere = dpamatch_door::FAULTS.iter().map(|&fault| fault.to_owned());
    let faults: Vec<String> = Fault::ALL
        .iter()
        .map(|fault| format!("{fault:?}"))
        .chain(elsewhere)
        .collect();
    assert_eq!(table, faults);
    assert!(faults.len() >= 25);
}
