//! The network's numbers, and what is told of ranks that it leaves waiting.

/// How long messages are under way.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Network {
    /// Of every message, in nanoseconds.
    pub latency_ns: u64,
    /// Bytes per microsecond.
    pub bytes_per_us: u64,
    /// Up to so much more, at random.
    pub jitter_ns: u64,
    /// What a call takes on its rank.
    pub call_ns: u64,
    /// Recorded time between calls counts so many times.
    pub compute: f64,
    /// The same seed gives the same order.
    pub seed: u64,
}

impl Default for Network {
    /// 1.5 us, 12.5 GB/s, half a microsecond of jitter, 100 ns a call; recorded times as they are.
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

/// What matching costs, where that is asked; nothing by default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Load {
    /// Nanoseconds that a receive costs its rank when it is posted, by program.
    pub receive_ns: Vec<u64>,
    /// Nanoseconds that every message comes later.
    pub delay_ns: u64,
    /// Only receives and messages of this communicator; `None`: all.
    pub comm: Option<u32>,
}

impl Load {
    /// Whether this communicator's count.
    pub(crate) fn counts(&self, comm: u32) -> bool {
        self.comm.is_none_or(|only| only == comm)
    }
}

/// A rank that waited for what nobody would bring.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Stall {
    /// The rank.
    pub rank: u32,
    /// The call that it was in, as a number of its step.
    pub step: u32,
    /// What it waited for.
    pub waits_for: &'static str,
}
