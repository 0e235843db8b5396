//! What runs an endpoint's NIC: the calling thread or a pool of threads.

use std::io;
use std::mem;
use std::sync::mpsc;

use dpa_model::{Leader, Pool, Round, Worker};

use super::config::Drive;
use super::pin::PinFailure;
use crate::processors;

#[derive(Debug)]
pub(super) enum Runner {
    Caller(Box<Leader>),
    /// Its drop ends and joins the threads.
    Threads {
        _pool: Pool,
    },
    /// The NIC panicked inside the caller, and has stopped.
    Broken,
}

/// Stops the NIC when a panic unwinds through it, so that no later call enters an inconsistent
/// state.
struct StopOnPanic<'a>(&'a mut Runner);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        *self.0 = Runner::Broken;
    }
}

impl Runner {
    /// Starts the NIC according to `drive`. Returns the workers that the system did not pin.
    pub(super) fn start(
        drive: &Drive,
        leader: Leader,
        workers: Vec<Worker>,
    ) -> io::Result<(Self, Vec<PinFailure>)> {
        let pin_to = match drive {
            Drive::Caller => return Ok((Self::Caller(Box::new(leader)), Vec::new())),
            Drive::Threads { pin_to } => pin_to.clone(),
        };
        Self::start_threads(leader, workers, move |worker| {
            let Some(&processor) = pin_to.get(worker % pin_to.len().max(1)) else {
                return Ok(());
            };
            processors::pin_to(processor).map_err(|reason| PinFailure {
                worker,
                processor,
                reason,
            })
        })
    }

    /// Starts one thread per worker, each of which first runs `prepare` with its number.
    fn start_threads(
        leader: Leader,
        workers: Vec<Worker>,
        prepare: impl Fn(usize) -> Result<(), PinFailure> + Send + Sync + 'static,
    ) -> io::Result<(Self, Vec<PinFailure>)> {
        let count = workers.len() + 1;
        let (report, reports) = mpsc::channel();
        let pool = Pool::start(leader, workers, move |worker| {
            // Fails if the receiver is gone because another worker panicked.
            let _ = report.send(prepare(worker));
        })?;
        // The channel closes early only when all threads have ended.
        let failures = reports.iter().take(count).filter_map(Result::err).collect();
        Ok((Self::Threads { _pool: pool }, failures))
    }

    /// Runs the NIC, if that is the caller's business. Returns whether anything happened.
    #[inline]
    pub(super) fn drive(&mut self) -> bool {
        self.drive_by(|leader| leader.round(1)) == Round::Worked
    }

    #[inline]
    fn drive_by(&mut self, round: impl FnOnce(&mut Leader) -> Round) -> Round {
        if !matches!(self, Self::Caller(_)) {
            return Round::Idle;
        }
        let runner = StopOnPanic(self);
        let done = match &mut *runner.0 {
            Self::Caller(leader) => round(leader),
            Self::Threads { .. } | Self::Broken => Round::Idle,
        };
        mem::forget(runner);
        done
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use dpa_model::{Envelope, Nic, NicConfig, SendError};

    use super::*;

    #[test]
    fn a_nic_that_panics_inside_its_caller_stops() {
        let mut nic = Nic::new(&NicConfig::default()).expect("a NIC");
        let mut runner = Runner::Caller(Box::new(nic.leader));
        assert!(!runner.drive() && !nic.host.is_stopped());
        let panics = |_: &mut Leader| panic!("this panic is part of the test");
        let panicked = catch_unwind(AssertUnwindSafe(|| runner.drive_by(panics)));
        assert!(panicked.is_err() && nic.host.is_stopped());
        assert_eq!(
            nic.sender.try_send(Envelope::default(), b"", 0),
            Err(SendError::Stopped)
        );
        assert!(!runner.drive());
    }
}
