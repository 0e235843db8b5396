//! The command `bench` as a user meets it: forms of the output, wrong arguments. No test looks at
//! how fast anything is.

use std::time::Duration;

use super::*;

/// However the processors moved and whoever used them, every measurement is shown or counted.
#[test]
fn no_measurement_is_lost_among_the_placements() {
    for more in ["--keep disturbed", "--keep disturbed,placements"] {
        let line = format!("--scenario NC --windows 4 --reps 3 --rounds 2 --format json {more}");
        let report = results(&command("bench", &line));
        let rows = report["rates"].as_array().expect("rows").iter();
        let rounds = rows.map(|row| row["samples"].as_array().map_or(0, Vec::len));
        let count = |value: &serde_json::Value| value.as_u64().expect("a count");
        assert_eq!(rounds.sum::<usize>() as u64, count(&report["measurements"]));
        let left_out = ["disturbed", "elsewhere", "moved"].map(|why| &report["left_out"][why]);
        // Both ways to match on the NIC, no matching and the bins, twice each.
        let all = count(&report["measurements"]) + left_out.map(count).iter().sum::<u64>();
        assert_eq!(all, 8, "{report}");
        assert_eq!(count(&report["windows"]["measured"]), 24);
    }
}

/// Beside as many busy programs as there are processors, twice, no rate is believed that they
/// spoiled: some windows are dropped, or the command refuses.
#[test]
#[cfg(target_os = "linux")]
fn beside_busy_programs_windows_are_dropped() {
    use std::sync::atomic::{AtomicBool, Ordering};

    let done = AtomicBool::new(false);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let output = std::thread::scope(|scope| {
        for _ in 0..2 * processors {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let line = "--scenario NC --windows 1024 --rounds 3 --baseline none --format json";
        let output = command("bench", line);
        done.store(true, Ordering::Relaxed);
        output
    });
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(2) {
        assert!(
            said.starts_with("dpamatch: cannot measure here: other programs used"),
            "{said}"
        );
        return;
    }
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains(" dropped: other programs used the processors"),
        "{said}"
    );
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let report = &document["results"];
    assert!(
        report["windows"]["preempted"].as_u64() > Some(0),
        "{report}"
    );
    // The rest is what two threads with their processors do: nothing waits for a time slice, which
    // takes milliseconds.
    for row in report["rates"].as_array().expect("rows") {
        let rate = row["rate_msgs_per_s"].as_f64().expect("a rate");
        assert!(rate > 1e6, "{row}");
    }
}

/// What a command prints, and how it ends, if Ctrl-C comes some seconds after it can keep results.
#[cfg(target_os = "linux")]
fn interrupted(words: &str, seconds: u64) -> Output {
    let arguments: Vec<&str> = words.split(' ').collect();
    let mut command = Command::new(programs::of(&arguments));
    command
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    let status = format!("/proc/{}/status", child.id());
    let catches = || {
        let status = std::fs::read_to_string(&status).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .is_some_and(|mask| mask >> 1 & 1 == 1)
    };
    while !catches() {
        let ended = child.try_wait().expect("its status");
        assert_eq!(ended, None, "{words}: it ended early");
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_secs(seconds));
    let kill = Command::new("kill")
        .args(["-2", &child.id().to_string()])
        .status();
    assert!(
        kill.expect("kill runs").success(),
        "{words}: it ended early"
    );
    child.wait_with_output().expect("it ends")
}

#[test]
#[cfg(target_os = "linux")]
fn an_interrupt_keeps_what_is_measured() {
    for (words, kept) in [
        (
            "bench --scenario NC --windows 16 --baseline none --rounds 1000 --budget 20 --keep disturbed",
            " of 2000 measurements",
        ),
        ("compare spans search --rounds 100", "1 of 2 experiments"),
        (
            "channels --only overhead,never-worse --rounds 100000",
            "1 of 2 parts",
        ),
        (
            "predict --handlers 1-190 --windows 0",
            " of 760 predictions",
        ),
        ("cost", " of 4 parts"),
        ("explore --example x5 --schedules 100000000", " schedules"),
        (
            &format!(
                "analyze {}",
                ["../tests/data/traces/lulesh-27"; 99].join(" ")
            ),
            " of 99 traces",
        ),
    ] {
        // A slow machine may not have measured anything yet.
        let mut outputs = [1, 4, 16]
            .into_iter()
            .map(|seconds| interrupted(words, seconds));
        let output = outputs
            .find(|output| !output.stdout.is_empty())
            .expect("a table");
        assert_eq!(
            output.status.code(),
            Some(130),
            "{words}: {}",
            said(&output)
        );
        assert!(
            said(&output).ends_with(&format!("{}: interrupted\n", name(words))),
            "{words}: {}",
            said(&output)
        );
        let table = String::from_utf8_lossy(&output.stdout);
        let mark = table
            .lines()
            .find(|line| line.contains("PARTIAL: interrupted after "));
        assert!(
            mark.is_some_and(|line| line.ends_with(kept)),
            "{words}: {table}"
        );
        assert!(table.lines().count() > 4, "{words}: {table}");
    }
}
