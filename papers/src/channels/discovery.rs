//! The message-discovery benchmark in virtual time. One peer on the node and one on another node
//! send bursts in turn; the benchmark measures the time until the root finds each message.

use std::collections::VecDeque;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::costs::PollCosts;
use super::policy::{Channel, PollingPolicy};

/// Burst lengths of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bursts {
    Constant(u32),
    /// Uniform from 1 to twice this minus 1.
    Uniform(u32),
    /// Geometric with this mean: each message continues the burst with equal probability.
    Geometric(u32),
    /// Heavy-tailed up to this: a burst has n messages or more with probability 1 / n.
    HeavyTailed(u32),
    /// Two lengths in turn, so that the last burst never predicts the next.
    InTurn(u32, u32),
    /// A number of bursts of one length, then as many of the other.
    Switching(u32, u32, u32),
}

impl Bursts {
    fn draw(self, burst: u32, random: &mut ChaCha8Rng) -> u32 {
        let length = match self {
            Self::Constant(length) => length,
            Self::Uniform(mean) => random.random_range(1..mean.max(1).saturating_mul(2)),
            Self::Geometric(mean) => {
                let mut length = 1_u32;
                while random.random_range(0..mean.max(1)) > 0 {
                    length = length.saturating_add(1);
                }
                length
            }
            Self::HeavyTailed(most) => most / random.random_range(1..=most.max(1)),
            Self::InTurn(first, second) => {
                if burst.is_multiple_of(2) {
                    first
                } else {
                    second
                }
            }
            Self::Switching(first, second, bursts) => {
                if (burst / bursts.max(1)).is_multiple_of(2) {
                    first
                } else {
                    second
                }
            }
        };
        length.max(1)
    }
}

/// Time between messages of a burst, in nanoseconds; 0 is all at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gap {
    Constant(u64),
    /// Uniform from 0 to twice this.
    Random(u64),
}

impl Gap {
    /// The gaps of the comparison of policies.
    pub const STUDIED: [Self; 6] = [
        Self::Constant(0),
        Self::Constant(300),
        // A round of round-robin is 780 ns: it just keeps up.
        Self::Constant(800),
        Self::Constant(2000),
        Self::Random(300),
        Self::Random(2000),
    ];

