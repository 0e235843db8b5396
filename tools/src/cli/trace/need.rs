//! The memory that an analysis needs, before it begins.

use std::fs;
use std::path::Path;

use dpamatch_tools::analyze;
use dpamatch_traces::{TraceError, TraceSource};

use super::super::BadInput;

/// Bytes for a rank beside its sends and receives. Measured, as the other constants.
const RANK_BYTES: u64 = 15_500;
/// Bytes of the program.
const PROGRAM_BYTES: u64 = 12_000_000;
/// Bytes for the rank that a thread works on.
const THREAD_BYTES: u64 = 1_000_000;
/// Most ranks that are read to estimate all, beside the largest one.
const SAMPLE: usize = 8;
/// Bytes that a byte of the best compressed trace may need. Smaller traces need no estimate.
const GROWTH: u64 = 100;

/// Refuses a trace that needs more memory than is free.
///
/// # Errors
/// It needs more, or a rank cannot be read.
pub(super) fn check(path: &Path, source: &dyn TraceSource) -> anyhow::Result<()> {
    let Some(free) = free_bytes() else {
        eprintln!("note: the system does not say how much memory is free; the trace may need more");
        return Ok(());
    };
    if bytes_on_disk(path).saturating_mul(GROWTH) < free {
        return Ok(());
    }
    // What cannot be read is reported when it is.
    let Ok(need) = need_bytes(source) else {
        return Ok(());
    };
    judge(need, free, source.ranks().len())
        .map_err(|what| BadInput(format!("{}: {what}", path.display())).into())
}

fn judge(need: u64, free: u64, ranks: usize) -> Result<(), String> {
    if need <= free {
        return Ok(());
    }
    let share = (ranks as u128 * u128::from(free) * 4 / (u128::from(need) * 5)) as u64;
    let size = |bytes: u64| match bytes {
        10_000_000_000.. => format!("{} GB", bytes / 1_000_000_000),
        1_000_000_000.. => format!("{:.1} GB", bytes as f64 / 1e9),
        _ => format!("{} MB", bytes / 1_000_000),
    };
    let part = match share {
        0 => "a machine with more memory".to_owned(),
        share => format!("analyze --ranks 0-{}", share - 1),
    };
    Err(format!(
        "needs about {} of memory; {} are free: use {part}, or trace info, which needs none",
        size(need),
        size(free)
    ))
}

/// Estimated from some ranks, which are read.
fn need_bytes(source: &dyn TraceSource) -> Result<u64, TraceError> {
    let ranks = source.ranks();
    let read = |at: usize| {
        let program = analyze::collect(source.open(ranks[at])?.as_mut(), false, None)?;
        Ok(u128::from(program.analysis_bytes()))
    };
    let mut all = match lengths(source)? {
        Some(lengths) => estimate(&lengths, read)?,
        None => estimate(&vec![1; ranks.len()], read)?,
    };
    let threads = rayon::current_num_threads().min(ranks.len());
    all += ranks.len() as u128 * u128::from(RANK_BYTES);
    all += threads as u128 * u128::from(THREAD_BYTES) + u128::from(PROGRAM_BYTES);
    Ok(u64::try_from(all).unwrap_or(u64::MAX))
}

/// The sum of what `read` says of all ranks, from the largest one and a few others. These stand for
/// the rest, in proportion to the lengths of their traces.
fn estimate<E>(lengths: &[u64], read: impl Fn(usize) -> Result<u128, E>) -> Result<u128, E> {
    let mut by_length: Vec<usize> = (0..lengths.len()).collect();
    by_length.sort_by_key(|&at| lengths[at]);
    let Some(largest) = by_length.pop() else {
        return Ok(0);
    };
    let step = by_length.len().div_ceil(SAMPLE).max(1);
    let length = |at: usize| u128::from(lengths[at].max(1));
    let (mut some, mut of_length) = (0, 0);
    for &at in by_length.iter().step_by(step) {
        some += read(at)?;
        of_length += length(at);
    }
    let rest: u128 = by_length.iter().map(|&at| length(at)).sum();
    let rest = some * rest / of_length.max(1);
    let largest = read(largest)?;
    // What a rank has beyond the others may all wait there at a time.
    let mean = rest.checked_div(by_length.len() as u128);
    let waiting = largest.saturating_sub(mean.unwrap_or(largest));
    Ok(largest + waiting + rest)
}

