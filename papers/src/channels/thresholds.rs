//! Message lengths from which another channel is faster: by micro-benchmark and by the overlap
//! metric, in virtual time.

use super::costs::PollCosts;
use super::policy::Channel;

/// A way between two processes of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// Shared memory: two copies.
    SharedMemory,
    /// Kernel module: one copy.
    Kernel,
    /// Through the NIC and back.
    Network,
}

impl Transport {
    pub const ALL: [Self; 3] = [Self::SharedMemory, Self::Kernel, Self::Network];

    pub fn name(self) -> &'static str {
        ["shared_memory", "kernel", "network"][self as usize]
    }

    /// From send to receive, in nanoseconds.
    pub fn moving_ns(self, costs: &PollCosts, bytes: u64) -> u64 {
        match self {
            Self::SharedMemory => costs.moving_ns(Channel::SharedMemory, bytes),
            Self::Kernel => costs.kernel_moving_ns(bytes),
            Self::Network => costs.moving_ns(Channel::Network, bytes),
        }
    }

    /// Processor time of one side to send one message and receive one: copies, traps, descriptors.
    /// DMA does the rest.
    pub fn processor_ns(self, costs: &PollCosts, bytes: u64) -> u64 {
        match self {
            // Copies in and out.
            Self::SharedMemory => costs.shared_start_ns + 2 * costs.copy_ns(bytes),
            // The receiver copies, and traps for it.
            Self::Kernel => costs.kernel_moving_ns(bytes),
            Self::Network => costs.network_post_ns + costs.poll_ns(Channel::Network),
        }
    }
}

/// The smallest power of two in `sizes` from which on `second` is at least as fast for all larger
/// ones; `None` if it never is.
pub fn threshold(
    costs: &PollCosts,
    first: Transport,
    second: Transport,
    sizes: &[u64],
) -> Option<u64> {
    let faster = |bytes: &u64| second.moving_ns(costs, *bytes) <= first.moving_ns(costs, *bytes);
    let last_slower = sizes.iter().rposition(|bytes| !faster(bytes));
    sizes.get(last_slower.map_or(0, |place| place + 1)).copied()
}

/// Time between two progress calls during the computation (published: Iprobe every 100 us).
pub const PROBE_NS: u64 = 100_000;

/// The overlap metric: total time over computation time, at best 1. Two processes of a node send to
/// each other (Isend, Irecv), compute for `compute_ns` with a progress call every [`PROBE_NS`], and
/// wait (Waitall).
///
/// The processor's own part adds to the computation, the NIC's part overlaps it. A message longer
/// than `eager_max` must first be announced, and the NIC starts at the first progress call after
/// that.
pub fn overlap(
    costs: &PollCosts,
    way: Transport,
    bytes: u64,
    eager_max: u64,
    compute_ns: u64,
) -> f64 {
    let processor = way.processor_ns(costs, bytes);
    let total = match way {
        Transport::SharedMemory | Transport::Kernel => compute_ns + processor,
        Transport::Network => {
            let announced = if bytes > eager_max {
                PROBE_NS.min(compute_ns) + costs.network_start_ns
            } else {
                0
            };
            let there = announced + way.moving_ns(costs, bytes);
            processor + compute_ns.max(there)
        }
    };
    total as f64 / compute_ns.max(1) as f64
}
