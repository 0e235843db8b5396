//! Polling policies: the interface and the published ones.

use std::fmt;
use std::str::FromStr;

use super::costs::PollCosts;
use super::run_length::RunLength;

/// A channel of the main loop, which excludes the kernel module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Channel {
    /// RDMA flags and completion queue.
    Network,
    /// The FIFOs of the node's processes.
    SharedMemory,
}

impl Channel {
    pub fn other(self) -> Self {
        match self {
            Self::Network => Self::SharedMemory,
            Self::SharedMemory => Self::Network,
        }
    }
}

/// Chooses the next channel to poll.
pub trait PollingPolicy: fmt::Debug + Send {
    fn next(&mut self) -> Channel;

    fn polled(&mut self, channel: Channel, found: bool);
}

/// Polls both in turn: the static scheme with ratio 1.
#[derive(Clone, Debug, Default)]
pub struct RoundRobin(Ratio);

impl PollingPolicy for RoundRobin {
    fn next(&mut self) -> Channel {
        self.0.next(1)
    }

    fn polled(&mut self, _: Channel, _: bool) {}
}

/// Polls shared memory r times for each poll of the network.
#[derive(Clone, Debug)]
pub struct StaticRatio {
    ratio: u32,
    turn: Ratio,
}

impl StaticRatio {
    /// A policy with ratio r, at least 1.
    pub fn new(ratio: u32) -> Self {
        Self {
            ratio: ratio.max(1),
            turn: Ratio::default(),
        }
    }
}

impl PollingPolicy for StaticRatio {
    fn next(&mut self) -> Channel {
        self.turn.next(self.ratio)
    }

    fn polled(&mut self, _: Channel, _: bool) {}
}

/// The ratio follows the last h messages: with m from shared memory and n from the network it
/// becomes m / max(n, 1) + 1, rounded down.
#[derive(Clone, Debug)]
pub struct Dynamic {
    history: u32,
    ratio_max: u32,
    shared: u32,
    network: u32,
    ratio: u32,
    turn: Ratio,
}

impl Dynamic {
    /// A policy with history h, at least 1, and ratios up to `ratio_max`. The first ratio is 1.
    pub fn new(history: u32, ratio_max: u32) -> Self {
        let history = history.max(1);
        Self {
            history,
            ratio_max: ratio_max.max(1),
            shared: 0,
            network: 0,
            ratio: 1,
            turn: Ratio::default(),
        }
    }

    pub fn ratio(&self) -> u32 {
        self.ratio
    }
}

impl PollingPolicy for Dynamic {
    fn next(&mut self) -> Channel {
        self.turn.next(self.ratio)
    }

    fn polled(&mut self, channel: Channel, found: bool) {
        match channel {
            _ if !found => return,
            Channel::SharedMemory => self.shared += 1,
            Channel::Network => self.network += 1,
        }
        if self.shared + self.network == self.history {
            self.ratio = (self.shared / self.network.max(1) + 1).min(self.ratio_max);
            (self.shared, self.network) = (0, 0);
        }
    }
}

/// Counts polls of shared memory since the last one of the network.
#[derive(Clone, Debug, Default)]
struct Ratio {
    polls: u32,
}

