//! The handlers in virtual time against the oracle, and the commands around them.

use std::path::PathBuf;
use std::process::Command;

use dpamatch::engine::Oracle;
use dpamatch::stream::{Event, Generator, Outcome, Profile as StreamProfile, StreamMatcher};
use dpamatch_predict::{FastPath, Profile, Removal, Setup, simulate};
use dpamatch_tools::analyze::order::OrderChoice;
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
        let card = card();
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

fn card() -> Profile {
    Profile::read(Profile::text("bluefield3").expect("built in"), &[]).expect("a good profile")
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
        let card = card();
        let mut setup =
            Setup { receives: 8192, charge_commands: true, ..Setup::new(card, handlers) };
        for interleaving in [OrderChoice::PostsFirst, OrderChoice::Random { seed: 5 }] {
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

fn dpamatch(arguments: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dpamatch"));
    let output = command.args(arguments.split(' ')).output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn results(arguments: &str) -> serde_json::Value {
    let output = dpamatch(&format!("{arguments} --format json"));
    let mut document: serde_json::Value = serde_json::from_str(&output).expect("JSON");
    document["results"].take()
}

/// Domains do nothing where no two messages meet, and most where a quarter do; every other row
/// has a rate, too.
#[test]
fn an_ablation_has_all_rows() {
    let results = results("predict ablation --threads 8,16 --equal 0,25");
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
    let said = dpamatch(&trace).split_whitespace().collect::<Vec<_>>().join(" ");
    let what = "368 messages as fast as the wire brings them, 368 posts, 0 probes, 0 cancels";
    assert!(said.contains(what), "{said}");
}
