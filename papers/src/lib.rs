//! The experiments of five papers on MPI message matching, repeated with dpamatch: the library
//! behind the command `dpamatch-papers`.
//!
//! - [`compare`]: matching engines on the papers' experiments.
//! - [`cost`]: the cost of an application's communication, and matching's share.
//! - [`domains`]: the tables of docs/domains.md.
//! - [`channels`]: several channels of messages, and policies for polling them.
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "internal: names speak, docs add what names cannot"
)]

mod assumptions;
pub mod channels;
pub mod compare;
pub mod cost;
pub mod domains;

pub use assumptions::{ASSUMPTIONS, Assumption};
