//! Latency against polling ratio (Figure 2 of the paper), in virtual time.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::costs::PollCosts;
use super::policy::{Channel, PollingPolicy};

pub const RATIOS: [u32; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/// Published latency changes within a node, relative to polling in turn, by ratio and bytes.
pub const PUBLISHED: [(u32, u64, f64); 3] = [(50, 4, -0.12), (50, 2048, -0.09), (1000, 4, -0.37)];

/// Mean time from send to discovery of single messages on an otherwise idle channel: transfer, and
/// wait for the poll that finds the message. Sends `rounds` messages at random moments.
///
/// # Complexity
/// O(polls).
pub fn latency_ns(
    policy: &mut dyn PollingPolicy,
    costs: &PollCosts,
    channel: Channel,
    bytes: u64,
    rounds: u32,
    seed: u64,
) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let moving = costs.moving_ns(channel, bytes);
    // Twice the longest round of polls, so that messages meet each moment of it equally often.
    let longest = u64::from(RATIOS[RATIOS.len() - 1]) * costs.poll_ns(Channel::SharedMemory);
    let quiet = 2 * (longest + costs.poll_ns(Channel::Network));
    let (mut now, mut sum) = (0, 0);
    for _ in 0..rounds {
        let sent = now + random.random_range(0..quiet);
        let arrival = sent + moving;
        loop {
            let polled = policy.next();
            now += costs.poll_ns(polled);
            let found = polled == channel && arrival <= now;
            policy.polled(polled, found);
            if found {
                break;
            }
        }
        sum += now - sent;
    }
    sum as f64 / f64::from(rounds.max(1))
}
