use super::*;

fn single() -> Report {
    let mut nic = row(NIC, "NC", 1, &[2.0, 2.5, 3.0]);
    for (round, sample) in nic.samples.iter_mut().enumerate() {
        let times: Vec<f64> =
            (1..=1000).map(|time| f64::from(time) + 100.0 * round as f64).collect();
        sample.latencies = Some(dpamatch_tools::bench::Latencies::of(&times));
    }
    report(vec![nic])
}

#[test]
fn latencies_are_told_in_every_form() {
    let report = single();
    let parts = Part::of(&report);
    let table = latencies::table(&report).expect("there are some");
    assert_eq!(table.columns[5..], ["p50", "p90", "p99", "p99.9", "p99.99", "max"]);
    let shown = |cell: &dpamatch_tools::table::Cell| match cell {
        dpamatch_tools::table::Cell::Count(count) => Some(*count),
        _ => None,
    };
    let cells: Vec<_> = table.rows[0][4..].iter().map(shown).collect();
    // 3,000 messages have no sample beyond 99.99 %.
    assert_eq!((cells[0], cells[1], cells[5]), (Some(3000), Some(600), None));
    let near =
        |cell: Option<u64>, exact: f64| (cell.expect("told") as f64 / exact - 1.0).abs() < 2e-3;
    assert!(
        near(cells[2], 1000.0) && near(cells[3], 1170.0) && near(cells[6], 1200.0),
        "{cells:?}"
    );
    let mut csv = Vec::new();
    machine_readable::csv(&mut csv, &parts, None).expect("written");
    let csv = String::from_utf8(csv).expect("text");
    let fields: Vec<&str> = csv.lines().nth(1).expect("a row").split(',').collect();
    assert_eq!((fields[17], fields[21]), ("600", ""));
    let results = machine_readable::results(&report, &parts, &header(false));
    let row = &results["rates"][0];
    assert_eq!((&row["latency_p50_ns"], &row["latency_messages"]), (&json!(600), &json!(3000)));
    assert_eq!(row["latency_p50_ns_rounds"], json!([500, 600, 700]));
    assert_eq!(row["latency_p99_99_ns"], Value::Null);
    assert!(latencies::table(&everything()).is_none(), "windows of many messages have none");
}