/// The length of each rank's trace; `None` if a format does not say it beforehand.
fn lengths(source: &dyn TraceSource) -> Result<Option<Vec<u64>>, TraceError> {
    let mut lengths = Vec::with_capacity(source.ranks().len());
    for &rank in source.ranks() {
        match source.open(rank)?.info().bytes {
            Some(bytes) => lengths.push(bytes),
            None => return Ok(None),
        }
    }
    Ok(Some(lengths))
}

fn bytes_on_disk(path: &Path) -> u64 {
    let Ok(found) = fs::metadata(path) else {
        return 0;
    };
    // A .meta file stands for the files beside it.
    let folder = match found.is_dir() {
        true => Some(path),
        false
            if path
                .extension()
                .is_some_and(|it| it == "meta" || it == "otf2") =>
        {
            path.parent()
        }
        false => None,
    };
    let Some(folder) = folder else {
        return found.len();
    };
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .filter_map(|entry| entry.metadata().ok())
        .filter(fs::Metadata::is_file)
        .map(|file| file.len())
        .sum()
}

/// Memory that this process may still take: of the machine, of its group, and of its limit. `None`
/// if the system does not say.
fn free_bytes() -> Option<u64> {
    let number = |path: &str| -> Option<u64> { fs::read_to_string(path).ok()?.trim().parse().ok() };
    let machine = bytes_in("/proc/meminfo", "MemAvailable:");
    let group = number("/sys/fs/cgroup/memory.max")
        .and_then(|most| Some(most.saturating_sub(number("/sys/fs/cgroup/memory.current")?)));
    [machine, group, limit_bytes()].into_iter().flatten().min()
}

/// The size in the line of a file that begins with `name`. `None`: the system has no such line.
fn bytes_in(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let size = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = size.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(target_os = "linux")]
fn limit_bytes() -> Option<u64> {
    let most = rustix::process::getrlimit(rustix::process::Resource::As).current?;
    Some(most.saturating_sub(bytes_in("/proc/self/status", "VmSize:")?))
}

#[cfg(not(target_os = "linux"))]
fn limit_bytes() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_does_not_fit_is_said_with_a_part_that_does() {
        assert_eq!(judge(8_000, 8_000, 4), Ok(()));
        let gb = 1_000_000_000;
        assert_eq!(
            judge(11 * gb, 8 * gb, 200).expect_err("too much"),
            "needs about 11 GB of memory; 8.0 GB are free: use analyze --ranks 0-115, or trace info, \
             which needs none"
        );
        let none = judge(11 * gb, gb / 100, 2).expect_err("too much");
        assert!(
            none.contains("10 MB are free: use a machine with more memory"),
            "{none}"
        );
    }

    /// A rank with most of the calls counts once, wherever it is, and 9 ranks are read.
    #[test]
    fn one_long_rank_stands_for_itself() {
        let most = 1_000_000;
        for place in [0, 1, 499, 511] {
            let length = |at: usize| if at == place { most } else { 100 + at as u64 };
            let lengths: Vec<u64> = (0..512).map(length).collect();
            let reads = Cell::new(0);
            let read = |at: usize| {
                reads.set(reads.get() + 1);
                Ok::<_, ()>(3 * u128::from(lengths[at]))
            };
            let others: u64 = lengths.iter().sum::<u64>() - most;
            let expected = u128::from(6 * most - 3 * others / 511 + 3 * others);
            assert_eq!(estimate(&lengths, read), Ok(expected), "{place}");
            assert_eq!(reads.get(), 9);
        }
        assert_eq!(estimate(&[], |_| Err(())), Ok(0));
        assert_eq!(estimate(&[7], |at| Ok::<_, ()>(10 + at as u128)), Ok(10));
        assert_eq!(estimate(&[7, 7], |_| Ok::<_, ()>(10)), Ok(20));
    }

    /// All ranks are counted: 8 of 8, and 4 of 7.
    #[test]
    fn a_need_is_counted() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/traces");
        let entries = fs::read_dir(folder).expect("the traces");
        let mut seen = 0;
        for path in entries.flatten().map(|entry| entry.path()) {
            let Ok(source) = dpamatch_traces::open(&path, &Default::default()) else {
                continue;
            };
            let Ok(need) = need_bytes(source.as_ref()) else {
                continue;
            };
            let ranks = source.ranks().len() as u64;
            assert!(need >= ranks * RANK_BYTES, "{}: {need}", path.display());
            seen += u32::from(need > ranks * RANK_BYTES);
        }
        assert!(seen > 0, "no trace has messages");
    }
}
