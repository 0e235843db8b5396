//! The conformance suite: does an engine give the oracle's result, whatever it is asked?
//!
//! - [`Pair`]: an engine and the oracle side by side, call by call; a [`Difference`] says where
//!   they part.
//! - [`Call`]: what can be asked of an engine, freed communicators and told sizes included; from a
//!   random stream ([`random_calls`]) or from bytes ([`calls_from_bytes`]), as a fuzzer invents
//!   them.
//! - [`check_engine`] runs calls through a pair; [`check_stream`] a stream through anything that
//!   runs streams; [`check_calls`] and [`check_seed`] go through every engine of the registry.
//!
//! Tests, the fuzz target and examples use it; so can the author of an engine elsewhere.
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
