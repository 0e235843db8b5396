//! Every option of every command changes something that a user can see. The rows stand against the
//! options that `--help` lists, so a new option without a row fails.

mod analysis;
mod costs;
mod prediction;
#[path = "../../../tests/watchdog/mod.rs"]
mod watchdog;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// What the two runs of a row must differ in.
#[derive(Clone, Copy, Debug)]
enum Seen {
    /// The results; comments and times are left out.
    Results,
    /// This line of standard error, `NAME VALUE`.
    Counter(&'static str),
    /// The names, or first words, of the lines on standard error.
    Messages,
    /// Whether the results are JSON, and the names in it.
    Form,
    /// The second run ends with this exit code.
    Exit(i32),
    /// The first run ends with this exit code.
    Mends(i32),
    /// The names of the columns, of which this is the first.
    Header(&'static str),
    /// This part of the JSON form.
    Json(&'static str),
}

use Seen::{Counter, Exit, Form, Header, Json, Mends, Messages, Results};

/// Option, arguments without it, arguments with it, and what differs. An option may have several
/// rows.
type Row = (&'static str, &'static str, &'static str, Seen);

fn dpamatch(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dpamatch"))
        .args(arguments)
        .env("CC", "/nonexistent/cc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("its input");
    std::thread::scope(|scope| {
        // A command that fails early does not read its input.
        scope.spawn(move || _ = stdin.write_all(input));
        child.wait_with_output().expect("the command ends")
    })
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// The options that clap knows of this command.
fn options(command: &str) -> BTreeSet<String> {
    let arguments: Vec<&str> = command.split(' ').chain(["--help"]).collect();
    let help = dpamatch(&arguments, b"");
    let names = text(&help.stdout).lines().filter_map(|line| {
        let option = line.trim_start().trim_start_matches("-h, ");
        option.starts_with("--").then(|| option.split(' ').next().expect("a word").to_owned())
    });
    names.filter(|name| name != "--help").collect()
}

/// What a row's run shows of what is looked at.
fn shown(output: &Output, seen: Seen) -> String {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    match seen {
        Results => {
            let plain = out.lines().filter(|line| !line.starts_with('#'));
            // `explore` says how long it took.
            plain
                .map(|line| line.split(" in ").next().expect("a part"))
                .collect::<Vec<_>>()
                .join("\n")
        }
        Counter(name) => {
            let line = err.lines().find(|line| line.split(' ').next() == Some(name));
            line.unwrap_or_else(|| panic!("no counter {name}: {err}")).to_owned()
        }
        Messages => err.lines().filter_map(|line| line.split(' ').next()).collect(),
        Form => match serde_json::from_str::<Value>(out) {
            Ok(document) => {
                let results = document["results"].as_object().expect("results");
                format!("{:?}", results.keys())
            }
            _ => "no JSON object".to_owned(),
        },
        Header(first) => {
            let line = out.lines().find(|line| line.starts_with(first));
            line.unwrap_or_else(|| panic!("no column {first}: {out}")).to_owned()
        }
        Exit(_) | Mends(_) => output.status.code().expect("no signal").to_string(),
        Json(pointer) => {
            let document: Value = serde_json::from_str(out).expect("one JSON object");
            document.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}: {out}")).to_string()
        }
    }
}

fn check(command: &str, rows: &[Row], input: &[u8]) {
    check_all(command, rows, &[], input);
}

/// Options that several commands have in common: another command has a row for each of them, so
/// that one row shows that they are listened to.
fn check_all(command: &str, rows: &[Row], common: &[&str], input: &[u8]) {
    let _dog = watchdog::on("the runs of `dpamatch` to end");
    let known = options(command);
    let mut rows_for: BTreeSet<String> = rows.iter().map(|row| row.0.to_owned()).collect();
    if !common.is_empty() {
        let of_common = common.iter().filter(|option| rows_for.contains(**option));
        assert!(of_common.count() > 0, "`{command}`: none of the common options has a row");
        rows_for.extend(common.iter().map(|&option| option.to_owned()));
    }
    assert_eq!(rows_for, known, "`{command}`: the options with a row, and those of --help");
    // Many rows have the same first line.
    let mut runs: BTreeMap<&str, Output> = BTreeMap::new();
    for &(option, without, with, seen) in rows {
        assert!(with.contains(option) || with.contains("--peers"), "{command} {with}: no {option}");
        let run = |line: &str| {
            let arguments = command.split(' ').chain(line.split_whitespace());
            dpamatch(&arguments.collect::<Vec<_>>(), input)
        };
        let first = runs.entry(without).or_insert_with(|| run(without));
        let errors = text(&first.stderr);
        let expected = if let Mends(code) = seen { code } else { 0 };
        assert_eq!(first.status.code(), Some(expected), "{command} {without}: {errors}");
        let second = run(with);
        let expected = if let Exit(code) = seen { code } else { 0 };
        let errors = text(&second.stderr);
        assert_eq!(second.status.code(), Some(expected), "{command} {with}: {errors}");
        let (without_it, with_it) = (shown(first, seen), shown(&second, seen));
        assert!(without_it != with_it, "{command} {with}: {seen:?} is {with_it:?} without, too");
        // What differs by itself says nothing about the option.
        assert_eq!(shown(&run(without), seen), without_it, "{command} {without}: {seen:?}");
    }
}

/// Rows whose second line is the first with the option and its value behind it.
fn rows(base: &'static str, options: &[(&'static str, Seen)]) -> Vec<Row> {
    let row = |&(option, seen): &(&'static str, Seen)| -> Row {
        let name = option.split(' ').next().expect("a name");
        (name, base, format!("{base} {option}").leak(), seen)
    };
    options.iter().map(row).collect()
}

/// Options of the emulated NIC; `match` has a row for each.
const OF_THE_NIC: &[&str] = &[
    "--handlers",
    "--workers",
    "--receives",
    "--communicators",
    "--unexpected",
    "--unexpected-buffers",
    "--eager-limit",
    "--slice-min",
    "--fast-path",
    "--early-check",
    "--removal",
    "--hashes",
    "--hint",
    "--fallback",
];

/// Nothing can be written there.
const NO_ROOM: i32 = 2;

fn stream(profile: &str) -> Vec<u8> {
    dpamatch(&["gen", "--seed", "7", "--events", "1000", "--profile", profile], b"").stdout
}

#[test]
fn every_option_of_match() {
    let usual = "--workers 0 --bins 64 --stats";
    let rows: &[Row] = &[
        ("--engine", "--stats", "--stats --engine list", Messages),
        ("--bins", "--workers 0 --stats", "--workers 0 --stats --bins 64", Counter("bins")),
        ("--handlers", usual, "--workers 0 --bins 64 --stats --handlers 8", Counter("blocks")),
        ("--workers", usual, "--bins 64 --stats --workers 2", Counter("workers")),
        ("--slice-min", usual, "--workers 0 --bins 64 --stats --slice-min 3", Counter("slice_min")),
        (
            "--receives",
            usual,
            "--workers 0 --bins 64 --stats --receives 8",
            Counter("fallback_receives"),
        ),
        (
            "--communicators",
            usual,
            "--workers 0 --bins 64 --stats --communicators 1",
            Counter("fallback_tables"),
        ),
        (
            "--unexpected",
            usual,
            "--workers 0 --bins 64 --stats --unexpected 9",
            Counter("fallback_unexpected"),
        ),
        (
            "--unexpected-buffers",
            usual,
            "--workers 0 --bins 64 --stats --unexpected-buffers 2",
            Counter("fallback_unexpected"),
        ),
        (
            "--eager-limit",
            usual,
            "--workers 0 --bins 64 --stats --eager-limit 64",
            Counter("unexpected_bytes_high"),
        ),
        ("--fast-path", usual, "--workers 0 --bins 64 --stats --fast-path off", Counter("fast")),
        (
            "--early-check",
            usual,
            "--workers 0 --bins 64 --stats --early-check",
            Counter("conflict_blocks"),
        ),
        ("--removal", usual, "--workers 0 --bins 64 --stats --removal eager", Counter("removal")),
        (
            "--removal",
            usual,
            "--workers 0 --bins 64 --stats --removal deferred",
            Counter("removal"),
        ),
        ("--hashes", usual, "--workers 0 --bins 64 --stats --hashes verify", Counter("hashes")),
        ("--hashes", usual, "--workers 0 --bins 64 --stats --hashes ignore", Counter("hashes")),
        (
            "--hashes",
            usual,
            "--workers 0 --bins 64 --stats --hashes absent",
            Counter("inline_hashes"),
        ),
        ("--hint", usual, "--workers 0 --bins 64 --stats --hint no-any-source", Exit(1)),
        ("--hint", usual, "--workers 0 --bins 64 --stats --hint no-any-tag", Exit(1)),
        (
            "--hint",
            usual,
            "--workers 0 --bins 64 --stats --hint allow-overtaking",
            Counter("overtaking"),
        ),
        (
            "--fallback",
            "--workers 0 --bins 64 --stats --receives 8",
            "--workers 0 --bins 64 --stats --receives 8 --fallback list",
            Counter("software_steps"),
        ),
        ("--stats", "--workers 0", "--workers 0 --stats", Messages),
        ("--format", "--workers 0", "--workers 0 --format json", Results),
        (
            "--comm-size",
            "--stats --engine rank-array",
            "--stats --engine rank-array --comm-size 5000",
            Counter("memory_bytes_max"),
        ),
    ];
    check("match", rows, &stream("mixed"));
}

#[test]
fn every_option_of_gen() {
    let amr = "--pattern amr --ranks 64 --rounds 2";
    let rows: &[Row] = &[
        ("--seed", "--events 100", "--events 100 --seed 2", Results),
        ("--format", "--events 100", "--events 100 --format json", Form),
        ("--format", "--events 100", "--events 100 --format jsonl", Results),
        ("--seed", amr, "--pattern amr --ranks 64 --rounds 2 --seed 2", Results),
        ("--events", "--events 100", "--events 101", Results),
        ("--profile", "--events 100", "--events 100 --profile hot", Results),
        ("--pattern", "--events 100", "--pattern gather --ranks 8", Results),
        ("--ranks", "--pattern gather --ranks 8", "--pattern gather --ranks 9", Results),
        ("--rounds", amr, "--pattern amr --ranks 64 --rounds 3", Results),
        ("--pending", amr, "--pattern amr --ranks 64 --rounds 2 --pending 7", Results),
        ("--comms", amr, "--pattern amr --ranks 64 --rounds 2 --comms 3", Results),
        ("--any", amr, "--pattern amr --ranks 64 --rounds 2 --any 50", Results),
        ("--early", amr, "--pattern amr --ranks 64 --rounds 2 --early 90", Results),
        ("--order", amr, "--pattern amr --ranks 64 --rounds 2 --order reverse", Results),
        ("--bytes", amr, "--pattern amr --ranks 64 --rounds 2 --bytes 77", Results),
    ];
    check("gen", rows, b"");
}

/// A block of a recorded program.
macro_rules! traced {
    ($more:literal) => {
        concat!(
            "--schedules 50 --trace ../tests/data/traces/recorder/lammps-4.dumpi.tar.xz ",
            $more
        )
    };
}

#[test]
fn every_option_of_explore() {
    const TRACE: &str = traced!("");
    let rows: &[Row] = &[
        ("--schedules", "--example x5 --schedules 50", "--example x5 --schedules 51", Results),
        (
            "--seed",
            "--example x5 --schedules 300",
            "--example x5 --schedules 300 --seed 12345",
            Results,
        ),
        ("--format", "--schedules 50", "--schedules 50 --format json", Form),
        ("--story", "--example x5 --story 3", "--example x5 --story 4", Results),
        ("--handlers", "--example x5 --story 3", "--example x5 --story 3 --handlers 1", Results),
        ("--bins", "--schedules 300", "--schedules 300 --bins 1", Results),
        (
            "--fast-path",
            "--example x1 --story 3",
            "--example x1 --story 3 --fast-path off",
            Results,
        ),
        (
            "--early-check",
            "--example x1 --story 3",
            "--example x1 --story 3 --early-check",
            Results,
        ),
        (
            "--eager-removal",
            "--example x1 --story 3",
            "--example x1 --story 3 --eager-removal",
            Results,
        ),
        ("--fault", "--example x5", "--example x5 --fault forcing-ignored", Exit(3)),
        ("--example", "--schedules 50", "--schedules 50 --example x2", Results),
        ("--turns", "--example x5 --story 3", "--example x5 --turns 0x9", Results),
        ("--exhaustive", "--example x5", "--example x5 --exhaustive --bound 0", Results),
        (
            "--bound",
            "--example x5 --exhaustive --bound 0",
            "--example x5 --exhaustive --bound 1",
            Results,
        ),
        ("--html", "--example x5 --story 3", "--example x5 --story 3 --html /dev/null/x", Exit(2)),
        ("--test", "--example x5 --story 3", "--example x5 --story 3 --test", Results),
        ("--trace", "--schedules 50", TRACE, Results),
        ("--rank", TRACE, traced!("--rank 1"), Results),
        ("--block", TRACE, traced!("--block 0"), Results),
        ("--order", TRACE, traced!("--order arrivals-first"), Results),
        // Without it the command refuses the broken file; a row needs a first run that succeeds.
        (
            "--salvage",
            TRACE,
            "--schedules 50 --salvage --trace ../tests/data/traces/truncated/hpcg-0001.bin.xz",
            Results,
        ),
    ];
    let stream = "post,0,0,*,7\npost,1,0,3,8\npost,2,0,3,9\npost,3,0,3,7\npost,4,0,3,6\n\
                  arrive,0,0,3,7\narrive,1,0,3,8\narrive,2,0,3,9\narrive,3,0,3,7\narrive,4,0,3,6\n";
    check("explore", rows, stream.as_bytes());
}

#[test]
fn every_option_of_footprint() {
    let rows: &[Row] = &[
        ("--bins", "", "--bins 2049", Results),
        ("--handlers", "", "--handlers 31", Results),
        ("--workers", "", "--workers 2", Results),
        ("--receives", "", "--receives 1023", Results),
        ("--communicators", "", "--communicators 15", Results),
        ("--unexpected", "", "--unexpected 4095", Results),
        ("--unexpected-buffers", "", "--unexpected-buffers 1023", Results),
        ("--eager-limit", "", "--eager-limit 4095", Results),
        ("--format", "", "--format json", Results),
    ];
    check("footprint", rows, b"");
}

/// One window of a few messages, once.
macro_rules! quick {
    ($more:literal) => {
        concat!(
            "--reps 1 --rounds 1 --budget 0 --any-placement --format json ",
            "--baseline list --windows 20 ",
            $more
        )
    };
}

#[test]
fn every_option_of_bench() {
    const STEPS: Seen = Json("/results/rates/1/samples/0/steps_per_message");
    const NC: &str = quick!("--scenario NC");
    let (first, round) = ("/results/rates/0/scenario", "/results/rates/0/samples/0/time_ns/count");
    let trace = "--rounds 1 --budget 0 --baseline none --format json --trace \
                 ../tests/data/traces/recorder/lammps-4.dumpi.tar.xz";
    let rank: &str = &format!("{trace} --rank 2");
    let rank: &'static str = rank.to_owned().leak();
    let overview = "--scenario NC --windows 1 --reps 1 --rounds 1 --budget 0 --baseline none";
    let wide = "--scenario NC --windows 1 --reps 1 --rounds 1 --budget 0 --baseline none --wide";
    let rows: &[Row] = &[
        ("--scenario", NC, quick!("--scenario WC"), Json(first)),
        (
            "--windows",
            NC,
            "--reps 1 --rounds 1 --budget 0 --any-placement --format json \
             --baseline list --scenario NC --windows 21",
            Json("/results/rates/0/window"),
        ),
        ("--sizes", NC, quick!("--scenario NC --sizes 9"), Json("/results/rates/0/size_bytes")),
        (
            "--reps",
            NC,
            "--rounds 1 --budget 0 --any-placement --format json \
             --baseline list --windows 20 --scenario NC --reps 2",
            Json(round),
        ),
        (
            "--rounds",
            NC,
            "--reps 1 --budget 0 --any-placement --format json \
             --baseline list --windows 20 --scenario NC --rounds 2",
            Json("/results/rounds"),
        ),
        (
            "--budget",
            "--reps 12 --rounds 1 --any-placement --format json \
             --windows 2 --scenario NC --budget 0",
            "--reps 12 --rounds 1 --any-placement --format json \
             --windows 2 --scenario NC --budget 1000000",
            Json(round),
        ),
        (
            "--any-placement",
            "--reps 1 --rounds 1 --budget 0 --format json \
             --baseline list --windows 20 --scenario NC",
            NC,
            Json("/results/by_placement"),
        ),
        ("--cpus", NC, quick!("--scenario NC --cpus 0"), Exit(2)),
        ("--sweep", NC, quick!("--scenario NC --sweep 4"), Json("/results/rates/0/handlers")),
        ("--wild", quick!("--scenario MIX"), quick!("--scenario MIX --wild 50"), Json(first)),
        (
            "--conflicts",
            quick!("--scenario MIX"),
            quick!("--scenario MIX --conflicts 50"),
            Json(first),
        ),
        ("--late", quick!("--scenario MIX"), quick!("--scenario MIX --late 50"), Json(first)),
        (
            "--baseline",
            NC,
            "--reps 1 --rounds 1 --budget 0 --any-placement --format json \
             --windows 20 --scenario NC --baseline bins",
            Json("/results/rates/1/engine"),
        ),
        ("--peers", NC, quick!("--scenario NC --peers"), Exit(1)),
        ("--seed", quick!("--scenario NC-RND"), quick!("--scenario NC-RND --seed 2"), STEPS),
        (
            "--format",
            "--trace ../tests/data/traces/recorder/lammps-4.dumpi.tar.xz --rounds 1 --budget 0 \
             --baseline none",
            trace,
            Form,
        ),
        ("--out", NC, quick!("--scenario NC --out /dev/null/nothing"), Exit(2)),
        ("--wide", overview, wide, Header("scenario")),
        ("--save", NC, quick!("--scenario NC --save /dev/null/nothing"), Exit(2)),
        ("--trace", NC, trace, Form),
        ("--rank", trace, rank, Json("/results/rank")),
        (
            "--bins",
            quick!("--scenario NC-REV --baseline bins"),
            quick!("--scenario NC-REV --baseline bins --bins 1"),
            Json("/results/rates/2/samples/0/steps_per_message"),
        ),
        ("--handlers", NC, quick!("--scenario NC --handlers 5"), Json("/results/rates/0/handlers")),
        ("--workers", NC, quick!("--scenario NC --workers 1"), Json("/results/runner")),
        ("--slice-min", NC, quick!("--scenario NC --slice-min 3"), Json("/results/nic/slice_min")),
        ("--receives", NC, quick!("--scenario NC --receives 99"), Json("/results/nic/receives")),
        (
            "--communicators",
            NC,
            quick!("--scenario NC --communicators 9"),
            Json("/results/nic/communicators"),
        ),
        (
            "--unexpected",
            NC,
            quick!("--scenario NC --unexpected 9"),
            Json("/results/nic/unexpected_messages"),
        ),
        (
            "--unexpected-buffers",
            NC,
            quick!("--scenario NC --unexpected-buffers 9"),
            Json("/results/nic/unexpected_buffers"),
        ),
        (
            "--eager-limit",
            NC,
            quick!("--scenario NC --eager-limit 99"),
            Json("/results/nic/eager_limit"),
        ),
        (
            "--fast-path",
            NC,
            quick!("--scenario NC --fast-path prefix"),
            Json("/results/nic/fast_path"),
        ),
        (
            "--early-check",
            NC,
            quick!("--scenario NC --early-check"),
            Json("/results/nic/early_check"),
        ),
        ("--removal", NC, quick!("--scenario NC --removal deferred"), Json("/results/nic/removal")),
        ("--hashes", NC, quick!("--scenario NC --hashes verify"), Json("/results/nic/hashes")),
        (
            "--hint",
            quick!("--scenario ANYSRC"),
            quick!("--scenario ANYSRC --hint no-any-source"),
            Exit(2),
        ),
        ("--fallback", NC, quick!("--scenario NC --fallback list"), Json("/results/nic/fallback")),
        (
            "--scaling",
            NC,
            "--scaling --windows 4 --reps 2 --rounds 1 --format json",
            Json("/tables/0/name"),
        ),
    ];
    check("bench", rows, b"");
}

#[test]
fn every_option_of_run() {
    let usual = "--provider tests/run -- tests/run/program.sh";
    let rows: &[Row] = &[
        ("--log", usual, "--log --provider tests/run -- tests/run/program.sh", Results),
        ("--provider", usual, "--provider tests -- tests/run/program.sh", Exit(2)),
        ("--format", usual, "--format csv --provider tests/run -- tests/run/program.sh", Results),
        (
            "--out",
            usual,
            "--out /dev/null/nothing --provider tests/run -- tests/run/program.sh",
            Exit(2),
        ),
        (
            "--save",
            usual,
            "--save /dev/null/nothing --provider tests/run -- tests/run/program.sh",
            Exit(2),
        ),
        ("--wide", usual, "--wide --provider tests/run -- tests/run/program.sh", Results),
    ];
    check("run", rows, b"");
}

#[test]
fn every_option_of_diff() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("options-diff");
    std::fs::create_dir_all(&folder).expect("a folder");
    let save = |name: &str, line: &str| {
        let file = folder.join(name).to_str().expect("a plain path").to_owned();
        let line: Vec<&str> = line.split(' ').chain(["--save", &file]).collect();
        assert_eq!(dpamatch(&line, b"").status.code(), Some(0), "{line:?}");
        file
    };
    // A card whose second cache is a little slower, and one with another removal.
    let quick = "predict --threads 4 --workload nc";
    let base = save("base.json", quick);
    let slow = save("slow.json", &format!("{quick} --set memory.l2_ns=60"));
    let rate =
        "bench --scenario NC --windows 4 --rounds 9 --reps 3 --any-placement --baseline none";
    let one = save("one.json", rate);
    // Rates of two runs may be far apart on a busy machine: the second run is the first, and one
    // per cent faster.
    let two = one.replace("one.json", "two.json");
    let mut faster: Value =
        serde_json::from_slice(&std::fs::read(&one).expect("the file")).expect("a document");
    let rows = faster["results"]["rates"].as_array_mut().expect("rows");
    for rounds in rows.iter_mut().map(|row| &mut row["rate_msgs_per_s_rounds"]) {
        for round in rounds.as_array_mut().expect("rounds") {
            *round = (round.as_f64().expect("a rate") * 1.01).into();
        }
    }
    std::fs::write(&two, faster.to_string()).expect("room");
    let leak = |line: String| -> &'static str { line.leak() };
    let (same, worse) = (leak(format!("{base} {base}")), leak(format!("{base} {slow}")));
    let fine = leak(format!("{worse} --threshold 99"));
    let rates = leak(format!("{one} {two} --threshold 99 --format json"));
    let long = leak(format!("{one} {one} --all"));
    let rows: &[Row] = &[
        ("--threshold", fine, leak(format!("{worse} --threshold 0")), Exit(1)),
        (
            "--confidence",
            rates,
            leak(format!("{rates} --confidence 60")),
            Json("/results/changes/0/from_percent"),
        ),
        ("--all", same, leak(format!("{same} --all")), Results),
        // At a hundred columns the names of the rows are broken.
        ("--wide", long, leak(format!("{long} --wide")), Results),
        ("--format", same, leak(format!("{same} --format json")), Form),
    ];
    check("diff", rows, b"");
}

#[test]
fn every_option_of_engines() {
    check("engines", &[("--format", "", "--format json", Form)], b"");
}
