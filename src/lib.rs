//! The host's side of dpamatch: software matching engines behind one trait, the event-stream format, and the
//! registry that the command line chooses an engine from.
//!
//! - [`engine`]: the [`Engine`](engine::Engine) trait, the specification ([`Oracle`](engine::Oracle)), the list and
//!   the hash-bin engine, and the statistics that all of them keep.
//! - [`stream`]: events and results as text, read and written line by line; random streams; the
//!   [`StreamMatcher`](stream::StreamMatcher) trait that everything implements that can run a stream.
//! - [`host`]: the host's end of an emulated NIC, with the fallback to a software engine.
//! - [`registry`]: the engines by name.
//! - [`mod@bench`]: message rates in windows, as the paper measures them.
#![forbid(unsafe_code)]

pub mod bench;
pub mod engine;
pub mod host;
pub mod registry;
pub mod stream;
