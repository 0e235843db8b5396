//! The host's side of dpamatch: software matching engines behind one trait, the event-stream
//! format, and the registry that the command line chooses an engine from.
//!
//! - [`engine`]: the [`Engine`](engine::Engine) trait, the specification
//!   ([`Oracle`](engine::Oracle)), the list and the hash-bin engine, and the statistics that all of
//!   them keep.
//! - [`conformance`]: the suite that compares any engine with the specification.
//! - [`stream`]: events and results as text, read and written line by line; random streams; the
//!   [`StreamMatcher`](stream::StreamMatcher) trait that everything implements that can run a
//!   stream.
//! - [`host`]: the host's end of an emulated NIC, with the fallback to a software engine.
//! - [`endpoint`]: the API a program uses: endpoint, communicators, receives, probes, senders.
//! - [`soak`]: long runs of random traffic through an endpoint, checked message by message.
//! - [`registry`]: the engines by name.
//! - [`workload`]: known communication patterns as streams.
//! - [`compare`]: the papers' experiments on all engines.
//! - [`figure`]: figures as SVG, with their numbers as CSV.
//! - [`trace`]: recorded MPI calls of real programs.
//! - [`mod@bench`]: message rates in windows, as the paper measures them.
//! - [`channels`]: several channels that feed one matcher, and which of them to poll next.
//! - [`cost`]: what an application's communication costs, and how much of it is matching.
#![forbid(unsafe_code)]

pub mod analyze;
pub mod bench;
pub mod channels;
pub mod compare;
pub mod conformance;
pub mod cost;
pub mod endpoint;
pub mod engine;
pub mod figure;
pub mod host;
mod processors;
pub mod registry;
pub mod soak;
pub mod stream;
pub mod trace;
pub mod workload;

/// The guide's worked example, compiled and run as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../docs/add-an-engine.md")]
mod add_an_engine {}

pub use dpa_model::{Hints, NicConfig, Rank, SendError, SourceSel, Tag, TagSel, Wait};
