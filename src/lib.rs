//! The host's side of dpamatch: software matching engines behind one trait, an API for programs on
//! an emulated NIC, and the event-stream format.
//!
//! ```
//! use dpamatch::endpoint::{Endpoint, EndpointConfig};
//! use dpamatch::{Hints, Rank, SourceSel, Tag};
//!
//! let mut endpoint = Endpoint::new(&EndpointConfig::default())?;
//! let world = endpoint.create_comm(Hints::default())?;
//! // A receive of tag 7 from any source, and a message from rank 3 that it matches.
//! let request = endpoint.post_recv(&world, SourceSel::Any, Tag::new(7)?, vec![0; 64])?;
//! endpoint.sender(&world, Rank::new(3)?).send(Tag::new(7)?, b"hello")?;
//! let received = endpoint.wait(request)?;
//! assert_eq!((received.status.source, received.bytes()), (Rank::new(3)?, &b"hello"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`endpoint`]: the API for programs: endpoints, communicators, receives, probes, senders.
//! - [`host`]: runs operations through an emulated NIC and falls back to a software engine.
//! - [`engine`]: the [`Engine`](engine::Engine) trait, the specification
//!   ([`Oracle`](engine::Oracle)), the software engines, and the statistics that every engine
//!   keeps.
//! - [`registry`]: the engines by name; [`named`]: their options by name.
//! - [`stream`]: events and results as text, read and written line by line; every engine and the
//!   emulated NIC run streams by the trait [`StreamMatcher`](stream::StreamMatcher).
//! - [`processors`]: lists the processors of this process and pins threads to them.
//!
//! The feature `conformance` is for authors of engines: `stream::Generator` draws random streams,
//! and `conformance` compares any engine with the specification. The feature `plugin` opens engines
//! in shared libraries, and makes such libraries.
#![deny(unsafe_code)]

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod endpoint;
pub mod engine;
pub mod host;
pub mod named;
#[cfg(feature = "plugin")]
pub mod plugin;
pub mod processors;
pub mod registry;
pub mod stream;

/// Compiles and runs the example of the library page as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
mod library {}

/// Compiles and runs the worked example of the guide as a doc test.
#[cfg(all(doctest, feature = "conformance"))]
#[doc = include_str!("../docs/add-an-engine.md")]
mod add_an_engine {}

pub use dpa_model::{
    Barrier, Domains, FastPath, Hints, InlineHashes, NicConfig, Offload, Options, Removal,
    SendError, SendResult, UnexpectedFull, Wait,
};
pub use dpamatch_vocabulary::{
    CommId, Envelope, OutOfRange, Rank, Selector, SourceSel, Tag, TagSel, WildcardClass,
};
