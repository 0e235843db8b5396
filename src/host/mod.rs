//! The host's end of an emulated NIC: software matching when the NIC's resources run out.

mod made_up;
mod nic_matcher;
mod software;
mod stream_run;

pub use made_up::PAYLOAD_BYTES_MAX;
pub use nic_matcher::{NicMatcher, NicRunError};
pub(crate) use software::fill;
pub use software::{Done, Software, SoftwareStats, Taken};
