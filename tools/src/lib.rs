//! Measurements, recordings and predictions of matching: the library behind the command `dpamatch`.
//! The matching itself is in [`dpamatch`] and [`dpa_model`]; the readers of recorded MPI calls are
//! in [`dpamatch_traces`].
//!
//! - [`mod@bench`]: message rates in windows, as the paper measures them.
//! - [`cli`]: the command line, and what other programs' command lines take from it.
//! - [`collectives`]: the messages inside collective operations.
//! - [`analyze`]: traces replayed through engines.
//! - [`workload`]: common communication patterns as streams.
//! - [`offload`]: whether offloading the matching to a card pays.
//! - [`results`]: machine-readable results, and the differences between two of them.
//! - [`statistics`]: matching statistics written by MPI processes on the emulated NIC.
//! - [`table`]: tables of numbers as text, Markdown, CSV and JSON.
//! - [`figure`]: figures as SVG, with their numbers as CSV.
//! - [`version`]: version and commit of the program.
#![deny(unsafe_code)]
#![allow(
    missing_docs,
    reason = "internal: names speak, docs add what names cannot"
)]

/// Adds another value's fields to those of `self`: sums, then maxima, then fields that have `add`.
macro_rules! add_fields {
    ($mine:ident + $other:ident;
     $(sum $($sum:ident)*;)? $(max $($most:ident)*;)? $(parts $($part:ident)*;)?) => {
        $($($mine.$sum += $other.$sum;)*)?
        $($($mine.$most = $mine.$most.max($other.$most);)*)?
        $($($mine.$part.add(&$other.$part);)*)?
    };
}

// The command line names the library as other programs do.
extern crate self as dpamatch_tools;

pub mod analyze;
pub mod bench;
pub mod cli;
pub mod collectives;
mod counted;
pub mod figure;
pub mod offload;
mod private_folder;
pub mod results;
mod sequence;
pub mod statistics;
mod steps;
pub mod table;
pub mod version;
pub mod workload;

pub use counted::counted;
pub use private_folder::private_folder;
pub use sequence::sequence;
pub use steps::counted_steps;
