//! The command `channels` as a user meets it.

use super::*;

fn channels(arguments: &str) -> Output {
    command("channels", arguments)
}

fn json(arguments: &str) -> Value {
    results(&channels(&format!("{arguments} --format json")))
}

#[test]
fn the_same_arguments_give_the_same_bytes_and_figures() {
    let read = |name: &str| {
        let folder = folder(name);
        let output = channels(&format!(
            "--bursts 1,10,100 --pairs 20 --kind constant,geometric,switching --out {}",
            folder.to_str().expect("a plain path")
        ));
        assert!(output.status.success(), "{}", said(&output));
        let names = [
            "latency-ratio.svg",
            "message-discovery.svg",
            "ways-by-length.svg",
            "discovery.csv",
            "latency.csv",
            "thresholds.csv",
            "ways.csv",
            "ways-by-length.csv",
        ];
        (output.stdout, names.map(|name| std::fs::read(folder.join(name)).expect("a file")))
    };
    let (first, second) = (read("channels-a"), read("channels-b"));
    assert_eq!(first, second);
    let file = |at: usize| String::from_utf8_lossy(&first.1[at]);
    assert!(file(1).contains("run-length"), "every policy has a line");
    assert!(file(5).starts_with("criterion,from,to,"), "a table is not a figure's: {}", file(5));
    // Of the ways between two processes every latency is drawn, and the overlap of three lengths.
    let (table, figure) = (file(6), file(7));
    let (mut latencies, mut overlaps) = (0, 0);
    for row in table.lines().skip(1) {
        let [bytes, way, us, _, overlap] = row.split(',').collect::<Vec<_>>()[..] else {
            panic!("five columns: {row}")
        };
        let drawn = |panel: &str, value: &str| {
            let point = format!("{panel},{way},{bytes},");
            let mut points = figure.lines().filter_map(|line| line.strip_prefix(&point));
            points.next().is_some_and(|y| {
                let number = |text: &str| text.parse::<f64>().expect("a number");
                assert!((number(y) / number(value) - 1.0).abs() < 1e-9, "{point}{y}: {row}");
                true
            })
        };
        latencies += usize::from(drawn("latency", us));
        overlaps += usize::from(drawn("\"overlap metric, 1 is best\"", overlap));
    }
    assert_eq!((latencies, overlaps), (table.lines().count() - 1, 3 * 3), "{table}{figure}");
}

#[test]
fn a_row_names_the_lengths_that_were_asked_for() {
    let kinds = ["constant", "uniform", "geometric", "heavy-tailed", "in-turn", "switching"];
    for kind in kinds {
        let report = json(&format!("--only discovery --bursts 2 --pairs 2 --kind {kind}"));
        let rows = report["discovery"].as_array().expect("rows");
        assert!(!rows.is_empty() && rows.iter().all(|row| row["kind"] == kind), "{report}");
        // A few messages, between which round-robin seldom polls in vain.
        let row = rows.iter().find(|row| row["policy"] == "round-robin").expect("a row");
        let empty = row["empty_per_message"].as_f64().expect("a number");
        assert!((0.1..20.0).contains(&empty), "{row}");
        // Times are told against round-robin's and the best of the published policies'.
        let of = |row: &Value, name: &str| row[name].as_f64().expect("a number");
        let published = ["round-robin", "static:50", "dynamic:10"].map(|policy| {
            let row = rows.iter().find(|row| row["policy"] == policy).expect("a row");
            of(row, "mean_ns")
        });
        let best = published.into_iter().fold(f64::INFINITY, f64::min);
        for row in rows {
            for (name, base) in [("to_round_robin", published[0]), ("to_best", best)] {
                let expected = of(row, "mean_ns") / base;
                assert!((of(row, name) - expected).abs() < 1e-9, "{name}: {row}");
            }
        }
    }
}

/// What changes is told against the first policy, message length by message length.
#[test]
fn latencies_change_by_what_they_say() {
    let folder = folder("channels-latency");
    let report = json(&format!("--only latency --out {}", folder.to_str().expect("a plain path")));
    let figure = std::fs::read_to_string(folder.join("latency-ratio.csv")).expect("a figure");
    let rows = report["latency"].as_array().expect("rows");
    let of = |row: &Value, name: &str| row[name].as_f64().expect("a number");
    // The figure has microseconds over the ratio, and what was published as a change of its first.
    let drawn = |row: &Value, series: &str, us: f64| {
        let ratio = row["policy"].as_str().and_then(|policy| policy.strip_prefix("static:"))?;
        let point = format!("{} bytes,\"{series}\",{ratio},", row["bytes"]);
        let point = if series.contains(',') { point } else { point.replace('"', "") };
        let y = figure.lines().find_map(|line| line.strip_prefix(&point)).expect(&point);
        let y: f64 = y.parse().expect("a number");
        assert!((y / us - 1.0).abs() < 1e-9, "{point}{y} is not {us}");
        Some(())
    };
    let (mut changed, mut points) = (0, 0);
    for row in rows {
        for (time, series) in [
            ("shared_ns", "shared memory"),
            ("network_ns", "network"),
            ("network_alone_ns", "network, one process a node"),
        ] {
            points += usize::from(drawn(row, series, of(row, time) / 1e3).is_some());
        }
        if let Some(change) = row["published_shared"].as_f64() {
            let first = rows.iter().find(|first| first["bytes"] == row["bytes"]).expect("itself");
            let us = of(first, "shared_ns") / 1e3 * (1.0 + change);
            drawn(row, "shared memory, published change", us).expect("a static ratio");
        }
        let first = rows.iter().find(|first| first["bytes"] == row["bytes"]).expect("itself");
        let parts = [
            ("shared_ns", "shared_change"),
            ("network_ns", "network_change"),
            ("network_alone_ns", "alone_change"),
        ];
        for (time, change) in parts {
            let expected = of(row, time) / of(first, time) - 1.0;
            assert!((of(row, change) - expected).abs() < 1e-9, "{change}: {row}");
            changed += usize::from(expected.abs() > 0.001);
        }
    }
    assert!(changed > 10 && points > 20, "{report}");
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

/// Published: static ratio 50 leaves the network unharmed, 1000 does not. Ours: so it is
/// between processes that are alone on their nodes.
#[test]
fn a_process_alone_on_its_node_is_not_harmed_by_a_ratio_of_50() {
    let report = json("--only latency");
    let rows = report["latency"].as_array().expect("rows");
    let change = |policy: &str, name: &str| {
        let row =
            rows.iter().find(|row| row["policy"] == policy && row["bytes"] == 4).expect("a row");
        row[name].as_f64().expect("a change")
    };
    assert!(
        change("static:50", "alone_change") < 0.03 && change("static:1000", "alone_change") > 0.3
    );
    assert!(change("static:50", "network_change") > 0.2);
}

#[test]
fn thresholds_follow_the_costs() {
    let from = |arguments: &str| {
        json(&format!("--only thresholds {arguments}"))["thresholds"][0]["from_bytes"].clone()
    };
    assert_eq!(from(""), 4096);
    assert!(from("--set kernel_start_ns=20000").as_u64() > Some(4096));
    assert_eq!(from("--set kernel_start_ns=1000000 --set copy_bytes_per_us=1000000"), Value::Null);
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
