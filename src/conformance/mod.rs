//! The conformance suite: checks that an engine gives the oracle's result for any calls.
//!
//! - [`Pair`]: an engine and the oracle side by side, call by call; a [`Difference`] is the first
//!   disagreement.
//! - [`Call`]: a call of an engine, from a random stream ([`random_calls`]) or from a fuzzer's
//!   bytes ([`calls_from_bytes`]).
//! - [`check_engine`] runs calls through a pair; [`check_stream`] runs a stream through a
//!   [`StreamMatcher`](crate::stream::StreamMatcher). [`check_calls`] and [`check_seed`] check
//!   every engine of the registry.
//!
//! The tests and the fuzz target use it, and so can the author of another engine.
//!
//! # Examples
//! ```
//! use dpamatch::conformance::{check_engine, random_calls};
//! use dpamatch::engine::ListEngine;
//! use dpamatch::stream::Profile;
//!
//! let calls = random_calls(1, 500, Profile::Wild);
//! check_engine(Box::new(ListEngine::new()), calls.iter().copied())?;
//! # Ok::<(), dpamatch::conformance::Difference>(())
//! ```

mod bytes;
mod call;
mod pair;
mod seed;

pub use bytes::calls_from_bytes;
pub use call::{Call, random_calls};
pub use pair::{Difference, Pair, check_engine};
pub use seed::{check_calls, check_seed, check_stream, seed_options};
