//! The command `channels` as a user meets it.

use super::*;

fn channels(arguments: &str) -> Output {
    command("channels", arguments)
}

fn json(arguments: &str) -> Value {
    results(&channels(&format!("{arguments} --format json")))
}

#[test]
fn our_policy_is_never_far_behind_the_best_published_one() {
    let report = json("--only never-worse --bursts 1,2,3,5,10,50,200");
    let rows = report["never_worse"].as_array().expect("rows");
    // Six kinds of lengths, six gaps, four policies.
    assert_eq!(rows.len(), 6 * 6 * 4);
    let worst = |policy: &str| {
        let rows = rows.iter().filter(|row| row["policy"] == policy);
        rows.map(|row| row["worst_to_best"].as_f64().expect("a ratio")).fold(0.0, f64::max)
    };
    assert!(worst("run-length") <= 1.05, "{}", worst("run-length"));
    // None of the others could say so.
    for policy in ["round-robin", "static:50", "dynamic:10"] {
        assert!(worst(policy) > 1.2, "{policy}: {}", worst(policy));
    }
}
