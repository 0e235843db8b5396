//! The handlers in virtual time against the oracle, and the commands around them.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use dpamatch::engine::Oracle;
use dpamatch::stream::{Event, Generator, Outcome, Profile as StreamProfile, StreamMatcher};
use dpamatch_predict::{FastPath, Profile, Removal, Setup, simulate};
use dpamatch_tools::analyze::order::Interleaving;
use dpamatch_tools::analyze::{Run, UNKNOWN};
use dpamatch_tools::sequence;
use dpamatch_tools::trace::{self, OpenOptions};

#[test]
fn virtual_time_changes_no_match() {
    let removals = [Removal::Lazy, Removal::Eager, Removal::Deferred];
    let forms = [FastPath::Off, FastPath::Literal, FastPath::Prefix, FastPath::Sequence];
    for seed in 0..48_u64 {
        let profile =
            [StreamProfile::Hot, StreamProfile::Wild, StreamProfile::Mixed][seed as usize % 3];
        let events: Vec<Event> = Generator::new(seed, 600, profile)
            .filter(|event| !matches!(event, Event::Mprobe { .. }))
            .collect();
        let mut expected = Vec::new();
        Oracle::new()
            .run(&mut events.iter().copied(), &mut |outcome| {
                if let Outcome::Matched { recv, msg } = outcome {
                    expected.push((recv.0, msg.0));
                }
            })
            .expect("the oracle takes every stream");
        let card = Profile::read(Profile::text("bluefield3").expect("built in"), &[])
            .expect("a good profile");
        let mut setup = Setup::new(card, [1, 2, 3, 8, 32, 100][seed as usize % 6]);
        setup.removal = removals[seed as usize / 2 % 3];
        setup.fast_path = forms[seed as usize % 4];
        setup.early_check = seed % 5 == 0 && setup.fast_path != FastPath::Literal;
        setup.inline_hashes = seed % 7 != 0;
        setup.bins = [1, 4, 64][seed as usize / 3 % 3];
        setup.charge_commands = seed % 2 == 0;
        let stream = sequence(events);
        let parts = simulate(&setup, &[stream], 0).expect("a good set-up");
        let mut got = parts[0].matches.clone();
        got.sort_unstable();
        expected.sort_unstable();
        assert_eq!(got, expected, "seed {seed}: {} handlers, {:?}", setup.handlers, setup.removal);
    }
}

fn recorded(name: &str) -> PathBuf {
    let file = format!("{name}.dumpi.tar.xz");
    [env!("CARGO_MANIFEST_DIR"), "..", "tests", "data", "traces", name, &file].iter().collect()
}

/// In the order that the recorded pairs ask for, the handlers in virtual time give these pairs.
#[test]
fn recorded_programs_match_as_recorded() {
    for (name, handlers) in
        [("edge-4-openmpi", 3), ("edge-4-mpich", 32), ("minife-16", 8), ("lulesh-27", 100)]
    {
        let source = trace::open(&recorded(name), &OpenOptions::default()).expect("a trace");
        let run = Run::load(source.as_ref(), |_| ()).expect("a whole trace");
        let card = Profile::read(Profile::text("bluefield3").expect("built in"), &[])
            .expect("a good profile");
        let mut setup =
            Setup { receives: 8192, charge_commands: true, ..Setup::new(card, handlers) };
        for interleaving in [Interleaving::PostsFirst, Interleaving::Random { seed: 5 }] {
            for (view, order) in run.views().zip(run.guided(interleaving)) {
                let oracle =
                    view.run(&mut Oracle::new(), &order).expect("the oracle takes every order");
                let stream = sequence(view.events(&order));
                let parts = simulate(&setup, &[stream], 0).expect("a good set-up");
                let mut receives = vec![UNKNOWN; view.inbound.len()];
                for &(receive, message) in &parts[0].matches {
                    receives[message as usize] = receive as u32;
                }
                let rank = view.program.rank;
                assert_eq!(receives, oracle, "{name}, rank {rank}, {interleaving:?}");
                assert!(
                    view.compare(&receives).is_exact(),
                    "{name}, rank {rank}, {interleaving:?}"
                );
            }
            setup.removal = Removal::Lazy;
        }
    }
}

