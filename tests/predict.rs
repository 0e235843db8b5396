//! The handlers in virtual time against the oracle, and the commands around them.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use dpa_model::{SourceSel, TagSel};
use dpamatch::engine::Oracle;
use dpamatch::stream::{Event, Generator, Outcome, Profile as StreamProfile, StreamMatcher};
use dpamatch_predict::{FastPath, Profile, Removal, Setup, simulate};

/// Communicators in the order of their first event: the predictor's are numbered from 0.
fn translated(events: &[Event]) -> (Vec<dpamatch_predict::Event>, u32) {
    let mut comms = Vec::new();
    let mut number = |comm: u32| {
        let known = comms.iter().position(|&other| other == comm);
        known.unwrap_or_else(|| {
            comms.push(comm);
            comms.len() - 1
        }) as u32
    };
    let events = events
        .iter()
        .map(|event| match *event {
            Event::Post { recv, comm, selector, .. } => dpamatch_predict::Event::Post {
                receive: recv.0,
                comm: number(comm.0),
                source: match selector.source {
                    SourceSel::Any => None,
                    SourceSel::Rank(rank) => Some(rank.get()),
                },
                tag: match selector.tag {
                    TagSel::Any => None,
                    TagSel::Tag(tag) => Some(tag.get()),
                },
            },
            Event::Arrive { msg, envelope, .. } => dpamatch_predict::Event::Arrive {
                message: msg.0,
                comm: number(envelope.comm.0),
                source: envelope.source.get(),
                tag: envelope.tag.get(),
                bytes: 8,
            },
            Event::Cancel { recv } => dpamatch_predict::Event::Cancel { receive: recv.0 },
            Event::Probe { .. } | Event::Mprobe { .. } => unreachable!("taken out before"),
        })
        .collect();
    (events, comms.len().max(1) as u32)
}

#[test]
fn virtual_time_changes_no_match() {
    let removals = [Removal::Lazy, Removal::Eager, Removal::Deferred];
    let forms = [FastPath::Off, FastPath::Literal, FastPath::Prefix, FastPath::Sequence];
    for seed in 0..48_u64 {
        let profile = [StreamProfile::Hot, StreamProfile::Wild, StreamProfile::Mixed][seed as usize % 3];
        let events: Vec<Event> = Generator::new(seed, 600, profile)
            .filter(|event| !matches!(event, Event::Probe { .. } | Event::Mprobe { .. }))
            .collect();
        let mut expected = Vec::new();
        Oracle::new()
            .run(&mut events.iter().copied(), &mut |outcome| {
                if let Outcome::Matched { recv, msg } = outcome {
                    expected.push((recv.0, msg.0));
                }
            })
            .expect("the oracle takes every stream");
        let card =
            Profile::read(Profile::text("bluefield3").expect("built in"), &[]).expect("a good profile");
        let mut setup = Setup::new(card, [1, 2, 3, 8, 32, 100][seed as usize % 6]);
        setup.removal = removals[seed as usize / 2 % 3];
        setup.fast_path = forms[seed as usize % 4];
        setup.early_check = seed % 5 == 0 && setup.fast_path != FastPath::Literal;
        setup.inline_hashes = seed % 7 != 0;
        setup.bins = [1, 4, 64][seed as usize / 3 % 3];
        let (stream, comms) = translated(&events);
        let parts = simulate(&setup, vec![Box::new(stream.into_iter())], comms, 0).expect("a good set-up");
        let mut got = parts[0].matches.clone();
        got.sort_unstable();
        expected.sort_unstable();
        assert_eq!(got, expected, "seed {seed}: {} handlers, {:?}", setup.handlers, setup.removal);
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

#[test]
fn the_command_gives_the_same_bytes_twice_in_every_form() {
    for format in ["table", "csv", "json"] {
        let arguments = ["predict", "--threads", "1,4", "--workload", "nc,mixed:50", "--format", format];
        let first = text(&dpamatch(&arguments, ""));
        assert_eq!(first, text(&dpamatch(&arguments, "")));
        assert!(first.contains("mixed:50"), "{first}");
    }
}

#[test]
fn a_stream_is_predicted() {
    let stream = "post,0,9,0,7\npost,1,9,*,7\narrive,0,9,0,7\narrive,1,9,3,7\narrive,2,9,3,8\n";
    let output = text(&dpamatch(&["predict", "stream", "--handlers", "4", "--format", "json"], stream));
    let value: serde_json::Value = serde_json::from_str(&output).expect("JSON");
    assert_eq!(value["stream"][0]["messages"], 3);
    assert_eq!(value["stream"][0]["matched"], 2);
    assert_eq!(value["stream"][0]["unexpected"], 1);
    assert_eq!(value["handlers"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_trace_for_perfetto_is_json() {
    let path = std::env::temp_dir().join(format!("dpamatch-predict-{}.json", std::process::id()));
    let name = path.to_str().expect("a plain name");
    text(&dpamatch(&["predict", "handlers", "--handlers", "2", "--workload", "wc-sp", "--chrome", name], ""));
    let trace = std::fs::read_to_string(&path).expect("written");
    std::fs::remove_file(&path).expect("it is ours");
    let value: serde_json::Value = serde_json::from_str(&trace).expect("JSON");
    let events = value["traceEvents"].as_array().expect("an array");
    assert!(events.iter().any(|event| event["name"] == "slow" && event["tid"] == 1), "{trace}");
}

#[test]
fn calibration_writes_a_profile() {
    let path = std::env::temp_dir().join(format!("dpamatch-profile-{}.toml", std::process::id()));
    let name = path.to_str().expect("a plain name");
    let measured = "series,threads,rate\nNC,1,0.4\nNC,2,0.75\n";
    text(&dpamatch(&["calibrate", "--write", name], measured));
    let csv = text(&dpamatch(
        &["predict", "--profile", name, "--threads", "1,2", "--workload", "nc", "--format", "csv"],
        "",
    ));
    std::fs::remove_file(&path).expect("it is ours");
    let rates: Vec<f64> = csv
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').nth(2).and_then(|rate| rate.parse().ok()))
        .collect();
    assert!((rates[0] - 0.4).abs() < 0.002 && (rates[1] - 0.75).abs() < 0.004, "{csv}");
}

#[test]
fn bad_input_is_named() {
    let cases: [(&[&str], &str, &str); 7] = [
        (&["predict", "--set", "memory.l9_ns=1"], "", "no parameter \"memory.l9_ns\""),
        (&["predict", "--profile", "bluefield9"], "", "unknown profile \"bluefield9\""),
        (&["predict", "--workload", "mixed:200"], "", "unknown workload mixed:200"),
        (&["predict", "--threads", "191"], "", "191 handlers, but the card has 190"),
        (&["predict", "stream"], "arrive,0,0\n", "<stdin>:1:"),
        (&["calibrate"], "series,threads,rate\nNC,1,fast\n", "<stdin>:2: rate:"),
        (&["calibrate"], "series,threads,rate\nNC,1,0.5\n", "no rate for NC with 2 thread(s)"),
    ];
    for (arguments, input, message) in cases {
        let output = dpamatch(arguments, input);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
}
