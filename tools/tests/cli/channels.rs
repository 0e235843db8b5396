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

#[test]
fn the_real_engine_runs_every_policy() {
    let report = json("--only real --messages 300 --set kernel_ns=1");
    let rows = report["real"].as_array().expect("rows");
    assert_eq!(rows.len(), 4);
    for row in rows {
        let number = |name: &str| row[name].as_u64().expect("a number");
        let found = ["network", "shared", "kernel"]
            .iter()
            .map(|channel| {
                number(&format!("{channel}_polls")) - number(&format!("{channel}_empty"))
            })
            .sum::<u64>();
        assert_eq!((number("messages"), found), (600, 600), "{row}");
        assert_eq!(number("kernel_polls") - number("kernel_empty"), 6, "every fiftieth of 300");
    }
}
