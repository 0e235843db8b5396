//! Rehearsal of a port to a RISC-V card. Builds the firmware in `port/firmware/`, runs it in an
//! interpreter, compares it with the oracle and measures its instructions.
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "internal: names speak, docs add what names cannot"
)]

pub mod build;
pub mod check;
pub mod job;
pub mod kit;
pub mod phases;
pub mod report;
pub mod rv64;
pub mod steps;
pub mod vectors;
pub mod weak;
