//! Tables, CSV, JSON and figures of a hand-made report. No number equals another or its inverse.

use dpamatch::registry::EngineOptions;
use dpamatch_tools::bench::{Distance, Paths, Placement, Row, Sample};
use serde_json::{Value, json};

use super::*;

mod of_figures;
mod of_single_messages;

const NIC: Peer = Peer::Nic { handlers: 32 };
const NUMBER: &str = env!("CARGO_PKG_VERSION");

/// A row with these rates in million messages per second, by round.
fn row(peer: Peer, scenario: &str, window: usize, mega: &[f64]) -> Row {
    let sample = |round: usize| Sample {
        time_ns: Summary { median: 7.0, min: 6.0, max: 9.0, count: 11 },
        post_ns: [3.0, 1.0, 2.25][round],
        admit_ns: 0.5,
        receive_ns: [9.0, 7.5, 6.0][round],
        checked: 100,
        pinned: true,
        paths: matches!(peer, Peer::Nic { .. }).then_some(Paths {
            per_block: [31.0, 30.0, 29.0][round],
            clean: 0.4,
            fast: [0.5, 0.25, 0.3][round],
            slow: 0.125,
            unexpected: 0.0625,
            software: 0.0,
            software_posts: 0.0,
        }),
        sizes: None,
        steps_per_message: None,
        latencies: None,
    };
    Row {
        point: Point { peer, scenario: scenario.parse().expect("a scenario"), window, size: 8 },
        calibrated: false,
        rates: mega.iter().map(|mega| Some(mega * 1e6)).collect(),
        samples: (0..mega.len()).map(sample).collect(),
        placements: vec![Some(NEAR); mega.len()],
    }
}

const NEAR: Placement = Placement { distance: Distance::Near, slowed: false };
const FAR: Placement = Placement { distance: Distance::Far, slowed: true };

/// The calibrated row; a rate of 0 stands for a round without result.
fn calibrated(peer: Peer, scenario: &str, mega: &[f64]) -> Row {
    let rates = mega.iter().map(|&mega| (mega > 0.0).then_some(mega * 1e6)).collect();
    let placements = vec![Some(NEAR); mega.len()];
    Row {
        calibrated: true,
        rates,
        samples: Vec::new(),
        placements,
        ..row(peer, scenario, 128, &[])
    }
}

fn report(rows: Vec<Row>) -> Report {
    Report { rows, hand_over_ns: vec![80.0, 100.0, 97.0] }
}

/// The NIC and all other receivers. Ratios by round: to no-matching 0.5, 0.25, 0.5; to bins 2, 4,
/// 2; to the list 4, 8, 6; to memcpy 0.2, 0.25, 0.25; to UCX 0.1, 0.2, 0.15.
fn everything() -> Report {
    report(vec![
        row(NIC, "NC", 100, &[20.0, 40.0, 30.0]),
        row(Peer::NoMatching, "NC", 100, &[40.0, 160.0, 60.0]),
        row(Peer::Bins, "NC", 100, &[10.0, 10.0, 15.0]),
        row(Peer::List, "NC", 100, &[5.0, 5.0, 5.0]),
        row(Peer::Copy, "NC", 100, &[100.0, 160.0, 120.0]),
        row(Peer::Ucx, "NC", 100, &[200.0, 200.0, 200.0]),
        row(Peer::Nic { handlers: 4 }, "NC", 100, &[8.0]),
        calibrated(NIC, "NC", &[50.0, 0.0, 40.0]),
        calibrated(Peer::Bins, "NC", &[25.0, 1.0, 16.0]),
        calibrated(Peer::NoMatching, "NC", &[0.0]),
    ])
}

fn header(threads: bool) -> Header {
    let nic = EngineOptions { threads, ..EngineOptions::default() };
    let machine = Machine {
        cpu: "Abacus".to_owned(),
        processors: 3,
        kernel: "wood".to_owned(),
        load: "0.5".to_owned(),
        pair: "processors 0 and 2".to_owned(),
    };
    let budget = Duration::from_millis(50);
    Header {
        machine,
        command: "dpamatch bench --seed 9".to_owned(),
        settings: Settings {
            nic,
            grow: Grow::ALL,
            like_card: false,
            repetitions: 321,
            repetitions_single: 4321,
            budget,
            seed: 9,
            ucx: None,
            look: true,
        },
        rounds: 6,
        warnings: Vec::new(),
        seconds: 1.25,
        clock: None,
    }
}

