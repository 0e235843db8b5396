//! One emulated NIC with software matching behind it, and a sequence of operations fed into both.

use std::fmt;
use std::time::Duration;

use dpa_model::{
    ConfigError, FeedError, Feeder, Leader, Monitor, Nic, NicConfig, Operation, Outcome, Pool,
    Round,
};

use super::software::Software;
use crate::engine::Behind;

/// A failure of the emulated NIC during a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NicRunError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(ConfigError),
    /// The system could not start a thread.
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
    /// The NIC's answers contradict each other, or a hint forbids a wildcard.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// At the end the NIC's queues differ from what its answers imply.
    #[error("the NIC's queues at the end do not hold what its answers left: {0}")]
    LeftDiffers(&'static str),
    /// The NIC stopped without a request.
    #[error("the emulated NIC stopped unexpectedly")]
    Stopped,
    /// The run makes no progress and still waits for this.
    #[error("the emulated NIC does nothing any more, and {0} is missing")]
    Stuck(&'static str),
}

/// What runs the NIC.
enum Runner {
    Caller(Box<Leader>),
    Threads(Pool),
}

/// A NIC that one thread feeds with operations. Software matches what does not fit on it. The order
/// is that of the operations if the NIC has [`Order::Stamped`](dpa_model::Order::Stamped).
pub struct NicRun {
    runner: Runner,
    feeder: Feeder,
    pub(super) software: Software,
    monitor: Monitor,
}

impl fmt::Debug for NicRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NicRun")
            .field("feeder", &self.feeder)
            .finish_non_exhaustive()
    }
}

impl NicRun {
    /// Builds the NIC and starts its threads; without `threads` the calling thread runs it.
    /// `inline_hashes`: senders put hashes in the header.
    ///
    /// Source: O26.
    ///
    /// # Errors
    /// [`NicRunError::Config`], [`NicRunError::Thread`].
    pub fn start(
        config: &NicConfig,
        threads: bool,
        inline_hashes: bool,
    ) -> Result<Self, NicRunError> {
        let Nic {
            leader,
            workers,
            host,
            mut sender,
            ..
        } = Nic::new(config).map_err(NicRunError::Config)?;
        sender.set_inline_hashes(inline_hashes);
        let monitor = leader.monitor();
        let runner = if threads {
            let pool = Pool::start(leader, workers, |_| ()).map_err(NicRunError::Thread)?;
            Runner::Threads(pool)
        } else {
            Runner::Caller(Box::new(leader))
        };
        let feeder = Feeder::new(host, sender);
        Ok(Self {
            runner,
            feeder,
            software: Software::default(),
            monitor,
        })
    }

    /// Lets this engine match what does not fit on the NIC. For a run without operations so far.
    pub fn behind(self, behind: Behind) -> Self {
        Self {
            software: Software::behind(behind),
            ..self
        }
    }

    /// Switches the checks off; see [`Feeder::without_checks`].
    pub fn without_checks(self) -> Self {
        Self {
            feeder: self.feeder.without_checks(),
            ..self
        }
    }

    /// From now on the sender flips these bits in each hash of a header.
    pub fn lie(&mut self, fault: u32) {
        self.feeder.sender.set_hash_fault(fault);
    }

    /// The operations fed, and the ones still open.
    pub fn feeder(&self) -> &Feeder {
        &self.feeder
    }

    /// The NIC's counters.
    pub fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// Feeds one operation, and handles the NIC's reports.
    ///
    /// # Errors
    /// [`NicRunError::Feed`], [`NicRunError::Stopped`], [`NicRunError::Stuck`].
    pub fn issue(
        &mut self,
        operation: &Operation,
        sink: &mut impl FnMut(Outcome),
    ) -> Result<(), NicRunError> {
        let mut idle = Idle::default();
        while !self.feeder.try_issue(operation)? {
            self.step(sink, &mut idle, "room in a queue for the next operation")?;
        }
        self.collect(sink)?;
        Ok(())
    }

    /// Waits until all operations so far are answered and their data are here. A receive without a
    /// message stays posted.
    ///
    /// # Errors
    /// The errors of [`issue`](Self::issue).
    pub fn settle(&mut self, sink: &mut impl FnMut(Outcome)) -> Result<(), NicRunError> {
        let mut idle = Idle::default();
        while !self.feeder.try_flush() {
            self.step(sink, &mut idle, "room in the command queue for a flush")?;
        }
        while let Some(what) = self.feeder.waits_for() {
            self.step(sink, &mut idle, what)?;
        }
        Ok(())
    }

