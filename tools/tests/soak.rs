//! Short soak runs; the example `soak` runs long ones.

#[path = "../../tests/watchdog/mod.rs"]
mod watchdog;

use std::time::{Duration, Instant};

use dpamatch::NicConfig;
use dpamatch::endpoint::Drive;
use dpamatch_tools::soak::{Fault, Settings, run};

#[test]
fn a_short_soak_finds_nothing() {
    let _dog = watchdog::on("the soak: a short soak finds nothing");
    let settings = Settings { messages: 200_000, break_every: 5_000, ..Settings::default() };
    let report = run(&settings, &mut |_| ()).unwrap_or_else(|fault| panic!("{fault}"));
    report.check_memory().unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(report.received, 200_000);
    assert!(report.breaks >= 20, "{report:?}");
    assert!(report.log_entries > 300_000, "posts and arrivals: {report:?}");
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
    let _dog = watchdog::on("the soak: time ends a soak");
    let settings = Settings {
        time_max: Some(Duration::from_millis(300)),
        drive: Drive::Caller,
        ..Settings::default()
    };
    let started = Instant::now();
    let report = run(&settings, &mut |_| ()).unwrap_or_else(|fault| panic!("{fault}"));
    assert!(report.received > 0 && report.received < settings.messages, "{report:?}");
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn impossible_settings_are_refused() {
    let _dog = watchdog::on("the soak: impossible settings are refused");
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
