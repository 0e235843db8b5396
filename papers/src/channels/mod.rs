//! Several channels: which channel does a progress engine poll next?
//!
//! Messages reach a process through the NIC's completion queue, through shared memory from
//! processes of its node, and through a kernel module that copies large messages once. Poll costs
//! differ, and time spent on an empty channel delays messages on another. `docs/channels.md` has
//! the published facts and policies; [`RunLength`] is this project's own policy.
//!
//! - [`PollingPolicy`] and the policies; [`PolicySpec`] names them on the command line.
//! - In virtual time: [`PollCosts`], [`discovery`], [`latency`], [`thresholds`].
//! - On threads: [`real`], whose channels carry messages into one matcher.

mod costs;
pub mod discovery;
pub mod latency;
mod policy;
#[cfg(target_os = "linux")]
pub mod real;
pub mod run_length;
pub mod thresholds;

pub use costs::PollCosts;
pub use policy::{
    Channel, Dynamic, PolicySpec, PollingPolicy, RoundRobin, StaticRatio, UnknownPolicy,
};
pub use run_length::RunLength;
