//! The tables of the card after a step.

use serde::{Serialize, Serializer};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Without a message in this block, or not yet begun.
    #[default]
    Idle,
    /// Reads its message and walks the chains.
    Searching,
    /// Has searched, and booked the receive that it found.
    Booked,
    /// Has announced its booking and waits for all lower handlers.
    AtBarrier,
    /// Has passed the barrier.
    Past,
    /// Waits on the slow path until all lower handlers are done.
    Waiting,
    /// Has its result.
    Done,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resolution {
    /// No conflict at or below it.
    Clean,
    /// Fast path: handler i takes the i-th receive of the sequence.
    Fast,
    /// Waited, and its candidate was still free.
    Forced,
    /// Waited and searched again.
    Slow,
    /// Took the first receive that it could claim.
    Overtaking,
    /// Found no receive: its message is unexpected.
    Unexpected,
}

/// A handler. Receives and messages are indexes into the story's lists.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Lane {
    pub message: Option<usize>,
    /// The message's conflict domain, as numbered in this block.
    pub domain: usize,
    pub phase: Phase,
    /// Receives compared so far, until it books or takes one.
    pub walked: Vec<usize>,
    pub candidate: Option<usize>,
    /// The first handler in conflict known to it.
    pub conflict: Option<usize>,
    pub took: Option<usize>,
    pub way: Option<Resolution>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Link {
    /// Index in the story's list.
    pub receive: usize,
    pub taken_by: Option<usize>,
    /// The handlers whose booking bits are set, ascending.
    pub booked_by: Vec<usize>,
}

/// A bin that holds receives at some point of the story.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Chain {
    /// Its number in the card's table.
    pub bin: u32,
    pub index: &'static str,
    /// Its chain, oldest first. A page leaves gaps in a long one.
    #[serde(serialize_with = "with_gaps")]
    pub links: Vec<Link>,
}

/// Receives at a chain's head that a page always shows.
const SHOWN: usize = 16;

/// A receive, or the length of a gap.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    Link(&'a Link),
    Gap { gap: usize },
}

/// The first receives, and further ones if booked or consumed.
fn with_gaps<S: Serializer>(links: &[Link], to: S) -> Result<S::Ok, S::Error> {
    let mut shown = Vec::new();
    for (place, link) in links.iter().enumerate() {
        let counts = place < SHOWN || link.taken_by.is_some() || !link.booked_by.is_empty();
        match shown.last_mut() {
            _ if counts => shown.push(Shown::Link(link)),
            Some(Shown::Gap { gap }) => *gap += 1,
            _ => shown.push(Shown::Gap { gap: 1 }),
        }
    }
    shown.serialize(to)
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Scene {
    /// The handlers of the block; empty before the first one.
    pub lanes: Vec<Lane>,
    pub bins: Vec<Chain>,
    /// The unexpected messages in the order of storing.
    pub unexpected: Vec<usize>,
}

impl Lane {
    fn receives_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        let Self {
            walked,
            candidate,
            took,
            ..
        } = self;
        walked.iter_mut().chain(candidate).chain(took)
    }
}

impl Scene {
    pub(crate) fn receives_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        let links = self.bins.iter_mut().flat_map(|chain| &mut chain.links);
        self.lanes
            .iter_mut()
            .flat_map(Lane::receives_mut)
            .chain(links.map(|link| &mut link.receive))
    }

    pub(crate) fn messages_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        let of_lanes = self
            .lanes
            .iter_mut()
            .filter_map(|lane| lane.message.as_mut());
        of_lanes.chain(&mut self.unexpected)
    }
}
