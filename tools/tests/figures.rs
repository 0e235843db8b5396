//! The figures of the pages are what the commands beside them draw, to the byte. Those of rates and
//! times, and of recordings that are not in the repository, have the words of their commands:
//! titles, axes and series in order.

#[path = "../../tests/watchdog/mod.rs"]
mod watchdog;

use std::path::Path;
use std::process::Command;

/// Commands, each with a figure that it draws, and the figure's name on the pages.
const DRAWN: [(&str, (&str, &str)); 14] = [
    ("compare search --rounds 0", ("figure-search-steps.svg", "search-steps.svg")),
    ("compare depth --rounds 0", ("figure-depth.svg", "depth.svg")),
    ("compare patterns --rounds 0", ("figure-patterns.svg", "patterns.svg")),
    ("compare memory --rounds 0", ("figure-memory.svg", "memory.svg")),
    ("compare queues --rounds 0", ("figure-queues.svg", "queues.svg")),
    (
        "compare applications --ranks 256 --engine rank-array,col-pnp,col-ll,ll-pnp --rounds 0",
        ("figure-applications-256.svg", "applications.svg"),
    ),
    ("compare complexity --rounds 0", ("figure-complexity.svg", "complexity.svg")),
    ("predict accuracy", ("figure8_predicted.svg", "predicted.svg")),
    ("predict ablation", ("ablation.svg", "ablation.svg")),
    ("cost hierarchy", ("hierarchy.svg", "cost-hierarchy.svg")),
    ("cost contention", ("contention-line.svg", "cost-contention.svg")),
    ("channels --only latency", ("latency-ratio.svg", "channels-latency.svg")),
    ("channels --only discovery", ("message-discovery.svg", "channels-discovery.svg")),
    ("channels --only thresholds", ("ways-by-length.svg", "channels-thresholds.svg")),
];

const SHORT_RUN: &str = "--reps 100 --rounds 3 --budget 100 --any-placement";
/// Commands of the figures of rates and times, cut short.
const WORDS: [(&str, (&str, &str)); 5] = [
    (
        "bench --scenario NC,WC-FP,WC-SP --sweep 1,2 --windows 1,128 --baseline no-matching,bins",
        ("figure8.svg", "rates.svg"),
    ),
    (
        "bench --scenario DEPTH-16,DEPTH-64,WDEPTH-16,WDEPTH-64 --windows 100 --baseline list,bins",
        ("depth.svg", "rates-depth.svg"),
    ),
    (
        "cost ping-pong --rounds 1 --sizes 16,64,256 --engine optimistic,list,bins,col-pnp,col-ll,\
         ll-pnp,simd,rank-array,4d,ucx,optimistic-seq,adaptive,oracle,endpoint",
        ("ping-pong.svg", "cost-ping-pong.svg"),
    ),
    (TRACES, ("figure-calls.svg", "applications-calls.svg")),
    (TRACES, ("figure-bins.svg", "applications-bins.svg")),
];
const TRACES: &str = "analyze ../tests/data/traces/minife-16/minife-16.dumpi.tar.xz \
                      ../tests/data/traces/lulesh-27/lulesh-27.dumpi.tar.xz \
                      ../tests/data/traces/recorder/lammps-4.dumpi.tar.xz";

/// The words of a figure, without ticks and without names of recordings, such as `amg-8`.
fn words(figure: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(figure)
        .unwrap_or_else(|error| panic!("{}: {error}", figure.display()));
    let texts = text.split("<text").skip(1).filter_map(|it| it.split_once('>'));
    let words = texts.filter_map(|(_, it)| Some(it.split_once('<')?.0.to_owned()));
    let is_name =
        |word: &str| word.rsplit_once('-').is_some_and(|(_, ranks)| ranks.parse::<u32>().is_ok());
    let is_tick = |word: &str| word.trim_end_matches('k').parse::<f64>().is_ok();
    words.filter(|word| !is_name(word) && !is_tick(word)).collect()
}

fn pages() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/figures")
}

fn draw(command: &str, folder: &Path) {
    let mut run = Command::new(env!("CARGO_BIN_EXE_dpamatch"));
    run.args(command.split_whitespace()).arg("--out").arg(folder).env_remove("CLICOLOR_FORCE");
    let output = run.output().expect("it runs");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Compares what the command drew. `DPAMATCH_DRAW=1` writes the figures instead.
fn check(command: &str, (drawn, shown): (&str, &str)) {
    let folder = tempfile::tempdir().expect("a folder");
    draw(command, folder.path());
    let drawn = folder.path().join(drawn);
    let read = |path: &Path| {
        std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    if std::env::var_os("DPAMATCH_DRAW").is_some() {
        std::fs::copy(&drawn, pages().join(shown)).expect("written");
    }
    assert!(
        read(&drawn) == read(&pages().join(shown)),
        "docs/figures/{shown} is not what `dpamatch {command} --out DIR` draws; to draw it again: \
         DPAMATCH_DRAW=1 cargo test -p dpamatch_tools --test figures"
    );
}

/// Compares words, again where a disturbed measurement gave no rate, and so no line.
fn check_words(command: &str, (drawn, shown): (&str, &str)) {
    let short = if command.starts_with("bench") { SHORT_RUN } else { "" };
    let shown = words(&pages().join(shown));
    let drawn = |_| {
        let folder = tempfile::tempdir().expect("a folder");
        draw(&format!("{command} {short}"), folder.path());
        words(&folder.path().join(drawn))
    };
    let mut tries = (0..6).map(drawn);
    let first = tries.next().expect("a figure");
    assert!(first.len() > 5, "{first:?}");
    let right = first == shown || (!short.is_empty() && tries.any(|words| words == shown));
    assert!(right, "`dpamatch {command}` draws {first:?}, the page shows {shown:?}");
}

#[test]
fn every_figure_is_what_its_command_draws() {
    let _watched = watchdog::on("figures that are drawn again");
    DRAWN.into_iter().for_each(|(command, figure)| check(command, figure));
    WORDS.into_iter().for_each(|(command, figure)| check_words(command, figure));
}
