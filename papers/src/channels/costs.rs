//! Costs of polling and moving, in nanoseconds of virtual time.

use super::policy::Channel;

/// Published costs where available; our own are marked. Whole nanoseconds keep virtual time exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct PollCosts {
    /// Processes per node (dual processors on the testbed).
    pub processes_per_node: u64,
    pub nodes: u64,
    pub rdma_ns: u64,
    /// Polling the completion queue, for any number of connections.
    pub completion_queue_ns: u64,
    /// Polling the counter of one peer in shared memory. With `turn_ns` this is the published 60 ns
    /// for the testbed's only peer; the growth with the number of peers is ours.
    pub shared_per_peer_ns: u64,
    /// A turn of the polling loop without a peer: the cost of polling shared memory for a process
    /// alone on its node (ours: a dozen cycles).
    pub turn_ns: u64,
    pub kernel_ns: u64,
    /// From send to receive through shared memory, without polling.
    pub shared_start_ns: u64,
    /// From send to receive through the network, without polling: two DMA transfers of "several
    /// microseconds"; 5 is ours.
    pub network_start_ns: u64,
    /// From send to receive through the kernel module, without polling: trap and lock.
    pub kernel_start_ns: u64,
    pub page_map_ns: u64,
    /// Processor time to post a message to the NIC (ours).
    pub network_post_ns: u64,
    /// Copy rate of the processor, bytes per microsecond (ours: kernel module and shared memory
    /// break even near the published 4 KiB).
    pub copy_bytes_per_us: u64,
    /// Copy rate of copies larger than the cache, bytes per microsecond (ours: the kernel module
    /// stays best, as published).
    pub memory_bytes_per_us: u64,
    /// The processor's cache (the testbed's).
    pub cache_bytes: u64,
    /// Transfer rate of the NIC, bytes per microsecond (ours: the testbed's bus).
    pub network_bytes_per_us: u64,
}

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
            memory_bytes_per_us: 1100,
            cache_bytes: 512 << 10,
            network_bytes_per_us: 870,
        }
    }
}

impl PollCosts {
    /// An empty poll of a whole channel. Network connections grow with the processes of all other
    /// nodes, shared memory with the other processes of this one.
    pub fn poll_ns(&self, channel: Channel) -> u64 {
        let Self {
            processes_per_node,
            nodes,
            ..
        } = *self;
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

    /// Time from send to receive without polling. Shared memory copies twice; the network's DMA
    /// engines work in sequence.
    pub fn moving_ns(&self, channel: Channel, bytes: u64) -> u64 {
        match channel {
            Channel::Network => self.network_start_ns + bytes * 1000 / self.network_bytes_per_us,
            Channel::SharedMemory => self.shared_start_ns + 2 * self.copy_ns(bytes),
        }
    }

    /// Time from send to receive through the kernel module without polling: one copy, and a mapping
    /// of every page.
    pub fn kernel_moving_ns(&self, bytes: u64) -> u64 {
        self.kernel_start_ns + bytes.div_ceil(PAGE_BYTES) * self.page_map_ns + self.copy_ns(bytes)
    }

    pub fn copy_ns(&self, bytes: u64) -> u64 {
        let fits = 2 * bytes < self.cache_bytes;
        bytes * 1000
            / if fits {
                self.copy_bytes_per_us
            } else {
                self.memory_bytes_per_us
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_cost_what_was_published() {
        // The published testbed: 14 connections to other nodes, one peer on this one.
        let costs = PollCosts::default();
        assert_eq!(costs.poll_ns(Channel::Network), 300 + 14 * 30);
        assert_eq!(costs.poll_ns(Channel::SharedMemory), 60);
        assert_eq!(costs.kernel_ns, 3000);
        // Connections grow with P * N, shared memory with P.
        let larger = PollCosts {
            processes_per_node: 4,
            nodes: 100,
            ..costs
        };
        assert_eq!(larger.poll_ns(Channel::Network), 300 + 396 * 30);
        assert_eq!(larger.poll_ns(Channel::SharedMemory), 4 + 3 * 56);
        let alone = PollCosts {
            processes_per_node: 1,
            ..costs
        };
        assert_eq!(
            (
                alone.poll_ns(Channel::SharedMemory),
                alone.poll_ns(Channel::Network)
            ),
            (4, 300 + 7 * 30)
        );
    }

    #[test]
    fn moving_starts_as_published() {
        let costs = PollCosts::default();
        assert_eq!(costs.moving_ns(Channel::SharedMemory, 0), 1200);
        assert_eq!(
            costs.kernel_moving_ns(8193),
            3000 + 3 * 700 + costs.copy_ns(8193)
        );
        assert_eq!(
            costs.moving_ns(Channel::SharedMemory, 1600),
            1200 + 2 * 1000
        );
        // Source and destination of 256 KiB fill the cache of 512 KiB.
        let rate = |bytes| bytes * 1000 / costs.copy_ns(bytes);
        assert_eq!([(256 << 10) - 1, 256 << 10].map(rate), [1600, 1100]);
    }
}
