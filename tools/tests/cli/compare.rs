//! The command `compare` as a user meets it. `tables/shown/compare.txt` has its counts; no test
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

/// Shares the leading words of the command line and the name in documents.
#[test]
fn a_part_of_study_is_the_command_of_its_name() {
    for arguments in ["spans", "memory --rounds 0 --engine bins --format json"] {
        let short = command("compare", arguments);
        let long = command("study", &format!("compare {arguments}"));
        let named = |output: &Output| text(output).replace("study compare", "compare");
        assert_eq!(named(&long), named(&short));
    }
    let listed = subcommands(&help(""));
    assert!(
        !listed
            .iter()
            .any(|name| ["compare", "cost", "channels"].contains(&name.as_str()))
    );
}
