//! What the handlers of a block did, step by step: in words, as the state after each step, and as
//! one page for a browser.
//!
//! The steps are those that the card tells ([`Step`]), whoever runs it: a seeded scheduler, every
//! interleaving in turn, a model that failed, or virtual time. [`Story::new`] is a pure function of
//! them: it keeps the tables as the card must have them after each step ([`Scene`]). Nothing is
//! left for the page but to draw what it is given.
#![forbid(unsafe_code)]

mod cast;
mod page;
mod scene;
mod stage;
mod story;
mod words;

pub use cast::{Cast, Message, Receive};
pub use dpamatch_vocabulary::{Path, step::Step};
pub use page::Page;
pub use scene::{Chain, Lane, Link, Phase, Scene, Way};
pub use story::{Kind, Moment, Story, tell};

/// A step, who told it, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told {
    /// Names the thread that told it; any number, the same for all steps of one thread.
    pub actor: usize,
    /// What it did.
    pub step: Step,
    /// The time on its clock in picoseconds, where there is one.
    pub at: Option<u64>,
}

/// Whether a story needs this step; the others may be left out of what it is made of.
pub fn is_told(step: &Step) -> bool {
    changes_tables(step)
        || matches!(
            step,
            Step::EntryRead { .. }
                | Step::Visited { .. }
                | Step::Searched { .. }
                | Step::Booked { .. }
                | Step::SliceBooked
                | Step::BarrierPassed { .. }
                | Step::SlowWaits { .. }
                | Step::SlowFound { .. }
                | Step::Taken { .. }
                | Step::Unmatched { .. }
                | Step::LockMissed { .. }
        )
}

/// Whether the tables of later blocks depend on this step: what a story of a later block needs.
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
