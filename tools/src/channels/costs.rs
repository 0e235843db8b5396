//! What polling and moving cost, in nanoseconds of virtual time.

use super::policy::Channel;

/// Published costs where there are any; the others are ours and say so. Whole nanoseconds, so that
/// virtual time is exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PollCosts {
    /// Processes on a node (dual processors on the testbed).
    pub processes_per_node: u64,
    /// Nodes.
    pub nodes: u64,
    /// Looking at the flag of one RDMA connection.
    pub rdma_ns: u64,
    /// Looking at the completion queue, whatever the connections.
    pub completion_queue_ns: u64,
    /// Looking at the counter of one peer in shared memory (with `turn_ns` the published
    /// 60 ns for the one peer of the testbed; that it grows in proportion is ours).
    pub shared_per_peer_ns: u64,
    /// A turn of the loop over the peers that finds nobody to look at: what is left of a poll of
    /// shared memory for a process alone on its node (ours: a dozen cycles).
    pub turn_ns: u64,
    /// Asking the kernel module.
    pub kernel_ns: u64,
    /// From send to receive without polling: shared memory.
    pub shared_start_ns: u64,
    /// The same: network, two transfers by DMA of "several microseconds"; 5 is ours.
    pub network_start_ns: u64,
    /// The same: kernel module, trap and lock.
    pub kernel_start_ns: u64,
    /// Mapping a page for the kernel module's copy.
    pub page_map_ns: u64,
    /// Processor's time to give the NIC a message (ours).
    pub network_post_ns: u64,
    /// Copying by the processor, bytes per microsecond (ours; chosen so that kernel module and
    /// shared memory break even near the published 4 KiB).
    pub copy_bytes_per_us: u64,
    /// Moving by the NIC, bytes per microsecond (ours: the testbed's bus).
    pub network_bytes_per_us: u64,
}

/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;

impl Default for PollCosts {
    fn default() -> Self {
        Self {
            processes_per_node: 2,
            nodes: 8,
            rdma_ns: 30,
            completion_queue_ns: 300,
            shared_per_peer_ns: 56,
            turn_ns: 4,
            kernel_ns: 3000,
            shared_start_ns: 1200,
            network_start_ns: 5000,
            kernel_start_ns: 3000,
            page_map_ns: 700,
            network_post_ns: 1000,
            copy_bytes_per_us: 1600,
            network_bytes_per_us: 870,
        }
    }
}

impl PollCosts {
    /// An empty poll of everything that belongs to the channel: network connections grow with the
    /// processes of all other nodes, shared memory with the others of this one.
    pub fn poll_ns(&self, channel: Channel) -> u64 {
        let Self { processes_per_node, nodes, .. } = *self;
        match channel {
            Channel::Network => {
                let connections = processes_per_node * nodes.saturating_sub(1);
                self.completion_queue_ns + connections * self.rdma_ns
            }
            Channel::SharedMemory => {
                self.turn_ns + processes_per_node.saturating_sub(1) * self.shared_per_peer_ns
            }
        }
    }

    /// From send to receive of a message, polling left out: shared memory copies twice, the
    /// network's DMA engines work in a row.
    pub fn moving_ns(&self, channel: Channel, bytes: u64) -> u64 {
        match channel {
            Channel::Network => self.network_start_ns + bytes * 1000 / self.network_bytes_per_us,
            Channel::SharedMemory => self.shared_start_ns + 2 * self.copy_ns(bytes),
        }
    }

    /// The same for the kernel module: one copy, and every page of the message is mapped.
    pub fn kernel_moving_ns(&self, bytes: u64) -> u64 {
        self.kernel_start_ns + bytes.div_ceil(PAGE_BYTES) * self.page_map_ns + self.copy_ns(bytes)
    }

    /// Copying once by the processor.
    pub fn copy_ns(&self, bytes: u64) -> u64 {
        bytes * 1000 / self.copy_bytes_per_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_cost_what_was_published() {
        // On the published testbed: 14 connections to other nodes, one peer on this one.
        let costs = PollCosts::default();
        assert_eq!(costs.poll_ns(Channel::Network), 300 + 14 * 30);
        assert_eq!(costs.poll_ns(Channel::SharedMemory), 60);
        assert_eq!(costs.kernel_ns, 3000);
        // Connections grow with P * N, shared memory with P.
        let larger = PollCosts { processes_per_node: 4, nodes: 100, ..costs };
        assert_eq!(larger.poll_ns(Channel::Network), 300 + 396 * 30);
        assert_eq!(larger.poll_ns(Channel::SharedMemory), 4 + 3 * 56);
        let alone = PollCosts { processes_per_node: 1, ..costs };
        assert_eq!(
            (alone.poll_ns(Channel::SharedMemory), alone.poll_ns(Channel::Network)),
            (4, 300 + 7 * 30)
        );
    }

    #[test]
    fn moving_starts_as_published() {
        let costs = PollCosts::default();
        assert_eq!(costs.moving_ns(Channel::SharedMemory, 0), 1200);
        assert_eq!(costs.kernel_moving_ns(8193), 3000 + 3 * 700 + costs.copy_ns(8193));
        assert_eq!(costs.moving_ns(Channel::SharedMemory, 1600), 1200 + 2 * 1000);
    }
}
