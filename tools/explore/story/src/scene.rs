//! The tables of the card after a step.

use serde::{Serialize, Serializer};

/// How far a handler is in its block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// It has no message in this block, or has not begun.
    #[default]
    Idle,
    /// It reads its message and walks the chains.
    Searching,
    /// It has searched, and booked if it found a receive.
    Booked,
    /// It has told so, and waits for all lower handlers to do the same.
    AtBarrier,
    /// It has passed the barrier.
    Past,
    /// On the slow path it waits until all lower handlers are done.
    Waiting,
    /// It has a receive, or knows that there is none.
    Done,
}

/// How a handler came to its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// No conflict at or below it.
    Clean,
    /// Its number further in the sequence.
    Fast,
    /// It waited, and its own candidate was still there.
    Forced,
    /// It waited and searched again.
    Slow,
    /// It took the first receive that it could claim.
    Overtaking,
    /// There is no receive: its message is unexpected.
    Unexpected,
}

/// A handler. Receives and messages go by their places in the story's lists.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Lane {
    /// Its message.
    pub message: Option<usize>,
    /// How far it is.
    pub phase: Phase,
    /// The receives that it has compared with its message, until it books or takes one.
    pub walked: Vec<usize>,
    /// Its first choice.
    pub candidate: Option<usize>,
    /// The first handler in conflict that it knows of.
    pub conflict: Option<usize>,
    /// What it took.
    pub took: Option<usize>,
    /// How it came to that.
    pub way: Option<Way>,
}

/// A receive in a chain.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Link {
    /// Its place in the story's list.
    pub receive: usize,
    /// The handler that has taken it, if one has.
    pub taken_by: Option<usize>,
    /// The handlers whose booking bits are set, ascending.
    pub booked_by: Vec<usize>,
}

/// A bin that holds receives, or held some in this story.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Chain {
    /// Its number in the card's table.
    pub bin: u32,
    /// The index it belongs to, in words.
    pub index: &'static str,
    /// Its chain, oldest first. On a page a long one has gaps where nothing happens.
    #[serde(serialize_with = "with_gaps")]
    pub links: Vec<Link>,
}

/// Receives of a chain that a page always shows.
const SHOWN: usize = 16;

/// What a page shows of a chain: a receive, or so many that it leaves out.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    Link(&'a Link),
    Gap { gap: usize },
}

/// The first receives, and of the others those that are booked or taken.
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

/// The state after a step.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Scene {
    /// The handlers of the block; empty before the first one.
    pub lanes: Vec<Lane>,
    /// The bins, by number.
    pub bins: Vec<Chain>,
    /// The unexpected messages, in the order in which they were stored.
    pub unexpected: Vec<usize>,
}

impl Lane {
    fn receives_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        let Self { walked, candidate, took, .. } = self;
        walked.iter_mut().chain(candidate).chain(took)
    }
}

impl Scene {
    /// Every place of a receive in it.
    pub(crate) fn receives_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        let links = self.bins.iter_mut().flat_map(|chain| &mut chain.links);
        self.lanes
            .iter_mut()
            .flat_map(Lane::receives_mut)
            .chain(links.map(|link| &mut link.receive))
    }

    /// Every place of a message in it.
    pub(crate) fn messages_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        let of_lanes = self.lanes.iter_mut().filter_map(|lane| lane.message.as_mut());
        of_lanes.chain(&mut self.unexpected)
    }
}