fn cells(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

fn overview_cell(table: &str, begin: [&str; 3], column: &str) -> String {
    let mut lines = table.lines().skip(1);
    let names = cells(lines.next().expect("the headings"));
    let at = names.iter().position(|name| *name == column).expect("a column");
    let row = lines.map(cells).find(|cells| cells[..3] == begin).expect("a row");
    row[at].to_owned()
}

#[test]
fn csv_has_the_rates_and_the_ratio_to_the_bins_of_the_same_round() {
    let mut csv = Vec::new();
    machine_readable::csv(&mut csv, &Part::of(&everything()), None).expect("written");
    let row = |engine: &str, rest: &str| {
        let (name, handlers) = engine.split_once('/').unwrap_or((engine, ""));
        // The shares of software are 0 of a NIC that was measured, and none elsewhere.
        let measured = !handlers.is_empty() && !rest.contains("CAL");
        let share = if measured { "0.000,0.000" } else { "," };
        format!("{name},{handlers},{NUMBER},{rest},,{share},,,,,")
    };
    let expected = [
        "engine,handlers,version,scenario,window,size_bytes,rate_msgs_per_s,rate_min_msgs_per_s,rate_max_msgs_per_s,rounds,post_ns,receive_ns,to_bins,placement,nic_receives,software,software_posts,latency_p50_ns,latency_p90_ns,latency_p99_ns,latency_p99_9_ns,latency_p99_99_ns",
        &row("optimistic/32", "NC,100,8,30000000,20000000,40000000,3,2.2,7.5,2.000,near"),
        &row("no-matching", "NC,100,8,60000000,40000000,160000000,3,2.2,7.5,4.000,near"),
        &row("bins", "NC,100,8,10000000,10000000,15000000,3,2.2,7.5,1.000,near"),
        &row("list", "NC,100,8,5000000,5000000,5000000,3,2.2,7.5,0.500,near"),
        &row("memcpy", "NC,100,8,120000000,100000000,160000000,3,2.2,7.5,10.000,near"),
        &row("ucx", "NC,100,8,200000000,200000000,200000000,3,2.2,7.5,20.000,near"),
        &row("optimistic/4", "NC,100,8,8000000,8000000,8000000,1,3.0,9.0,0.800,near"),
        &row("optimistic/32", "NC-CAL,128,8,45000000,40000000,50000000,2,0.0,0.0,2.250,near"),
        &row("bins", "NC-CAL,128,8,16000000,1000000,25000000,3,0.0,0.0,1.000,near"),
        "",
    ];
    assert_eq!(String::from_utf8(csv).expect("text"), expected.join("\n"));
}

/// Two rounds near, three far, each with distinct rates and ratios.
fn moved() -> Report {
    let mut nic = row(NIC, "NC", 100, &[20.0, 40.0, 1.0]);
    nic.placements = vec![Some(NEAR), Some(FAR), None];
    let mut none = row(Peer::NoMatching, "NC", 100, &[40.0, 50.0, 100.0]);
    none.placements = vec![Some(NEAR), Some(FAR), Some(FAR)];
    report(vec![nic, none])
}

#[test]
fn placements_are_told_apart_in_every_form() {
    let report = moved();
    let parts = Part::of(&report);
    let headings: Vec<String> = parts.iter().map(|part| part.heading(&report)).collect();
    let expected = [
        "Placement far, slowed: 3 of 6 measurements",
        "Placement near: 2 of 6 measurements",
        "Placement moving: 1 of 6 measurements",
    ];
    assert_eq!(headings, expected);
    let cell = |part: &Part, column| {
        overview_cell(
            &tables::overview(&part.report, NIC, false, usize::MAX),
            ["NC", "32", "100"],
            column,
        )
    };
    let told = |part| ["rate", "n", "none", "/none"].map(|column| cell(part, column));
    assert_eq!(told(&parts[0]), ["40.00", "1", "75.00", "0.80"]);
    assert_eq!(told(&parts[1]), ["20.00", "1", "40.00", "0.50"]);
    let mut csv = Vec::new();
    machine_readable::csv(&mut csv, &parts, None).expect("written");
    let csv = String::from_utf8(csv).expect("text");
    let rates: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let rates: Vec<_> = rates.iter().map(|row| (row[0], row[6], row[9], row[13])).collect();
    let expected = [
        ("optimistic", "40000000", "1", "far-slowed"),
        ("no-matching", "75000000", "2", "far-slowed"),
        ("optimistic", "20000000", "1", "near"),
        ("no-matching", "40000000", "1", "near"),
        ("optimistic", "1000000", "1", "moving"),
    ];
    assert_eq!(rates, expected);
    let results = machine_readable::results(&report, &parts, &header(false));
    let placements = json!([
        { "placement": "far-slowed", "measurements": 3 },
        { "placement": "near", "measurements": 2 },
        { "placement": "moving", "measurements": 1 },
    ]);
    assert_eq!(results["placements"], placements);
    let ratio = |row: usize| {
        let row = &results["rates"][row];
        (row["placement"].clone(), row["to_no_matching"].clone())
    };
    assert_eq!(ratio(0), (json!("far-slowed"), json!(0.8)));
    assert_eq!(ratio(2), (json!("near"), json!(0.5)));
}

/// If the placement is unknown or always changed, all rounds form one part.
#[test]
fn without_placements_there_is_one_part() {
    let mut report = moved();
    report.rows.iter_mut().for_each(|row| row.placements = vec![None; 3]);
    let parts = Part::of(&report);
    assert_eq!(parts.len(), 1);
    assert_eq!(parts[0].heading(&report), "Placement moving: 6 of 6 measurements");
    assert_eq!(parts[0].report, report);
    let whole = Part::whole(&moved());
    assert_eq!(whole.heading(&moved()), "Placement any: 6 of 6 measurements");
    assert_eq!(whole.report, moved());
}

#[test]
fn processors_must_be_two_that_may_be_used() {
    let refused = |given: &[usize]| cpus::stay_on(given).expect_err("refused").to_string();
    assert!(refused(&[100_000, 0]).starts_with("--cpus: 100000 may not be used; allowed: "));
    let first = processors::allowed()[0];
    assert_eq!(refused(&[first]), "--cpus: sender and receiver need two processors");
}

#[test]
fn json_has_a_ratio_to_each_of_the_others() {
    let parts = Part::of(&everything());
    let json = Value::Object(machine_readable::results(&everything(), &parts, &header(false)));
    assert_eq!(
        [&json["rounds"], &json["repetitions"], &json["time_s"], &json["load_average"]],
        [&json!(6), &json!(321), &json!(1.25), &json!("0.5")]
    );
    assert_eq!(json["hand_over_ns"], json!([80.0, 100.0, 97.0]));
    assert_eq!(json["payloads_checked"], 19 * 100);
    assert_eq!(json["runner"], "the receiving thread runs the NIC");
    assert_eq!(json["ucx_version"], Value::Null);
    let nic = EngineOptions::default().nic;
    let said = json!({
        "handlers": nic.handlers,
        "workers": nic.workers,
        "slice_min": nic.slice_min,
        "bins": nic.bins,
        "grow": {
            "bins": true, "receives": true, "unexpected": true, "unexpected_buffers": true,
            "communicators": true
        },
        "like_card": false,
        "receives": nic.receives,
        "communicators": nic.communicators,
        "unexpected_messages": nic.unexpected,
        "unexpected_buffers": nic.unexpected_buffers,
        "eager_limit": nic.eager_limit,
        "fast_path": "Sequence",
        "early_check": false,
        "removal": "Lazy",
        "domains": "Paper",
        "hashes": "Trust",
        "inline_hashes": true,
        "hints": [],
    });
    assert_eq!(json["nic"], said);
    let results = json["rates"].as_array().expect("results");
    let first = &results[0];
    let expected = json!({
        "placement": "near",
        "engine": "optimistic",
        "handlers": 32,
        "scenario": "NC",
        "calibrated": false,
        "window": 100,
        "size_bytes": 8,
        "nic": null,
        "software": 0.0,
        "software_posts": 0.0,
        "rate_msgs_per_s": 30e6,
        "rate_min_msgs_per_s": 20e6,
        "rate_max_msgs_per_s": 40e6,
        "rate_msgs_per_s_rounds": [20e6, 40e6, 30e6],
        "post_ns": 2.25,
        "post_ns_rounds": [3.0, 1.0, 2.25],
        "receive_ns": 7.5,
        "receive_ns_rounds": [9.0, 7.5, 6.0],
        "to_endpoint": null,
        "to_list": 6.0,
        "to_no_matching": 0.5,
        "to_memcpy": 0.25,
        "to_bins": 2.0,
        "to_ucx": 0.15,
        "samples": first["samples"],
    });
    assert_eq!(first, &expected);
    assert_eq!(first["samples"].as_array().map(Vec::len), Some(3));
    let second = json!({
        "time_ns": { "median": 7.0, "min": 6.0, "max": 9.0, "count": 11 },
        "post_ns": 1.0,
        "admit_ns": 0.5,
        "receive_ns": 7.5,
        "checked": 100,
        "pinned": true,
        "paths": {
            "per_block": 30.0, "clean": 0.4, "fast": 0.25, "slow": 0.125, "unexpected": 0.0625,
            "software": 0.0, "software_posts": 0.0
        },
        "sizes": null,
        "steps_per_message": null,
    });
    assert_eq!(first["samples"][1], second);
    assert_eq!(
        (&results[1]["engine"], &results[1]["handlers"]),
        (&json!("no-matching"), &json!(null))
    );
    assert_eq!((&results[7]["calibrated"], &results[7]["to_bins"]), (&json!(true), &json!(2.25)));
    assert_eq!(header(true).runner(), "1 worker threads");
}

#[test]
fn the_overview_names_every_ratio() {
    let table = tables::overview(&everything(), NIC, false, usize::MAX);
    let nc = ["NC", "32", "100"];
    let expected = [
        ("bytes", "8"),
        ("rate", "30.00"),
        ("min", "20.00"),
        ("max", "40.00"),
        ("n", "3"),
        ("none", "60.00"),
        ("bins", "10.00"),
        ("/none", "0.50"),
        ("/bins", "2.00"),
        ("post ns", "2.2"),
        ("per block", "30.00"),
        ("fast", "0.30"),
        ("slow", "0.12"),
        ("list", "5.00"),
        ("memcpy", "120.00"),
        ("/memcpy", "0.25"),
        ("ucx", "200.00"),
        ("/ucx", "0.15"),
    ];
    for (column, value) in expected {
        assert_eq!(overview_cell(&table, nc, column), value, "{column}\n{table}");
    }
    assert_eq!(overview_cell(&table, ["NC", "4", "100"], "rate"), "8.00");
    assert_eq!(overview_cell(&table, ["NC", "32", "cal"], "rate"), "45.00");
    assert_eq!(table.lines().count(), 2 + 3, "{table}");
    let own = tables::overview(&everything(), NIC, true, usize::MAX);
    assert_eq!(own.lines().count(), 2 + 2, "{own}");
    let alone = tables::overview(&report(vec![row(NIC, "WC", 1, &[0.05])]), NIC, false, usize::MAX);
    let wc = ["WC", "32", "1"];
    assert_eq!(overview_cell(&alone, wc, "rate"), "0.0500");
    for missing in ["none", "bins", "/none", "/bins"] {
        assert_eq!(overview_cell(&alone, wc, missing), "-");
    }
    assert!(!["list", "memcpy", "ucx"].iter().any(|name| alone.contains(name)), "{alone}");
}

fn sweep() -> Report {
    let peer = |handlers| Peer::Nic { handlers };
    report(vec![
        calibrated(peer(4), "NC", &[20.0]),
        calibrated(peer(4), "WC-FP", &[15.0]),
        calibrated(peer(4), "WC-SP", &[12.0]),
        calibrated(peer(2), "NC", &[10.0]),
        calibrated(peer(2), "WC-FP", &[5.0]),
        calibrated(peer(2), "WC-SP", &[4.0]),
        calibrated(Peer::NoMatching, "NC", &[40.0]),
        calibrated(Peer::Bins, "NC", &[30.0]),
        row(peer(4), "NC", 128, &[99.0]),
    ])
}

#[test]
fn the_papers_table_stands_beside_the_own_rates() {
    let table = tables::paper(&sweep(), &[2, 4, 64], Some(8), usize::MAX);
    let lines: Vec<Vec<&str>> = table.lines().map(cells).collect();
    assert_eq!(
        lines[2].join(" "),
        "2 10.00 5.00 4.00 0.25 0.50 0.40 | 1.00 0.90 0.82 0.08 0.90 0.82"
    );
    assert_eq!(
        lines[3].join(" "),
        "4 20.00 15.00 12.00 0.50 0.75 0.60 | 1.96 1.65 1.08 0.15 0.84 0.55"
    );
    assert_eq!(lines[4].join(" "), "64 - - - - - - |");
    assert_eq!(lines[5], ["no matching on this wire: 40.00"]);
    assert_eq!(lines[6], ["sequential bins, NC: 30.00"]);
    assert_eq!(lines[7], ["the paper's RDMA without matching: 12.67; its MPI on the host: 7.78"]);
    assert!(lines[8].concat().starts_with("On the card each handler is a thread"), "{lines:?}");
}

#[test]
fn the_lines_above_the_tables_say_how_it_was_measured() {
    let text = header(false).text(&everything());
    let expected = format!(
        "dpamatch {VERSION} on Abacus, 3 processors, wood, load 0.5; processors 0 and 2\n\
         dpamatch bench --seed 9\n\
         cache-line round trip: 97 ns (80 to 100)\n\
         6 rounds of up to 321 repetitions, the receiving thread runs the NIC, seed 9; \
         1900 payloads checked; 1.2 s"
    );
    assert_eq!(text, expected);
}

#[test]
fn a_recorded_sequence_has_a_row_for_each_engine() {
    let events = "post,0,0,*,1\narrive,0,0,3,1\narrive,1,0,3,1\n";
    let events = dpamatch::stream::Reader::new(events.as_bytes());
    let recorded =
        dpamatch_tools::bench::Recorded::new(events.map(|event| event.expect("a good line")), 24);
    let load = recorded::Load { rank: 5, recorded: &recorded, size: 24, rounds: 7 };
    let rate = Summary { median: 2e6, min: 1e6, max: 4e6, count: 7 };
    let mut counts = dpa_model::Counts::default();
    counts.handlers.messages = 80;
    counts.boundary.blocks = 32;
    counts.handlers.clean = 40;
    counts.handlers.fast = 20;
    counts.handlers.slow = 12;
    counts.handlers.unexpected = 8;
    let rows = [
        dpamatch_tools::bench::RecordedRow {
            engine: "optimistic",
            rate,
            rates: vec![1e6, 2e6, 4e6],
            matched: 6,
            counts: Some(counts),
        },
        dpamatch_tools::bench::RecordedRow {
            engine: "bins",
            rate,
            rates: Vec::new(),
            matched: 9,
            counts: None,
        },
    ];
    let table = recorded::table(&load, &rows, usize::MAX);
    let lines: Vec<Vec<&str>> = table.lines().map(cells).collect();
    assert_eq!(lines[1], ["rank 5: 2 messages of 24 bytes in 3 events, 7 rounds"]);
    assert_eq!(
        lines[3].join(" "),
        "optimistic 2.000 1.000 4.000 6 2.50 50.0 % 25.0 % 15.0 % 10.0 %"
    );
    assert_eq!(lines[4].join(" "), "bins 2.000 1.000 4.000 9");
    let mut csv = Vec::new();
    recorded::csv(&mut csv, &load, &rows).expect("written");
    let expected = "rank,messages,events,size_bytes,engine,rate_msgs_per_s,rate_min_msgs_per_s,rate_max_msgs_per_s,pairs\n\
                    5,2,3,24,optimistic,2000000,1000000,4000000,6\n\
                    5,2,3,24,bins,2000000,1000000,4000000,9\n";
    assert_eq!(String::from_utf8(csv).expect("text"), expected);
    let row = |engine: &str, pairs: u64, paths: Value, rates: &[f64]| {
        json!({
            "engine": engine, "rate_msgs_per_s": 2e6, "rate_min_msgs_per_s": 1e6,
            "rate_max_msgs_per_s": 4e6, "rate_msgs_per_s_rounds": rates, "pairs": pairs,
            "paths": paths,
        })
    };
    let paths = json!({
        "per_block": 2.5, "clean": 0.5, "fast": 0.25, "slow": 0.15, "unexpected": 0.1,
        "software": 0.0, "software_posts": 0.0
    });
    let expected = json!({
        "rank": 5, "messages": 2, "events": 3, "size_bytes": 24, "rounds": 7,
        "rates": [
            row("optimistic", 6, paths, &[1e6, 2e6, 4e6]), row("bins", 9, Value::Null, &[]),
        ],
    });
    assert_eq!(Value::Object(recorded::results(&load, &rows)), expected);
}

fn points(arguments: &str) -> Vec<String> {
    #[derive(clap::Parser)]
    struct Alone {
        #[command(flatten)]
        args: Args,
    }
    let words = ["bench"].into_iter().chain(arguments.split_whitespace());
    let alone = <Alone as clap::Parser>::parse_from(words);
    let points = alone.args.points().expect("known scenarios");
    points.iter().map(Point::to_string).collect()
}

#[test]
fn the_points_are_those_asked_for() {
    assert_eq!(
        points("--scenario WC,MIX --wild 10 --late 20 --windows 3,4 --sizes 8,9 --baseline bins")
            .join("; "),
        "optimistic (32 handlers), WC, window 3, 8 bytes; optimistic (32 handlers), WC, window 3, 9 bytes; \
         bins, WC, window 3, 8 bytes; bins, WC, window 3, 9 bytes; \
         optimistic (32 handlers), WC, window 4, 8 bytes; optimistic (32 handlers), WC, window 4, 9 bytes; \
         bins, WC, window 4, 8 bytes; bins, WC, window 4, 9 bytes; \
         optimistic (32 handlers), MIX-10-0-20, window 3, 8 bytes; \
         optimistic (32 handlers), MIX-10-0-20, window 3, 9 bytes; \
         bins, MIX-10-0-20, window 3, 8 bytes; bins, MIX-10-0-20, window 3, 9 bytes; \
         optimistic (32 handlers), MIX-10-0-20, window 4, 8 bytes; \
         optimistic (32 handlers), MIX-10-0-20, window 4, 9 bytes; \
         bins, MIX-10-0-20, window 4, 8 bytes; bins, MIX-10-0-20, window 4, 9 bytes"
    );
    assert_eq!(
        points("--scenario WC --windows 5 --sweep 2,3 --baseline no-matching,memcpy,list")
            .join("; "),
        "optimistic (2 handlers), WC, window 5, 8 bytes; optimistic (3 handlers), WC, window 5, 8 bytes; \
         no-matching, NC, window 5, 8 bytes; memcpy, NC, window 5, 8 bytes; \
         list, WC, window 5, 8 bytes"
    );
    assert_eq!(
        points("--sweep 4 --windows 1 --baseline none --peers").join("; "),
        "optimistic (4 handlers), NC, window 1, 8 bytes; ucx, NC, window 1, 8 bytes; \
         optimistic (4 handlers), WC-FP, window 1, 8 bytes; ucx, WC-FP, window 1, 8 bytes; \
         optimistic (4 handlers), WC-SP, window 1, 8 bytes; ucx, WC-SP, window 1, 8 bytes"
    );
    assert_eq!(
        points("--scenario NC --handlers 7 --windows 2 --baseline none"),
        ["optimistic (7 handlers), NC, window 2, 8 bytes"]
    );
}

#[test]
fn without_arguments_the_papers_figure_and_an_overview_are_measured() {
    let usual = points("");
    for handlers in PAPER_SWEEP {
        for scenario in PAPER {
            for window in CALIBRATION {
                let point = format!(
                    "optimistic ({handlers} handlers), {scenario}, window {window}, 8 bytes"
                );
                assert!(usual.contains(&point), "{point}");
            }
        }
    }
    for (scenario, window) in OVERVIEW {
        for peer in ["optimistic (32 handlers)", "bins"] {
            let point = format!("{peer}, {scenario}, window {window}, 8 bytes");
            assert!(usual.contains(&point), "{point}");
        }
    }
    let all = points("--scenario all --baseline none");
    let names = Scenario::all();
    for scenario in names {
        for window in scenario.usual_windows() {
            let point = format!("optimistic (32 handlers), {scenario}, window {window}, 8 bytes");
            assert!(all.contains(&point), "{point}");
        }
    }
    let figures = points("--out folder --windows 1");
    for depth in figures::DEPTHS {
        for peer in ["optimistic (32 handlers)", "bins", "list"] {
            let point = format!("{peer}, WDEPTH-{depth}, window 100, 8 bytes");
            assert!(figures.contains(&point), "{point}");
        }
    }
}
