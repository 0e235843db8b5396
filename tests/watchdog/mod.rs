//! Ends a test program that waits for something that does not come, and says for what.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Far longer than any test takes on a machine that does fifteen other things as well.
const LIMIT: Duration = Duration::from_secs(600);

/// On watch until it is dropped.
pub(crate) struct Watchdog {
    awake: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Watches over the rest of a test, which waits for `what`. When the time is over the whole program
/// ends: a thread that waits cannot be stopped.
pub(crate) fn on(what: &'static str) -> Watchdog {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let (awake, watched) = channel();
    let thread = std::thread::spawn(move || {
        if watched.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            // Not by a macro: the test harness keeps what these print.
            let _ = writeln!(std::io::stderr(), "{test} still waits for {what}");
            std::process::exit(101);
        }
    });
    Watchdog { awake: Some(awake), thread: Some(thread) }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.awake = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
