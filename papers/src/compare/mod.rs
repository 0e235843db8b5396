//! The papers' experiments, on every engine of the registry side by side.
//!
//! The first measure is *steps*: full compares plus hops over inner nodes (S28), equal on every
//! machine. The second is time: the median nanoseconds per match, and the median of each round's
//! ratio to the list engine in that round. In every case all engines run the same stream, and a
//! result that differs from the list's ends the comparison.
//!
//! | experiment | source |
//! |---|---|
//! | [`search`](Experiment::Search) | 4D's micro-benchmark |
//! | [`any`](Experiment::Any) | 4D's growing share of ANY_SOURCE |
//! | [`memory`](Experiment::Memory) | 4D's table of memory, and real bytes |
//! | [`spans`](Experiment::Spans) | 4D's spans, thresholds and example |
//! | [`queues`](Experiment::Queues) | dedicated queues against the cap, and their benefit |
//! | [`applications`](Experiment::Applications) | applications of both queue papers as whole jobs |
//! | [`overhead`](Experiment::Overhead) | overhead of dedicated queues relative to search time |
//! | [`depth`](Experiment::Depth) | search behind entries that stay |
//! | [`rate`](Experiment::Rate) | time per message at one depth, forward and reverse |
//! | [`patterns`](Experiment::Patterns) | application patterns ([`workload`](dpamatch_tools::workload)) |
//! | [`complexity`](Experiment::Complexity) | counted steps against the papers' formulas (O3) |

mod applications;
mod cards;
mod case;
mod complexity;
mod dedicated;
mod drawn;
mod error;
mod experiment;
mod measure;
mod memory;
mod senders;
mod traffic;
mod winners;

pub use cards::CardRoom;
pub use case::{Case, Sheet};
pub use error::CompareError;
pub use experiment::{Experiment, Plan, Progress, Report};
pub use measure::{Candidate, Measurement, measure};
pub use winners::winners;
