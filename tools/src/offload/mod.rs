//! Whether it pays to let the card match, for a recorded program: the verdict.
//!
//! What the host spends on matching now is counted ([`Demand`]) and priced ([`Host`], [`Costs`]).
//! What the card needs for the same sequence comes from virtual time ([`Service`]). Then the ranks
//! run twice through the same simple network, with the host's costs and with the card's: how much
//! earlier the run ends is what is gained ([`Gain`]), and that is judged ([`Verdict`]).
//!
//! All times of the host are ranges, because nobody knows them exactly: a verdict is *yes* or *no*
//! only if it holds for the whole range.

mod card;
mod demand;
mod host;
mod range;
mod report;
mod verdict;

pub use card::{Card, CardError, Service};
pub use demand::Demand;
pub use host::{BUILT_IN, Host, HostError};
pub use range::Range;
pub use report::{Advised, OffloadError, Question, Report};
pub use verdict::{Answer, BreakEven, Costs, Gain, Reason, Verdict};
