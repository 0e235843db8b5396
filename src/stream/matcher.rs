//! Running a stream through an engine or an emulated NIC.

use std::time::{Duration, Instant};

use super::{Event, Outcome};
use crate::engine::{Counter, Engine};

/// Why a matcher ended a stream early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The engine itself failed. The results so far are right; results of later events are missing.
    #[error(transparent)]
    Engine(#[from] Box<dyn std::error::Error + Send + Sync>),
}

/// Something that runs a stream of events: every [`Engine`], and an emulated NIC.
pub trait StreamMatcher: Send {
    /// Takes the events one after the other and hands every result to `sink`, in the order that the
    /// stream's format prescribes, whatever its threads or blocks: first the results of the events,
    /// then what is left. It takes no more events ahead of the results than it needs, so that
    /// streams may be longer than memory. It starts with empty queues; what is left stays in them.
    ///
    /// No two posts have the same receive id, no two arrivals the same message id.
    ///
    /// # Errors
    /// [`RunError`] if the matcher cannot continue. An engine can, unless it has a
    /// [`fault`](Engine::fault).
    fn run(
        &mut self,
        events: &mut dyn Iterator<Item = Event>,
        sink: &mut dyn FnMut(Outcome),
    ) -> Result<(), RunError>;

    /// Runs the events of `fill`, then the events of `timed`, and returns the time of `timed`. The
    /// clock excludes setup, filling, and reading what is left.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run).
    fn time(&mut self, fill: &[Event], timed: &[Event]) -> Result<Duration, RunError>;

    /// The counters so far, in a fixed order.
    fn counters(&self) -> Vec<Counter>;
}

/// Every engine runs streams, one event at a time, and keeps nothing for it besides its queues.
impl<E: Engine + ?Sized> StreamMatcher for E {
    fn run(
        &mut self,
        events: &mut dyn Iterator<Item = Event>,
        sink: &mut dyn FnMut(Outcome),
    ) -> Result<(), RunError> {
        for event in events {
            let outcome = apply(self, event);
            check(self)?;
            if let Some(outcome) = outcome {
                sink(outcome);
            }
        }
        let (posted, unexpected) = (self.posted(), self.unexpected());
        check(self)?;
        posted
            .into_iter()
            .for_each(|recv| sink(Outcome::Posted { recv }));
        unexpected
            .into_iter()
            .for_each(|msg| sink(Outcome::Unexpected { msg }));
        Ok(())
    }

    fn time(&mut self, fill: &[Event], timed: &[Event]) -> Result<Duration, RunError> {
        for &event in fill {
            apply(self, event);
        }
        let begin = Instant::now();
        for &event in timed {
            std::hint::black_box(apply(self, event));
        }
        let time = begin.elapsed();
        check(self)?;
        Ok(time)
    }

    fn counters(&self) -> Vec<Counter> {
        [self.stats().counters(), self.own_counters()].concat()
    }
}

/// # Errors
/// The engine's fault.
pub(super) fn check<E: Engine + ?Sized>(engine: &E) -> Result<(), RunError> {
    match engine.fault() {
        Some(fault) => Err(RunError::Engine(fault.into())),
        None => Ok(()),
    }
}

/// Makes the call of one event. Returns the result if there is one to print.
pub fn apply<E: Engine + ?Sized>(engine: &mut E, event: Event) -> Option<Outcome> {
    match event {
        Event::Post {
            recv,
            comm,
            selector,
            coll,
            ..
        } => match coll {
            None => engine.post(recv, comm, selector),
            Some(coll) => engine.post_collective(recv, comm, selector, &coll),
        }
        .map(|msg| Outcome::Matched { recv, msg }),
        Event::Arrive {
            msg,
            envelope,
            coll,
            ..
        } => match coll {
            None => engine.arrive(msg, envelope),
            Some(coll) => engine.arrive_collective(msg, envelope, &coll),
        }
        .map(|recv| Outcome::Matched { recv, msg }),
        Event::Cancel { recv } if engine.cancel(recv) => Some(Outcome::Cancelled { recv }),
        Event::Cancel { recv } => Some(Outcome::TooLate { recv }),
        Event::Probe {
            probe,
            comm,
            selector,
        } => Some(Outcome::Probed {
            probe,
            msg: engine.probe(comm, selector),
        }),
        Event::Mprobe {
            probe,
            comm,
            selector,
        } => Some(Outcome::Mprobed {
            probe,
            msg: engine.mprobe(comm, selector),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Oracle;
    use crate::stream::Reader;

    /// Results come while events go in: no result waits for the end of the stream.
    #[test]
    fn results_are_not_held_back() {
        let text = "post,0,0,0,0\narrive,0,0,0,0\ncancel,0\n";
        let seen = std::cell::Cell::new(0);
        let mut taken = 0;
        let mut events = Reader::new(text.as_bytes()).map(|event| {
            taken += 1;
            assert_eq!(seen.get(), [0, 0, 1][taken - 1]);
            event.expect("a good line")
        });
        Oracle::new()
            .run(&mut events, &mut |_| seen.set(seen.get() + 1))
            .expect("an engine");
        assert_eq!(seen.get(), 2);
    }
}
