//! The handlers' steps in a block: in words, as the state after each step, and as one page for a
//! browser.
//!
//! The steps are the card's ([`Step`]), from any run: a seeded scheduler, an exhaustive
//! exploration, a failed model, or virtual time. [`Story::new`] is a pure function of them: it
//! keeps the tables as the card must have them after each step ([`Scene`]). The page only draws.
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "internal: names speak, docs add what names cannot"
)]

mod cast;
mod page;
mod scene;
mod stage;
mod story;
mod words;

pub use cast::{Cast, Message, Receive};
pub use dpamatch_vocabulary::{Path, step::Step};
pub use page::Page;
pub use scene::{Chain, Lane, Link, Phase, Resolution, Scene};
pub use story::{Moment, MomentKind, Story, tell};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimedStep {
    /// Identifies the thread; any number.
    pub actor: usize,
    pub step: Step,
    /// The thread's clock in picoseconds, if it has one.
    pub at: Option<u64>,
}

/// Whether a story needs this step; input may omit the others.
pub fn is_shown(step: &Step) -> bool {
    changes_tables(step)
        || matches!(
            step,
            Step::EntryRead { .. }
                | Step::Visited { .. }
                | Step::Searched { .. }
                | Step::Booked { .. }
                | Step::SliceBooked
                | Step::BarrierPassed { .. }
                | Step::DomainPassed { .. }
                | Step::SlowWaits { .. }
                | Step::SlowFound { .. }
                | Step::Taken { .. }
                | Step::Unmatched { .. }
                | Step::LockMissed { .. }
                | Step::RuleLeftOut
        )
}

/// Whether this step changes the tables, so that stories of later blocks need it.
pub fn changes_tables(step: &Step) -> bool {
    matches!(
        step,
        Step::CommandBegins
            | Step::BoundaryBegins { .. }
            | Step::BoundaryEnds
            | Step::Posted { .. }
            | Step::Unlinked { .. }
            | Step::Stored { .. }
            | Step::TakenLate { .. }
            | Step::BlockCut { .. }
    )
}
