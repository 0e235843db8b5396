//! The memory that an analysis needs, before it begins.

use std::fs;
use std::path::Path;

use dpamatch_tools::analyze;
use dpamatch_traces::{TraceError, TraceSource};

use super::super::BadInput;

/// Bytes for a rank beside its sends and receives. Measured.
const RANK_BYTES: u64 = 9_500;
/// Ranks that are counted to estimate all.
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
    let step = ranks.len().div_ceil(SAMPLE).max(1);
    let (mut some, mut counted) = (0, 0);
    for &rank in ranks.iter().step_by(step) {
        let program = analyze::collect(source.open(rank)?.as_mut(), false, None)?;
        some += program.analysis_bytes();
        counted += 1;
    }
    let all = u128::from(some) * ranks.len() as u128 / u128::from(counted.max(1_u64));
    let bytes = all + ranks.len() as u128 * u128::from(RANK_BYTES);
    Ok(u64::try_from(bytes).unwrap_or(u64::MAX))
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
