//! Readers of recorded MPI calls of real programs, independent of the recording format: DUMPI
//! (binary files, and texts of `dumpi2ascii`), OTF2, and GOAL texts of LogGOPSim.
//!
//! - [`TraceSource`]: a run; [`RankReader`]: the calls of one rank, one at a time.
//! - [`Call`]: its times and its operation ([`Op`]). Calls outside matching keep their [`Function`]
//!   and [`Class`].
//! - [`Completion`]: the requests that a wait or test completed, each with its [`Status`].
//! - [`open`]: opens the trace at a path; [`per_rank`]: all ranks in parallel; [`tally`]: counts
//!   and checks one rank.
//! - [`CommNew`], [`GroupNew`]: the creation of communicators and groups.
//! - [`CallSites`]: the program locations of calls, if recorded.
//! - [`regular`]: opens files, and refuses what is no file.
//!
//! ```
//! use dpamatch_traces::{OpenOptions, open, per_rank, tally};
//!
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/traces/edge-4-mpich");
//! let trace = open(folder.as_ref(), &OpenOptions::default())?;
//! let mut calls = 0;
//! for (_, rank) in per_rank(&*trace, |_, reader| tally(reader)) {
//!     calls += rank?.calls.total();
//! }
//! assert_eq!((trace.ranks().len(), calls), (4, 224));
//! # Ok::<(), dpamatch_traces::TraceError>(())
//! ```
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod arguments;
mod call;
mod collective;
mod completion;
mod counts;
mod creation;
mod datatype_sizes;
mod dumpi;
mod ending;
mod envelope;
mod error;
mod function;
mod goal;
mod handle;
mod interpret;
mod open;
mod otf2;
mod per_rank;
mod region;
pub mod regular;
mod sites;
mod source;
mod status;
mod tally;

pub use arguments::{Argument, Arguments, Texts};
pub use call::{Call, Op, Span};
pub use collective::{Collective, CollectiveKind};
pub use completion::{Completion, CompletionKind, Done};
pub use counts::{Counts, Footer};
pub use creation::{CommHow, CommNew, GroupHow, GroupNew};
pub use datatype_sizes::DatatypeSizes;
pub use dpamatch_vocabulary::{Rank, Tag, TagSel};
pub use dumpi::{BinaryReader, TextReader};
pub use envelope::{Dest, Payload, RecvSpec, SendMode, SendSpec, Source};
pub use error::{TraceError, TraceErrorKind};
pub use function::{Class, Field, Function};
pub use handle::{Comm, Datatype, Group, Request};
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub use interpret::text::with_op;
pub use open::{OpenOptions, open};
pub use per_rank::per_rank;
pub use region::Region;
pub use sites::{CallSites, Site};
pub use source::{RankInfo, RankReader, RunInfo, Salvage, TraceSource};
pub use status::Status;
pub use tally::{SalvageNote, Tally, tally};
