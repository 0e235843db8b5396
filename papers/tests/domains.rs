//! The tables of docs/domains.md are what the predictor says.

use std::path::Path;

use dpamatch_papers::domains::{PageTable, predicted, recorded};

const REBUILD: &str = "cargo run -p dpamatch_papers --example domains -- TRACE..";

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/domains.md");
    std::fs::read_to_string(path).expect("the page")
}

#[test]
fn tables_of_workloads_are_predicted() {
    let page = page();
    for table in predicted().expect("predictions") {
        let shown = PageTable::on(&page, &table.name);
        let shown = shown.unwrap_or_else(|| panic!("no table {}", table.name));
        assert_eq!(shown, table, "write them again: {REBUILD}");
    }
}

/// Of the recorded programs the repository has two.
#[test]
fn rows_of_programs_in_the_repository_are_predicted() {
    let shown = PageTable::on(&page(), "programs").expect("a table");
    let traces = [
        "../tests/data/traces/lulesh-27",
        "../tests/data/traces/minife-16",
    ];
    let table = recorded(&traces).expect("predictions");
    for line in table.text.lines() {
        assert!(
            shown.text.lines().any(|row| row == line),
            "docs/domains.md has no row\n{line}\nwrite it again: {REBUILD}"
        );
    }
}
