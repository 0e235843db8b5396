//! Short soak runs; the example `soak` runs long ones.

#[path = "../../tests/watchdog/mod.rs"]
mod watchdog;

use std::time::Duration;

use dpamatch::NicConfig;
use dpamatch::endpoint::Drive;
use dpamatch_tools::soak::{Fault, Settings, run};

#[test]
fn a_short_soak_finds_nothing() {
    let _dog = watchdog::on("the soak: a short soak finds nothing");
    // Room for less than half of the receives that may be posted, so that software has to help.
    let nic = NicConfig { receives: 100, ..Settings::default().nic };
    let settings = Settings { messages: 50_000, break_every: 2_000, nic, ..Settings::default() };
    let report = run(&settings, &mut |_| ()).unwrap_or_else(|fault| panic!("{fault}"));
    report.check_memory().unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(report.received, 50_000);
    // A break is due every 2,000 messages; one that comes while another waits is left out.
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
    let _dog = watchdog::on("the soak: time ends a soak");
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
