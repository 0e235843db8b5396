//! The cap on dedicated queues, a compromise between one queue for all (MPICH) and one for
//! each source (Open MPI).

/// Largest job size inferred from ranks alone: the size of the papers' largest tables. It bounds
/// the memory that one message from a high rank can cause.
pub(super) const SEEN_PROCESSES_MAX: u32 = 1 << 20;

/// `k * floor(sqrt(processes))`: the reading of the paper's rule that gives all printed counts.
///
/// # Examples
/// ```
/// assert_eq!(dpamatch::engine::dedicated_queue_cap(8, 2048), 360);
/// ```
pub fn dedicated_queue_cap(k: u32, processes: u32) -> u32 {
    k.saturating_mul(processes.isqrt())
}

/// The dedicated queues of one side (PRQ or UMQ) and how many it may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    k: u32,
    processes: u32,
    /// T of Algorithm 1: queues so far.
    pub(super) used: u32,
}

impl Budget {
    pub(super) fn new(k: u32, processes: Option<u32>) -> Self {
        Self {
            k,
            processes: processes.unwrap_or(0),
            used: 0,
        }
    }

    /// Records that there are at least this many processes.
    #[inline]
    pub(super) fn saw_processes(&mut self, processes: u32) {
        self.processes = self.processes.max(processes);
    }

    pub(super) fn cap(&self) -> u32 {
        dedicated_queue_cap(self.k, self.processes)
    }

    /// Queues that may still be made.
    pub(super) fn left(&self) -> u32 {
        self.cap().saturating_sub(self.used)
    }
}