impl Ratio {
    fn next(&mut self, ratio: u32) -> Channel {
        if self.polls < ratio {
            self.polls += 1;
            Channel::SharedMemory
        } else {
            self.polls = 0;
            Channel::Network
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PolicySpec {
    RoundRobin,
    Static(u32),
    Dynamic(u32),
    RunLength,
}

/// Largest ratio of [`PolicySpec::Dynamic`].
const RATIO_MAX: u32 = 1000;

impl PolicySpec {
    /// The published policies with their best parameters, and our own.
    pub const USUAL: [Self; 4] = [
        Self::RoundRobin,
        Self::Static(50),
        Self::Dynamic(10),
        Self::RunLength,
    ];

    /// Builds the policy; some use the poll costs.
    pub fn build(self, costs: &PollCosts) -> Box<dyn PollingPolicy> {
        match self {
            Self::RoundRobin => Box::new(RoundRobin::default()),
            Self::Static(ratio) => Box::new(StaticRatio::new(ratio)),
            Self::Dynamic(history) => Box::new(Dynamic::new(history, RATIO_MAX)),
            Self::RunLength => Box::new(RunLength::new(
                costs.poll_ns(Channel::Network),
                costs.poll_ns(Channel::SharedMemory),
            )),
        }
    }
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RoundRobin => f.write_str("round-robin"),
            Self::Static(ratio) => write!(f, "static:{ratio}"),
            Self::Dynamic(history) => write!(f, "dynamic:{history}"),
            Self::RunLength => f.write_str("run-length"),
        }
    }
}

/// No policy has this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "unknown policy {0}; known: round-robin, static:R, dynamic:H, run-length, with R and H from 1 to 1000000"
)]
pub struct UnknownPolicy(pub String);

impl FromStr for PolicySpec {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let unknown = || UnknownPolicy(text.to_owned());
        let parameter = |number: &str| {
            let number = number
                .parse()
                .ok()
                .filter(|number| (1..=1_000_000).contains(number));
            number.ok_or_else(unknown)
        };
        match text.split_once(':') {
            None if text == "round-robin" => Ok(Self::RoundRobin),
            None if text == "run-length" => Ok(Self::RunLength),
            Some(("static", ratio)) => Ok(Self::Static(parameter(ratio)?)),
            Some(("dynamic", history)) => Ok(Self::Dynamic(parameter(history)?)),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Channel::{Network, SharedMemory};

    fn polls(policy: &mut dyn PollingPolicy, count: usize) -> String {
        let letter = |_| match policy.next() {
            Network => 'n',
            SharedMemory => 's',
        };
        (0..count).map(letter).collect()
    }

    #[test]
    fn ratios_are_kept() {
        assert_eq!(polls(&mut RoundRobin::default(), 6), "snsnsn");
        assert_eq!(polls(&mut StaticRatio::new(3), 9), "sssnsssns");
        assert_eq!(polls(&mut StaticRatio::new(0), 4), "snsn");
    }

    #[test]
    fn the_dynamic_ratio_is_that_of_the_formula() {
        // m of h messages from shared memory give m / n + 1, without a division by 0.
        let ratio = |history: u32, shared: u32, ratio_max| {
            let mut policy = Dynamic::new(history, ratio_max);
            (0..shared).for_each(|_| policy.polled(SharedMemory, true));
            (shared..history).for_each(|_| policy.polled(Network, true));
            policy.ratio()
        };
        assert_eq!(
            [0, 5, 7, 9, 10].map(|shared| ratio(10, shared, 1000)),
            [1, 2, 3, 10, 11]
        );
        assert_eq!(ratio(10, 10, 4), 4);
        // The ratio stays until h messages have come, and empty polls do not count.
        let mut policy = Dynamic::new(2, 1000);
        policy.polled(SharedMemory, true);
        policy.polled(SharedMemory, false);
        assert_eq!(policy.ratio(), 1);
        policy.polled(SharedMemory, true);
        assert_eq!(
            (policy.ratio(), polls(&mut policy, 5).as_str()),
            (3, "sssns")
        );
        // The counters restart: two network messages bring it back to 1.
        policy.polled(Network, true);
        policy.polled(Network, true);
        assert_eq!(policy.ratio(), 1);
    }

    #[test]
    fn names_come_back() {
        for spec in PolicySpec::USUAL {
            assert_eq!(spec.to_string().parse(), Ok(spec));
        }
        for wrong in [
            "",
            "static",
            "static:0",
            "static:x",
            "dynamic:-1",
            "fast",
            "round-robin:2",
            "dynamic:1000001",
        ] {
            assert!(wrong.parse::<PolicySpec>().is_err(), "{wrong}");
        }
    }
}
