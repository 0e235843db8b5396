//! The host's side of dpamatch: software matching engines behind one trait, an API for programs on
//! top of an emulated NIC, and the event-stream format.
//!
//! - [`endpoint`]: the API a program uses: endpoint, communicators, receives, probes, senders.
//! - [`host`]: the host's end of an emulated NIC, with the fallback to a software engine.
//! - [`engine`]: the [`Engine`](engine::Engine) trait, the specification
//!   ([`Oracle`](engine::Oracle)), the list and the hash-bin engine, and the statistics that all of
//!   them keep.
//! - [`registry`]: the engines by name; [`named`]: their options by name.
//! - [`stream`]: events and results as text, read and written line by line; the
//!   [`StreamMatcher`](stream::StreamMatcher) trait that everything implements that can run a
//!   stream.
//! - [`processors`]: which processors there are, and binding a thread to one.
//!
//! The feature `conformance` is for authors of engines: `stream::Generator` draws random streams,
//! and `conformance` compares any engine with the specification.
#![deny(unsafe_code)]

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod endpoint;
pub mod engine;
pub mod host;
pub mod named;
pub mod processors;
pub mod registry;
pub mod stream;

/// The library page's example, compiled and run as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
mod library {}

/// The guide's worked example, compiled and run as a doc test.
#[cfg(all(doctest, feature = "conformance"))]
#[doc = include_str!("../docs/add-an-engine.md")]
mod add_an_engine {}

pub use dpa_model::{
    Barrier, FastPath, Hints, InlineHashes, NicConfig, Options, Removal, Repost, SendError,
    SendResult, UnexpectedFull, Wait,
};
pub use dpamatch_vocabulary::{
    CommId, Envelope, OutOfRange, Rank, Selector, SourceSel, Tag, TagSel, WildcardClass,
};
