//! The processors that this process may use, and binding a thread to one of them. Linux only;
//! elsewhere nothing is known and nothing bound.

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Numbers of the processors that this process may use; none if the system does not tell.
#[cfg(target_os = "linux")]
pub fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).ok();
    set.map(|set| (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()).unwrap_or_default()
}

/// Numbers of the processors that this process may use; none if the system does not tell.
#[cfg(not(target_os = "linux"))]
pub fn allowed() -> Vec<usize> {
    Vec::new()
}

/// Binds the calling thread to a processor; what the system says if it does not.
#[cfg(target_os = "linux")]
pub fn pin_to(processor: usize) -> Result<(), String> {
    if processor >= CpuSet::MAX_CPU {
        return Err(format!("processors are numbered below {}", CpuSet::MAX_CPU));
    }
    let mut only = CpuSet::new();
    only.set(processor);
    sched_setaffinity(None, &only).map_err(|error| error.to_string())
}

/// Binds the calling thread to a processor; what the system says if it does not.
#[cfg(not(target_os = "linux"))]
pub fn pin_to(_: usize) -> Result<(), String> {
    Err("pinning is not supported on this system".to_owned())
}
