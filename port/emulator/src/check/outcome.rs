//! What the lines lead to: `DPA_LOG` names their file, `DPA_ERRORS` what follows from an error.

use super::report::{Fault, NAMES};
use crate::environment;
use std::fs::File;
use std::io::Write;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What follows from an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reaction {
    /// Its line, and nothing else.
    None,
    /// A summary when the program exits.
    Count,
    /// A summary, and this exit status.
    Exit(i32),
    /// The program aborts after the line.
    Abort,
}

struct Outcome {
    reaction: Reaction,
    log: Option<File>,
    /// A child that the host's program forks writes no summary.
    program: u32,
}

static OUTCOME: LazyLock<Outcome> = LazyLock::new(|| Outcome {
    reaction: reaction(),
    log: log(),
    program: std::process::id(),
});

/// Lines that reported an error, by kind, and other lines.
static ERRORS: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];
static NOTES: AtomicU64 = AtomicU64::new(0);

fn reaction() -> Reaction {
    let Some(text) = environment::text("DPA_ERRORS") else {
        return Reaction::None;
    };
    let status = text.strip_prefix("exit:");
    match (text.as_str(), status.and_then(|status| status.parse().ok())) {
        ("count", _) => Reaction::Count,
        ("abort", _) => Reaction::Abort,
        (_, Some(status @ 1..=255)) => Reaction::Exit(status),
        _ => environment::refuse(format_args!(
            "DPA_ERRORS={text}: exit:STATUS with a status from 1 to 255, abort or count is needed"
        )),
    }
}

fn log() -> Option<File> {
    let path = environment::text("DPA_LOG")?;
    // Programs that run together share a log: each adds whole lines.
    let opened = File::options().append(true).create(true).open(&path);
    Some(opened.unwrap_or_else(|error| {
        environment::refuse(format_args!("DPA_LOG={path}: {error}"));
    }))
}

/// Reads the settings. A program with a wrong one ends.
pub(crate) fn open() {
    LazyLock::force(&OUTCOME);
}

pub(super) fn write(text: std::fmt::Arguments<'_>) {
    // One write for the whole line, so that lines of several threads do not mix. If the file cannot
    // be written, nobody can be told.
    let line = format!("dpa: {text}\n");
    let _ = match OUTCOME.log.as_ref() {
        Some(mut log) => log.write_all(line.as_bytes()),
        None => std::io::stderr().write_all(line.as_bytes()),
    };
}

/// A line that reports no error was written.
pub(super) fn noted() {
    // ordering: a statistic.
    NOTES.fetch_add(1, Relaxed);
}

/// The line of an error was written.
pub(super) fn failed(fault: Fault) {
    // ordering: a statistic.
    ERRORS[fault as usize].fetch_add(1, Relaxed);
    if OUTCOME.reaction == Reaction::Abort {
        std::process::abort();
    }
}

/// The program exits. Writes the summary, if one is wanted, and sets the exit status.
pub(crate) fn finish(calls: u64, activations: u64, completions: Option<u64>) {
    // ordering: statistics; a line that another thread writes meanwhile may be missing.
    let counts = ERRORS.iter().map(|count| count.load(Relaxed));
    let errors: u64 = counts.clone().sum();
    let is_wanted = OUTCOME.reaction != Reaction::None || OUTCOME.log.is_some();
    if !is_wanted || OUTCOME.program != std::process::id() {
        return;
    }
    let kinds = NAMES.iter().zip(counts).filter(|(_, count)| *count > 0);
    let kinds: Vec<_> = kinds
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    let colon = if kinds.is_empty() { "" } else { ": " };
    let completions = completions.map_or("unknown".to_owned(), |count| count.to_string());
    // ordering: as above.
    write(format_args!(
        "summary: calls {calls}, activations {activations}, completions {completions}, \
         other lines {}, errors {errors}{colon}{}",
        NOTES.load(Relaxed),
        kinds.join(", ")
    ));
    if let Reaction::Exit(status) = OUTCOME.reaction
        && errors > 0
    {
        // SAFETY: with glibc, a handler that calls `exit` changes the status, and the handlers that
        // have not run yet still run. So files are flushed.
        unsafe { libc::exit(status) };
    }
}
