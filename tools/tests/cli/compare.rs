//! The command `compare` as a user meets it. `shown/compare.rs` has its counts; no test
//! looks at how fast anything is.

use super::*;

#[test]
fn times_are_ratios_to_the_list() {
    let output = command(
        "compare",
        "depth --engine simd --depths 64 --rounds 1 --format json",
    );
    let rows = results(&output)["depth"].as_array().expect("rows").clone();
    assert_eq!(rows.len(), 2 * 2 * 2);
    for row in &rows {
        assert!(row["ns_per_match"].as_f64() > Some(0.0));
        assert!(
            row["ns_per_match_rounds"]
                .as_array()
                .is_some_and(|rounds| !rounds.is_empty())
        );
        assert_eq!(row["faster_than_list"] == 1.0, row["engine"] == "list");
    }
}
