//! What an application's communication costs, and how much of it is matching.
//!
//! The model is that of *Improving performance models for irregular point-to-point communication*
//! (Bienz et al., 2018; see `docs/cost.md`): the time to move messages, plus the time
//! to search the posted receives, plus contention on the links. Where the published model bounds
//! the search by gamma n^2, any engine of the [registry](dpamatch::registry) can count its steps
//! instead.
//!
//! - [`Profile`]: a machine as a parameter file; [`transfer`], [`queue`], [`contention`]: the
//!   formulas.
//! - [`MessageList`]: who sends what, from CSV or from a recorded run ([`from_trace`]);
//!   [`PhaseCost`]: the cost per rank and phase.
//! - [`steps`](mod@steps): search steps by any engine; [`high_volume`]: the ping-pong that shows
//!   them.
//! - [`fit`]: parameters from measured runs, with confidence intervals.
//! - [`emulator`]: predicted against measured, on this project's own engines.
//! - [`sparse`], [`matrix_market`], [`multigrid`], [`spmv`]: the messages of a sparse matrix
//!   product.

mod account;
pub mod contention;
pub mod emulator;
pub mod fit;
pub mod from_trace;
pub mod high_volume;
mod least_squares;
mod lines;
pub mod matrix_market;
mod message_list;
pub mod multigrid;
mod profile;
pub mod queue;
pub mod sparse;
pub mod spmv;
pub mod steps;
pub mod transfer;

pub use account::{PhaseCost, QueueTerm, RankCost, Split, by_place};
pub use least_squares::{Estimate, student_t_quantile};
pub use lines::InputError;
pub use message_list::{Message, MessageList, Phase, rows};
pub use profile::{
    BUILT_IN, ContentionRate, Distance, Layout, Limits, Link, Links, Profile, ProfileError,
    Protocol, QueueSearch,
};
