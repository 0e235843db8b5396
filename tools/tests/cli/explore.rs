//! What `explore` says of schedules that it did not run, or not to their end.

use std::fs;

use super::*;

/// The schedules of this example without a preemption, which run first, and those with at most one.
const SCHEDULES: [u64; 2] = [2, 80];

fn explored(most: u64) -> Output {
    let line = format!("--example x5 --handlers 3 --bound 1 --schedules {most}");
    command("explore", &line)
}

#[test]
fn every_schedule_is_said_only_of_all() {
    let [first, second] = SCHEDULES;
    let all = first + second;
    for (most, last, is_cut) in [
        (
            all - 1,
            "79 schedules gave the oracle's result; more were left out",
            true,
        ),
        (
            all,
            "every schedule with at most 1 preemption gave the oracle's result",
            false,
        ),
        (
            all + 1,
            "every schedule with at most 1 preemption gave the oracle's result",
            false,
        ),
    ] {
        let output = explored(most);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(text(&output).lines().last(), Some(last), "{most}");
        let line = format!("--example x5 --handlers 3 --bound 1 --schedules {most} --format json");
        let results = results(&command("explore", &line));
        assert_eq!(results["cut_short"], is_cut, "{most}");
        assert_eq!(results["schedules"], (most - first).min(second), "{most}");
        assert_eq!(results["stopped"], 0);
    }
}

/// A maximum between two bounds of preemptions: the first bound is whole, and the second is not.
#[test]
fn the_end_of_a_bound_of_preemptions_is_not_the_end() {
    let [first, _] = SCHEDULES;
    for (most, by_bound) in [
        (first - 1, "more were left out"),
        (first, "all there are"),
        (first + 1, "all there are"),
    ] {
        let output = explored(most);
        let shown = text(&output);
        let line = shown
            .lines()
            .find(|line| line.contains("with at most 0 preemptions"));
        assert!(line.expect("a line").ends_with(by_bound), "{most}: {shown}");
        let last = shown.lines().last().expect("a line");
        assert!(last.ends_with("; more were left out"), "{most}: {last}");
    }
}

/// A bound of steps is no verdict on the rules.
#[test]
fn a_schedule_that_is_stopped_has_no_verdict() {
    let folder = folder("explore-stopped");
    let stream = folder.path().join("stream");
    fs::write(&stream, "post,1,3000,0,5\narrive,9,3000,0,5\n").expect("a file");
    let stream = stream.to_str().expect("UTF-8");
    let output = dpamatch(&["explore", "--schedules", "2", stream]);
    assert_eq!(output.status.code(), Some(4));
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        shown.lines().last(),
        Some("no verdict: 2 of 2 schedules were stopped after 202000 steps")
    );
    assert_eq!(
        said(&output),
        "dpamatch: no verdict: no schedule ran to its end, or a bound of steps ended one\n"
    );
    let output = dpamatch(&["explore", "--schedules", "2", "--format", "json", stream]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let results = &document["results"];
    assert_eq!(results["stopped"], 2);
    assert_eq!(results["steps_max"], 202_000);
    assert_eq!(results["violations"], 0);
    assert_eq!(results["violation"], Value::Null);
}

/// Nothing that did not run is right.
#[test]
fn no_schedule_has_no_verdict() {
    let output = command("explore", "--example x5 --schedules 0");
    assert_eq!(output.status.code(), Some(4));
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        shown.lines().last(),
        Some("no verdict: no schedule was run")
    );
}

/// The seed after the last number is 0, so no schedule is left out.
#[test]
fn seeds_wrap() {
    let last = u64::MAX;
    let run = |words: &str| results(&command("explore", &format!("{words} --format json")));
    let run = |seed: u64, count: u64| {
        run(&format!("--example x5 --seed {seed} --schedules {count}"))["paths"].clone()
    };
    let paths = |found: &[Value]| {
        let mut sums = std::collections::BTreeMap::new();
        for path in found
            .iter()
            .flat_map(|found| found.as_array().expect("a list"))
        {
            let name = path["path"].as_str().expect("a name").to_owned();
            *sums.entry(name).or_insert(0) += path["schedules"].as_u64().expect("a count");
        }
        sums
    };
    let wrapped = paths(&[run(last, 40)]);
    assert_eq!(wrapped.values().sum::<u64>(), 40);
    assert_eq!(wrapped, paths(&[run(last, 1), run(0, 39)]));
}
