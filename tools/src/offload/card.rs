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
    /// Time for all messages if they come as fast as the card takes them, in microseconds.
    pub busy_us: f64,
    /// Mean time from a message's arrival to the end of its handler, at the recorded times.
    pub latency_us: f64,
    pub longest_us: f64,
    /// Messages that the card itself matched.
    pub matched: u64,
    /// Messages that fell back to software because the card had no room.
    pub messages_in_software: u64,
    /// Receives that fell back to software because the card had no room.
    pub receives_in_software: u64,
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
    /// The set-up without a wire. The simulated run delivers each message with all its bytes, with
    /// a card and without one, so the card must not wait for them again.
    fn behind_the_wire(&self) -> Setup {
        let mut setup = self.setup.clone();
        let profile = &mut setup.profile;
        profile.arrival.bytes_per_ns = f64::INFINITY;
        profile.host.bytes_per_ns = f64::INFINITY;
        profile.host.remote_read_ns = 0.0;
        setup
    }

    /// Runs the card at the recorded times and, for `busy_us`, as fast as it takes messages.
    ///
    /// # Errors
    /// [`CardError`].
    pub(super) fn serve(&self, part: Part<'_>) -> Result<Service, CardError> {
        let (events, times): (Vec<_>, Vec<_>) = part.events().unzip();
        let fast = sequence(events);
        let times: Vec<u64> = times
            .into_iter()
            .collect::<Option<_>>()
            .ok_or(CardError::NoTimes)?;
        if fast.messages() == 0 {
            return Ok(Service::default());
        }
        if fast.comms() > COMMUNICATORS_MAX {
            let what = format!("more than {COMMUNICATORS_MAX} communicators at one rank");
            return Err(CardError::Event(what));
        }
        let part = self.run(fast.clone().at(times))?;
        let busy_us = self.run(fast)?.time as f64 / 1e6;
        let (latency_us, longest_us) = part.latency_us();
        Ok(Service {
            busy_us,
            latency_us,
            longest_us,
            matched: part.matches.len() as u64,
            messages_in_software: part.count("arrivals_forwarded"),
            receives_in_software: part.count("posts_forwarded"),
        })
    }

    fn run(&self, sequence: Sequence) -> Result<dpamatch_predict::Part, CardError> {
        let mut parts = simulate(&self.behind_the_wire(), &[sequence], 0)?;
        Ok(parts.pop().expect("a part for each sequence"))
    }
}
