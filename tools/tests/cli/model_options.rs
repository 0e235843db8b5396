//! Every option of the commands on traces and models changes something that is printed.
//!
//! Left out are options of which only speed or the order of the handlers' steps tells, which no
//! output of these commands shows: workers, slices, removal and hashes on the emulated NIC.

use super::*;

/// The results that the command prints with these words; `$NAME` stands for a trace.
fn printed(words: &str) -> String {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/traces");
    let path = |word: &str| match word.strip_prefix('$') {
        Some(name) => traces.join(name).to_str().expect("a plain path").to_owned(),
        None => word.to_owned(),
    };
    let words: Vec<String> = words.split_whitespace().map(path).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // What was asked for stands in the rest of the document.
    results(&dpamatch(&words)).to_string()
}

/// The same words give the same again; each of the options gives something else, and no two of
/// them the same.
fn each_changes_something(words: &str, options: &[&str]) {
    let words = format!("{words} --format json");
    let base = printed(&words);
    assert_eq!(base, printed(&words), "{words}");
    let mut seen = vec![("nothing", base)];
    for option in options {
        let with = printed(&format!("{words} {option}"));
        let same = seen.iter().find(|(_, before)| *before == with).map(|(option, _)| option);
        assert_eq!(same, None, "{words} {option}");
        seen.push((option, with));
    }
}

/// Each of these command lines gives something else. For options whose default takes long.
fn all_differ(words: &str, options: &[&str]) {
    let outputs: std::collections::HashSet<String> =
        options.iter().map(|option| printed(&format!("{words} --format json {option}"))).collect();
    assert_eq!(outputs.len(), options.len(), "{words}: {options:?}");
}

const MINIFE: &str = "$minife-16/minife-16.dumpi.tar.xz";
const EDGE: &str = "$edge-4-openmpi/edge-4-openmpi.dumpi.tar.xz";

#[test]
fn options_of_analyze() {
    each_changes_something(
        &format!("analyze {MINIFE}"),
        &[
            "--bins 4",
            "--order posts-first",
            "--order arrivals-first",
            "--order time",
            "--order random",
            "--order random --seed 9",
            "--seed 2",
            "--engine list",
            "--sweep 3",
            "--check",
            "--latency 50000",
            "--bandwidth 1",
            "--jitter 100000",
            "--compute 0.5",
            "--receives 4",
            "--unexpected 4 --unexpected-buffers 4",
            "--unexpected-buffers 2",
            "--eager-limit 8",
        ],
    );
    each_changes_something(&format!("analyze {EDGE} --sweep 2"), &["--communicators 1"]);
    each_changes_something("analyze $minife-16/rank-0007.txt.xz", &["--rank 3"]);
}

/// What the emulated NIC counts, and what its software does.
#[test]
fn options_of_analyze_with_the_nic() {
    each_changes_something(
        &format!("analyze {MINIFE} --engine optimistic"),
        &[
            "--handlers 3",
            "--fast-path literal",
            "--fast-path off",
            "--early-check",
            "--receives 3",
        ],
    );
    each_changes_something(&format!("analyze {EDGE} --engine optimistic"), &["--communicators 1"]);
}

#[test]
fn options_of_predict() {
    each_changes_something(
        "predict --threads 4 --workload mixed:50",
        &[
            "--window 64",
            "--stream",
            "--bytes 100",
            "--bytes 100 --eager-limit 8",
            "--set memory.l2_ns=99",
            "--bins 1",
            "--like prototype",
            "--fast-path off",
            "--removal deferred",
            "--early-check",
            "--no-inline-hashes",
            "--seed 2",
        ],
    );
    each_changes_something("predict --workload nc", &["--threads 1", "--threads 2"]);
    each_changes_something("predict --threads 2", &["--workload nc", "--workload wc-sp"]);
}

#[test]
fn options_of_predict_of_a_trace() {
    each_changes_something(
        &format!("predict --threads 4 --trace {EDGE}"),
        &[
            "--rank 3",
            "--order posts-first",
            "--order arrivals-first",
            "--order random --seed 9",
            "--order random --seed 3",
            "--times recorded",
            "--free-posts",
        ],
    );
    each_changes_something(
        &format!("predict handlers --trace {EDGE} --rank 3 --order posts-first"),
        &["--receives 2", "--handlers 4"],
    );
}

#[test]
fn options_of_offload() {
    each_changes_something(
        &format!("offload {MINIFE}"),
        &[
            "--engine bins",
            "--handlers 2",
            "--receives 4",
            "--set memory.l2_ns=99",
            "--profile generic",
            "--worth 90",
            "--communicators",
        ],
    );
    each_changes_something("offload $recorder/fan-in-4.dumpi.tar.xz", &["--engine bins"]);
}

#[test]
fn options_of_channels() {
    all_differ("channels", &["--only latency", "--only thresholds"]);
    each_changes_something(
        "channels --only discovery --kind geometric --pairs 3 --bursts 10",
        &[
            "--policy static:9",
            "--gap 100",
            "--gap 100 --random-gap",
            "--handle 77",
            "--set rdma_ns=999",
            "--seed 9",
        ],
    );
    all_differ(
        "channels --only discovery --policy static:9",
        &[
            "--bursts 3 --pairs 3 --kind switching",
            "--bursts 3 --pairs 3 --kind constant",
            "--bursts 4 --pairs 3 --kind constant",
            "--bursts 4 --pairs 4 --kind constant",
        ],
    );
}

#[test]
fn options_of_cost_of_messages() {
    each_changes_something(
        &format!("cost messages {MINIFE} --trace"),
        &[
            "--posting worst",
            "--posting worst --engine bins",
            "--posting worst --engine bins --bins 2",
            "--posting random",
            "--posting random --seed 5",
            "--queue third",
            "--queue bound",
            "--hops 1",
            "--per-rank",
            "--set queue.gamma_step_s=1",
        ],
    );
}

#[test]
fn options_of_cost_of_models() {
    each_changes_something(
        "cost contention",
        &["--routers 8", "--sizes 77", "--senders 3", "--set contention.delta_s_per_byte=1"],
    );
    each_changes_something(
        "cost hierarchy --processes 8 --edge 6",
        &[
            "--coarsest 5",
            "--product matrix",
            "--engine bins",
            "--engine bins --bins 1",
            "--engine bins --bins 1 --posting worst",
            "--engine bins --bins 1 --seed 4",
            "--set queue.gamma_s=1",
        ],
    );
    all_differ("cost hierarchy --edge 5", &["", "--processes 8", "--processes 4"]);
    all_differ("cost hierarchy --processes 4", &["--edge 4", "--edge 5"]);
}
