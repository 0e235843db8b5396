//! Command lines, and the files that they name.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tempfile::TempDir;

use super::{Output, dpamatch, dpamatch_reads};

/// The folder of this run. It stays when the program ends, so it is made where `cargo clean`
/// removes it.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let make = || {
        let made = tempfile::Builder::new()
            .prefix("tables-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"));
        made.expect("a folder")
    };
    FOLDER.get_or_init(make).path()
}

pub(super) fn file(name: &str, contents: impl AsRef<[u8]>) {
    std::fs::write(folder().join(name), contents).expect("room");
}

/// The words of a line, with `$NAME` and `@NAME` replaced by recorded traces and by files.
pub(super) fn words(line: &str) -> Vec<String> {
    let place = |line: &str| {
        let line = line.replace('$', "../tests/data/traces/");
        line.replace('@', &format!("{}/", folder().display()))
    };
    line.split_whitespace().map(place).collect()
}

pub(super) fn run(line: &str) -> Output {
    dpamatch(&words(line).iter().map(String::as_str).collect::<Vec<_>>())
}

/// Runs a line that may end with `< @FILE`, its standard input.
pub(super) fn run_reads(line: &str) -> Output {
    let (line, input) = line
        .split_once(" < ")
        .map_or((line, None), |(a, b)| (a, Some(b)));
    let input = input.map(|name| std::fs::read(words(name).remove(0)).expect("the input"));
    let words = words(line);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    dpamatch_reads(&words, &input.unwrap_or_default())
}

/// Calls `each` for all items, as many at a time as there are processors. It fails at the end if a
/// call failed.
pub(super) fn in_parallel<T: Sync>(items: &[T], each: impl Fn(&T) + Sync) {
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // Relaxed: the counters guard no other memory.
    let work = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if catch_unwind(AssertUnwindSafe(|| each(item))).is_err() {
                failed.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    assert_eq!(
        failed.into_inner(),
        0,
        "failures, each with its message above"
    );
}
