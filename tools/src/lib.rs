//! What is measured, recorded and predicted about matching: the library behind the command
//! `dpamatch`. The matching itself is in [`dpamatch`] and [`dpa_model`].
//!
//! - [`mod@bench`]: message rates in windows, as the paper measures them.
//! - [`trace`]: recorded MPI calls of real programs.
//! - [`analyze`]: traces replayed through engines.
//! - [`compare`]: the papers' experiments on all engines.
//! - [`workload`]: known communication patterns as streams.
//! - [`cost`]: what an application's communication costs, and how much of it is matching.
//! - [`channels`]: several channels that feed one matcher, and which of them to poll next.
//! - [`offload`]: whether it pays to let a card match.
//! - [`results`]: results as programs read them, and what moved between two of them.
//! - [`statistics`]: what MPI processes on the emulated NIC wrote about their matching.
//! - [`table`]: tables of numbers as text, Markdown, CSV and JSON.
//! - [`figure`]: figures as SVG, with their numbers as CSV.
//! - [`version`]: which version and commit of the program this is.
#![forbid(unsafe_code)]

pub mod analyze;
pub mod bench;
pub mod channels;
pub mod compare;
pub mod cost;
pub mod figure;
pub mod offload;
pub mod results;
mod sequence;
pub mod statistics;
pub mod table;
pub mod trace;
pub mod version;
pub mod workload;

pub use sequence::sequence;
