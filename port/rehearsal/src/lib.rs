//! A port to a RISC-V card, rehearsed: the firmware in the folder `port/firmware/` is built,
//! run in an interpreter or in QEMU, compared with the oracle, and measured instruction by
//! instruction.
#![forbid(unsafe_code)]

pub mod build;
pub mod bus;
pub mod check;
pub mod choice;
pub mod code;
pub mod job;
pub mod kit;
pub mod phases;
pub mod qemu;
pub mod report;
pub mod rv64;
pub mod steps;
pub mod vectors;
pub mod weak;
