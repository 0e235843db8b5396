//! Ranks, tags and keys of the engines' unit tests.

use dpamatch_vocabulary::{CommId, Envelope, Rank, Selector, Tag};

pub(super) fn rank(number: u32) -> Rank {
    Rank::new(number).expect("a small rank")
}

pub(super) fn tag(number: u32) -> Tag {
    Tag::new(number).expect("a small tag")
}

pub(super) fn exact(source: u32, number: u32) -> Selector {
    Selector::new(rank(source), tag(number))
}

pub(super) fn envelope(comm: CommId, source: u32, number: u32) -> Envelope {
    Envelope {
        comm,
        source: rank(source),
        tag: tag(number),
    }
}
