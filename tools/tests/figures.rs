//! The figures of the pages are what the commands beside them draw, to the byte. Figures of rates
//! and times differ from machine to machine; this test leaves them out.

#[path = "../../tests/watchdog/mod.rs"]
mod watchdog;

use std::path::Path;
use std::process::Command;

/// Commands, each with a figure that it draws, and the figure's name on the pages.
const DRAWN: [(&str, (&str, &str)); 12] = [
    ("compare search --rounds 0", ("figure-search-steps.svg", "search-steps.svg")),
    ("compare depth --rounds 0", ("figure-depth.svg", "depth.svg")),
    ("compare patterns --rounds 0", ("figure-patterns.svg", "patterns.svg")),
    ("compare memory --rounds 0", ("figure-memory.svg", "memory.svg")),
    ("compare queues --rounds 0", ("figure-queues.svg", "queues.svg")),
    ("compare complexity --rounds 0", ("figure-complexity.svg", "complexity.svg")),
    ("predict accuracy", ("figure8_predicted.svg", "predicted.svg")),
    ("cost hierarchy", ("hierarchy.svg", "cost-hierarchy.svg")),
    ("cost contention", ("contention-line.svg", "cost-contention.svg")),
    ("channels --only latency", ("latency-ratio.svg", "channels-latency.svg")),
    ("channels --only discovery", ("message-discovery.svg", "channels-discovery.svg")),
    ("channels --only thresholds", ("ways-by-length.svg", "channels-thresholds.svg")),
];

fn pages() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/figures")
}

/// Runs the command, and compares what it drew. `DPAMATCH_DRAW=1` writes the figures instead.
fn check(command: &str, (drawn, shown): (&str, &str)) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut run = Command::new(env!("CARGO_BIN_EXE_dpamatch"));
    run.args(command.split(' ')).arg("--out").arg(folder.path()).env_remove("CLICOLOR_FORCE");
    let output = run.output().expect("it runs");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
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

#[test]
fn every_figure_is_what_its_command_draws() {
    let _watched = watchdog::on("figures that are drawn again");
    DRAWN.into_iter().for_each(|(command, figure)| check(command, figure));
}
