//! The papers' experiments, on every engine of the registry side by side.
//!
//! What is compared first is *steps*: full compares plus hops over inner nodes (S28). They are
//! counted, so they are the same on every machine. Times come second: nanoseconds per matched
//! message, median over the rounds, and the median of each round's ratio to the list engine, which
//! runs in the same round. In every case all engines run the same stream, and one whose results
//! differ from the list's ends the comparison.
//!
//! | experiment | source |
//! |---|---|
//! | [`search`](Experiment::Search) | 4D's micro-benchmark |
//! | [`any`](Experiment::Any) | its growing share of ANY_SOURCE |
//! | [`memory`](Experiment::Memory) | 4D's table of memory, and real bytes |
//! | [`spans`](Experiment::Spans) | 4D's spans, thresholds and example |
//! | [`queues`](Experiment::Queues) | dedicated queues against the cap, and what they bring |
//! | [`overhead`](Experiment::Overhead) | their overhead to search time |
//! | [`depth`](Experiment::Depth) | search behind entries that stay |
//! | [`rate`](Experiment::Rate) | time per message at one depth, forward and reverse |
//! | [`patterns`](Experiment::Patterns) | what applications do ([`workload`](crate::workload)) |
//! | [`complexity`](Experiment::Complexity) | counted steps against the papers' formulas (O3) |

mod case;
mod complexity;
mod dedicated;
mod error;
mod experiment;
mod measure;
mod memory;
mod senders;
mod traffic;

pub use case::{Case, Sheet};
pub use error::CompareError;
pub use experiment::{Experiment, Plan, Progress, Report, UnknownExperiment};
pub use measure::{Candidate, Measurement, measure};
