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
//! | [`search`](Experiment::Search) | 4D's micro-benchmark (F19, F20) |
//! | [`any`](Experiment::Any) | its growing share of ANY_SOURCE |
//! | [`memory`](Experiment::Memory) | 4D's table of memory (F15, F16), and real bytes |
//! | [`spans`](Experiment::Spans) | 4D's spans, thresholds and example (F5 to F7, F10; V2) |
//! | [`queues`](Experiment::Queues) | dedicated queues against the cap (C9, V4), and what they bring (C23) |
//! | [`overhead`](Experiment::Overhead) | their overhead to search time (C28) |
//! | [`depth`](Experiment::Depth) | search behind entries that stay |
//! | [`rate`](Experiment::Rate) | time per message at one depth, forward and reverse |
//! | [`patterns`](Experiment::Patterns) | what applications do ([`workload`](crate::workload)) |
//! | [`complexity`](Experiment::Complexity) | counted steps against the papers' formulas (F14, V7, O3) |

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
