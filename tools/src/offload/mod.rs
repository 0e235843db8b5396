//! Whether matching on the card pays for a recorded program: the verdict.
//!
//! [`Demand`] counts the host's present matching work; [`Host`] and [`Costs`] price it. Virtual
//! time gives the card's time for the same sequence ([`Service`]). The ranks then run twice through
//! one simple network, with the host's costs and with the card's. [`Gain`] is how much earlier the
//! run ends, and [`Verdict`] judges it.
//!
//! All times of the host are ranges, because they are uncertain: a verdict is *yes* or *no* only if
//! it holds for the whole range.

mod card;
mod demand;
mod hardware;
mod host;
mod range;
mod report;
mod verdict;

pub use card::{Card, CardError, Service};
pub use demand::Demand;
pub use hardware::Matcher;
pub use host::{BUILT_IN, Host, HostError};
pub use range::Range;
pub use report::{Advised, OffloadError, Question, Report};
pub use verdict::{Answer, BreakEven, Costs, Gain, Reason, Verdict};