    /// Ends the NIC and its threads.
    pub fn stop(self) {
        self.feeder.host.request_stop();
        if let Runner::Threads(pool) = self.runner {
            pool.stop();
        }
    }

    /// Makes progress on the NIC, and handles its reports.
    fn step(
        &mut self,
        sink: &mut impl FnMut(Outcome),
        idle: &mut Idle,
        missing: &'static str,
    ) -> Result<(), NicRunError> {
        // Read before the last poll, which then sees all that the NIC reported before it stopped.
        let stopped = self.feeder.host.is_stopped();
        let (worked, most) = match &mut self.runner {
            Runner::Caller(leader) => (leader.round(1) == Round::Worked, Idle::MOST_OF_CALLER),
            Runner::Threads(_) => (false, Idle::MOST),
        };
        if self.collect(sink)? || worked {
            *idle = Idle::default();
        } else if stopped {
            return Err(NicRunError::Stopped);
        } else if !idle.pause(most) {
            return Err(NicRunError::Stuck(missing));
        }
        Ok(())
    }

    fn collect(&mut self, sink: &mut impl FnMut(Outcome)) -> Result<bool, NicRunError> {
        let mut any = false;
        while let Some(event) = self.software.poll(&mut self.feeder.host) {
            any = true;
            if let Some(outcome) = self.feeder.note(event)? {
                sink(outcome);
            }
        }
        Ok(any)
    }
}

/// Consecutive steps without effect.
#[derive(Debug, Default)]
struct Idle(u32);

impl Idle {
    /// If the caller runs the NIC, no other thread does anything. The first step may have freed
    /// what the NIC waits for.
    const MOST_OF_CALLER: u32 = 4;
    /// Steps before the first sleep.
    const YIELDS: u32 = 2_000;
    /// One minute of sleep.
    const MOST: u32 = Self::YIELDS + 120_000;
    const SLEEP: Duration = Duration::from_micros(500);

    /// Counts a step without effect. Returns `false` after `most` of them.
    fn pause(&mut self, most: u32) -> bool {
        self.0 += 1;
        match self.0 {
            idle if idle >= most => return false,
            idle if idle < Self::MOST_OF_CALLER => {}
            idle if idle < Self::YIELDS => std::thread::yield_now(),
            _ => std::thread::sleep(Self::SLEEP),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use dpa_model::{CommId, Hints, Order, RecvId, Selector, SourceSel, TagSel};

    use super::*;

    #[test]
    fn what_the_system_said_is_kept() {
        use std::error::Error;
        let error = NicRunError::Thread(std::io::Error::other("no more threads"));
        assert_eq!(error.to_string(), "cannot start a thread");
        assert_eq!(
            error.source().map(ToString::to_string).as_deref(),
            Some("no more threads")
        );
        assert!(NicRunError::Stopped.source().is_none());
    }

    /// A receive that may only be posted after a message that never comes.
    #[test]
    fn a_run_that_cannot_go_on_says_what_is_missing() {
        let mut config = NicConfig {
            command_queue: 1,
            ..NicConfig::default()
        };
        config.options.order = Order::Stamped;
        let run = NicRun::start(&config, false, true);
        let mut run = run.expect("a NIC");
        let none = &mut |outcome: Outcome| panic!("{outcome:?}");
        let comm = CommId(0);
        run.issue(
            &Operation::Create {
                comm,
                bins: 1,
                hints: Hints::default(),
            },
            none,
        )
        .expect("room");
        run.settle(none).expect("an answer");
        // The state as if a message had come before the receive.
        let selector = Selector {
            source: SourceSel::Any,
            tag: TagSel::Any,
        };
        run.feeder
            .host
            .post(comm, selector, Vec::new(), 1)
            .expect("room");
        let post = Operation::Post {
            recv: RecvId(0),
            comm,
            selector,
            bytes: 8,
        };
        let error = run.issue(&post, none).expect_err("the queue stays full");
        assert_eq!(
            error.to_string(),
            "the emulated NIC does nothing any more, and room in a queue for the next operation is missing"
        );
        let error = run
            .settle(none)
            .expect_err("the queue stays full")
            .to_string();
        assert!(
            error.ends_with("and room in the command queue for a flush is missing"),
            "{error}"
        );
    }
}
