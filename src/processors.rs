//! The processors that this process may use, and binding a thread to one of them. Linux only;
//! elsewhere nothing is known and nothing bound.

/// The system's sets of processors have this many bits.
#[cfg(target_os = "linux")]
const PROCESSORS_MAX: usize = 1024;

/// Numbers of the processors that this process may use; none if the system does not tell.
#[cfg(target_os = "linux")]
pub fn allowed() -> Vec<usize> {
    core_affinity::get_core_ids().unwrap_or_default().into_iter().map(|core| core.id).collect()
}

/// Numbers of the processors that this process may use; none if the system does not tell.
#[cfg(not(target_os = "linux"))]
pub fn allowed() -> Vec<usize> {
    Vec::new()
}

/// Binds the calling thread to a processor; what the system says if it does not.
#[cfg(target_os = "linux")]
pub fn pin_to(processor: usize) -> Result<(), String> {
    if processor >= PROCESSORS_MAX {
        return Err(format!("processors are numbered below {PROCESSORS_MAX}"));
    }
    if core_affinity::set_for_current(core_affinity::CoreId { id: processor }) {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error().to_string())
    }
}

/// Binds the calling thread to a processor; what the system says if it does not.
#[cfg(not(target_os = "linux"))]
pub fn pin_to(_: usize) -> Result<(), String> {
    Err("pinning is not supported on this system".to_owned())
}
