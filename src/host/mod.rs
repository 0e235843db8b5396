//! The host's end of an emulated NIC: software matching when the NIC's resources run out, and runs
//! of operation sequences through NIC and software.

mod nic_matcher;
mod nic_run;
mod software;

pub use nic_matcher::{NicMatcher, PAYLOAD_BYTES_MAX};
pub use nic_run::{NicRun, NicRunError};
pub use software::{Software, SoftwareStats};
