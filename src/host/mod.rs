//! The host's end of an emulated NIC: software matching when the NIC's resources run out.

mod nic_matcher;
mod software;
mod stream_run;

pub use nic_matcher::{NicMatcher, NicRunError, PAYLOAD_BYTES_MAX};
pub(crate) use software::fill;
pub use software::{Done, Software, SoftwareStats, Taken};
