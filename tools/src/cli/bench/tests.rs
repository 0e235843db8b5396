//! Tables, CSV, JSON and figures of hand-made reports. No number equals another or its inverse.

use dpamatch::registry::EngineOptions;
use dpamatch_needs::digests;
use dpamatch_tools::bench::{Distance, Paths, Placement, PointRow, Sample, Windows};
use expect_test::{Expect, expect, expect_file};

use super::*;

const NIC: Peer = Peer::optimistic(32);

/// A row with these rates in million messages per second, by round.
fn row(peer: Peer, scenario: &str, window: usize, mega: &[f64]) -> PointRow {
    let sample = |round: usize| Sample {
        time_ns: Summary {
            median: 7.0,
            min: 6.0,
            max: 9.0,
            count: 11,
        },
        windows: Windows {
            measured: 16,
            preempted: 3,
            slow: 2,
        },
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
            in_order: 0.0,
            searched_again: [0.01, 0.02, 0.03][round],
            unexpected: 0.0625,
            software: 0.0,
            software_posts: 0.0,
        }),
        ..Sample::default()
    };
    PointRow {
        point: Point {
            peer,
            scenario: scenario.parse().expect("a scenario"),
            window,
            size: 8,
        },
        calibrated: false,
        rates: mega.iter().map(|mega| Some(mega * 1e6)).collect(),
        samples: (0..mega.len()).map(sample).collect(),
        placements: vec![Some(NEAR); mega.len()],
        disturbed: vec![false; mega.len()],
    }
}

const NEAR: Placement = Placement {
    distance: Distance::Near,
    slowed: false,
};
const FAR: Placement = Placement {
    distance: Distance::Far,
    slowed: true,
};

/// The calibrated row; a rate of 0 stands for a round without result.
fn calibrated(peer: Peer, scenario: &str, mega: &[f64]) -> PointRow {
    let rates = mega
        .iter()
        .map(|&mega| (mega > 0.0).then_some(mega * 1e6))
        .collect();
    let placements = vec![Some(NEAR); mega.len()];
    PointRow {
        calibrated: true,
        rates,
        samples: Vec::new(),
        placements,
        disturbed: vec![false; mega.len()],
        ..row(peer, scenario, 128, &[])
    }
}

fn report(rows: Vec<PointRow>) -> Report {
    Report {
        rows,
        hand_over_ns: vec![80.0, 100.0, 97.0],
    }
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
        row(Peer::optimistic(4), "NC", 100, &[8.0]),
        calibrated(NIC, "NC", &[50.0, 0.0, 40.0]),
        calibrated(Peer::Bins, "NC", &[25.0, 1.0, 16.0]),
        calibrated(Peer::NoMatching, "NC", &[0.0]),
    ])
}

fn header(threads: bool) -> Header {
    let nic = EngineOptions {
        threads,
        ..EngineOptions::default()
    };
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
            one_thread: false,
            keep_disturbed: false,
        },
        rounds: 6,
        warnings: Vec::new(),
        seconds: 1.25,
        clock: None,
    }
}

/// Two rounds near, three far, each with distinct rates and ratios.
fn moved() -> Report {
    let mut nic = row(NIC, "NC", 100, &[20.0, 40.0, 1.0]);
    nic.placements = vec![Some(NEAR), Some(FAR), None];
    let mut none = row(Peer::NoMatching, "NC", 100, &[40.0, 50.0, 100.0]);
    none.placements = vec![Some(NEAR), Some(FAR), Some(FAR)];
    report(vec![nic, none])
}

