//! The sequential rule for every schedule: a list of posted receives and a list of unexpected
//! messages, each searched from its oldest entry.

use dpa_model::{CommId, Envelope, Selector};

/// Matching by two linear lists, kept as simple as possible.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    /// Receive number, communicator and selector, in posting order.
    posted: Vec<(usize, CommId, Selector)>,
    /// Arrival number and envelope, in arrival order.
    unexpected: Vec<(u64, Envelope)>,
}

impl Oracle {
    /// Posts a receive. Returns the arrival number of the unexpected message that it takes, or
    /// `None` if it waits.
    pub fn post(&mut self, receive: usize, comm: CommId, selector: Selector) -> Option<u64> {
        let fits = |&(_, e): &(u64, Envelope)| e.comm == comm && selector.accepts(e.source, e.tag);
        if let Some(place) = self.unexpected.iter().position(fits) {
            return Some(self.unexpected.remove(place).0);
        }
        self.posted.push((receive, comm, selector));
        None
    }

    /// Delivers a message. Returns the receive that takes it, or `None` if it is unexpected.
    pub fn arrive(&mut self, arrival: u64, envelope: Envelope) -> Option<usize> {
        let fits = |&(_, comm, selector): &(usize, CommId, Selector)| {
            comm == envelope.comm && selector.accepts(envelope.source, envelope.tag)
        };
        if let Some(place) = self.posted.iter().position(fits) {
            return Some(self.posted.remove(place).0);
        }
        self.unexpected.push((arrival, envelope));
        None
    }

    /// Finds the oldest unexpected message that fits, and removes it if `take`.
    pub fn probe(&mut self, comm: CommId, selector: Selector, take: bool) -> Option<u64> {
        let fits = |&(_, e): &(u64, Envelope)| e.comm == comm && selector.accepts(e.source, e.tag);
        let place = self.unexpected.iter().position(fits)?;
        let arrival = self.unexpected[place].0;
        if take {
            self.unexpected.remove(place);
        }
        Some(arrival)
    }

    /// Whether both lists are empty.
    pub fn is_empty(&self) -> bool {
        self.posted.is_empty() && self.unexpected.is_empty()
    }

    /// Cancels a receive; `false` if it has already matched.
    pub fn cancel(&mut self, receive: usize) -> bool {
        let place = self.posted.iter().position(|&(number, ..)| number == receive);
        if let Some(place) = place {
            self.posted.remove(place);
        }
        place.is_some()
    }

    /// Waiting receives, in posting order.
    pub fn posted(&self) -> Vec<usize> {
        self.posted.iter().map(|&(number, ..)| number).collect()
    }

    /// Unexpected messages, in arrival order.
    pub fn unexpected(&self) -> &[(u64, Envelope)] {
        &self.unexpected
    }
}
