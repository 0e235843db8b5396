//! Recorded MPI calls of real programs, independent of the format they were recorded in.
//!
//! - [`TraceSource`]: a run; [`RankReader`]: the calls of one rank, one at a time.
//! - [`Call`]: when, and what it did ([`Op`]); all that matters for matching is taken apart, the
//!   rest has its [`Function`] and [`Class`].
//! - [`Completion`]: which requests a wait or test completed, with what [`Status`].
//! - [`open`]: from a path to a trace; [`per_rank`]: all ranks at once; [`tally`]: one rank,
//!   counted and checked.
//! - [`CommNew`], [`GroupNew`]: where communicators come from.
//! - [`CallSites`]: where in the program the calls are, if that was recorded.

mod arguments;
mod call;
mod collective;
mod completion;
mod counts;
mod creation;
mod datatype_sizes;
mod dumpi;
mod envelope;
mod error;
mod function;
mod handle;
mod interpret;
mod open;
mod per_rank;
mod region;
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
pub use dpa_model::{Rank, Tag, TagSel};
pub use dumpi::{BinaryReader, TextReader};
pub use envelope::{Dest, Payload, RecvSpec, SendMode, SendSpec, Source};
pub use error::{TraceError, TraceErrorKind};
pub use function::{Class, Field, Function};
pub use handle::{Comm, Datatype, Group, Request};
pub use open::{OpenOptions, open};
pub use per_rank::per_rank;
pub use region::Region;
pub use sites::{CallSites, Site};
pub use source::{RankInfo, RankReader, RunInfo, Salvage, TraceSource};
pub use status::Status;
pub use tally::{SalvageNote, Tally, tally};
