//! The status of a message, and conversions of numbers from C.

use dpamatch::{Rank, SourceSel, Tag, TagSel};

use crate::code::Failure;

/// Wildcard for the source.
pub const DPAMATCH_ANY_SOURCE: i64 = -1;
/// Wildcard for the tag.
pub const DPAMATCH_ANY_TAG: i64 = -1;

/// The status of a received or probed message.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Status {
    /// Rank of its sender.
    pub source: u32,
    /// Its tag.
    pub tag: u32,
    /// Bytes in the buffer; for a probe, bytes sent.
    pub bytes: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Number of messages that arrived at the endpoint before it.
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

/// Writes a result to a place of the C program, unless that is null.
///
/// # Safety
/// `place` is null or can be written.
pub(crate) unsafe fn tell<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's promise.
        unsafe { place.write(value) };
    }
}

/// Drops the handle at `place`, if there is one, and sets the place to null.
///
/// # Safety
/// `place` is null, points to null, or points to a handle from a box that no other thread uses.
pub(crate) unsafe fn forget<T>(place: *mut *mut T) {
    // SAFETY: the caller's promise.
    if !place.is_null() && !unsafe { place.read() }.is_null() {
        // SAFETY: it came from a box; its place is set to null.
        drop(unsafe { Box::from_raw(place.replace(std::ptr::null_mut())) });
    }
}

pub(crate) fn source_of(source: i64) -> Result<SourceSel, Failure> {
    if source == DPAMATCH_ANY_SOURCE {
        return Ok(SourceSel::Any);
    }
    let rank = u32::try_from(source).ok().map(rank_of);
    rank.unwrap_or_else(|| Err(Failure::argument("the source is out of range")))
        .map(SourceSel::Rank)
}

pub(crate) fn rank_of(rank: u32) -> Result<Rank, Failure> {
    Rank::new(rank).map_err(|error| Failure::argument(&error.to_string()))
}

pub(crate) fn tag_or_any(tag: i64) -> Result<TagSel, Failure> {
    if tag == DPAMATCH_ANY_TAG {
        return Ok(TagSel::Any);
    }
    let tag = u32::try_from(tag).ok().map(tag_of);
    tag.unwrap_or_else(|| Err(Failure::argument("the tag is out of range")))
        .map(TagSel::Tag)
}

pub(crate) fn tag_of(tag: u32) -> Result<Tag, Failure> {
    Tag::new(tag).map_err(|error| Failure::argument(&error.to_string()))
}
