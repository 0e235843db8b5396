//! Whoever runs an endpoint's NIC: the calling thread or a pool of threads.

use std::io;
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
}

impl Runner {
    /// Starts what `drive` asks for, and says which workers could not be pinned.
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
            let Some(&processor) = pin_to.get(worker % pin_to.len().max(1)) else { return Ok(()) };
            processors::pin_to(processor).map_err(|reason| PinFailure { worker, processor, reason })
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
            // Nobody listens any more if another worker died meanwhile.
            let _ = report.send(prepare(worker));
        })?;
        // The channel closes early only when all threads have ended.
        let failures = reports.iter().take(count).filter_map(Result::err).collect();
        Ok((Self::Threads { _pool: pool }, failures))
    }

    /// Runs the NIC, if that is the caller's business. Returns whether anything happened.
    #[inline]
    pub(super) fn drive(&mut self) -> bool {
        match self {
            Self::Caller(leader) => leader.round(1) == Round::Worked,
            Self::Threads { .. } => false,
        }
    }
}