fn sweep() -> Report {
    let peer = |handlers| Peer::optimistic(handlers);
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

/// Single messages. The rounds together have no sample beyond 99.99 %.
fn single() -> Report {
    let mut nic = row(NIC, "NC", 1, &[2.0, 2.5, 3.0]);
    for (round, sample) in nic.samples.iter_mut().enumerate() {
        let times: Vec<f64> = (1..=1000)
            .map(|time| f64::from(time) + 100.0 * round as f64)
            .collect();
        sample.latencies = Some(dpamatch_tools::bench::Latencies::from_ns(&times));
    }
    report(vec![nic])
}

/// Rates behind standing receives.
fn deep() -> Report {
    let window = figures::DEPTH_WINDOW;
    report(vec![
        row(NIC, "DEPTH-16", window, &[9.0]),
        row(NIC, "DEPTH-64", window, &[8.0]),
        row(Peer::Bins, "DEPTH-16", window, &[7.0]),
        row(Peer::Bins, "DEPTH-1024", window, &[6.0]),
        row(Peer::List, "DEPTH-16", window, &[5.0]),
        row(NIC, "WDEPTH-16", window, &[4.0]),
        row(NIC, "WDEPTH-256", window, &[3.0]),
    ])
}

/// The report of single messages beside one of long messages.
fn sizes() -> Report {
    let Report { mut rows, .. } = single();
    let mut long = row(NIC, "NC", 100, &[2.0, 6.0, 3.0]);
    long.point.size = 4096;
    rows.push(long);
    report(rows)
}

/// Three sizes and three shares of one key; each receiver but `list` has two points or more.
fn shapes() -> Report {
    let sized = |peer, size, mega| {
        let mut row = row(peer, "NC", 100, &[mega, mega * 1.5, mega * 2.0]);
        row.point.size = size;
        row
    };
    report(vec![
        sized(NIC, 8, 16.0),
        sized(NIC, 4096, 1.25),
        sized(NIC, 64, 12.0),
        sized(Peer::Bins, 8, 24.0),
        sized(Peer::Bins, 64, 20.0),
        sized(Peer::List, 64, 3.0),
        row(NIC, "MIX-10-50-5", 64, &[7.0]),
        row(NIC, "MIX-10-0-5", 64, &[9.0]),
        row(NIC, "MIX-0-20-5", 64, &[8.0]),
        row(Peer::Bins, "MIX-10-0-5", 64, &[6.0]),
        row(Peer::Bins, "MIX-10-100-5", 64, &[5.0]),
    ])
}

/// No line has one point; what draws nothing has no figure.
#[test]
fn figures_are_of_what_was_varied() {
    let csv = |report: &Report| {
        let figures = figures::all(report, NIC).into_iter();
        let figures = figures.map(|(name, figure)| format!("{name}\n{}", figure.csv()));
        figures.collect::<Vec<_>>().join("\n")
    };
    expect_file!["tests/shapes.txt"].assert_eq(&csv(&shapes()));
    assert_eq!(csv(&moved()), "", "one point each");
}

/// A report in every form, each below a heading.
fn shown(report: &Report) -> String {
    let part = &Part::one(report);
    let header = header(false);
    let mut shown = format!("{}\n", header.text(report).replace(VERSION, "VERSION"));
    shown += &format!("\n{}\n", part.heading(report));
    shown += "\n# tables";
    let measured = &part.shown.report;
    let tables = [
        tables::paper(measured, &[2, 4, 64], Some(8)),
        tables::overview(measured, NIC, false),
        tables::overview(measured, NIC, true),
    ];
    for table in tables.into_iter().chain(latencies::table(measured)) {
        shown += &format!("\n{}", table.text(usize::MAX));
    }
    for (name, figure) in figures::all(measured, NIC) {
        shown += &format!("\n# figure {name}\n{}", figure.csv());
    }
    shown += &format!(
        "\n# rates\n{}\n# results\n",
        results::rates(part, None).csv()
    );
    let document = results::document(report, part, &header);
    for (name, result) in document["results"].as_object().expect("results") {
        match result.as_array() {
            Some(rows) => rows
                .iter()
                .for_each(|row| shown += &format!("{name}: {row}\n")),
            None => shown += &format!("{name}: {result}\n"),
        }
    }
    shown
}

#[test]
fn a_report_has_every_form() {
    let check = |report: Report, expected: Expect| expected.assert_eq(&digests(&shown(&report)));
    check(
        moved(),
        expect![[r#"
             | 7 | 37cf7e97210a6979
            tables | 16 | be77fe1f9261607d
            rates | 4 | b73e56f7b38b62d2
            results | 23 | 5b740859c8c6d432
        "#]],
    );
    check(
        sweep(),
        expect![[r#"
             | 7 | 57012e1020718b47
            tables | 22 | 412df0a83d5e09ab
            figure figure8 | 42 | a2466eff330a3663
            figure handlers | 12 | 66ddffcb03584fca
            rates | 11 | b660bc1708fcc9f1
            results | 30 | b97132c4f9918955
        "#]],
    );
    check(
        single(),
        expect![[r#"
             | 7 | a6db30ab576bd5a0
            tables | 21 | c2b45bb634f13cd7
            figure latency | 6 | b83c29e25ad17e9f
            rates | 3 | 4e95efbef5de6f23
            results | 22 | 03df8be86793062c
        "#]],
    );
    check(
        deep(),
        expect![[r#"
             | 7 | b1098559b99ef9dc
            tables | 22 | 1a9fdf865c123045
            figure depth | 8 | de722dc27d559225
            rates | 9 | 2bb442faa709509e
            results | 28 | fbc9806082b147c0
        "#]],
    );
    check(
        sizes(),
        expect![[r#"
             | 7 | dbc98e8d5290def9
            tables | 23 | 23c8806d1e897a4d
            figure latency | 6 | b83c29e25ad17e9f
            rates | 4 | 4554424c4c918e67
            results | 23 | 99e9bd0232a6f0e1
        "#]],
    );
    expect_file!["tests/everything.txt"].assert_eq(&shown(&everything()));
    assert_eq!(header(true).runner(), "1 worker thread");
}

/// If the placement always changed, all rounds are shown together, and so are they on request.
#[test]
fn without_a_placement_all_rounds_are_shown() {
    let mut report = moved();
    for row in &mut report.rows {
        row.placements = vec![None; 3];
    }
    let moving = Part::one(&report);
    assert_eq!(
        moving.heading(&report),
        "Placement moving: 6 of 6 measurements"
    );
    assert_eq!(moving.shown.report, report);
    let any = Part::any(&moved());
    assert_eq!(any.heading(&moved()), "Placement any: 6 of 6 measurements");
    assert_eq!(any.shown.report, moved());
}

/// The short table with all its columns: 25 lines of at most 100 columns.
#[test]
fn the_short_table_fits_on_a_screen() {
    let mut rows = Vec::new();
    for (number, first) in first::ROWS.iter().enumerate() {
        let in_order = Peer::Nic {
            handlers: 32,
            matching: Matching::InOrder,
        };
        let peers = [NIC, in_order, Peer::List, Peer::Bins, Peer::Ucx];
        let rates = [20.0, 50.0, 0.25, 44.0, 16.0];
        for (peer, rate) in peers.into_iter().zip(rates) {
            let rate = rate - number as f64 / 16.0;
            // The ratio of the medians, 3.1, is none of a round: those are 3.1, 1.5 and 2.5.
            let rounds = match peer {
                Peer::Ucx => [rate, 2.5 * rate, 0.25 * rate],
                peer if peer == in_order => [rate, 1.2 * rate, 0.2 * rate],
                _ => [rate; 3],
            };
            rows.push(row(peer, first.scenario, first.window, &rounds));
        }
    }
    let shown = first::text(&report(rows), &header(false), "near");
    assert!(shown.lines().count() <= 25, "{shown}");
    assert!(
        shown.lines().all(|line| line.chars().count() <= 100),
        "{shown}"
    );
    expect_file!["tests/first.txt"].assert_eq(&shown.replace(VERSION, "VERSION"));
}

#[test]
fn processors_must_be_two_that_may_be_used() {
    let refused = |given: &[usize]| cpus::stay_on(given).expect_err("refused").to_string();
    assert!(refused(&[100_000, 0]).starts_with("--cpus: 100000 may not be used; allowed: "));
    let first = processors::allowed()[0];
    assert_eq!(
        refused(&[first]),
        "--cpus: sender and receiver need two processors"
    );
}

#[test]
fn a_recorded_sequence_has_a_row_for_each_engine() {
    let events = "post,0,0,*,1\narrive,0,0,3,1\narrive,1,0,3,1,bytes=9\nmprobe,0,0,3,1\ncancel,7\n";
    let events = dpamatch::stream::Reader::new(events.as_bytes());
    let recorded =
        dpamatch_tools::bench::Recorded::new(events.map(|event| event.expect("a good line")), 24);
    let load = recorded::Load {
        rank: 5,
        recorded: &recorded,
        size: 24,
        rounds: 7,
        wires: vec!["memcpy".to_owned()],
    };
    let rate = Summary {
        median: 2e6,
        min: 1e6,
        max: 4e6,
        count: 7,
    };
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
    let table = recorded::table(&load, &rows);
    let shown = format!(
        "# text\n{}\n# CSV\n{}\n# JSON\n{:#}\n",
        table.text(usize::MAX),
        table.csv(),
        serde_json::json!([recorded::conditions(&load), table.rows_json()])
    );
    expect![[r#"
        text | 9 | 792189394fceb1e3
        CSV | 4 | 29d64b404a244fbb
        JSON | 56 | 9c0534c953cc797a
    "#]]
    .assert_eq(&digests(&shown));
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

/// Without arguments the short table is measured.
#[test]
fn the_points_are_those_asked_for() {
    let mut shown = String::new();
    for arguments in [
        "",
        "--matching in-order --baseline bins --handlers 4",
        "--all",
        "--scenario WC,MIX --wild 10 --late 20 --windows 3,4 --bytes 8,9 --baseline bins",
        "--scenario WC --windows 5 --sweep 2,3 --baseline no-matching,memcpy,list",
        "--sweep 4 --windows 1 --baseline none --peers",
        "--scenario NC --handlers 7 --windows 2 --baseline none",
        "--scenario all --baseline none",
        "--out folder --windows 1",
        "--bytes all --windows 1,7 --baseline none",
        "--scenario MIX --conflicts 0,20,50 --windows 9 --baseline bins",
    ] {
        shown += &format!("# bench {arguments}\n{}\n", points(arguments).join("\n"));
    }
    expect![[r#"
        bench  | 16 | 6a89be6ef13809eb
        bench --matching in-order --baseline bins --handlers 4 | 8 | 245e1191569e30ab
        bench --all | 139 | 8b7b65cd81bde569
        bench --scenario WC,MIX --wild 10 --late 20 --windows 3,4 --bytes 8,9 --baseline bins | 24 | d15877330b160f57
        bench --scenario WC --windows 5 --sweep 2,3 --baseline no-matching,memcpy,list | 7 | c4b6e70bb9f6ba3f
        bench --sweep 4 --windows 1 --baseline none --peers | 9 | 39ad9aa010b16148
        bench --scenario NC --handlers 7 --windows 2 --baseline none | 2 | 023455ae5a6f2b6e
        bench --scenario all --baseline none | 122 | 439cbfd21359fc6e
        bench --out folder --windows 1 | 10 | 1b711bb175636b20
        bench --bytes all --windows 1,7 --baseline none | 24 | 46a9f4655913bc91
        bench --scenario MIX --conflicts 0,20,50 --windows 9 --baseline bins | 9 | 0c72e11fa6e2d79e
    "#]].assert_eq(&digests(&shown));
    expect![[r#"
        optimistic (4 handlers), NC, window 1, 8 bytes
        in-order (4 handlers), NC, window 1, 8 bytes
        ucx, NC, window 1, 8 bytes
        optimistic (4 handlers), WC-FP, window 1, 8 bytes
        in-order (4 handlers), WC-FP, window 1, 8 bytes
        ucx, WC-FP, window 1, 8 bytes
        optimistic (4 handlers), WC-SP, window 1, 8 bytes
        in-order (4 handlers), WC-SP, window 1, 8 bytes
        ucx, WC-SP, window 1, 8 bytes"#]]
    .assert_eq(&points("--sweep 4 --windows 1 --baseline none --peers").join("\n"));
}
