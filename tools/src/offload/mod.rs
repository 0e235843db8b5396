//! Whether matching on the card pays for a recorded program: the verdict.
//!
//! [`Demand`] counts the host's present matching work; [`Host`] and [`Costs`] price it. Virtual
//! time gives the card's time for the same sequence ([`Service`]). The ranks then run twice through
//! one simple network, with the host's costs and with the card's. [`Gain`] is how much earlier the
//! run ends, and [`Verdict`] judges it.
//!
//! All times of the host are ranges, because they are uncertain: a verdict is *yes* or *no* only if
//! it holds for the whole range. The order of posts and arrivals is uncertain, too: [`InOrder`]
//! has the result in further legal orders. [`Remark`] says what was assumed or not modelled.

mod card;
mod demand;
mod ends;
mod hardware;
mod host;
mod orders;
mod range;
mod remarks;
mod report;
mod rooms;
#[cfg(test)]
mod tests;
mod verdict;

pub use card::{Card, CardError, Service};
pub use demand::Demand;
pub use hardware::Matcher;
pub use host::{BUILT_IN, Host, HostError};
pub use orders::InOrder;
pub use range::Range;
pub use remarks::{Remark, RemarkKind};
pub use report::{Advised, Length, OffloadError, Question, Report};
pub use rooms::{Hardware, PUBLISHED, PublishedRoom, Rooms};
pub use verdict::{Answer, BreakEven, Costs, Gain, Reason, Verdict};
