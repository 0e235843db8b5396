//! Matching as MPI defines it: one list of posted receives and one of unexpected messages, each
//! searched from its oldest entry. This file is the specification: tests compare every engine,
//! schedule and model with it. A port can use it as its software fallback.

use alloc::vec::Vec;

use dpamatch_vocabulary::{CommId, Envelope, Selector};

/// The two lists. `R` is the caller's name for a receive, `M` for a message.
///
/// # Examples
/// ```
/// use dpa_model::{CommId, Envelope, Selector, SourceSel, TagSel, TwoLists};
///
/// let mut lists = TwoLists::default();
/// let anything = Selector::new(SourceSel::Any, TagSel::Any);
/// assert_eq!(lists.arrive("first message", Envelope::default()), None);
/// assert_eq!(lists.arrive("second message", Envelope::default()), None);
/// let matched = lists.post("receive", CommId(0), anything);
/// assert_eq!(matched, Some(("receive", "first message")));
/// ```
#[derive(Clone, Debug)]
pub struct TwoLists<R, M> {
    posted: Vec<(R, CommId, Selector)>,
    unexpected: Vec<(M, Envelope)>,
    compares: usize,
}

impl<R, M> Default for TwoLists<R, M> {
    fn default() -> Self {
        Self {
            posted: Vec::new(),
            unexpected: Vec::new(),
            compares: 0,
        }
    }
}

impl<R, M> TwoLists<R, M> {
    /// Posts a receive, which takes the oldest fitting unexpected message. `None`: the receive
    /// waits.
    pub fn post(&mut self, receive: R, comm: CommId, selector: Selector) -> Option<(R, M)> {
        if let Some(message) = self.take(comm, selector) {
            return Some((receive, message));
        }
        self.posted.push((receive, comm, selector));
        None
    }

    /// Delivers a message, which takes the oldest fitting receive. `None`: the message is
    /// unexpected.
    pub fn arrive(&mut self, message: M, envelope: Envelope) -> Option<(R, M)> {
        let fits = |&(_, comm, selector): &(R, CommId, Selector)| envelope.fits(comm, selector);
        let place = self.posted.iter().position(fits);
        self.compares = place.map_or(self.posted.len(), |place| place + 1);
        if let Some(place) = place {
            return Some((self.posted.remove(place).0, message));
        }
        self.unexpected.push((message, envelope));
        None
    }

    /// Cancels the oldest receive that `is_named` selects. `None`: no such receive waits.
    pub fn cancel(&mut self, is_named: impl Fn(&R) -> bool) -> Option<R> {
        let place = self
            .posted
            .iter()
            .position(|(receive, ..)| is_named(receive))?;
        Some(self.posted.remove(place).0)
    }

    /// The oldest fitting unexpected message.
    pub fn probe(&mut self, comm: CommId, selector: Selector) -> Option<&M> {
        let place = self.find(comm, selector)?;
        Some(&self.unexpected[place].0)
    }

    /// Takes the oldest fitting unexpected message out of the list.
    pub fn take(&mut self, comm: CommId, selector: Selector) -> Option<M> {
        let place = self.find(comm, selector)?;
        Some(self.unexpected.remove(place).0)
    }

    fn find(&mut self, comm: CommId, selector: Selector) -> Option<usize> {
        let place = self
            .unexpected
            .iter()
            .position(|(_, envelope)| envelope.fits(comm, selector));
        self.compares = place.map_or(self.unexpected.len(), |place| place + 1);
        place
    }

    /// Waiting receives, in posting order.
    pub fn posted(&self) -> &[(R, CommId, Selector)] {
        &self.posted
    }

    /// Waiting messages, in arrival order.
    pub fn unexpected(&self) -> &[(M, Envelope)] {
        &self.unexpected
    }

    /// Number of entries that the last search compared.
    pub fn compares(&self) -> usize {
        self.compares
    }

    /// Bytes of both lists.
    pub fn bytes(&self) -> usize {
        self.posted.capacity() * size_of::<(R, CommId, Selector)>()
            + self.unexpected.capacity() * size_of::<(M, Envelope)>()
    }
}
