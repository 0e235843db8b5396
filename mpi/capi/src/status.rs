//! What is told of a message, and numbers from C.

use dpamatch::{Rank, SourceSel, Tag, TagSel};

use crate::code::Failure;

/// In place of a source: any.
pub const DPAMATCH_ANY_SOURCE: i64 = -1;
/// In place of a tag: any.
pub const DPAMATCH_ANY_TAG: i64 = -1;

/// What is known of a message that was received or probed.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Status {
    /// Rank of its sender.
    pub source: u32,
    /// Its tag.
    pub tag: u32,
    /// Bytes that the buffer got; of a probe, bytes that were sent.
    pub bytes: u64,
    /// Bytes that were sent.
    pub sent: u64,
    /// How many messages arrived at the endpoint before it.
    pub arrival: u64,
}

impl Status {
    pub(crate) fn new(status: dpamatch::endpoint::Status, sent: usize) -> Self {
        Self {
            source: status.source.get(),
            tag: status.tag.get(),
            bytes: status.bytes as u64,
            sent: sent as u64,
            arrival: status.arrival,
        }
    }
}

/// Writes a result to where C wants it; nowhere if that is null.
///
/// # Safety
/// `place` is null or can be written.
pub(crate) unsafe fn tell<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's promise.
        unsafe { place.write(value) };
    }
}

pub(crate) fn source_of(source: i64) -> Result<SourceSel, Failure> {
    if source == DPAMATCH_ANY_SOURCE {
        return Ok(SourceSel::Any);
    }
    let rank = u32::try_from(source).ok().map(rank_of);
    rank.unwrap_or_else(|| Err(Failure::argument("the source is no rank"))).map(SourceSel::Rank)
}

pub(crate) fn rank_of(rank: u32) -> Result<Rank, Failure> {
    Rank::new(rank).map_err(|error| Failure::argument(&error.to_string()))
}

pub(crate) fn tag_or_any(tag: i64) -> Result<TagSel, Failure> {
    if tag == DPAMATCH_ANY_TAG {
        return Ok(TagSel::Any);
    }
    let tag = u32::try_from(tag).ok().map(tag_of);
    tag.unwrap_or_else(|| Err(Failure::argument("the tag is none"))).map(TagSel::Tag)
}

pub(crate) fn tag_of(tag: u32) -> Result<Tag, Failure> {
    Tag::new(tag).map_err(|error| Failure::argument(&error.to_string()))
}
