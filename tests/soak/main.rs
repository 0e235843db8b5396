//! Random traffic through an endpoint whose NIC runs free: every message and every match is
//! checked. Short runs are tests; variables ask for a long one, and `--nocapture` shows it:
//!
//! ```text
//! DPAMATCH_MESSAGES=100000000 cargo test --release --test soak a_soak -- --nocapture
//! ```
//!
//! `DPAMATCH_SECONDS` sets a time: a run with all its messages is followed by one under the next
//! seed, and the senders stop when the time is over. `DPAMATCH_SEED`, `DPAMATCH_SENDERS`,
//! `DPAMATCH_WORKERS`, `DPAMATCH_RECEIVES` and `DPAMATCH_UNEXPECTED` change the other settings.

mod options;
mod receiver;
mod run;
mod traffic;
mod verify;
#[path = "../watchdog/mod.rs"]
mod watchdog;

use std::time::Duration;

use dpamatch::NicConfig;

use run::{Runs, Settings, run};

/// The settings of a long run, if the environment asks for one.
fn long() -> Option<Settings> {
    let mut settings = Settings {
        shows: true,
        ..Settings::default()
    };
    let mut is_asked_for = false;
    let mut set = |name: &str, set: &mut dyn FnMut(&mut Settings, u64)| {
        if let Ok(value) = std::env::var(format!("DPAMATCH_{name}")) {
            set(&mut settings, value.parse().expect("a number"));
            is_asked_for = true;
        }
    };
    set("MESSAGES", &mut |it, messages| it.messages = messages);
    set("SECONDS", &mut |it, seconds| {
        it.time_max = Some(Duration::from_secs(seconds))
    });
    set("SEED", &mut |it, seed| it.seed = seed);
    set("SENDERS", &mut |it, senders| it.senders = senders as usize);
    set("WORKERS", &mut |it, workers| {
        it.nic.workers = workers as usize
    });
    set("RECEIVES", &mut |it, receives| {
        it.nic.receives = receives as usize
    });
    set("UNEXPECTED", &mut |it, unexpected| {
        it.nic.unexpected = unexpected as usize;
        it.nic.unexpected_buffers = it.nic.unexpected_buffers.min(it.nic.unexpected);
    });
    is_asked_for.then_some(settings)
}

#[test]
fn a_soak_finds_nothing() {
    if let Some(settings) = long() {
        let next = Some(settings);
        for report in (Runs { next }) {
            println!(
                "{report:#?}\n{:.3} million messages per second",
                report.rate_per_s() / 1e6
            );
            report.check_memory();
        }
        return;
    }
    let _dog = watchdog::on("a short soak");
    // Room for less than half of the receives, so that the fallback runs.
    let nic = NicConfig {
        receives: 100,
        ..Settings::default().nic
    };
    let settings = Settings {
        messages: 50_000,
        break_every: 2_000,
        nic,
        ..Settings::default()
    };
    let report = run(&settings);
    report.check_memory();
    assert_eq!(report.received, 50_000);
    // A break is due every 2,000 messages, and is skipped while another one waits.
    assert!(report.breaks >= 10, "{report:?}");
    assert!(
        report.log_entries > 75_000,
        "posts and arrivals: {report:?}"
    );
    for (what, count) in [
        ("truncated", report.truncated),
        ("taken", report.taken),
        ("cancelled", report.cancelled),
        (
            "matched on the NIC, posted first",
            report.counts.boundary.posts_admitted,
        ),
        (
            "matched on the NIC, unexpected",
            report.counts.boundary.posts_late,
        ),
        ("matched by software", report.software.matches),
        ("resumed", report.counts.boundary.resumed),
        ("slow path", report.counts.handlers.slow),
    ] {
        assert!(count > 0, "never happened: {what}: {report:?}");
    }
}

/// With a time, runs follow each other under the next seeds; without one, or when it is over, none
/// does.
#[test]
fn runs_follow_each_other_under_the_next_seeds() {
    let _dog = watchdog::on("soaks under three seeds");
    let settings = |time_max| Settings {
        messages: 2_000,
        seed: 40,
        time_max,
        ..Settings::default()
    };
    let hour = Duration::from_secs(3600);
    let mut runs = Runs {
        next: Some(settings(Some(hour))),
    };
    let reports: Vec<_> = runs.by_ref().take(3).collect();
    let received: Vec<_> = reports.iter().map(|report| report.received).collect();
    assert_eq!(received, [2_000; 3]);
    let next = runs.next.expect("the hour is not over");
    let elapsed = reports.iter().map(|report| report.elapsed).sum();
    assert_eq!((next.seed, next.earlier.messages), (43, 6_000));
    assert_eq!(next.earlier.elapsed, elapsed);
    assert_eq!(next.time_max, Some(hour - elapsed));
    for last in [None, Some(Duration::ZERO)] {
        let next = Some(settings(last));
        assert_eq!(Runs { next }.count(), 1, "{last:?}");
    }
}