fn dpamatch(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dpamatch"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // A command that refuses its arguments does not read.
    let _ = child.stdin.take().expect("piped").write_all(input.as_bytes());
    child.wait_with_output().expect("it ends")
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A rank of a trace goes the way of the workloads, with the same bytes each time; what it came to
/// is what the trace's own analysis says.
#[test]
fn a_recorded_rank_is_predicted() {
    let minife = recorded("minife-16");
    let minife = minife.to_str().expect("a plain name");
    let arguments =
        ["predict", "--trace", minife, "--rank", "5", "--threads", "1-3,32", "--format", "json"];
    let first = text(&dpamatch(&arguments, ""));
    assert_eq!(first, text(&dpamatch(&arguments, "")));
    let rates: serde_json::Value = serde_json::from_str(&first).expect("JSON");
    let rates = rates["results"]["rates"].as_array().expect("rows");
    let handlers: Vec<_> = rates.iter().map(|row| row["handlers"].as_u64()).collect();
    assert_eq!(handlers, [1, 2, 3, 32].map(Some));
    assert_eq!(rates[0]["workload"], "rank 5 of minife-16");
    assert!(
        rates[0]["rate_msgs_per_us"].as_f64() < rates[3]["rate_msgs_per_us"].as_f64(),
        "{first}"
    );

    let came_to = |more: &[&str]| {
        let arguments =
            ["predict", "handlers", "--trace", minife, "--rank", "5", "--format", "json"];
        let output = text(&dpamatch(&[&arguments[..], more].concat(), ""));
        let value: serde_json::Value = serde_json::from_str(&output).expect("JSON");
        let value = &value["results"];
        assert!(value["limits"].as_array().is_some_and(|rows| rows.len() >= 4), "{output}");
        let row = value["stream"][0].clone();
        move |name: &str| row[name].as_f64().expect("a number")
    };
    let fast = came_to(&[]);
    assert_eq!(fast("messages"), fast("matched"));
    assert_eq!(fast("sent_on_to_software"), 0.0);
    let timed = came_to(&["--times", "recorded"]);
    assert!(timed("time_us") > 5.0 * fast("time_us"), "the program computes between its messages");
    assert!(timed("latency_us") < fast("latency_us"), "and the card keeps up");
    let first = came_to(&["--order", "posts-first", "--free-posts"]);
    assert_eq!((first("unexpected"), first("matched")), (0.0, fast("matched")));
    let small = came_to(&["--order", "posts-first", "--receives", "16"]);
    assert!(small("sent_on_to_software") > 0.0 && small("matched") < fast("matched"));
}

#[test]
fn a_trace_for_perfetto_is_json() {
    let path = std::env::temp_dir().join(format!("dpamatch-predict-{}.json", std::process::id()));
    let name = path.to_str().expect("a plain name");
    text(&dpamatch(
        &["predict", "handlers", "--handlers", "2", "--workload", "wc-sp", "--chrome", name],
        "",
    ));
    let trace = std::fs::read_to_string(&path).expect("written");
    std::fs::remove_file(&path).expect("it is ours");
    let value: serde_json::Value = serde_json::from_str(&trace).expect("JSON");
    let events = value["traceEvents"].as_array().expect("an array");
    assert!(events.iter().any(|event| event["name"] == "slow" && event["tid"] == 1), "{trace}");
}

/// All points of Figure 8 as the table for readers has them, and what each may be used for (O40).
#[test]
fn the_accuracy_table_has_all_points() {
    let output = text(&dpamatch(&["predict", "accuracy", "--format", "json"], ""));
    let value: serde_json::Value = serde_json::from_str(&output).expect("JSON");
    let value = &value["results"];
    let rows = value["accuracy"].as_array().expect("rows");
    let held_out = |series: &str| {
        let rows = rows.iter().filter(|row| row["series"] == series && row["point"] == "held out");
        rows.map(|row| row["threads"].as_u64().expect("a number")).collect::<Vec<_>>()
    };
    assert_eq!((rows.len(), rows.iter().filter(|row| row["point"] == "fitted").count()), (18, 4));
    assert_eq!(held_out("NC"), [4, 8, 16, 32]);
    assert_eq!(held_out("WC-SP"), [1, 4, 8, 16, 32]);
    assert_eq!(held_out("WC-FP"), [1, 4]);
    // The errors are those of the points held out, and of no others.
    let error = |series: &[&str]| {
        let held_out = rows.iter().filter(|row| {
            row["point"] == "held out"
                && row["threads"].as_u64() > Some(2)
                && series.iter().any(|series| row["series"] == *series)
        });
        let errors: Vec<f64> =
            held_out.map(|row| row["error_percent"].as_f64().expect("a number").abs()).collect();
        errors.iter().sum::<f64>() / errors.len() as f64
    };
    let summary = value["accuracy_summary"].as_array().expect("rows");
    for (row, series) in
        [&["NC"][..], &["WC-SP"], &["WC-FP"], &["NC", "WC-SP", "WC-FP"]].into_iter().enumerate()
    {
        let told = summary[row]["mape_percent"].as_f64().expect("a number");
        assert!((told - error(series)).abs() < 1e-6, "{series:?}: {told}");
    }
    let shape = value["shape"].as_array().expect("rows");
    assert!(shape.len() == 5 && shape.iter().all(|row| row["order"] == "kept"), "{shape:?}");
    for row in rows {
        let number = |name: &str| row[name].as_f64().expect("a number");
        let error =
            (number("predicted_msgs_per_us") / number("measured_msgs_per_us") - 1.0) * 100.0;
        assert!((number("error_percent") - error).abs() < 1e-6, "{row}");
    }
    for row in summary {
        let error = row["mape_percent"].as_f64().expect("a number");
        assert!(row["required_percent"].as_f64().is_none_or(|required| error <= required), "{row}");
    }
}

fn results(arguments: &[&str]) -> serde_json::Value {
    let output = text(&dpamatch(&[arguments, &["--format", "json"]].concat(), ""));
    let mut document: serde_json::Value = serde_json::from_str(&output).expect("JSON");
    document["results"].take()
}

/// Every assumption is made, and the range is that of its rows.
#[test]
fn what_if_gives_the_range_of_its_assumptions() {
    let edge = recorded("edge-4-mpich");
    let edge = edge.to_str().expect("a plain name");
    let results = results(&["predict", "what-if", "--trace", edge, "--threads", "2-3"]);
    let rows = results["what_if"].as_array().expect("rows");
    assert_eq!(rows.len(), 2 * 9);
    let number = |row: &serde_json::Value, name: &str| row[name].as_f64().expect(name);
    for range in results["range"].as_array().expect("rows") {
        let rows = rows.iter().filter(|row| row["handlers"] == range["handlers"]);
        for which in ["paper", "keyed"] {
            let of = |row: &serde_json::Value| {
                let mut cells = row.as_object().into_iter().flatten();
                cells.find(|(name, _)| name.ends_with(which)).and_then(|(_, cell)| cell.as_f64())
            };
            let rates: Vec<f64> = rows.clone().map(|row| of(row).expect("a rate")).collect();
            let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
            let most = rates.iter().copied().fold(0.0, f64::max);
            let range = ["_min", "", "_max"].map(|end| number(range, &format!("{which}{end}")));
            assert_eq!(range, [least, rates[0], most], "{which}");
            assert!(least < most);
        }
    }
}

/// Domains do nothing where no two messages meet, and most where a quarter do; every other row
/// has a rate, too.
#[test]
fn an_ablation_has_all_rows() {
    let results = results(&["predict", "ablation", "--threads", "8,16", "--equal", "0,25"]);
    let rows = results["ablation"].as_array().expect("rows");
    assert_eq!(rows.len(), 2 * (1 + 6 + 15 + 6 + 1));
    let rate = |with: &str, share: &str| {
        let row = rows.iter().find(|row| row["with"] == with && row["handlers"] == 16);
        row.and_then(|row| row[share].as_f64()).unwrap_or_else(|| panic!("{with}, {share}"))
    };
    let [none, quarter] = ["0_percent_equal", "25_percent_equal"];
    assert!(rate("domains", quarter) > 1.4 * rate("none", quarter));
    assert!(rate("usual", quarter) > 1.4 * rate("usual but domains", quarter));
    assert!(rate("all", none) < 1.4 * rate("usual but domains", none));
    assert!(rate("removal + form", quarter) != rate("form", quarter));
    for with in ["inline hashes + domains", "usual but inline hashes", "early check"] {
        assert!(rate(with, none) > rate(with, quarter), "{with}");
    }
}

/// Parts make the whole, and the same figure told twice is the same.
#[test]
fn tables_of_a_run_add_up() {
    let results = |words: &str| results(&words.split(' ').collect::<Vec<_>>());
    let of = |row: &serde_json::Value, name: &str| row[name].as_f64().expect("a number");
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6 * (1.0 + b.abs());

    let run = results("predict handlers --handlers 2 --workload wc-sp");
    let rows = |name: &str| run[name].as_array().expect("rows").clone();
    // Two handlers, 64 messages each.
    let places = ["l1", "l2", "l3", "dram", "handed_over", "outside"];
    for row in rows("accesses") {
        let all: f64 = places.iter().map(|place| of(&row, place)).sum();
        assert!(near(of(&row, "per_message") * 128.0, all), "{row}");
    }
    let time = |name: &str| rows(name).iter().map(|row| of(row, "time_us")).sum::<f64>();
    assert!(time("accesses") > 0.0 && time("accesses") < time("times"), "{run}");
    let percent: f64 = rows("times").iter().map(|row| of(row, "percent")).sum();
    assert!((95.0..=100.5).contains(&percent), "{percent} % of the EUs' time");
    for row in rows("handlers") {
        // 1.8 GHz.
        assert!((of(&row, "cycles") - 1800.0 * of(&row, "time_us")).abs() < 1.0, "{row}");
    }
    let rate = &results("predict --threads 2 --workload wc-sp")["rates"][0];
    for row in rows("limits") {
        let with = of(&row, "rate_msgs_per_us") / (1.0 + of(&row, "gain_percent") / 100.0);
        assert!(near(with, of(rate, "rate_msgs_per_us")), "{row} {rate}");
    }
    assert!((1.0..100.0).contains(&of(rate, "eus_busy_percent")), "{rate}");
    assert!(near(of(rate, "us_per_block") * of(rate, "rate_msgs_per_us"), 2.0), "{rate}");

    let trace = "../tests/data/traces/recorder/lammps-4.dumpi.tar.xz";
    let trace = format!("predict --threads 4 --trace {trace}");
    let rate = &results(&trace)["rates"][0];
    // At most four messages a block, and as few as one.
    let messages = of(rate, "us_per_block") * of(rate, "rate_msgs_per_us");
    assert!((1.0..=4.0).contains(&messages), "{rate}");
    let words: Vec<&str> = trace.split(' ').collect();
    let said = text(&dpamatch(&words, "")).split_whitespace().collect::<Vec<_>>().join(" ");
    let what = "368 messages as fast as the wire brings them, 368 posts, 0 probes, 0 cancels";
    assert!(said.contains(what), "{said}");
}

#[test]
fn calibration_writes_a_profile() {
    let path = std::env::temp_dir().join(format!("dpamatch-profile-{}.toml", std::process::id()));
    let name = path.to_str().expect("a plain name");
    // Other rates than those that the profiles were fitted to.
    let measured = "series,threads,rate\nNC,1,0.38\nNC,2,0.7\n";
    // The second has what our instructions cost besides: another number is fitted.
    for base in ["bluefield3", "bluefield3-instructions"] {
        text(&dpamatch(&["calibrate", "--profile", base, "--write", name], measured));
        let predict = ["predict", "--profile", name, "--like", "prototype", "--threads", "1,2"];
        let form = ["--workload", "nc", "--format", "csv"];
        let csv = text(&dpamatch(&[&predict[..], &form].concat(), ""));
        std::fs::remove_file(&path).expect("it is ours");
        let rates: Vec<f64> = csv
            .lines()
            .skip(1)
            .filter_map(|line| line.split(',').nth(2).and_then(|rate| rate.parse().ok()))
            .collect();
        let near = (rates[0] - 0.38).abs() < 0.002 && (rates[1] - 0.7).abs() < 0.004;
        assert!(near, "{base}: {csv}");
    }
}
