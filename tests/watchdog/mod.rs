//! Ends a test program that waits for too long, and prints what it waits for.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Far longer than any test takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(600);

/// Watches until it is dropped.
pub(crate) struct Watchdog {
    awake: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Watches over the rest of a test, which waits for `what`. When the time is over the whole program
/// ends, because a waiting thread cannot be stopped.
pub(crate) fn on(what: &'static str) -> Watchdog {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let (awake, watched) = channel();
    let thread = std::thread::spawn(move || {
        if watched.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            // Written directly: the test harness captures the output of macros.
            let _ = writeln!(std::io::stderr(), "{test} still waits for {what}");
            std::process::exit(101);
        }
    });
    Watchdog {
        awake: Some(awake),
        thread: Some(thread),
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.awake = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
