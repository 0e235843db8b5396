//! A signal that asks for statistics in the middle of a run.
//!
//! The handler counts and does nothing else; endpoints see the count when they make progress.

use std::ffi::c_int;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

static ASKED: AtomicU32 = AtomicU32::new(0);
/// The signal whose handler is set.
static SET: Mutex<Option<c_int>> = Mutex::new(None);

extern "C" fn note(_: c_int) {
    ASKED.fetch_add(1, Ordering::Relaxed);
}

/// Number of requests for statistics so far.
pub(crate) fn asked() -> u32 {
    ASKED.load(Ordering::Relaxed)
}

/// The number of a signal that programs are free to use.
pub(crate) fn number(name: &str) -> Option<c_int> {
    match name {
        "USR1" => Some(libc::SIGUSR1),
        "USR2" => Some(libc::SIGUSR2),
        _ => None,
    }
}

/// Installs the handler, unless the program handles the signal itself.
///
/// # Errors
/// The reason, if it is not installed.
pub(crate) fn listen(signal: c_int) -> Result<(), String> {
    let mut set = SET.lock().unwrap_or_else(|error| error.into_inner());
    if set.is_some() {
        return Ok(());
    }
    // SAFETY: places for actions; all zero is a valid one. The handler does one atomic addition,
    // which is allowed in any context, and is taken back before this library is unloaded
    // (`stop_listening`).
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &mut before) != 0 {
            return Err(std::io::Error::last_os_error().to_string());
        }
        if before.sa_sigaction != libc::SIG_DFL {
            return Err("the program deals with the signal itself".to_owned());
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note as extern "C" fn(c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        if libc::sigaction(signal, &action, std::ptr::null_mut()) != 0 {
            return Err(std::io::Error::last_os_error().to_string());
        }
    }
    *set = Some(signal);
    Ok(())
}

/// Removes the handler if it is still this library's.
pub(crate) fn stop_listening() {
    let mut set = SET.lock().unwrap_or_else(|error| error.into_inner());
    let Some(signal) = set.take() else { return };
    // SAFETY: see `listen`.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &mut now) == 0
            && now.sa_sigaction == note as extern "C" fn(c_int) as usize
        {
            // From here on the signal does nothing; by default it would end the process.
            now.sa_sigaction = libc::SIG_IGN;
            libc::sigaction(signal, &now, std::ptr::null_mut());
        }
    }
}
