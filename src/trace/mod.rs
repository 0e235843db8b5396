//! Recorded MPI calls of real programs, independent of the format they were recorded in.
//!
//! - [`TraceSource`]: a run; [`RankReader`]: the calls of one rank, one at a time.
//! - [`Call`]: when, and what it did ([`Op`]); all that matters for matching is taken apart, the rest has its
//!   [`Function`] and [`Class`].
//! - [`Completion`]: which requests a wait or test completed, with what [`Status`].
//! - [`CommNew`], [`GroupNew`]: where communicators come from.

mod call;
mod collective;
mod completion;
mod counts;
mod creation;
mod datatype_sizes;
mod envelope;
mod error;
mod function;
mod handle;
mod source;
mod status;

pub use call::{Call, Op, Span};
pub use collective::{Collective, CollectiveKind};
pub use completion::{Completion, CompletionKind, Done};
pub use counts::{Counts, Footer};
pub use creation::{CommHow, CommNew, GroupHow, GroupNew};
pub use datatype_sizes::DatatypeSizes;
pub use dpa_model::{Rank, Tag, TagSel};
pub use envelope::{Dest, Payload, RecvSpec, SendMode, SendSpec, Source};
pub use error::{TraceError, TraceErrorKind};
pub use function::{Class, Field, Function};
pub use handle::{Comm, Datatype, Group, Request};
pub use source::{RankInfo, RankReader, RunInfo, Salvage, TraceSource};
pub use status::Status;
