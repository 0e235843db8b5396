//! Asks the processes of a running program what they wait for.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use dpamatch_tools::statistics::{self, Endpoint, State};
use dpamatch_tools::table::Table;

use super::table::{Wide, text};

/// Longest wait for answers. A process answers at its next progress, which takes long where many
/// share a core.
const PATIENCE: Duration = Duration::from_secs(3);
/// Interval between two looks for answers.
const LOOK: Duration = Duration::from_millis(20);

/// Asks every process whose statistics are in this folder, and joins the answers.
pub(super) fn ask(stats: &Path) -> anyhow::Result<Vec<Table>> {
    Ok(statistics::waits(&answers(stats, PATIENCE)?))
}

/// Requests the statistics of all processes. Returns the number of requests so far.
pub(super) fn request(stats: &Path) -> anyhow::Result<u64> {
    let path = stats.join("ask");
    let name = || path.display().to_string();
    let mut file = File::options()
        .append(true)
        .create(true)
        .open(&path)
        .with_context(name)?;
    file.write_all(b"?").with_context(name)?;
    Ok(file.metadata().with_context(name)?.len())
}

/// The statistics of all processes, requested now.
pub(super) fn answers(stats: &Path, patience: Duration) -> anyhow::Result<Vec<(Endpoint, State)>> {
    let asked = request(stats)?;
    let end = Instant::now() + patience;
    loop {
        let state = |endpoint: Endpoint| {
            let state = match () {
                () if endpoint.closed => State::Closed,
                () if endpoint.requests >= asked => State::Answered,
                () if is_there(&endpoint) => State::Silent,
                () => State::Gone,
            };
            (endpoint, state)
        };
        let states: Vec<_> = statistics::read(stats)?.into_iter().map(state).collect();
        let missing = states.iter().any(|(_, state)| *state == State::Silent);
        if !missing || Instant::now() >= end {
            return Ok(states);
        }
        thread::sleep(LOOK);
    }
}

/// The tables as text; those without rows are left out.
pub(super) fn told(tables: &[Table], wide: Wide) -> String {
    let tables = tables.iter().filter(|table| !table.rows.is_empty());
    tables
        .map(|table| format!("\n{}", text(table, wide.width())))
        .collect()
}

#[cfg(target_os = "linux")]
fn is_there(endpoint: &Endpoint) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", endpoint.pid));
    status.is_ok_and(|status| !status.lines().any(|line| line.starts_with("State:\tZ")))
}

/// The provider runs nowhere else.
#[cfg(not(target_os = "linux"))]
fn is_there(_: &Endpoint) -> bool {
    false
}
