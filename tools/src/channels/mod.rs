//! Several channels, one matcher: which channel does a progress engine poll next?
//!
//! Messages reach a process through the NIC's completion queue, through shared memory from
//! processes of its own node, and through a kernel module that copies large messages once (CH1).
//! Polling each of them costs differently, and time spent on an empty channel delays what waits in
//! another. Facts and published policies are CH1 to CH12 in `docs/decisions.md`; [`RunLength`] is
//! this project's own policy.
//!
//! - [`PollingPolicy`] and the policies; [`PolicySpec`] names them on the command line.
//! - In virtual time: [`PollCosts`], [`discovery`], [`latency`], [`thresholds`].
//! - For real: [`ProgressEngine`] with [`shared_memory`], [`kernel`] and [`network`] channels,
//!   filled by threads.

mod costs;
pub mod discovery;
pub mod kernel;
pub mod latency;
pub mod network;
mod packet;
mod policy;
mod progress;
mod reorder;
pub mod run_length;
pub mod shared_memory;
pub mod thresholds;

pub use costs::PollCosts;
pub use packet::{LocalPeer, Packet, RemotePeer, RemoteSendError};
pub use policy::{
    Channel, Dynamic, PolicySpec, PollingPolicy, RoundRobin, StaticRatio, UnknownPolicy,
};
pub use progress::{Completed, PollCounts, ProgressEngine};
pub use run_length::RunLength;
