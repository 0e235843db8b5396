//! The processors that a thread may use, and binding the thread to one of them. Linux only: other
//! systems report no processors and refuse to bind.

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Numbers of the processors that this thread may use; empty if the system does not report them.
#[cfg(target_os = "linux")]
pub fn allowed() -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(None) else {
        return Vec::new();
    };
    (0..CpuSet::MAX_CPU)
        .filter(|&processor| allowed.is_set(processor))
        .collect()
}

/// Numbers of the processors that this thread may use; empty if the system does not report them.
#[cfg(not(target_os = "linux"))]
pub fn allowed() -> Vec<usize> {
    Vec::new()
}

/// Binds the calling thread to a processor. The error is the system's message.
#[cfg(target_os = "linux")]
pub fn pin_to(processor: usize) -> Result<(), String> {
    if processor >= CpuSet::MAX_CPU {
        return Err(format!("processors are numbered below {}", CpuSet::MAX_CPU));
    }
    let mut set = CpuSet::new();
    set.set(processor);
    sched_setaffinity(None, &set).map_err(|error| error.to_string())
}

/// Binds the calling thread to a processor. The error is the system's message.
#[cfg(not(target_os = "linux"))]
pub fn pin_to(_: usize) -> Result<(), String> {
    Err("pinning is not supported on this system".to_owned())
}

#[cfg(all(test, target_os = "linux"))]
#[test]
fn a_pinned_thread_may_use_its_processor_only() {
    for processor in allowed() {
        let pinned = move || pin_to(processor).map(|()| allowed());
        assert_eq!(
            std::thread::spawn(pinned).join().expect("no panic"),
            Ok(vec![processor])
        );
    }
    assert!(pin_to(CpuSet::MAX_CPU).is_err());
}