    fn draw(self, random: &mut ChaCha8Rng) -> u64 {
        match self {
            Self::Constant(gap_ns) => gap_ns,
            Self::Random(mean_ns) => random.random_range(0..=mean_ns.saturating_mul(2)),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Discovery {
    pub shared: Bursts,
    pub network: Bursts,
    /// Pairs of bursts: one through shared memory, one through the network.
    pub pairs: u32,
    pub gap: Gap,
    /// The root's time per message, including the acknowledgement.
    pub handle_ns: u64,
    pub seed: u64,
}

impl Default for Discovery {
    fn default() -> Self {
        let bursts = Bursts::Constant(200);
        Self {
            shared: bursts,
            network: bursts,
            pairs: 50,
            gap: Gap::Constant(0),
            handle_ns: 0,
            seed: 1,
        }
    }
}

/// Result of a run. Times are means over the messages, from arrival to discovery.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Discovered {
    pub messages: u64,
    /// Mean through shared memory, in nanoseconds.
    pub shared_ns: f64,
    /// Mean through the network, in nanoseconds.
    pub network_ns: f64,
    /// Mean over both, in nanoseconds.
    pub mean_ns: f64,
    pub empty_polls: u64,
}

/// Runs the benchmark. A burst begins at a random time after the discovery of the previous one, up
/// to twice the channel's time for a short message, so that bursts never synchronize with the
/// polls.
///
/// # Complexity
/// O(polls).
pub fn discover(
    policy: &mut dyn PollingPolicy,
    costs: &PollCosts,
    bench: &Discovery,
) -> Discovered {
    let mut random = ChaCha8Rng::seed_from_u64(bench.seed);
    let mut now = 0;
    let mut sums = [0_u64; 2];
    let mut counts = [0_u64; 2];
    let mut empty_polls = 0;
    for pair in 0..bench.pairs {
        let sides = [
            (Channel::SharedMemory, bench.shared),
            (Channel::Network, bench.network),
        ];
        for (side, (channel, bursts)) in sides.into_iter().enumerate() {
            let mut arrival = now + random.random_range(0..=2 * costs.moving_ns(channel, 4));
            let length = bursts.draw(pair, &mut random);
            let mut waiting = VecDeque::from([arrival]);
            for _ in 1..length {
                arrival += bench.gap.draw(&mut random);
                waiting.push_back(arrival);
            }
            counts[side] += u64::from(length);
            while let Some(&arrival) = waiting.front() {
                let polled = policy.next();
                now += costs.poll_ns(polled);
                let found = polled == channel && arrival <= now;
                policy.polled(polled, found);
                if found {
                    waiting.pop_front();
                    sums[side] += now - arrival;
                    now += bench.handle_ns;
                } else {
                    empty_polls += 1;
                }
            }
        }
    }
    let mean = |sum: u64, count: u64| sum as f64 / count.max(1) as f64;
    Discovered {
        messages: counts[0] + counts[1],
        shared_ns: mean(sums[0], counts[0]),
        network_ns: mean(sums[1], counts[1]),
        mean_ns: mean(sums[0] + sums[1], counts[0] + counts[1]),
        empty_polls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::policy::PolicySpec;

    fn both(bursts: Bursts) -> Discovery {
        Discovery {
            shared: bursts,
            network: bursts,
            ..Discovery::default()
        }
    }

    const PUBLISHED: [PolicySpec; 3] = [
        PolicySpec::RoundRobin,
        PolicySpec::Static(50),
        PolicySpec::Dynamic(10),
    ];

    fn to_best(costs: &PollCosts, bench: &Discovery) -> f64 {
        let mean = |spec: PolicySpec| discover(&mut *spec.build(costs), costs, bench).mean_ns;
        mean(PolicySpec::RunLength)
            / PUBLISHED
                .map(mean)
                .into_iter()
                .fold(f64::INFINITY, f64::min)
    }

    /// Claim of our policy: for any burst length, constant or random, at most 5 % behind the best
    /// of the three.
    #[test]
    fn run_length_is_never_far_behind_the_best() {
        let costs = PollCosts::default();
        for length in (1..=8).chain([10, 12, 20, 50, 200]) {
            let kinds = [
                Bursts::Constant(length),
                Bursts::Uniform(length),
                Bursts::Geometric(length),
                Bursts::HeavyTailed(length),
                // Worst for a policy that trusts the last burst.
                Bursts::InTurn(1, length),
                Bursts::Switching(1, length, 10),
            ];
            for (bursts, gap) in kinds
                .into_iter()
                .flat_map(|kind| Gap::STUDIED.map(|gap| (kind, gap)))
            {
                // Luck matters in short runs of random messages.
                let pairs = match length {
                    ..=20 => 400,
                    21..=50 => 160,
                    _ => 50,
                };
                let bench = Discovery {
                    gap,
                    pairs,
                    ..both(bursts)
                };
                let ratio = to_best(&costs, &bench);
                assert!(ratio <= 1.05, "{bench:?}: {ratio}");
            }
        }
    }

    /// The claim on random workloads: random burst kinds per channel, and random costs of polls and
    /// handling.
    #[test]
    fn run_length_is_never_far_behind_the_best_of_random_workloads() {
        for seed in 0..40 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let length = |random: &mut ChaCha8Rng| {
                1 << random.random_range(0..9) | random.random_range(0..4_u32)
            };
            let kind = |random: &mut ChaCha8Rng| match random.random_range(0..6) {
                0 => Bursts::Constant(length(random)),
                1 => Bursts::Uniform(length(random)),
                2 => Bursts::Geometric(length(random)),
                3 => Bursts::HeavyTailed(500),
                4 => Bursts::InTurn(length(random), length(random)),
                _ => Bursts::Switching(length(random), length(random), random.random_range(1..50)),
            };
            let shared = kind(&mut random);
            let network = if random.random() {
                shared
            } else {
                kind(&mut random)
            };
            let gap =
                random.random_range(10..10_000) * u64::from(random.random_range(0..3_u32) > 0);
            let handle_ns = random.random_range(0..2000) * u64::from(random.random::<bool>());
            let bench = Discovery {
                shared,
                network,
                pairs: 200,
                gap: Gap::Random(gap),
                handle_ns,
                seed,
            };
            let costs = PollCosts {
                rdma_ns: random.random_range(1..100),
                shared_per_peer_ns: random.random_range(10..200),
                ..PollCosts::default()
            };
            let ratio = to_best(&costs, &bench);
            assert!(ratio <= 1.05, "{bench:?}, {costs:?}: {ratio}");
        }
    }

    #[test]
    fn random_lengths_have_their_means() {
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let mut mean = |bursts: Bursts| {
            (0..20_000)
                .map(|burst| f64::from(bursts.draw(burst, &mut random)))
                .sum::<f64>()
                / 20_000.0
        };
        assert!((mean(Bursts::Uniform(30)) / 30.0 - 1.0).abs() < 0.02);
        assert!((mean(Bursts::Geometric(30)) / 30.0 - 1.0).abs() < 0.04);
        // The sum of 1 / n up to 100 is 5.19.
        assert!((mean(Bursts::HeavyTailed(100)) / 5.19 - 1.0).abs() < 0.2);
        assert_eq!(
            (
                mean(Bursts::InTurn(1, 5)),
                mean(Bursts::Switching(2, 6, 100))
            ),
            (3.0, 4.0)
        );
        assert_eq!(mean(Bursts::Constant(0)), 1.0);
    }
}
