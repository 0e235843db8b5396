//! The card's time for a sequence, in virtual time.

use dpamatch_predict::{Sequence, Setup, SimulateError, simulate};

use super::demand::Part;
use crate::sequence;

/// A card and its matching options.
#[derive(Clone, PartialEq, Debug)]
pub struct Card {
    pub setup: Setup,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct Service {
    /// Time for all messages at the wire's full rate, in microseconds.
    pub busy_us: f64,
    /// Mean time from a message's arrival to the end of its handler, at the recorded times.
    pub latency_us: f64,
    pub longest_us: f64,
    /// Receives and messages that fell back to software because the card had no room.
    pub sent_on: u64,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CardError {
    #[error(transparent)]
    Simulate(#[from] SimulateError),
    #[error("{0}")]
    Event(String),
    #[error("the order has no times; causal and time have")]
    NoTimes,
}

/// Most communicators with tables on the card; the others go to software.
const COMMUNICATORS_MAX: u32 = 256;

impl Card {
    /// Runs the card twice: at the wire's full rate, and at the recorded times.
    ///
    /// # Errors
    /// [`CardError`].
    pub(super) fn serve(&self, part: Part<'_>) -> Result<Service, CardError> {
        let (events, times): (Vec<_>, Vec<_>) = part.events().unzip();
        let times: Vec<u64> = times
            .into_iter()
            .collect::<Option<_>>()
            .ok_or(CardError::NoTimes)?;
        let fast = sequence(events);
        if fast.messages() == 0 {
            return Ok(Service::default());
        }
        if fast.comms() > COMMUNICATORS_MAX {
            let what = format!("more than {COMMUNICATORS_MAX} communicators at one rank");
            return Err(CardError::Event(what));
        }
        let recorded = fast.clone().at(times);
        let run = |sequence: Sequence| {
            let mut parts = simulate(&self.setup, &[sequence], 0)?;
            Ok::<_, CardError>(parts.pop().expect("a part for each sequence"))
        };
        let busy_us = run(fast)?.time as f64 / 1e6;
        let part = run(recorded)?;
        let (latency_us, longest_us) = part.latency_us();
        Ok(Service {
            busy_us,
            latency_us,
            longest_us,
            sent_on: part.count("arrivals_forwarded") + part.count("posts_forwarded"),
        })
    }
}
