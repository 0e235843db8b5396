//! The time of calls that wait. They take it from their caller, so a test can set it.

use std::ffi::c_int;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub(crate) trait Clock {
    fn now(&mut self) -> Instant;

    /// Sleeps until the descriptor is ready, a signal interrupts the thread, or `most` has passed.
    fn sleep(&mut self, most: Duration, wake: Option<BorrowedFd<'_>>);
}

/// The system's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct System;

impl Clock for System {
    fn now(&mut self) -> Instant {
        Instant::now()
    }

    fn sleep(&mut self, most: Duration, wake: Option<BorrowedFd<'_>>) {
        let Some(wake) = wake else {
            return std::thread::sleep(most);
        };
        let most = Timespec {
            tv_sec: most.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: most.subsec_nanos().into(),
        };
        let mut ready = [PollFd::from_borrowed_fd(wake, PollFlags::IN)];
        // Woken, timed out or interrupted: the caller looks again in each case.
        let _ = poll(&mut ready, Some(&most));
    }
}

/// A wait's clock and its end.
#[derive(Debug)]
pub(super) struct Wait<'a, C> {
    clock: &'a mut C,
    /// `None`: never.
    end: Option<Instant>,
}

impl<'a, C: Clock> Wait<'a, C> {
    /// A wait of `timeout` milliseconds that begins now; one below 0 has no end.
    pub(super) fn new(clock: &'a mut C, timeout: c_int) -> Self {
        let timeout = u64::try_from(timeout).ok().map(Duration::from_millis);
        let end = timeout.map(|timeout| clock.now() + timeout);
        Self { clock, end }
    }

    /// The time that is left, at most `most`; `None` at the end and after it.
    pub(super) fn left(&mut self, most: Duration) -> Option<Duration> {
        let Some(end) = self.end else {
            return Some(most);
        };
        let left = end.saturating_duration_since(self.clock.now());
        (!left.is_zero()).then(|| left.min(most))
    }

    pub(super) fn sleep(&mut self, most: Duration, wake: Option<BorrowedFd<'_>>) {
        self.clock.sleep(most, wake);
    }
}
