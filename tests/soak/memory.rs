//! Resident memory of this process.

/// Resident memory in bytes, or `None` if the system does not report it.
pub(super) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_memory() {
        let bytes = super::resident_bytes().expect("linux tells");
        assert!((1 << 16..1 << 40).contains(&bytes), "{bytes}");
    }
}
