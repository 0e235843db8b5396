//! Parameters of the simulated network, and reports of stalled ranks.

#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Network {
    pub latency_ns: u64,
    pub bytes_per_us: u64,
    /// Maximum random addition to the latency.
    pub jitter_ns: u64,
    pub call_ns: u64,
    /// Factor for the recorded time between calls.
    pub compute: f64,
    pub seed: u64,
}

impl Default for Network {
    /// 1.5 us, 12.5 GB/s, 0.5 us jitter, 100 ns per call; recorded compute times unchanged.
    fn default() -> Self {
        Self {
            latency_ns: 1500,
            bytes_per_us: 12_500,
            jitter_ns: 500,
            call_ns: 100,
            compute: 1.0,
            seed: 1,
        }
    }
}

/// The cost of matching; zero by default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Load {
    /// Nanoseconds that each receive costs its rank at posting, by program.
    pub receive_ns: Vec<u64>,
    pub delay_ns: u64,
    /// The communicator whose receives and messages are charged; `None` for all.
    pub comm: Option<u32>,
}

impl Load {
    pub(crate) fn counts(&self, comm: u32) -> bool {
        self.comm.is_none_or(|only| only == comm)
    }
}

/// A rank that waited for an event that could not happen.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Stall {
    pub rank: u32,
    /// The step of its blocking call.
    pub step: u32,
    pub waits_for: &'static str,
}
