//! Random traffic through an endpoint whose NIC runs free: every message and every match is
//! checked. Short runs are tests; variables ask for a long one, and `--nocapture` shows it:
//!
//! ```text
//! DPAMATCH_MESSAGES=100000000 cargo test --release --test soak a_soak -- --nocapture
//! ```
//!
//! `DPAMATCH_SECONDS` stops the senders after a time. `DPAMATCH_SEED`, `DPAMATCH_SENDERS`,
//! `DPAMATCH_WORKERS`, `DPAMATCH_RECEIVES` and `DPAMATCH_UNEXPECTED` change the other settings.

mod border;
mod fault;
mod memory;
mod options;
mod receiver;
mod run;
mod traffic;
mod verify;
#[path = "../watchdog/mod.rs"]
mod watchdog;

use std::time::Duration;

use dpamatch::NicConfig;
use dpamatch::endpoint::Drive;

use fault::Fault;
use run::{Progress, Settings, run};

/// The settings of a long run, if the environment asks for one.
fn long() -> Option<Settings> {
    let mut settings = Settings::default();
    let mut is_asked_for = false;
    let mut set = |name: &str, set: &mut dyn FnMut(&mut Settings, u64)| {
        if let Ok(value) = std::env::var(format!("DPAMATCH_{name}")) {
            set(&mut settings, value.parse().expect("a number"));
            is_asked_for = true;
        }
    };
    set("MESSAGES", &mut |it, messages| it.messages = messages);
    set("SECONDS", &mut |it, seconds| it.time_max = Some(Duration::from_secs(seconds)));
    set("SEED", &mut |it, seed| it.seed = seed);
    set("SENDERS", &mut |it, senders| it.senders = senders as usize);
    set("WORKERS", &mut |it, workers| it.nic.workers = workers as usize);
    set("RECEIVES", &mut |it, receives| it.nic.receives = receives as usize);
    set("UNEXPECTED", &mut |it, unexpected| {
        it.nic.unexpected = unexpected as usize;
        it.nic.unexpected_buffers = it.nic.unexpected_buffers.min(it.nic.unexpected);
    });
    is_asked_for.then_some(settings)
}

fn show(progress: &Progress) {
    let seconds = progress.elapsed.as_secs_f64();
    let rate = progress.received as f64 / seconds / 1e6;
    let memory = progress.memory_bytes.map_or(0, |bytes| bytes >> 20);
    eprintln!("{seconds:7.0} s  {:12} messages  {rate:.2} M/s, {memory} MiB", progress.received);
}

#[test]
fn a_soak_finds_nothing() {
    if let Some(settings) = long() {
        let report = run(&settings, &mut show).unwrap_or_else(|fault| panic!("{fault}"));
        println!("{report:#?}\n{:.3} million messages per second", report.rate_per_s() / 1e6);
        report.check_memory().unwrap_or_else(|fault| panic!("{fault}"));
        return;
    }
    let _dog = watchdog::on("a short soak");
    // Room for less than half of the receives, so that the fallback runs.
    let nic = NicConfig { receives: 100, ..Settings::default().nic };
    let settings = Settings { messages: 50_000, break_every: 2_000, nic, ..Settings::default() };
    let report = run(&settings, &mut |_| ()).unwrap_or_else(|fault| panic!("{fault}"));
    report.check_memory().unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(report.received, 50_000);
    // A break is due every 2,000 messages, and is skipped while another one waits.
    assert!(report.breaks >= 10, "{report:?}");
    assert!(report.log_entries > 75_000, "posts and arrivals: {report:?}");
    for (what, count) in [
        ("truncated", report.truncated),
        ("taken", report.taken),
        ("cancelled", report.cancelled),
        ("matched on the NIC, posted first", report.counts.boundary.posts_admitted),
        ("matched on the NIC, unexpected", report.counts.boundary.posts_late),
        ("matched by software", report.software.matches),
        ("resumed", report.counts.boundary.resumed),
        ("slow path", report.counts.handlers.slow),
    ] {
        assert!(count > 0, "never happened: {what}: {report:?}");
    }
}

#[test]
fn time_ends_a_soak() {
    let _dog = watchdog::on("a soak of 300 ms");
    let settings = Settings {
        time_max: Some(Duration::from_millis(300)),
        drive: Drive::Caller,
        ..Settings::default()
    };
    let report = run(&settings, &mut |_| ()).unwrap_or_else(|fault| panic!("{fault}"));
    assert!(report.received < settings.messages, "{report:?}");
}

#[test]
fn impossible_settings_are_refused() {
    let _dog = watchdog::on("the answer to impossible settings");
    let nic = NicConfig { handlers: 0, ..NicConfig::default() };
    for settings in [
        Settings { senders: 0, ..Settings::default() },
        Settings { window: 0, ..Settings::default() },
        Settings { receives_max: 0, ..Settings::default() },
        Settings { nic, ..Settings::default() },
    ] {
        assert!(matches!(
            run(&settings, &mut |_| ()),
            Err(Fault::Settings(_) | Fault::Endpoint(_))
        ));
    }
}
